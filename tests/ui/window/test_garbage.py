"""Garbage is collected in the window's thread, and not while everything is new."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from mrfstudio.ui.window import garbage
from mrfstudio.ui.window.garbage import EVERY, SETTLED_BY, GarbageCollector


class Counted:
    """Python's collector with many new objects, and what it was asked to do."""

    def __init__(self) -> None:
        self.collected: list[int] = []
        self.frozen = 0

    def isenabled(self) -> bool:
        return True

    def get_count(self) -> tuple[int, int, int]:
        return 500_000, 3, 3

    def get_threshold(self) -> tuple[int, int, int]:
        return 700, 10, 10

    def collect(self, generation: int) -> None:
        self.collected.append(generation)

    def freeze(self) -> None:
        self.frozen += 1


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    made = Counted()
    monkeypatch.setattr(garbage, "gc", made)
    return made


def test_nothing_is_looked_at_while_libraries_are_loaded(qtbot: QtBot, counted: Counted) -> None:
    collector = GarbageCollector()
    collector.tick()
    collector.tick()
    assert counted.collected == []
    collector.settle()
    assert counted.frozen == 1
    collector.tick()
    assert counted.collected == [0]


def test_collecting_begins_after_a_while_though_the_engine_never_came(qtbot: QtBot, counted: Counted) -> None:
    collector = GarbageCollector()
    for _ in range(SETTLED_BY):
        collector.tick()
    assert counted.collected == [0]
    assert SETTLED_BY * EVERY <= 60_000
