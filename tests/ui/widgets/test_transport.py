"""The transport: buttons, slider and speed send what they say, and nothing moves by itself."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.commands import Command, Pause, Play, Restart, Scrub, SetSpeed, Step
from mrfstudio.ui.widgets.transport import TransportBar
from tests.ui.helpers.pictures import frame, lane
from tests.ui.helpers.widgets import LEFT, emitted, shown


@pytest.fixture
def transport(qtbot: QtBot) -> TransportBar:
    bar = TransportBar()
    shown(qtbot, bar, 700, 50)
    return bar


def test_transport_buttons_send_what_they_say(transport: TransportBar) -> None:
    sent = emitted(transport.command)
    transport.set_state(7, playing=False, newest=9)
    for button in (transport.restart, transport.back, transport.play, transport.forward):
        QTest.mouseClick(button, LEFT)
    transport.set_state(7, playing=True, newest=9)
    QTest.mouseClick(transport.play, LEFT)
    assert sent == [Restart(), Step(-1), Play(), Step(1), Pause()]


def test_transport_shows_iteration_and_end(transport: TransportBar) -> None:
    transport.set_frame(frame(lane(7, base=0, limit=15), iteration=7, newest=9))
    assert transport.counter.text() == "iteration 7 / 15"
    assert (transport.slider.minimum(), transport.slider.value(), transport.slider.maximum()) == (0, 7, 15)
    transport.set_frame(frame(lane(17, base=15, limit=15), iteration=17, newest=17, oldest=3))
    assert transport.counter.text() == "iteration 17 / 30"
    assert transport.slider.minimum() == 3


def test_frames_do_not_scrub_by_themselves(transport: TransportBar) -> None:
    sent = emitted(transport.command)
    for iteration in range(20):
        transport.set_frame(frame(lane(iteration), iteration=iteration, newest=iteration, speed=10.0))
    transport.set_state(2, playing=False, newest=9)
    transport.set_state(5, playing=False, oldest=4, newest=9)  # old iterations were forgotten under the handle
    assert sent == []
    assert transport.speed.currentText() == "10 a second"


def test_scrubbing_goes_where_the_handle_is_but_not_beyond_what_was_computed(transport: TransportBar) -> None:
    sent = emitted(transport.command)
    transport.set_state(9, playing=False, newest=9)
    transport.slider.setValue(4)
    transport.set_state(4, playing=False, newest=9)
    transport.slider.setValue(14)
    assert sent == [Scrub(4), Scrub(9)]
    assert transport.slider.value() == 9


def test_the_hand_on_the_slider_wins_over_frames(transport: TransportBar) -> None:
    transport.set_state(9, playing=True, newest=9)
    transport.slider.setSliderDown(True)
    transport.slider.setValue(3)
    transport.set_state(9, playing=True, newest=9)
    assert transport.slider.value() == 3
    transport.slider.setSliderDown(False)


def test_speed_from_one_a_second_to_as_fast_as_possible(transport: TransportBar) -> None:
    sent = emitted(transport.command)
    transport.speed.activated.emit(0)
    transport.speed.activated.emit(transport.speed.count() - 1)
    assert sent == [SetSpeed(1.0), SetSpeed(None)]


def test_the_first_iteration_has_nothing_before_it(transport: TransportBar) -> None:
    transport.set_state(3, playing=False, oldest=3)
    assert not transport.back.isEnabled()
    transport.set_state(4, playing=False, oldest=3)
    assert transport.back.isEnabled()


def test_nothing_in_the_transport_moves_while_numbers_grow(transport: TransportBar) -> None:
    places = set()
    for iteration in (0, 9, 10, 99, 1234):
        transport.set_state(iteration, playing=True, newest=iteration)
        QApplication.processEvents()
        places.add((transport.slider.geometry().getRect(), transport.speed.geometry().getRect()))
    assert len(places) == 1


def test_clicking_a_button_leaves_the_keys_with_the_canvas(transport: TransportBar, qtbot: QtBot) -> None:
    for button in (transport.restart, transport.back, transport.play, transport.forward):
        assert button.focusPolicy() == Qt.FocusPolicy.TabFocus


def test_commands_are_plain_values(transport: TransportBar) -> None:
    sent = emitted(transport.command)
    transport.toggle_play()
    assert all(isinstance(command, Command) for command in sent)
