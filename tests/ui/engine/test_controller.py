"""The controller between a fake engine and whoever listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.commands import Paint, Play, SetView
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.engine.engine_thread import EngineThread
from mrfstudio.ui.workspaces.shared.view import FrameThrottle
from tests.ui.helpers.fakes import Double, FakeEngine, FakeSession, Refuse


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def controller(engine: FakeEngine, qtbot: QtBot) -> Iterator[Controller]:
    thread = EngineThread(engine.make)
    controller = Controller(thread)
    controller.show("segment")
    thread.start()
    yield controller
    engine.release.set()
    assert thread.stop(5.0)


STROKE = Paint("observed", 0, ((1.0, 1.0),), 1.0)


def test_a_frame_of_the_shown_workspace_is_handed_on(controller: Controller, qtbot: QtBot) -> None:
    with qtbot.waitSignal(controller.frame, check_params_cb=lambda f: f.lanes[0].iteration > 0) as signal:
        controller.post(Play())
    frame = signal.args[0]
    assert isinstance(frame, Frame)
    assert controller.newest is frame or controller.newest.serial > frame.serial
    assert controller.frames_per_second >= 1


def test_frames_of_a_hidden_workspace_are_kept_but_not_shown(controller: Controller, qtbot: QtBot) -> None:
    with qtbot.waitSignal(controller.frame):
        controller.post(Play())
    shown: list[Frame] = []
    controller.show("converge")
    controller.frame.connect(shown.append)
    with qtbot.waitSignal(controller.frame):
        controller.post(STROKE)
    assert {frame.workspace for frame in shown} == {"converge"}
    controller.show("segment")
    assert controller.newest is not None
    assert controller.newest.workspace == "segment"


def test_answers_find_the_one_who_asked(controller: Controller, qtbot: QtBot) -> None:
    answers: list[int] = []
    for number in range(5):
        controller.ask(Double(number), answers.append)
    qtbot.waitUntil(lambda: len(answers) == 5)
    assert answers == [0, 2, 4, 6, 8]


def test_a_refusal_reaches_the_message_bar_or_the_one_who_asked(controller: Controller, qtbot: QtBot) -> None:
    with qtbot.waitSignal(controller.message) as signal:
        controller.ask(Refuse(), lambda _: None)
    assert "missing" in signal.args[0]
    own: list[str] = []
    with qtbot.assertNotEmitted(controller.message):
        controller.ask(Refuse(), lambda _: None, own.append)
        qtbot.waitUntil(lambda: len(own) == 1)


def test_edits_are_announced_with_their_number_and_views_are_not(controller: Controller, qtbot: QtBot) -> None:
    announced: list[tuple[object, int]] = []
    controller.posted.connect(lambda command, number: announced.append((command, number)))
    controller.post(SetView(("belief",)))
    number = controller.post(STROKE)
    assert announced == [(STROKE, number)]


def test_slow_readers_take_turns_and_lose_no_scalar(qtbot: QtBot) -> None:
    seen: dict[str, list[int]] = {"first": [], "second": []}

    def reader(name: str) -> Callable[[Frame], None]:
        return lambda frame: seen[name].extend(s.iteration for s in frame.lanes[0].scalars)

    readers = FrameThrottle((reader("first"), reader("second")))
    session = FakeSession("segment", per_advance=2)
    session.playing = True
    for _ in range(5):
        frame = session.advance(0)
        assert frame is not None
        readers.take(replace(frame, playing=True))
    assert seen == {"first": [], "second": []}
    qtbot.waitUntil(lambda: len(seen["first"]) == 10)
    frame = session.advance(0)
    assert frame is not None
    readers.take(frame)
    assert seen == {"first": list(range(1, 13)), "second": list(range(1, 13))}
