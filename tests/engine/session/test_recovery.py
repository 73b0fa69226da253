"""Unsaved work after a crash: what a killed window leaves behind is all there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.files.sessions.journal import Change, Journal, read_changes
from mrfstudio.engine.protocol.commands import (
    AddLane,
    AddNoise,
    Command,
    Fill,
    Play,
    Restart,
    Scrub,
    SetImage,
    SetParameter,
    Step,
    Undo,
)
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.session import recovery
from mrfstudio.engine.session.recovery import left_behind, recovered
from mrfstudio.engine.session.timeline import Stamped
from tests.engine.helpers.person import Person, busy
from tests.engine.helpers.recovery import OTHER, STROKE, Window, again, killed, make_studio, paint
from tests.engine.helpers.sessions import assert_same_point, run, segment_session
from tests.places import ROOT

COURSES: dict[str, list[Command]] = {
    "strokes": [Step(3), STROKE, Step(2), OTHER],
    "undone": [STROKE, Step(2), OTHER, Undo(), Step(1)],
    "a branch of the past": [Step(2), STROKE, Step(6), OTHER, Scrub(3), Fill("hints", 1, 0, 0), Step(2)],
    "restarted": [STROKE, Step(4), OTHER, Restart(), Step(2), SetParameter(0, "damping", 0.3)],
    "a picture": [STROKE, SetImage(np.eye(9, 11, dtype=np.uint8), None, "eye"), AddNoise(1, 0.1, 5), Step(2)],
    "more lanes": [Step(2), STROKE, AddLane("b"), Step(3), OTHER],
    "played on": [STROKE, Play(), OTHER],
}


@pytest.mark.parametrize("seconds", [0.0, 100.0], ids=["one copy", "a copy each time"])
@pytest.mark.parametrize("name", COURSES)
def test_what_a_killed_window_leaves_behind_is_the_same_work_and_the_same_messages(
    name: str, seconds: float, tmp_path: Path
) -> None:
    window = Window(tmp_path, segment_session())
    for command in COURSES[name]:
        window.do(command)
        window.clock.now += seconds
    window.kill()
    session = again(tmp_path)
    assert session.modified
    theirs = window.session.timeline
    assert [(s.iteration, type(s.command)) for s in session.timeline.log] == [
        (s.iteration, type(s.command)) for s in theirs.log
    ]
    last = theirs.log[-1].iteration  # what was only computed since then is not in the journal
    assert session.timeline.iteration >= last
    curve = [point.iteration for point in session.measurements.by_lane[0].scalars]
    assert curve == list(range(1, session.timeline.newest + 1))  # what was computed again is measured too
    session.apply(Scrub(last))
    window.session.apply(Scrub(last))
    run(session)
    run(window.session)
    assert_same_point(session.point, window.session.point)
    assert (window.copies > 1) == (seconds > 0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_whatever_a_person_did_is_there_after_a_crash(seed: int, tmp_path: Path) -> None:
    person = Person(seed, {"observed": 3, "hints": 3}, ("a", "b"), pictures=True)
    window = Window(tmp_path, segment_session(shape=(7, 8)))
    for number in range(60):
        window.session.apply(person.next(window.session))
        window.look()
        busy(window.session, person.random)
        window.look()
        window.clock.now += float(person.random.exponential(10))
        if number % 20 != 19 or not window.session.modified:
            continue
        run(window.session)
        window.look()
        copy = tmp_path / f"copy {number}"  # a crash now, while the other world goes on
        shutil.copytree(tmp_path, copy, ignore=lambda _, names: [name for name in names if name.startswith("copy")])
        (work,) = left_behind(copy)
        session = recovered(work.folder, {"segment": segment_session(shape=(7, 8)).workspace})
        mine, theirs = session.timeline, window.session.timeline
        stamps = [(each.iteration, type(each.command).__name__) for each in mine.log]
        assert stamps == [(each.iteration, type(each.command).__name__) for each in theirs.log]
        assert mine.present().document.same(theirs.present().document)
        shutil.rmtree(copy)
    window.keeper.close()


def test_nothing_is_written_before_there_is_something_to_lose_and_nothing_is_left_after_it(tmp_path: Path) -> None:
    window = Window(tmp_path, segment_session())
    window.do(Step(2))
    assert list(tmp_path.iterdir()) == []
    window.do(STROKE)
    (folder,) = (path for path in tmp_path.glob("*/segment-*"))
    assert sorted(path.name for path in folder.iterdir()) == ["1.journal", "1.mrfs"]
    window.do(Undo())
    assert list(tmp_path.glob("*/segment-*")) == []
    window.do(STROKE)
    window.keeper.close()
    assert list(tmp_path.iterdir()) == []


def test_a_living_window_is_left_alone_and_two_never_share_a_folder(tmp_path: Path) -> None:
    windows = [Window(tmp_path, segment_session()) for _ in range(2)]
    for window in windows:
        window.do(STROKE)
    assert len(list(tmp_path.iterdir())) == 2
    assert left_behind(tmp_path) == ()
    windows[0].kill()
    (work,) = left_behind(tmp_path)
    assert Path(work.window) == windows[0].keeper._folder
    with (
        recovery.taken_over(work.window),
        pytest.raises(StudioError, match="Another window"),
        recovery.taken_over(work.window),
    ):
        raise AssertionError("two windows recover the same work")
    windows[1].keeper.close()


def test_a_folder_that_cannot_be_read_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    windows = [Window(tmp_path, segment_session()) for _ in range(2)]
    for window in windows:
        window.do(STROKE)
        window.kill()
    unreadable = windows[0].keeper._folder

    def locked(path: Path) -> bool:
        if path.parent == unreadable:
            raise PermissionError(13, "Permission denied")
        return False

    monkeypatch.setattr(recovery, "is_locked", locked)
    (work,) = left_behind(tmp_path)
    assert Path(work.window) == windows[1].keeper._folder
    assert "cannot be looked at" in caplog.text
    assert left_behind(tmp_path / "nowhere") == ()


def test_a_copy_takes_the_place_of_what_came_before(tmp_path: Path) -> None:
    window = Window(tmp_path, segment_session())
    window.do(STROKE)
    window.clock.now += recovery.COPY_EVERY + 1
    window.do(OTHER)
    (folder,) = tmp_path.glob("*/segment-*")
    assert sorted(path.name for path in folder.iterdir()) == ["2.journal", "2.mrfs"]
    window.keeper.close()


def test_a_copy_that_was_never_finished_is_passed_over(tmp_path: Path) -> None:
    window = Window(tmp_path, segment_session())
    window.do(STROKE)
    window.clock.now += recovery.COPY_EVERY + 1
    window.session.apply(OTHER)
    assert window.keeper.keep("segment", window.session) is not None  # killed before this work was done
    window.session.apply(Fill("hints", 1, 0, 0))
    window.look()
    window.kill()
    session = again(tmp_path)
    assert session.document.same(window.session.document)


def test_another_picture_begins_a_log_of_its_own_and_is_there_at_once(tmp_path: Path) -> None:
    window = Window(tmp_path, segment_session())
    window.do(STROKE)
    window.do(SetImage(np.eye(9, 11, dtype=np.uint8), None, "eye"))
    window.do(STROKE)
    assert len(window.session.timeline.log) == 1  # nothing of the picture before is carried along
    window.kill()
    session = again(tmp_path)
    assert (session.document.name, session.document.shape) == ("eye", (9, 11))
    assert session.document.same(window.session.document)


def test_what_belongs_to_a_copy_that_was_never_written_is_not_mixed_with_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = Window(tmp_path, segment_session())
    window.do(STROKE)
    window.do(OTHER)
    before = window.session.document
    monkeypatch.setattr(recovery, "_write_copy", lambda image, kept: None)  # killed in the middle of it
    window.do(SetImage(np.eye(9, 11, dtype=np.uint8), None, "eye"))
    window.do(STROKE)
    window.kill()
    session = again(tmp_path)
    assert session.document.same(before)


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_line_that_is_not_whole_ends_the_journal_and_the_rest_is_recovered(damage: str, tmp_path: Path) -> None:
    window = Window(tmp_path, segment_session())
    window.do(STROKE, OTHER)
    before = window.session.document
    window.do(Fill("hints", 1, 0, 0))
    window.kill()
    (journal,) = tmp_path.glob("*/segment-*/1.journal")
    content = journal.read_bytes()
    journal.write_bytes(content[:-7] if damage == "cut" else content[:-20] + b"x" + content[-19:])
    assert again(tmp_path).document.same(before)


def test_journals_give_back_what_they_were_given(tmp_path: Path) -> None:
    picture = np.arange(12, dtype=np.uint8).reshape(3, 4)
    changes = [
        Change(0, (Stamped(0, STROKE), Stamped(2, SetImage(picture, None, "größe"))), 2),
        Change(1, (), 1),
    ]
    journal = Journal(tmp_path / "1.journal", {"workspace": "segment"})
    for change in changes:
        journal.add(change)
    journal.close()
    found = read_changes(tmp_path / "1.journal")
    assert [(c.keep, c.newest, [s.iteration for s in c.added]) for c in found] == [(0, 2, [0, 2]), (1, 1, [])]
    assert found[0].added[0].command == STROKE
    command = found[0].added[1].command
    assert isinstance(command, SetImage)
    assert np.array_equal(command.observed, picture)
    assert command.name == "größe"


# The studio -----------------------------------------------------------------------------------------------------------


def test_the_studio_opens_what_was_left_keeps_it_again_and_forgets_it_when_it_is_saved(tmp_path: Path) -> None:
    root, file = tmp_path / "recovery", tmp_path / "mine.mrfs"
    first = make_studio(root)
    session = paint(first, STROKE)
    first.sessions.save(first.session("segment"), str(file))
    assert list(root.glob("*/segment-*")) == []
    session.apply(OTHER)
    assert len(first.keep()) == 1
    killed(first)
    assert left_behind(root) == ()  # killed before anything was written
    first = make_studio(root)
    first.sessions.open(str(file))
    session = first.session("segment")
    session.apply(OTHER)
    for background in first.keep():
        background.work()
    killed(first)
    second = make_studio(root)
    works = second.sessions.left_behind()
    assert [(work.workspace, work.name) for work in works] == [("segment", "mine.mrfs")]
    answer = second.sessions.recover(works)
    assert answer.sessions == (("segment", str(file)),)
    assert answer.problems == ()
    assert second.session("segment").document.same(session.document)
    assert second.session("segment").modified
    assert [path.name for path in root.iterdir()] == [second.sessions._keeper._folder.name]  # type: ignore[union-attr]
    second.sessions.save(second.session("segment"), str(file))
    second.close()
    assert list(root.iterdir()) == []


def test_what_cannot_be_read_is_said_and_stays(tmp_path: Path) -> None:
    first = make_studio(tmp_path)
    paint(first, STROKE)
    killed(first)
    (copy,) = tmp_path.glob("*/segment-*/1.mrfs")
    copy.write_bytes(b"nonsense")
    second = make_studio(tmp_path)
    answer = second.sessions.recover(second.sessions.left_behind())
    assert answer.sessions == ()
    assert "damaged" in answer.problems[0]
    (kept,) = tmp_path.glob("damaged-*")
    assert str(kept) in answer.problems[-1]
    assert second.sessions.left_behind() == ()
    second.close()


def test_what_is_discarded_is_gone(tmp_path: Path) -> None:
    first = make_studio(tmp_path)
    paint(first, STROKE)
    killed(first)
    second = make_studio(tmp_path)
    (work,) = second.sessions.left_behind()
    second.sessions.discard_left_behind(work.window)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_program_that_is_killed_in_the_middle_of_a_stroke_loses_nothing(tmp_path: Path) -> None:
    code = f"""
        import os, signal
        from pathlib import Path
        from mrfstudio.engine.protocol.commands import Paint
        from tests.engine.session.test_recovery import make_studio, paint
        studio = make_studio(Path({str(tmp_path)!r}))
        strokes = [Paint("observed", 0, ((3.5 + i, 3.5), (4.5 + i, 3.5)), 0.6, stroke_id=9) for i in range(12)]
        paint(studio, *strokes)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    studio = make_studio(tmp_path)
    studio.sessions.recover(studio.sessions.left_behind())
    row = studio.session("segment").document.arrays["observed"][3]
    assert (row[3:16] == 0).all()
    studio.close()
