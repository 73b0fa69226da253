"""Whatever takes the place of a saved session is a new document: Save must not write over the file of the old one."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mrfstudio.engine.files.graphs.graph import write_graph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.protocol.commands import (
    NewGraph,
    Paint,
    SetImage,
    SetModel,
    SetParameter,
    SetPhotograph,
    Undo,
)
from mrfstudio.engine.protocol.requests.converge import ReadText
from mrfstudio.engine.protocol.requests.studio import BeginWith, CopyLink, KeepSession
from tests.ui.helpers.studio import Studio

BLANK = np.ones((12, 12), np.uint8)


def photograph() -> np.ndarray:
    out = io.BytesIO()
    Image.fromarray(np.full((20, 24, 3), 90, np.uint8)).save(out, "PNG")
    return np.frombuffer(out.getvalue(), np.uint8)


PHOTOGRAPH = photograph()


def saved(studio: Studio, workspace: str, path: Path) -> bytes:
    """Save the session of a workspace; returns what the file holds then."""
    studio.start()
    studio.window.choose_workspace(workspace)
    studio.settle()
    studio.window.files.save_to(path)
    studio.qtbot.waitUntil(lambda: studio.frame.file == str(path) and studio.window.files.path == path, timeout=30_000)
    return path.read_bytes()


def post(*commands: object) -> Callable[[Studio, Path], None]:
    def act(studio: Studio, _: Path) -> None:
        for command in commands:
            studio.controller.post(command)  # type: ignore[arg-type]

    return act


def open_graph_file(studio: Studio, folder: Path) -> None:
    write_graph(folder / "other.uai", ising_grid(2, 2))
    studio.window.files.open(folder / "other.uai")


def read_text(studio: Studio, _: Path) -> None:
    studio.controller.ask(ReadText("letters", "a cat"), lambda found: None)


def open_link(studio: Studio, _: Path) -> None:
    studio.controller.ask(CopyLink("graph"), studio.window.files.open_link)


def begin_with(studio: Studio, _: Path) -> None:
    """As a lesson does that brings a session along."""
    studio.controller.ask(KeepSession("graph"), lambda kept: studio.controller.ask(BeginWith(kept), lambda name: None))


REPLACING = {
    "a picture": ("segment", post(SetImage(BLANK, None, "other"))),
    "the next example": ("segment", lambda studio, _: studio.do("next_example")),
    "a picture to inpaint": ("inpaint", post(SetImage(np.zeros((28, 28), np.uint8), None, "other"))),
    "a model of another size": ("inpaint", lambda studio, _: studio.window.workspace.post(SetModel(0, "digits"))),
    "a generated graph": ("graph", post(NewGraph("ring"))),
    "a graph of a file": ("graph", open_graph_file),
    "a text": ("graph", read_text),
    "a link": ("graph", open_link),
    "a photograph": ("photograph", post(SetPhotograph(PHOTOGRAPH, "other"))),
    "a photograph to repair": ("repair", post(SetPhotograph(PHOTOGRAPH, "other"))),
    "the start of a lesson": ("graph", begin_with),
}


@pytest.mark.parametrize("what", REPLACING)
def test_what_takes_the_place_of_a_saved_session_has_no_file(
    studio: Studio, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, act = REPLACING[what]
    first, second = tmp_path / "first.mrfs", tmp_path / "second.mrfs"
    before = saved(studio, workspace, first)
    act(studio, tmp_path)
    studio.qtbot.waitUntil(lambda: "first" not in studio.window.windowTitle(), timeout=30_000)
    assert studio.window.files.path is None
    asked: list[str] = []
    monkeypatch.setattr(
        "mrfstudio.ui.window.files.QFileDialog.getSaveFileName",
        lambda *arguments: (asked.append(arguments[1]), (str(second), ""))[1],
    )
    studio.do("save")
    studio.qtbot.waitUntil(lambda: studio.window.files.path == second, timeout=30_000)
    assert asked == ["Save session"]
    assert first.read_bytes() == before


def test_an_edit_of_a_saved_session_keeps_its_file(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "mine.mrfs"
    saved(studio, "segment", path)
    post(Paint("observed", 0, ((3.5, 3.5),), 0.5), SetParameter(0, "damping", 0.3), Undo())(studio, tmp_path)
    studio.settle()
    assert studio.window.files.path == path
    assert studio.frame.modified
