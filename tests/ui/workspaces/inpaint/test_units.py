"""Units of a machine, held and released."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.ui.helpers.inpaint import mean
from tests.ui.helpers.studio import Studio


def test_units_are_sorted_shown_on_the_canvas_and_held_by_clicks(studio: Studio) -> None:
    studio.do("show_units")
    panel = studio.inpaint.units.panel
    studio.until(lambda: panel.gallery is not None and bool(panel.model.active.any()))
    studio.settle()
    active = panel.model.active[panel.model.order]
    assert (np.diff(active) <= 1e-6).all()
    unit = panel.model.unit(3)
    free = mean(studio).copy()
    place = panel.view.visualRect(panel.model.index(3)).center()
    QTest.mouseMove(panel.view.viewport(), place)
    panel.view.hovered.emit(3)
    effect = studio.canvas.scene.effect
    assert effect is not None
    assert np.array_equal(effect, panel.model.gallery.fields[unit])  # type: ignore[union-attr]
    panel.view.hovered.emit(None)
    assert studio.canvas.scene.effect is None
    for value, title in ((1, "Switch on"), (0, "Switch off")):
        row = panel.model.order.index(unit)
        QTest.mouseClick(
            panel.view.viewport(), Qt.MouseButton.LeftButton, pos=panel.view.visualRect(panel.model.index(row)).center()
        )
        studio.settle()
        assert studio.frame.lanes[0].pictures["held"][unit] == value
        assert studio.frame.lanes[0].pictures["units"][unit] == value
        assert studio.frame.undo == f"{title} unit {unit}"
    assert np.abs(mean(studio) - free).max() > 1e-3
    studio.do("undo")
    studio.settle()
    assert studio.frame.lanes[0].pictures["held"][unit] == 1
    studio.do("release_units")
    studio.settle()
    assert (studio.frame.lanes[0].pictures["held"] < 0).all()
    np.testing.assert_allclose(mean(studio), free, atol=2e-3)


def test_a_held_unit_is_released_by_a_key(studio: Studio) -> None:
    studio.do("show_units")
    panel = studio.inpaint.units.panel
    studio.until(lambda: panel.gallery is not None and bool(panel.model.active.any()))
    panel.view.setFocus()
    panel.view.setCurrentIndex(panel.model.index(1))
    unit = panel.model.unit(1)
    panel.clamped.emit(unit, 1)
    studio.settle()
    assert studio.frame.lanes[0].pictures["held"][unit] == 1
    panel.view.setCurrentIndex(panel.model.index(panel.model.order.index(unit)))
    QTest.keyClick(panel.view, Qt.Key.Key_Delete)
    studio.settle()
    assert studio.frame.lanes[0].pictures["held"][unit] == -1
