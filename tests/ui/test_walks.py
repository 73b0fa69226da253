"""The three walks of docs/architecture.md pass the files that they name."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from PIL import Image
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mrfstudio.cli import main
from tests.places import ROOT
from tests.ui.helpers.canvas import LEFT, NONE, at
from tests.ui.helpers.studio import Studio, shared_studio

PACKAGE = str(ROOT / "mrfstudio") + "/"


class Watch:
    """Which files of the package have run a function, in any thread that was started since it was put up."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.looking = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if self.looking and event == "call" and name.startswith(PACKAGE) and frame.f_code.co_name != "<module>":
            self.files.add(name.removeprefix(PACKAGE))

    @contextmanager
    def up(self) -> Iterator[None]:
        before = sys.getprofile()
        sys.setprofile(self)
        self.looking = True
        try:
            yield
        finally:
            self.looking = False
            sys.setprofile(before)


def walk(title: str) -> list[str]:
    """The files of a walk in their order, as the page numbers them; the page says how many they are."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.split(f"### {title}\n")[1].split("\n#")[0]
    found = re.findall(r"^(\d+)\. `([\w/.]+)`", section, flags=re.M)
    assert [int(number) for number, _ in found] == list(range(1, len(found) + 1))
    counted = re.search(r"(\d+) files", section)
    assert counted is not None
    assert int(counted[1]) == len(found)
    return [file for _, file in found]


def passed(title: str, do: Callable[[], Any]) -> None:
    watch = Watch()
    with watch.up():
        do()
    assert [file for file in walk(title) if file not in watch.files] == []


@pytest.fixture(scope="module")
def watch() -> Iterator[Watch]:
    """Looks over the shoulder of every thread that begins from now on."""
    watch = Watch()
    threading.setprofile(watch)
    yield watch
    threading.setprofile(None)


@pytest.fixture(scope="module")
def shared(watch: Watch, qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with shared_studio(qapp, tmp_path_factory.mktemp("studio")) as studio:
        yield studio


def test_a_stroke_passes_its_files(studio: Studio, watch: Watch) -> None:
    canvas = studio.canvas
    with watch.up():
        QTest.mousePress(canvas, LEFT, NONE, at(canvas, 5, 5))
        QTest.mouseMove(canvas, at(canvas, 5, 9))
        QTest.mouseRelease(canvas, LEFT, NONE, at(canvas, 5, 9))
        studio.settle()
    assert [file for file in walk("A brush stroke") if file not in watch.files] == []


def test_a_training_step_passes_its_files(qtbot: QtBot, tmp_path: Path) -> None:
    small = "--data border --count 8 --validation 2 --test 1 --clones 8 --batch-size 4 --epochs 1 --iterations 2"
    out = str(tmp_path / "m.safetensors")
    passed("A training step", lambda: main(["train", "grid", "--learner", "query", *small.split(), "--out", out]))
    assert (tmp_path / "m.safetensors").exists()


def test_a_command_passes_its_files(qtbot: QtBot, tmp_path: Path) -> None:
    drawing = np.full((24, 24), 255, np.uint8)
    drawing[6:18, 6] = drawing[6:18, 17] = drawing[6, 6:18] = drawing[17, 6:18] = 0
    Image.fromarray(drawing).save(tmp_path / "drawing.png")
    command = ["segment", str(tmp_path / "drawing.png"), "--iterations", "2", "--out", str(tmp_path / "labels.png")]
    passed("A command", lambda: main(command))
    assert (tmp_path / "labels.png").exists()
