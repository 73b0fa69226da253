"""Inpaint in the real window on the real engine: hide, wipe, sample, step through pictures, hold units."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QModelIndex, QPoint, QSignalBlocker, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QAbstractSlider, QApplication, QComboBox, QScrollBar, QTabBar, QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.engine.commands import Paint, PaintRectangle, SetSpeed
from mrfstudio.ui.canvas.wipe import grip_at
from mrfstudio.ui.dialogs.crop import CropDialog
from mrfstudio.ui.workspaces.canvas_files import CanvasFiles
from tests.ui.pictures import pixels
from tests.ui.studio import Studio


@pytest.fixture
def studio(shared: Studio, qtbot: QtBot) -> Iterator[Studio]:
    shared.begin(qtbot)
    shared.window.show_workspace("inpaint")
    workspace = shared.inpaint
    workspace.start()
    shared.until(lambda: shared.frame.workspace == "inpaint" and shared.frame.lanes[0].model == "grey")
    shared.controller.post(SetSpeed(None))
    shared.settle()
    if workspace.gallery.panel.gallery is not None and workspace.gallery.panel.gallery.page:
        workspace.gallery.panel.turn(-workspace.gallery.panel.gallery.page)
        shared.settle()
    workspace.canvas.setFocus()
    yield shared
    workspace.panel.layers.set_visible({"picture": 1.0, "mask": 1.0, "mean": 1.0})
    workspace.set_wipe(0.0)
    workspace.canvas.set_outside(False)
    workspace.canvas.choose_tool("brush")
    workspace.canvas.choose_target(0)
    workspace.canvas.set_strength(1.0)
    if workspace.units.panel.isVisible():
        workspace.units.show_units()
    shared.settle()
    shared.tidy()


def hidden(studio: Studio) -> np.ndarray:
    return studio.frame.layers["mask"] == 1


def mean(studio: Studio) -> np.ndarray:
    return studio.frame.lanes[0].pictures["mean"]


# First visit, painting ------------------------------------------------------------------------------------------------


def test_the_first_visit_fills_in_a_hole_and_says_what_to_try(studio: Studio) -> None:
    assert [action.text() for action in studio.window.rail.actions()][:2] == ["Segment", "Inpaint"]
    assert studio.inpaint.advice.text().startswith("Try it: paint")
    assert 20 < hidden(studio).sum() < 400
    assert studio.frame.iteration > 1
    assert not studio.frame.modified
    picture = studio.frame.layers["picture"] / 255
    np.testing.assert_allclose(mean(studio)[~hidden(studio)], picture[~hidden(studio)], atol=1e-6)
    assert np.abs(mean(studio) - picture)[hidden(studio)].max() > 0.01
    curves = studio.inpaint.curves
    assert not curves.plots["nce_bits"].isHidden()
    assert not curves.plots["mse"].isHidden()
    assert curves.plots["iou"].isHidden()


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


# Layers ---------------------------------------------------------------------------------------------------------------


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
    pictures = []

    def keep() -> bool:
        drawn = studio.frame.lanes[0].pictures.get("sample")
        if drawn is not None and not any(np.array_equal(drawn, known) for known in pictures):
            pictures.append(drawn)
        return len(pictures) >= 3

    studio.inpaint.panel.layers.set_shown("sample", True)
    studio.until(keep)
    known = studio.frame.layers["picture"] / 255
    for drawn in pictures:
        np.testing.assert_allclose(drawn[~hidden(studio)], known[~hidden(studio)], atol=1e-6)
    studio.inpaint.panel.layers.set_shown("mean", True)
    studio.until(lambda: "sample" not in studio.frame.lanes[0].pictures)


def test_the_difference_needs_the_original(studio: Studio) -> None:
    box = studio.inpaint.panel.layers.boxes["mistake"]
    assert box.isEnabled()
    studio.inpaint.panel.layers.set_shown("mistake", True)
    studio.until(lambda: "mistake" in studio.frame.lanes[0].pictures)


# The wipe -------------------------------------------------------------------------------------------------------------


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


# The inspector --------------------------------------------------------------------------------------------------------


def test_the_histogram_follows_the_pointer_until_a_click_keeps_a_pixel(studio: Studio) -> None:
    inspector = studio.inpaint.panel.inspector
    row, column = (int(v) for v in np.argwhere(hidden(studio))[10])
    QTest.mouseMove(studio.canvas, studio.at(row, column))
    studio.until(lambda: f"row {row}, column {column}" in inspector.heading.text())
    assert inspector.given.text().startswith("Unknown; the original has")
    assert sum(inspector.histogram.shares) == pytest.approx(1)
    studio.key(Qt.Key.Key_I)
    QTest.mouseClick(studio.canvas, Qt.MouseButton.LeftButton, pos=studio.at(row, column))
    QTest.mouseMove(studio.canvas, studio.at(0, 0))
    studio.settle()
    assert f"row {row}, column {column}" in inspector.heading.text()
    QTest.mouseClick(studio.canvas, Qt.MouseButton.LeftButton, pos=studio.at(row, column))
    QTest.mouseMove(studio.canvas, studio.at(0, 1))
    studio.until(lambda: "row 0, column 1" in inspector.heading.text())
    assert inspector.given.text() == f"Known: {studio.frame.layers['picture'][0, 1]}"


# Pictures -------------------------------------------------------------------------------------------------------------


def test_the_gallery_steps_by_arrow_keys_and_page_down_and_the_mask_stays(studio: Studio) -> None:
    gallery = studio.inpaint.gallery.panel
    studio.until(lambda: gallery.model.rowCount() > 3)
    mask = hidden(studio).copy()
    gallery.view.setCurrentIndex(gallery.model.index(0))
    QTest.keyClick(gallery.view, Qt.Key.Key_Right)
    assert gallery.view.currentIndex().row() == 1
    studio.settle()
    assert np.array_equal(studio.frame.layers["picture"], gallery.model.pictures[1])
    assert np.array_equal(hidden(studio), mask)
    studio.canvas.setFocus()
    studio.key(Qt.Key.Key_PageDown)
    studio.settle()
    assert studio.frame.name.endswith(" 2")
    studio.do("undo")
    studio.settle()
    assert np.array_equal(studio.frame.layers["picture"], gallery.model.pictures[1])


def test_page_down_goes_on_from_the_picture_that_is_open(studio: Studio) -> None:
    gallery = studio.inpaint.gallery
    studio.until(lambda: gallery.panel.model.rowCount() > 3)
    gallery.panel.view.setCurrentIndex(gallery.panel.model.index(1))
    studio.settle()
    opened = studio.frame.name
    with QSignalBlocker(gallery.panel.view.selectionModel()):
        gallery.panel.view.setCurrentIndex(QModelIndex())  # as after the first picture, which nobody chose
    gallery.panel.turn(0)
    studio.until(lambda: gallery.panel.view.currentIndex().row() == 1)
    assert studio.frame.name == opened
    studio.key(Qt.Key.Key_PageDown)
    studio.settle()
    assert studio.frame.name.endswith(" 2")


def test_the_gallery_turns_pages(studio: Studio) -> None:
    gallery = studio.inpaint.gallery.panel
    studio.until(lambda: gallery.model.rowCount() > 3)
    first = gallery.model.pictures
    last = gallery.model.rowCount() - 1
    gallery.view.setCurrentIndex(gallery.model.index(last))
    studio.do("next_picture")
    studio.until(lambda: gallery.gallery is not None and gallery.gallery.page == 1)
    studio.settle()
    assert studio.frame.name.endswith(f" {last + 1}")
    assert not np.array_equal(gallery.model.pictures[0], first[0])
    studio.do("previous_picture")
    studio.until(lambda: gallery.gallery is not None and gallery.gallery.page == 0)
    studio.settle()
    assert studio.frame.name.endswith(f" {last}")


def test_any_picture_is_cut_and_scaled_to_the_model(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "wide.png"
    image = QImage(120, 56, QImage.Format.Format_Grayscale8)
    image.fill(40)
    for x in range(60, 120):
        for y in range(56):
            image.setPixel(x, y, 0xFFC8C8C8)
    assert image.save(str(path))
    assert studio.inpaint.open_path(path)
    dialog = studio.window.findChild(CropDialog)
    assert dialog is not None
    studio.until(lambda: dialog.picture is not None)
    assert dialog.picture is not None
    assert dialog.picture.rectangle == (0.0, 32.0, 56.0, 56.0)  # as large as fits, in the middle
    assert set(np.unique(dialog.picture.picture)) == {40, 200}
    dialog.view.setFocus()
    for _ in range(40):
        QTest.keyClick(dialog.view, Qt.Key.Key_Right)
    studio.until(lambda: dialog.picture is not None and dialog.picture.picture.min() == 200)
    dialog.size_slider.setValue(50)
    studio.until(
        lambda: (
            dialog.picture is not None and dialog.picture.rectangle is not None and dialog.picture.rectangle[2] == 28
        )
    )
    assert dialog.note.text() == "28×28 pixels, made from 28×28 of 120×56."
    dialog.accept()
    studio.settle()
    assert (studio.frame.layers["picture"] == 200).all()
    assert studio.frame.name == "wide.png"


def test_a_picture_from_the_clipboard_is_brought_in(studio: Studio) -> None:
    image = QImage(40, 40, QImage.Format.Format_RGB32)
    image.fill(0xFF646464)
    QApplication.clipboard().setImage(image)
    studio.do("paste")
    dialog = studio.window.findChild(CropDialog)
    assert dialog is not None
    studio.until(lambda: dialog.picture is not None)
    dialog.match.setChecked(True)
    dialog.accept()
    studio.settle()
    assert (studio.frame.layers["picture"] == 100).all()


# Hidden units ---------------------------------------------------------------------------------------------------------


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


# Models, lanes, files -------------------------------------------------------------------------------------------------


def test_a_model_of_another_size_brings_its_picture_along(studio: Studio) -> None:
    models = studio.inpaint.panel.first.model
    assert [models.itemData(i) for i in range(3)] == ["grey", "grey b", "digits"]
    models.setCurrentIndex(2)
    models.activated.emit(2)
    studio.until(lambda: studio.frame.shape == (5, 5))
    studio.settle()
    assert studio.frame.lanes[0].model == "digits"
    assert studio.frame.name.startswith("model ")  # no data set has pictures of that size: it draws one
    assert hidden(studio).any()
    studio.do("undo")
    studio.until(lambda: studio.frame.shape == (28, 28))
    studio.settle()
    assert studio.frame.lanes[0].model == "grey"


def test_a_model_handed_over_before_the_first_frame_brings_its_picture_too(studio: Studio) -> None:
    """A model trained in Train is used by an Inpaint that was never opened: nobody knows what it will show."""
    digits = next(note for note in studio.controller.engine.models if note.name == "digits")  # type: ignore[union-attr]
    workspace = studio.inpaint
    workspace._newest = None
    studio.window.hand_over(digits)
    studio.until(lambda: studio.frame.lanes[0].model == "digits")
    assert studio.frame.shape == digits.shape


def test_two_models_are_compared_on_the_same_hole(studio: Studio) -> None:
    studio.do("compare")
    studio.until(lambda: len(studio.frame.lanes) == 2)
    studio.settle()
    assert [lane.model for lane in studio.frame.lanes] == ["grey", "grey b"]
    studio.inpaint.panel.layers.set_shown("difference", True)
    studio.until(lambda: "difference" in studio.frame.lanes[1].pictures)
    assert studio.inpaint.canvases.comparing
    studio.do("compare")
    studio.until(lambda: len(studio.frame.lanes) == 1)


def test_a_session_is_saved_and_opened_from_another_workspace(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "face.mrfs"
    studio.inpaint.post(PaintRectangle("mask", 1, (0, 0, 5, 28)))
    studio.inpaint.post(PaintRectangle("mask", 0, (20, 0, 2, 28), 0.5))
    studio.settle()
    mask, strength, filled = (studio.frame.layers["mask"], studio.frame.layers["mask_strength"], mean(studio))
    studio.window.files.save_to(path)
    studio.until(lambda: path.exists() and not studio.frame.modified)
    studio.do("hide_all")
    studio.settle()
    studio.window.files.save_to(tmp_path / "other.mrfs")
    studio.settle()
    studio.window.show_workspace("segment")
    studio.window.files._open_session(path)
    studio.until(lambda: studio.frame.workspace == "inpaint" and np.array_equal(studio.frame.layers["mask"], mask))
    studio.until(lambda: "mean" in studio.frame.lanes[0].pictures)
    assert np.array_equal(studio.frame.layers["mask_strength"], strength)
    np.testing.assert_array_equal(mean(studio), filled)


def test_the_command_says_what_is_shown(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CanvasFiles, "new_place", lambda self: tmp_path / "query")
    studio.messages.clear()
    studio.do("copy_command")
    studio.until(lambda: bool(studio.messages))
    words = QApplication.clipboard().text().split()
    assert words[:2] == ["mrfstudio", "inpaint"]
    assert words[words.index("--model") + 1] == "grey"
    mask = pixels(QImage(words[words.index("--mask") + 1]))[..., 0]
    assert np.array_equal(mask == 255, hidden(studio))
    assert np.array_equal(pixels(QImage(words[2]))[..., 0], studio.frame.layers["picture"])
    studio.inpaint.post(Paint("mask", 0, ((3.5, 3.5),), 0.5, 0.5))
    studio.settle()
    studio.messages.clear()
    studio.do("copy_command")
    studio.until(lambda: bool(studio.messages))
    assert QApplication.clipboard().text().startswith("mrfstudio replay")


def test_the_filled_in_picture_is_exported_at_its_own_size(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "filled.png"
    studio.inpaint.files.save_filled(path)
    studio.until(path.exists)
    expected = np.rint(np.clip(mean(studio), 0, 1) * 255)
    np.testing.assert_allclose(pixels(QImage(str(path)))[..., 0], expected, atol=1)


def test_menus_show_only_what_has_a_meaning_here(studio: Studio) -> None:
    assert studio.window.actions_["invert_mask"].isVisible()
    assert not studio.window.actions_["add_edges"].isVisible()
    studio.window.show_workspace("segment")
    assert studio.window.actions_["add_edges"].isVisible()
    assert not studio.window.actions_["invert_mask"].isVisible()


def test_every_control_explains_itself_and_can_be_reached_by_keys(studio: Studio) -> None:
    studio.do("show_units")
    kinds = (QAbstractButton, QComboBox, QAbstractSlider)
    shown = [w for w in studio.window.findChildren(QWidget) if isinstance(w, kinds) and w.isVisible()]
    own = [w for w in shown if not isinstance(w, QScrollBar) and "qt_" not in w.objectName()]
    assert [w for w in own if not w.toolTip() and not isinstance(w.parent(), QTabBar)] == []
    assert studio.inpaint.wipe.slider.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert studio.inpaint.gallery.panel.view.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_without_a_model_the_canvas_says_what_to_do(studio: Studio) -> None:
    before = studio.canvas.empty_text
    studio.inpaint._no_model("No model that fills in pictures is here: open one.")
    assert studio.canvas.empty_text.startswith("No model")
    studio.canvas.empty_text = before
