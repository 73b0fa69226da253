"""Recovery on a disk that fails: it tries again, and the only copy of somebody's work stays."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mrfstudio.engine.files.sessions.journal import Journal
from mrfstudio.engine.files.sessions.session_file import SessionImage
from mrfstudio.engine.protocol.commands import Fill
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.session import recovery
from mrfstudio.engine.session.recovery import left_behind
from tests.engine.helpers.recovery import OTHER, STROKE, Window, again, killed, make_studio, paint
from tests.engine.helpers.sessions import segment_session


def test_a_full_disk_is_said_once_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    window = Window(tmp_path, segment_session())
    window.do(STROKE)
    with monkeypatch.context() as while_full:
        while_full.setattr(Journal, "add", full)
        with pytest.raises(StudioError, match=r"No space left.*save it often"):
            window.do(OTHER)
        window.do(Fill("hints", 1, 0, 0))  # said once
        assert window.keeper.wait == recovery.RETRY
        window.clock.now += recovery.RETRY
        while_full.setattr(recovery, "Journal", full)
        window.do(Fill("hints", 1, 0, 0))
    assert window.keeper.wait == recovery.RETRY
    window.clock.now += recovery.RETRY
    window.look()  # though nothing happened since
    assert window.keeper.wait is None
    window.kill()
    assert again(tmp_path).document.same(window.session.document)


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_folder_that_is_removed_is_noticed_at_the_next_edit(tmp_path: Path) -> None:
    window = Window(tmp_path / "home", segment_session())
    window.do(STROKE)
    shutil.rmtree(tmp_path / "home")
    window.do(OTHER)
    window.kill()
    assert again(tmp_path / "home").document.same(window.session.document)


def test_the_older_copy_stays_until_a_newer_one_was_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    window = Window(tmp_path, segment_session())
    window.do(STROKE)
    window.clock.now += recovery.COPY_EVERY
    with monkeypatch.context() as while_full:
        while_full.setattr(SessionImage, "write", lambda self, path: Path(path).write_bytes(b"half of it"))
        with pytest.raises(StudioError, match="save it often"):
            window.do(OTHER)
    [folder] = [path for path in tmp_path.glob("*/*") if path.is_dir()]
    assert (folder / "1.mrfs").exists()
    assert (folder / "1.journal").exists()
    window.clock.now += recovery.RETRY
    window.look()
    assert sorted(path.name for path in folder.iterdir()) == ["3.journal", "3.mrfs"]
    window.kill()


def test_the_only_copy_stays_where_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_one = make_studio(tmp_path)
    painted = paint(killed_one, STROKE).document
    killed(killed_one)
    studio = make_studio(tmp_path)
    works = studio.sessions.left_behind()
    with monkeypatch.context() as while_full:
        while_full.setattr(recovery, "Journal", full)
        found = studio.sessions.recover(works)
    assert [name for name, _ in found.sessions] == ["segment"]
    assert "the old copy stays" in found.problems[-1]
    killed(studio)
    third = make_studio(tmp_path)
    assert len(third.sessions.left_behind()) == 1
    third.sessions.recover(third.sessions.left_behind())
    assert third.session("segment").document.same(painted)
    third.close()
    assert left_behind(tmp_path) == ()


@pytest.mark.parametrize("what", ["journals", "copies"])
def test_tries_on_a_full_disk_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """An hour of them would be a thousand files, on a disk that has no room."""
    window = Window(tmp_path, segment_session())
    window.do(STROKE)
    before = files(tmp_path)
    window.clock.now += recovery.COPY_EVERY
    with monkeypatch.context() as while_full:
        while_full.setattr(SessionImage, "write", full)
        if what == "journals":
            while_full.setattr(Journal, "_write", full)
        with pytest.raises(StudioError, match="save it often"):
            window.do(OTHER)
        for _ in range(20):
            window.clock.now += recovery.RETRY
            window.look()
        assert before <= files(tmp_path)
        assert len(files(tmp_path) - before) <= (what == "copies")
    window.clock.now += recovery.RETRY
    window.look()
    window.kill()
    assert again(tmp_path).document.same(window.session.document)


def test_a_session_that_begins_on_a_full_disk_leaves_no_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = Window(tmp_path, segment_session())
    with monkeypatch.context() as while_full:
        while_full.setattr(Journal, "_write", full)
        with pytest.raises(StudioError, match="save it often"):
            window.do(STROKE)
        for _ in range(5):
            window.clock.now += recovery.RETRY
            window.look()
        assert not [path for path in tmp_path.glob("*/*") if path.is_dir()]
    window.clock.now += recovery.RETRY
    window.look()
    window.kill()
    assert again(tmp_path).document.same(window.session.document)


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}
