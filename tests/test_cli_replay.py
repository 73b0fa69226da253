from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.commands import Paint, SetImage, Step, Undo
from mrfstudio.engine.files.session_file import save_session
from mrfstudio.engine.session import Session
from mrfstudio.engine.workspaces.segment import SegmentWorkspace
from tests.test_cli import answer, refusal


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
    assert result["iterations"] == session.moment.iteration
    assert result["iterations"] > 3


def test_what_is_no_session_is_refused_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "text.mrfs"
    path.write_text("hello")
    assert "text.mrfs" in refusal(capsys, "replay", path)
    assert "nowhere.mrfs" in refusal(capsys, "replay", tmp_path / "nowhere.mrfs")
