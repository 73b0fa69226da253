"""The window after a crash: it asks, opens what was left, or throws it away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.commands import Paint
from mrfstudio.engine.session.recovery import RecoveryKeeper
from mrfstudio.engine.workspaces.studio import Studio as Engine
from mrfstudio.ui.style.theme import Theme
from mrfstudio.ui.window.dialogs.recovery_offer import when
from tests.ui.helpers.studio import Studio, small_model, studio_in

STROKE = Paint("observed", 0, ((3.5, 3.5), (9.5, 3.5)), 0.6)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "recovery"


@pytest.fixture
def studio(qtbot: QtBot, theme: Theme, tmp_path: Path, root: Path) -> Iterator[Studio]:
    with studio_in(qtbot, theme, tmp_path, root) as made:
        yield made


def leave_behind(root: Path, file: Path | None = None) -> np.ndarray:
    """What a window that is killed leaves: a stroke on the first example. Returns the observations."""
    keeper = RecoveryKeeper(root)
    engine = Engine({"small": small_model()}, keeper=keeper)
    engine.service("segment").begin()
    session = engine.session("segment")
    if file is not None:
        engine.sessions.save(session, str(file))
    session.apply(STROKE)
    for background in engine.keep():
        background.work()
    for kept in keeper._kept.values():
        kept.journal.close()
    assert keeper._lock is not None
    keeper._lock.release()
    return session.document.arrays["observed"]


def asked(studio: Studio) -> QMessageBox:
    studio.start()
    studio.window.recovery_offer.look()
    studio.qtbot.waitUntil(lambda: studio.window.recovery_offer.question is not None, timeout=30_000)
    question = studio.window.recovery_offer.question
    assert question is not None
    return question


def click(studio: Studio, question: QMessageBox, text: str) -> None:
    button = next(each for each in question.buttons() if each.text().replace("&", "") == text)
    studio.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_unsaved_work_is_offered_and_opened_under_its_own_name(studio: Studio, root: Path, tmp_path: Path) -> None:
    observed = leave_behind(root, tmp_path / "mine.mrfs")
    question = asked(studio)
    assert "did not close properly" in question.text()
    assert re.fullmatch(r"•  Segment: mine\.mrfs, today at \d\d:\d\d", question.informativeText())
    click(studio, question, "Recover")
    studio.until(lambda: np.array_equal(studio.frame.layers["observed"], observed))
    studio.settle()
    assert studio.frame.modified
    assert studio.window.windowTitle() == "mine.mrfs[*] – MRF Studio"
    assert "Save it to keep it" in studio.window.message_bar.text.text()
    assert len(list(root.iterdir())) == 1  # this window's own
    studio.do("save")
    studio.until(lambda: not studio.frame.modified)
    assert list(root.glob("*/segment-*")) == []


@pytest.mark.parametrize("answer", ["Discard", "Not now"])
def test_what_is_not_wanted_goes_and_what_can_wait_stays(studio: Studio, root: Path, answer: str) -> None:
    leave_behind(root)
    click(studio, asked(studio), answer)
    studio.settle()
    assert studio.window.recovery_offer.question is None
    assert not studio.frame.modified
    assert len(list(root.glob("*/segment-*"))) == (0 if answer == "Discard" else 1)


def test_a_stroke_is_kept_at_once_and_nothing_stays_of_a_window_that_closes_in_order(
    studio: Studio, root: Path
) -> None:
    studio.start()
    studio.stroke((3, 3), (3, 9))
    studio.settle()
    studio.qtbot.waitUntil(lambda: len(list(root.glob("*/segment-*/1.mrfs"))) == 1, timeout=30_000)
    studio.end()
    assert list(root.iterdir()) == []


def test_times_are_said_as_people_say_them() -> None:
    assert when(0.0).startswith("1970-01-01 at ") or when(0.0).startswith("1969-12-31 at ")
