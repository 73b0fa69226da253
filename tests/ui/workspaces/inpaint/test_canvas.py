"""Hiding pixels by hand, and looking at what fills them: mean, samples, difference, wipe."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from mrfstudio.ui.canvas.wipe import grip_at
from tests.ui.helpers.inpaint import hidden
from tests.ui.helpers.pictures import pixels
from tests.ui.helpers.studio import Studio


def test_the_brush_hides_the_right_button_shows_and_undo_takes_back(studio: Studio) -> None:
    before = hidden(studio).copy()
    studio.canvas.set_radius(0.5)
    studio.stroke((1, 1), (1, 6))
    drawn = studio.canvas.scene.layer("mask")
    assert drawn is not None
    assert (drawn[1, 1:7] == 1).all()  # at once
    studio.settle()
    assert hidden(studio)[1, 1:7].all()
    assert studio.inpaint.advice.text().startswith("V shows")
    studio.stroke((1, 2), (1, 3), button=Qt.MouseButton.RightButton)
    studio.settle()
    assert list(hidden(studio)[1, 1:7]) == [True, False, False, True, True, True]
    for _ in range(2):
        studio.do("undo")
    studio.settle()
    assert np.array_equal(hidden(studio), before)


def test_areas_by_keys_and_everything_but(studio: Studio) -> None:
    studio.do("clear_mask")
    studio.key(Qt.Key.Key_C)
    studio.stroke((4, 4), (12, 12))
    studio.settle()
    assert hidden(studio)[8, 8]
    assert not hidden(studio)[4, 4]
    studio.do("clear_mask")
    studio.key(Qt.Key.Key_X)
    studio.key(Qt.Key.Key_L)
    assert studio.inpaint.palette.outside.isChecked()
    studio.stroke((5, 5), (5, 15), (15, 15), (15, 5))
    studio.settle()
    assert not hidden(studio)[7:14, 7:14].any()
    assert hidden(studio)[:5].all()
    assert studio.frame.undo == "Everything but a lasso"
    studio.key(Qt.Key.Key_I, ctrl=True, shift=True)
    studio.settle()
    assert hidden(studio)[7:14, 7:14].all()
    assert not hidden(studio)[:5].any()


def test_only_known_pixels_can_be_doubtful(studio: Studio) -> None:
    palette = studio.inpaint.palette
    assert not palette.strength.isEnabled()
    studio.key(Qt.Key.Key_2)
    assert palette.strength.isEnabled()
    palette.strength.setValue(40)
    studio.canvas.set_radius(0.5)
    studio.stroke((1, 1), (1, 4))
    studio.settle()
    assert (studio.frame.layers["mask_strength"][1, 1:5] == np.float32(0.4)).all()
    assert not hidden(studio)[1, 1:5].any()
    studio.inpaint._hover((1, 2))
    studio.settle()
    level = studio.frame.layers["picture"][1, 2]
    assert studio.inpaint.panel.inspector.given.text() == f"Doubtful: {level}, trusted by 40%"


def test_v_goes_through_the_results_one_at_a_time(studio: Studio) -> None:
    seen = []
    for _ in range(4):
        studio.key(Qt.Key.Key_V)
        shown = studio.inpaint.panel.layers.visible()
        seen += [name for name in ("mean", "deviation", "sample", "mistake") if name in shown]
    assert seen == ["deviation", "sample", "mistake", "mean"]
    bar = studio.inpaint.panel.legend.bars["deviation"]
    studio.key(Qt.Key.Key_V)
    assert not bar.isHidden()
    assert bar.bar.unit == "grey levels"
    studio.until(lambda: "deviation" in studio.frame.lanes[0].pictures)


def test_a_sample_keeps_changing_in_the_hole_alone(studio: Studio) -> None:
    """Of a model with weak fields: draws show means given hidden units, and those of `grey` are nearly certain."""
    models = studio.inpaint.panel.first.model
    models.setCurrentIndex(models.findData("digits"))
    models.activated.emit(models.currentIndex())
    studio.until(lambda: studio.frame.shape == (5, 5))
    studio.settle()
    pictures: list[np.ndarray] = []

    def keep() -> bool:
        drawn = studio.frame.lanes[0].pictures.get("sample")
        if drawn is not None and not any(np.array_equal(drawn, known) for known in pictures):
            pictures.append(drawn)
        return len(pictures) >= 3

    studio.inpaint.panel.layers.set_shown("sample", True)
    studio.until(keep)
    known = studio.frame.layers["picture"] / 255
    assert 0 < hidden(studio).sum() < hidden(studio).size
    for drawn in pictures:
        np.testing.assert_allclose(drawn[~hidden(studio)], known[~hidden(studio)], atol=1e-6)
    studio.inpaint.panel.layers.set_shown("mean", True)
    studio.until(lambda: "sample" not in studio.frame.lanes[0].pictures)


def test_the_difference_needs_the_original(studio: Studio) -> None:
    box = studio.inpaint.panel.layers.boxes["mistake"]
    assert box.isEnabled()
    studio.inpaint.panel.layers.set_shown("mistake", True)
    studio.until(lambda: "mistake" in studio.frame.lanes[0].pictures)


def test_the_wipe_shows_before_left_of_the_line(studio: Studio) -> None:
    studio.do("hide_all")
    studio.settle()
    canvas = studio.canvas
    after = pixels(canvas.drawing(10).image())
    canvas.setFocus()
    studio.key(Qt.Key.Key_W)
    assert canvas.scene.wipe == 1.0
    before = pixels(canvas.drawing(10).image())
    assert np.ptp(before[100:180, 100:180].reshape(-1, 3), axis=0).max() == 0  # nothing but "unknown"
    studio.inpaint.wipe.slider.setValue(50)
    assert canvas.scene.wipe == 0.5
    half = pixels(canvas.drawing(10).image())
    assert np.array_equal(half[:, :138], before[:, :138])
    assert np.array_equal(half[:, 142:], after[:, 142:])
    studio.key(Qt.Key.Key_W)
    assert canvas.scene.wipe == 0.0
    assert studio.inpaint.wipe.slider.value() == 0


def test_the_grip_is_dragged_and_paints_nothing(studio: Studio) -> None:
    canvas = studio.canvas
    place = canvas.transform.rectangle(0, 0, *canvas.scene.shape)
    tip = grip_at(place, canvas.rect().toRectF(), 0.0).toPoint() + QPoint(0, 8)
    before = studio.frame.undo
    QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=tip)
    middle = QPoint(round(place.center().x()), tip.y())
    QTest.mouseMove(canvas, middle)
    QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=middle)
    studio.settle()
    assert canvas.scene.wipe == pytest.approx(0.5, abs=0.02)
    assert studio.inpaint.wipe.slider.value() == pytest.approx(50, abs=2)
    assert studio.frame.undo == before


def test_the_histogram_follows_the_pointer_until_a_click_keeps_a_pixel(studio: Studio) -> None:
    inspector = studio.inpaint.panel.inspector
    row, column = (int(v) for v in np.argwhere(hidden(studio))[10])
    QTest.mouseMove(studio.canvas, studio.at(row, column))
    studio.until(lambda: f"row {row}, column {column}" in inspector.heading.text())
    assert inspector.given.text().startswith("Unknown; the original has")
    assert inspector.histogram.content.bars[0].heights.sum() == pytest.approx(1)
    studio.key(Qt.Key.Key_I)
    QTest.mouseClick(studio.canvas, Qt.MouseButton.LeftButton, pos=studio.at(row, column))
    QTest.mouseMove(studio.canvas, studio.at(0, 0))
    studio.settle()
    assert f"row {row}, column {column}" in inspector.heading.text()
    QTest.mouseClick(studio.canvas, Qt.MouseButton.LeftButton, pos=studio.at(row, column))
    QTest.mouseMove(studio.canvas, studio.at(0, 1))
    studio.until(lambda: "row 0, column 1" in inspector.heading.text())
    assert inspector.given.text() == f"Known: {studio.frame.layers['picture'][0, 1]}"
