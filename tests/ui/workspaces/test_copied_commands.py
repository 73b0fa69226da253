"""What Copy as command says runs in an empty folder of another person, and prints the numbers that were on screen."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from mrfstudio.cli import main
from mrfstudio.engine.files.images import read_labels
from mrfstudio.engine.protocol.commands import Connect, NewGraph, Paint, SetEvidence, SetSpeed, SetStrength
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.photograph import SaveCut
from mrfstudio.engine.protocol.requests.studio import Ping
from mrfstudio.places import HOME
from mrfstudio.ui.export.headless import headless_window, wait_until
from mrfstudio.ui.window.main_window import MainWindow


@pytest.fixture(scope="module")
def window(qapp: QApplication) -> Iterator[MainWindow]:
    with headless_window() as window:
        wait_until(lambda: window.controller.engine is not None, [])
        yield window


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and a home in which nothing is."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv(HOME, str(tmp_path / "home"))
    monkeypatch.chdir(folder)
    return folder


def shown(window: MainWindow, workspace: str, *commands: object) -> Frame:
    """The frame of a workspace when all that was posted is done."""
    window.choose_workspace(workspace)
    wait_until(lambda: window.controller.newest is not None, [])
    window.controller.post(SetSpeed(None))
    for command in commands:
        window.controller.post(command)  # type: ignore[arg-type]  # a command of this workspace
    answered: list[object] = []
    window.controller.ask(Ping(), answered.append)
    wait_until(lambda: bool(answered) and window.controller.answered and not window.controller.newest.playing, [])
    assert window.controller.newest is not None
    return window.controller.newest


def copied(window: MainWindow) -> list[str]:
    QApplication.clipboard().setText("")
    window.actions_["copy_command"].trigger()
    wait_until(lambda: QApplication.clipboard().text().startswith("mrfstudio"), [])
    program, *words = shlex.split(QApplication.clipboard().text())
    assert program == "mrfstudio"
    assert not any(word.startswith("/") for word in words)
    return words


def printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    capsys.readouterr()
    assert main([*words, "--json", "-"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def numbers(found: dict[str, object]) -> dict[str, float]:
    """What `replay` says of the first lane."""
    lanes = found["lanes"]
    assert isinstance(lanes, list)
    return dict(lanes[0]["numbers"])


def test_a_graph_that_was_drawn_is_a_link(window: MainWindow, elsewhere: Path) -> None:
    drawn = (NewGraph("ring", {"nodes": 7}), Connect(0, 3, 1.25), SetStrength("coupling", 0.5))
    frame = shown(window, "graph", *drawn, SetEvidence((2,), 1), SetEvidence((5,), 0, 0.5))
    words = copied(window)
    assert words[1].startswith("mrfs:1")
    line = [sys.executable, "-m", "mrfstudio", *words, "--json", "-"]
    done = subprocess.run(line, capture_output=True, text=True, check=True, cwd=elsewhere, env=dict(os.environ))
    found = json.loads(done.stdout)
    marginals = np.array(found["marginals"], np.float32)
    np.testing.assert_allclose(marginals, frame.lanes[0].pictures["marginal"], atol=1e-6)
    assert found["iterations"] == frame.lanes[0].iteration - frame.lanes[0].base
    assert marginals[2, 1] == 1


def test_a_photograph_of_the_program_is_named_in_words(
    window: MainWindow, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = shown(window, "photograph")
    words = copied(window)
    assert words[:4] == ["segment", "photo:astronaut", "--scribbles", "photo:astronaut"]
    counts = printed(words, capsys)["pixels"]
    assert isinstance(counts, dict)
    assert list(counts.values()) == on_screen(window, elsewhere)
    assert frame.name == "astronaut"


def on_screen(window: MainWindow, folder: Path) -> list[int]:
    """How many pixels each label has in the window."""
    written: list[str] = []
    window.controller.ask(SaveCut(str(folder / "labels.png"), "labels"), written.append)
    wait_until(lambda: bool(written), [])
    return np.bincount(read_labels(folder / "labels.png").ravel())[1:].tolist()


def test_strokes_on_it_are_a_link(window: MainWindow, elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown(window, "photograph", Paint("strokes", 1, ((430.5, 90.5), (440.5, 130.5)), 6.0))
    words = copied(window)
    assert words[0] == "replay"
    assert words[1].startswith("mrfs:1")
    said = numbers(printed(words, capsys))
    assert [round(value) for value in said.values()] == on_screen(window, elsewhere)
    assert main([*words]) == 0
    assert "pixels of Person" in capsys.readouterr().out


def test_damage_of_the_program_is_named_in_words_and_painted_damage_is_a_link(
    window: MainWindow, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    window.choose_workspace("repair")
    window.workspace.panel.layers.set_visible({"deviation": 1.0})  # type: ignore[attr-defined]  # that of Repair
    frame = shown(window, "repair")
    words = copied(window)
    assert words[:4] == ["inpaint", "damaged:cat-scratched", "--mask", "damaged:cat-scratched"]
    damaged = frame.layers["strokes"] > 0
    assert printed(words, capsys)["mean_deviation"] == pytest.approx(doubt(frame, damaged), rel=1e-3)
    assert (elsewhere / "out.png").exists()
    frame = shown(window, "repair", Paint("strokes", 1, ((200.5, 150.5), (230.5, 160.5)), 4.0))
    words = copied(window)
    assert words[0] == "replay"
    said = numbers(printed(words, capsys))["mean deviation"]
    assert said == pytest.approx(doubt(frame, frame.layers["strokes"] > 0), rel=1e-6)


def doubt(frame: Frame, damaged: np.ndarray) -> float:
    return float(frame.lanes[0].pictures["deviation"][damaged].astype(np.float64).mean())


def test_a_picture_of_a_data_set_is_named_in_words_and_a_painted_mask_is_a_link(
    window: MainWindow, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = shown(window, "inpaint")
    words = copied(window)
    assert words[:4] == ["inpaint", "faces:0", "--mask", "faces:0"]
    np.testing.assert_allclose(printed(words, capsys)["mean"], frame.lanes[0].pictures["mean"], atol=2e-4)
    frame = shown(window, "inpaint", Paint("mask", 1, ((3.5, 3.5), (9.5, 4.5)), 2.0))
    words = copied(window)
    assert words[0] == "replay"
    hidden = frame.layers["mask"] == 1
    said = numbers(printed(words, capsys))
    assert said["mean"] == pytest.approx(float(frame.lanes[0].pictures["mean"][hidden].mean()), abs=1e-5)


def test_a_drawing_that_somebody_changed_is_a_link(
    window: MainWindow, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = shown(window, "segment", Paint("observed", 0, ((3.5, 3.5), (9.5, 9.5)), 1.0))
    words = copied(window)
    assert words[0] == "replay"
    beliefs = frame.lanes[0].pictures["belief"].astype(np.float64)
    found = printed(words, capsys)
    assert list(numbers(found).values()) == pytest.approx(beliefs.reshape(-1, beliefs.shape[-1]).mean(0), abs=1e-6)
    assert found["session"] == words[1]


def test_words_that_name_nothing_are_refused_in_a_sentence(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["segment", "photo:dog", "--scribbles", "photo:cat"],
        ["inpaint", "damaged:dog", "--mask", "damaged:dog"],
        ["inpaint", "faces:-3", "--mask", "faces:0", "--model", "grbm-faces"],
        ["inpaint", "faces:99999999", "--mask", "faces:0", "--model", "grbm-faces"],
        ["infer", "mrfs:1abc", "--algorithm", "bp"],
        ["replay", "mrfs:1abc"],
    ):
        assert main(words) == 2
        assert capsys.readouterr().err.strip().endswith(".")
