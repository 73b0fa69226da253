"""The strip of small pictures, one for each early iteration."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.commands import Scrub, Step
from mrfstudio.ui.widgets.iteration_strip import MOST, IterationStrip
from tests.ui.helpers.pictures import beliefs, frame, lane, ring
from tests.ui.helpers.studio import Studio
from tests.ui.helpers.widgets import LEFT, emitted, shown


@pytest.fixture
def strip(qtbot: QtBot) -> IterationStrip:
    strip = IterationStrip()
    shown(qtbot, strip, 600, 64)
    return strip


def small(iteration: int) -> np.ndarray:
    return (beliefs(ring(), iteration / 15) * 255).astype(np.uint8)


def test_the_strip_collects_pictures_and_a_click_goes_there(strip: IterationStrip) -> None:
    sent = emitted(strip.command)
    for iteration in range(1, 9):
        strip.set_frame(frame(lane(iteration, strip=((iteration, small(iteration)),)), iteration=iteration))
    assert sorted(strip.pictures) == list(range(1, 9))
    QTest.mouseClick(strip, LEFT, pos=strip.place(3).center().toPoint())
    QTest.mouseClick(strip, LEFT, pos=strip.place(12).center().toPoint())  # not computed yet
    assert sent == [Scrub(3)]


def test_the_strip_follows_edits_and_cuts(strip: IterationStrip) -> None:
    strip.set_frame(frame(lane(15, strip=tuple((i, small(i)) for i in range(1, 16))), iteration=15))
    strip.set_frame(frame(lane(8, strip=((8, small(8)),)), iteration=8, cut=7))
    assert sorted(strip.pictures) == list(range(1, 9))
    strip.set_frame(frame(lane(9, base=8, strip=((9, small(1)),)), iteration=9, cut=8))
    assert strip.place(9).left() < 20
    assert strip.iteration_at(strip.place(9).center().x()) == 9
    assert strip.iteration_at(strip.place(10).center().x()) is None


def test_pictures_stay_for_who_goes_back_before_an_edit_and_forward_again(strip: IterationStrip) -> None:
    strip.set_frame(frame(lane(15, strip=tuple((i, small(i)) for i in range(1, 16))), iteration=15))
    strip.set_frame(frame(lane(30, base=15, strip=tuple((i, small(i - 15)) for i in range(16, 31))), iteration=30))
    for base, iteration in ((0, 4), (15, 20)):
        strip.set_frame(frame(lane(iteration, base=base), iteration=iteration))
        shown = range(base + 1, base + 16)
        assert [strip.iteration_at(strip.place(i).center().x()) for i in shown] == list(shown)
    for first in range(30, 900, 15):
        many = tuple((i, small(1)) for i in range(first + 1, first + 16))
        strip.set_frame(frame(lane(first + 15, base=first, strip=many), iteration=first + 15))
    assert len(strip.pictures) <= MOST
    assert set(range(886, 901)) <= set(strip.pictures)


def test_each_lane_has_a_strip_of_its_own(strip: IterationStrip) -> None:
    one, two = small(2), small(9)
    strip.set_frame(frame(lane(1, strip=((1, one),)), lane(1, number=1, strip=((1, two),)), iteration=1))
    assert strip.pictures[1] is one
    strip.lane = 1
    assert strip.pictures[1] is two
    strip.set_frame(frame(lane(2, number=1), iteration=2))
    strip.lane = 0
    assert strip.pictures == {}


def test_arrow_keys_walk_along_the_strip(strip: IterationStrip) -> None:
    sent = emitted(strip.command)
    strip.set_frame(frame(lane(5, strip=tuple((i, small(i)) for i in range(1, 6))), iteration=4))
    strip.setFocus()
    QTest.keyClick(strip, Qt.Key.Key_Left)
    QTest.keyClick(strip, Qt.Key.Key_Right)
    assert sent == [Scrub(3), Scrub(5)]


def test_places_of_the_strip_are_there_before_their_pictures(strip: IterationStrip) -> None:
    before = [strip.place(i) for i in range(1, 16)]
    strip.set_frame(frame(lane(5, strip=tuple((i, small(i)) for i in range(1, 6))), iteration=5))
    assert [strip.place(i) for i in range(1, 16)] == before
    assert all(place.right() <= strip.width() for place in before)


def test_a_new_session_forgets_the_pictures_of_the_one_before(studio: Studio) -> None:
    studio.segment.post(Step(5))  # beyond the first fifteen
    studio.until(lambda: studio.frame.iteration == 20)
    strip = studio.segment.strip
    studio.qtbot.waitUntil(lambda: strip.stride == 2)
    studio.segment.start()
    studio.settle()
    studio.until(lambda: studio.frame.iteration == 15)
    studio.qtbot.waitUntil(lambda: strip.iteration == 15)
    assert strip.stride == 1


@pytest.mark.parametrize("points", [9, 22])
def test_numbers_of_iterations_do_not_run_into_each_other(strip: IterationStrip, points: int) -> None:
    font = strip.font()
    font.setPointSize(points)
    strip.setFont(font)
    last = 15 * 64
    each = strip.named_each(last)
    assert each * strip.width() / 15 >= strip.fontMetrics().horizontalAdvance(str(last))
    assert each == 1 or (each - 1) * strip.width() / 15 < strip.fontMetrics().horizontalAdvance(f"{last}  ")
