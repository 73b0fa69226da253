"""The engine's thread with an engine that needs no torch: order, coalescing, mailbox, errors, stopping."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.commands import ClearLayer, Paint, Pause, Play, Scrub, SetParameter, SetSpeed, Undo
from mrfstudio.engine.protocol.frames import Frame, LaneFrame, Scalars
from mrfstudio.ui.engine.engine_thread import EngineThread
from mrfstudio.ui.engine.mailbox import CommandQueue, Mailbox, Posted
from tests.ui.helpers.fakes import Behind, BehindRefuse, CountTo, Crash, Double, FakeEngine, Refuse, WaitForJob


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def thread(engine: FakeEngine, qtbot: QtBot) -> Iterator[EngineThread]:
    thread = EngineThread(engine.make)
    thread.start()
    yield thread
    engine.release.set()
    assert thread.stop(5.0)


def drain(queue: CommandQueue) -> list[object]:
    taken = []
    while (item := queue.take()) is not None:
        assert isinstance(item, Posted)
        taken.append(item.command)
    return taken


def frame(serial: int, iterations: range, message: str = "") -> Frame:
    scalars = tuple(Scalars(i, 0.5) for i in iterations)
    lane = LaneFrame(0, "m", "bp", iterations[-1], "running", 0.5, {"entropy": np.full((1, 1), serial)}, scalars)
    return Frame(serial, "segment", 0, (1, 1), (0, 0, 1, 1), {}, (lane,), message=message)


def stroke(x: float) -> Paint:
    return Paint("observed", 0, ((x, x),), 1.0, stroke_id=1)


class TestQueue:
    def test_a_dragged_slider_is_applied_once_with_its_last_value(self) -> None:
        queue = CommandQueue()
        for value in (1, 2, 3):
            queue.post("segment", SetParameter(0, "damping", value))
        assert drain(queue) == [SetParameter(0, "damping", 3)]

    def test_brush_segments_are_never_dropped(self) -> None:
        queue = CommandQueue()
        strokes = [stroke(x) for x in range(50)]
        for command in strokes:
            queue.post("segment", command)
        assert drain(queue) == strokes

    def test_a_slider_does_not_jump_over_a_stroke_or_an_undo(self) -> None:
        queue = CommandQueue()
        commands = [Scrub(3), stroke(1), Scrub(5), Undo(), Scrub(7)]
        for command in commands:
            queue.post("segment", command)
        assert drain(queue) == commands

    def test_sliders_of_different_names_coalesce_side_by_side(self) -> None:
        queue = CommandQueue()
        for value in (1.0, 2.0):
            queue.post("segment", SetSpeed(value))
            queue.post("segment", SetParameter(0, "damping", value))
        assert drain(queue) == [SetSpeed(2.0), SetParameter(0, "damping", 2.0)]

    def test_workspaces_do_not_coalesce_with_each_other(self) -> None:
        queue = CommandQueue()
        queue.post("segment", SetSpeed(1.0))
        queue.post("converge", SetSpeed(2.0))
        assert drain(queue) == [SetSpeed(1.0), SetSpeed(2.0)]


class TestMailbox:
    def test_pictures_are_the_newest_and_scalars_are_all(self) -> None:
        mailbox = Mailbox()
        mailbox.put(frame(1, range(1, 4)))
        mailbox.put(frame(2, range(4, 6)))
        (taken,) = mailbox.take()
        assert [s.iteration for s in taken.lanes[0].scalars] == [1, 2, 3, 4, 5]
        assert taken.lanes[0].pictures["entropy"].item() == 2
        assert mailbox.take() == []

    def test_a_message_is_not_lost_behind_a_newer_frame(self) -> None:
        mailbox = Mailbox()
        mailbox.put(frame(1, range(1, 2), message="refused"))
        mailbox.put(frame(2, range(2, 3)))
        assert mailbox.take()[0].message == "refused"

    def test_a_cut_timeline_begins_its_own_curve(self) -> None:
        mailbox = Mailbox()
        mailbox.put(frame(1, range(1, 9)))
        mailbox.put(replace(frame(2, range(1, 3)), cut=0))
        assert [s.iteration for s in mailbox.take()[0].lanes[0].scalars] == [1, 2]


def test_commands_arrive_in_order_and_numbered(thread: EngineThread, engine: FakeEngine, qtbot: QtBot) -> None:
    numbers = [thread.post("segment", stroke(x)) for x in range(20)]
    qtbot.waitUntil(lambda: len(engine.session("segment").applied) == 20)
    assert [number for number, _ in engine.sessions["segment"].applied] == numbers
    assert engine.sessions["segment"].threads == {"engine"}


def test_commands_wait_until_the_engine_is_loaded(qtbot: QtBot) -> None:
    engine = FakeEngine()
    engine.release.clear()
    thread = EngineThread(engine.make)
    thread.start()
    thread.post("segment", stroke(1))
    assert not engine.sessions
    with qtbot.waitSignal(thread.loaded):
        engine.release.set()
    qtbot.waitUntil(lambda: bool(engine.sessions) and len(engine.sessions["segment"].applied) == 1)
    assert thread.stop(5.0)


def test_curves_have_every_iteration_though_pictures_skip(
    thread: EngineThread, engine: FakeEngine, qtbot: QtBot
) -> None:
    seen: list[int] = []
    frames: list[Frame] = []

    def take() -> None:
        for taken in thread.take():
            frames.append(taken)
            seen.extend(s.iteration for s in taken.lanes[0].scalars)
            time.sleep(0.03)  # a window slower than the engine

    thread.woken.connect(take)
    thread.show("segment")
    thread.post("segment", Play())
    qtbot.waitUntil(lambda: len(seen) > 200)
    assert seen == list(range(1, seen[-1] + 1))
    assert len(frames) < seen[-1] / 3


def test_a_hidden_workspace_pauses(thread: EngineThread, engine: FakeEngine, qtbot: QtBot) -> None:
    thread.show("segment")
    thread.post("segment", Play())
    qtbot.waitUntil(lambda: engine.session("segment").iteration > 5)
    thread.show("converge")
    with qtbot.waitSignal(thread.answered):
        thread.ask("converge", Double(1))
    stopped = engine.session("segment").iteration
    qtbot.wait(50)
    assert engine.session("segment").iteration == stopped
    assert engine.session("segment").playing


def test_an_answer_carries_the_number_of_its_question(thread: EngineThread, qtbot: QtBot) -> None:
    with qtbot.waitSignal(thread.answered) as signal:
        number = thread.ask("segment", Double(21))
    assert signal.args == [number, 42]


def test_a_refusal_is_a_sentence_and_the_thread_goes_on(thread: EngineThread, qtbot: QtBot) -> None:
    with qtbot.waitSignal(thread.refused) as signal:
        number = thread.ask("segment", Refuse())
    assert signal.args == [number, "The file is missing: choose another."]
    with qtbot.waitSignal(thread.answered):
        thread.ask("segment", Double(1))


def test_a_fault_is_logged_and_shown(thread: EngineThread, qtbot: QtBot, caplog: pytest.LogCaptureFixture) -> None:
    with qtbot.waitSignal(thread.refused) as signal:
        thread.ask("segment", Crash())
    assert "a fault" in signal.args[1]
    assert "ZeroDivisionError" in caplog.text
    caplog.clear()
    assert thread.alive


def test_a_session_that_fails_is_paused_and_lives_again_with_the_next_command(
    thread: EngineThread, engine: FakeEngine, qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    session = engine.session("segment")
    session.fail_next = "out of range"
    with qtbot.waitSignal(thread.failed) as signal:
        thread.show("segment")
        thread.post("segment", Play())
    assert "out of range" in signal.args[0]
    qtbot.waitUntil(lambda: not session.playing)
    before = session.iteration
    thread.post("segment", Play())
    qtbot.waitUntil(lambda: session.iteration > before)
    assert "out of range" in caplog.text
    caplog.clear()


def test_an_engine_that_cannot_load_says_so(qtbot: QtBot, caplog: pytest.LogCaptureFixture) -> None:
    engine = FakeEngine()
    engine.load_error = ImportError("no torch here")
    thread = EngineThread(engine.make)
    with qtbot.waitSignal(thread.failed) as signal:
        thread.start()
    assert "no torch here" in signal.args[0]
    assert thread.stop(5.0)
    caplog.clear()


def test_it_stops_while_running(engine: FakeEngine, qtbot: QtBot) -> None:
    thread = EngineThread(engine.make)
    thread.start()
    thread.show("segment")
    thread.post("segment", Play())
    qtbot.waitUntil(lambda: engine.session("segment").iteration > 5)
    assert thread.stop(5.0)
    assert not thread.alive
    thread.post("segment", Pause())
    assert engine.session("segment").applied[-1][1] == Play()


def test_the_last_frame_is_shown_even_when_iterations_end(
    thread: EngineThread, engine: FakeEngine, qtbot: QtBot
) -> None:
    shown: list[int] = []
    thread.woken.connect(lambda: shown.extend(f.lanes[0].iteration for f in thread.take()))
    thread.show("segment")
    thread.post("segment", Play())
    qtbot.waitUntil(lambda: engine.session("segment").iteration > 30)
    thread.post("segment", ClearLayer("hints"))
    thread.post("segment", Pause())
    qtbot.waitUntil(lambda: not engine.session("segment").playing)
    qtbot.waitUntil(lambda: bool(shown) and shown[-1] == engine.session("segment").iteration)
    assert shown == sorted(shown)


def test_a_long_answer_leaves_room_for_commands(thread: EngineThread, engine: FakeEngine, qtbot: QtBot) -> None:
    steps: list[int] = []
    answers: list[object] = []
    thread.progressed.connect(lambda _, value: steps.append(value))
    thread.answered.connect(lambda _, value: answers.append(value))
    thread.ask("segment", CountTo(3000))
    thread.ask("segment", Double(4))
    qtbot.waitUntil(lambda: len(answers) == 2)
    assert answers == [8, "done"]
    assert steps == list(range(3000))


def test_the_first_iterations_come_before_the_catalogue(engine: FakeEngine, qtbot: QtBot) -> None:
    order: list[str] = []
    thread = EngineThread(engine.make)
    thread.woken.connect(lambda: order.append("frame"))
    thread.loaded.connect(lambda _: order.append("loaded"))
    thread.show("segment")
    thread.post("segment", Play())
    with qtbot.waitSignal(thread.loaded):
        thread.start()
    assert order[0] == "frame"
    assert engine.session("segment").iteration > 0
    assert thread.stop(5.0)


def test_what_later_questions_need_is_imported_beside(thread: EngineThread, engine: FakeEngine, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: engine.warmed_by != "")
    assert engine.warmed_by == "background"
    assert thread.alive


def test_whoever_asks_sees_all_that_was_done(thread: EngineThread, engine: FakeEngine, qtbot: QtBot) -> None:
    with qtbot.waitSignal(thread.answered):
        thread.ask("segment", Double(4))
    assert engine.asked_from == ["segment"]


def test_a_stroke_does_not_wait_for_a_long_iteration(thread: EngineThread, engine: FakeEngine, qtbot: QtBot) -> None:
    session = engine.session("segment")
    session.seconds, session.per_advance = 3600.0, 1
    thread.show("segment")
    thread.post("segment", Play())
    qtbot.waitUntil(lambda: len(session.applied) == 1)
    for step in range(20):
        thread.post("segment", stroke(step))
        qtbot.waitUntil(lambda: len(session.applied) == step + 2)  # noqa: B023 - waited for within the turn
    assert session.iteration == 0


def test_what_is_computed_in_the_background_keeps_no_command_waiting(
    thread: EngineThread, engine: FakeEngine, qtbot: QtBot
) -> None:
    answers: list[tuple[int, object]] = []
    thread.answered.connect(lambda number, value: answers.append((number, value)))
    first, second = thread.ask("graph", Behind(1)), thread.ask("graph", Behind(2))
    thread.post("graph", stroke(1))
    third = thread.ask("graph", Double(21))
    qtbot.waitUntil(lambda: answers == [(third, 42)])
    assert [command for _, command in engine.session("graph").applied] == [stroke(1)]
    engine.gate.set()
    qtbot.waitUntil(lambda: len(answers) == 3)
    assert answers[1:] == [(first, 1), (second, 2)]  # one after the other


def test_a_background_answer_can_be_refused_and_the_next_is_answered(
    thread: EngineThread, engine: FakeEngine, qtbot: QtBot
) -> None:
    engine.gate.set()
    with qtbot.waitSignal(thread.refused) as refused:
        thread.ask("graph", BehindRefuse())
    assert refused.args is not None
    assert "choose another" in refused.args[1]
    with qtbot.waitSignal(thread.answered) as answered:
        thread.ask("graph", Behind(5))
    assert answered.args is not None
    assert answered.args[1] == 5


def test_an_answer_that_waits_for_a_job_is_looked_at_now_and_then(
    thread: EngineThread, engine: FakeEngine, qtbot: QtBot
) -> None:
    began = time.monotonic()
    progress: list[object] = []
    thread.progressed.connect(lambda number, value: progress.append(value))
    with qtbot.waitSignal(thread.answered) as answered:
        thread.ask("graph", WaitForJob(4))
    assert answered.args is not None
    assert answered.args[1] == 4
    assert time.monotonic() - began >= 3 * 0.02  # it was not asked all the time
    assert progress == []
