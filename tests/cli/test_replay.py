from pathlib import Path

import numpy as np
import pytest
import torch

from mrfstudio.cli import main
from mrfstudio.engine.files.sessions.session_file import save_session
from mrfstudio.engine.protocol.commands import ClampUnit, Paint, PaintLasso, SetImage, Step, Undo
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.inpaint.workspace import InpaintWorkspace
from mrfstudio.engine.workspaces.segment.workspace import SegmentWorkspace
from tests.cli.helpers import answer, refusal


def go_on(session: Session) -> None:
    """Three iterations."""
    for _ in range(3):
        session.apply(Step())
        session.advance(0.01)


def test_a_saved_session_replays_to_the_same_messages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session(SegmentWorkspace(), "grid-border-16")
    observed = np.ones((12, 14), np.uint8)
    observed[3, 3:9] = observed[8, 3:9] = observed[3:9, 3] = 0
    session.apply(SetImage(observed))
    go_on(session)
    session.apply(Paint("observed", 0, ((9.5, 3.5), (9.5, 8.5)), 0.4, stroke_id=1))
    go_on(session)
    session.apply(Paint("hints", 2, ((6.0, 6.0),), 1.0, stroke_id=2))
    session.apply(Undo())
    go_on(session)
    path = save_session(session, tmp_path / "mine.mrfs")
    result = answer(capsys, "replay", path, "--json", "-")
    assert (result["width"], result["height"]) == (14, 12)
    assert [lane["same_messages"] for lane in result["lanes"]] == [True]
    assert result["iterations"] == session.point.iteration
    assert result["iterations"] > 3


def test_a_filled_in_face_replays_to_the_same_messages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.set_flush_denormal(True)  # as the window does
    session = Session(InpaintWorkspace(), "grbm-frey", playing=False)
    face = np.full((28, 20), 130, np.uint8)
    session.apply(SetImage(face, face, "grey", np.eye(28, 20, dtype=np.uint8)))
    session.apply(PaintLasso("mask", 1, ((2.0, 3.0), (15.0, 4.0), (9.0, 20.0))))
    go_on(session)
    session.apply(ClampUnit("grbm-frey", 3, 1))
    go_on(session)
    path = save_session(session, tmp_path / "face.mrfs")
    torch.set_flush_denormal(False)  # as a new process begins
    result = answer(capsys, "replay", path, "--json", "-")
    assert (result["workspace"], result["width"], result["height"]) == ("inpaint", 20, 28)
    assert [lane["same_messages"] for lane in result["lanes"]] == [True]


def test_what_is_no_session_is_refused_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "text.mrfs"
    path.write_text("hello")
    assert "text.mrfs" in refusal(capsys, "replay", path)
    assert "nowhere.mrfs" in refusal(capsys, "replay", tmp_path / "nowhere.mrfs")


def test_it_says_where_the_figure_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(SegmentWorkspace(), "grid-border-16")
    session.apply(SetImage(np.ones((8, 8), np.uint8)))
    go_on(session)
    path = save_session(session, tmp_path / "mine.mrfs")
    drawn: list[Path] = []
    monkeypatch.setattr("mrfstudio.ui.export.headless.draw_figure", lambda run, out, paper, command: drawn.append(out))
    assert main(["replay", str(path), "--figure", str(tmp_path / "curves.pdf")]) == 0
    assert drawn == [tmp_path / "curves.pdf"]
    assert f"its curves are in {tmp_path / 'curves.pdf'}" in capsys.readouterr().out
