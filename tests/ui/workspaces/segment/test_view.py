"""Segment in the real window, driven by hand: paint, undo, step, scrub, compare."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QStatusTipEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from mrfstudio.engine.protocol.commands import Paint, SetSpeed
from mrfstudio.ui.workspaces.segment.drawing_dialogs import GapDialog
from mrfstudio.ui.workspaces.segment.picture_dialog import PictureDialog
from mrfstudio.ui.workspaces.shared.centre import ActionButton
from tests.ui.helpers.studio import Studio


def test_the_first_start_segments_a_noisy_digit_and_says_what_to_try(studio: Studio) -> None:
    assert studio.frame.name == "glyphs 5"
    assert studio.segment.advice.text().startswith("Try it")
    assert not studio.frame.modified
    assert studio.window.badge.text.startswith("iteration limit after 15")
    assert studio.segment.curves is not None
    iterations = studio.segment.curves.curves.series.lanes[0].iterations
    assert list(iterations) == list(range(1, 16))


def test_the_pace_of_a_run_that_is_over_can_still_be_read(studio: Studio) -> None:
    studio.window.status_line.show_rates()
    assert re.fullmatch(r"last run: [1-9]\d* iterations/s", studio.window.rates.text())


def test_the_state_of_the_run_stays_readable_while_the_pointer_is_on_an_action(studio: Studio) -> None:
    QApplication.sendEvent(studio.window, QStatusTipEvent("what an action does"))
    assert studio.window.statusBar().currentMessage() == ""
    assert studio.window.badge.isVisible()


def test_a_stroke_paints_and_one_undo_takes_it_back(studio: Studio) -> None:
    before = studio.frame.layers["observed"].copy()
    studio.stroke((2, 3), (2, 10), (6, 10))
    studio.settle()
    painted = studio.frame.layers["observed"]
    assert (painted[2, 3:10] == 0).all()
    assert (painted[3:7, 10] == 0).all()
    assert studio.window.actions_["undo"].text() == "Undo brush stroke"
    assert studio.window.isWindowModified()
    studio.do("undo")
    studio.settle()
    assert np.array_equal(studio.frame.layers["observed"], before)
    studio.key(Qt.Key.Key_Z, ctrl=True, shift=True)
    studio.settle()
    assert np.array_equal(studio.frame.layers["observed"], painted)


def test_the_right_button_erases_and_a_digit_key_paints_hints(studio: Studio) -> None:
    row, column = map(int, np.argwhere(studio.frame.layers["observed"] == 0)[0])
    studio.stroke((row, column), button=Qt.MouseButton.RightButton)
    studio.key(Qt.Key.Key_3)
    studio.segment.canvas.set_strength(0.5)
    studio.stroke((15, 15), (15, 17))
    studio.settle()
    assert studio.frame.layers["observed"][row, column] == 1
    assert (studio.frame.layers["hints"][15, 15:18] == 2).all()
    assert np.allclose(studio.frame.layers["hints_strength"][15, 15:18], 0.5)


def test_one_click_adds_noise_that_one_undo_takes_away(studio: Studio) -> None:
    before = studio.frame.layers["observed"].copy()
    for name in ("Add edges", "Delete pixels"):
        button = next(each for each in studio.window.findChildren(ActionButton) if each.accessibleName() == name)
        studio.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        studio.settle()
        assert (studio.frame.layers["observed"] != before).any()
        studio.do("undo")
        studio.settle()
        np.testing.assert_array_equal(studio.frame.layers["observed"], before)


def test_lines_are_thinned_and_gaps_closed_and_one_undo_takes_each_back(studio: Studio) -> None:
    studio.do("clear_observed")
    studio.segment.canvas.set_radius(1.5)
    studio.stroke((3, 3), (3, 12))
    studio.segment.canvas.set_radius(0.5)
    studio.stroke((3, 17), (3, 25))
    studio.settle()
    thick = studio.frame.layers["observed"].copy()
    studio.key(Qt.Key.Key_T)
    studio.settle()
    thin = studio.frame.layers["observed"].copy()
    assert ((thin == 0).sum(0) <= 1).all()
    assert (thin[3, 17:26] == 0).all()
    assert studio.window.actions_["undo"].text() == "Undo thin lines"
    studio.do("undo")
    studio.settle()
    np.testing.assert_array_equal(studio.frame.layers["observed"], thick)
    studio.key(Qt.Key.Key_G)
    dialog = studio.window.findChild(GapDialog)
    assert dialog is not None
    dialog.gap.setValue(8)
    dialog.accept()
    studio.settle()
    assert (studio.frame.layers["observed"][3, 5:26] == 0).all()
    studio.do("undo")
    studio.settle()
    np.testing.assert_array_equal(studio.frame.layers["observed"], thick)


def test_stepping_forward_and_back_and_scrubbing_go_where_they_say(studio: Studio) -> None:
    studio.key(Qt.Key.Key_Period)
    studio.until(lambda: studio.frame.iteration == 16)
    later = studio.frame.lanes[0].pictures["belief"]
    studio.key(Qt.Key.Key_Comma)
    studio.until(lambda: studio.frame.iteration == 15)
    studio.segment.transport.slider.setValue(4)
    studio.until(lambda: studio.frame.iteration == 4)
    assert studio.segment.transport.counter.text().startswith("iteration 4")
    studio.segment.transport.slider.setValue(16)
    studio.until(lambda: studio.frame.iteration == 16)
    assert np.array_equal(studio.frame.lanes[0].pictures["belief"], later)


def test_a_click_on_the_strip_goes_to_that_iteration(studio: Studio) -> None:
    strip = studio.segment.strip
    studio.qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=strip.place(7).center().toPoint())
    studio.until(lambda: studio.frame.iteration == 7)
    assert studio.segment.transport.counter.text().startswith("iteration 7 ")


def test_space_plays_and_pauses(studio: Studio) -> None:
    studio.segment.post(SetSpeed(5.0))
    studio.do("restart")
    studio.until(lambda: studio.frame.playing)
    studio.key(Qt.Key.Key_Space)
    studio.until(lambda: not studio.frame.playing)
    assert studio.frame.iteration < 15
    studio.key(Qt.Key.Key_Space)
    studio.until(lambda: studio.frame.playing)


def test_single_keys_belong_to_the_canvas_alone(studio: Studio) -> None:
    box = studio.segment.panel.first.model
    box.setFocus()
    before = studio.frame.layers["observed"].copy()
    studio.qtbot.keyClick(box, Qt.Key.Key_N)
    studio.settle()
    assert np.array_equal(studio.frame.layers["observed"], before)
    studio.qtbot.keyClick(box, Qt.Key.Key_Escape)
    studio.qtbot.waitUntil(studio.segment.canvas.hasFocus)
    studio.key(Qt.Key.Key_N)
    studio.settle()
    added = (studio.frame.layers["observed"] == 0) & (before != 0)
    assert added.sum() > 3
    assert studio.frame.undo == "Add noise"


def test_comparing_adds_a_lane_with_the_other_model_and_a_difference_map(studio: Studio) -> None:
    studio.do("compare")
    studio.until(lambda: len(studio.frame.lanes) == 2 and studio.frame.iteration == 15)
    assert [lane.model for lane in studio.frame.lanes] == ["small", "other"]
    assert studio.segment.canvases.comparing
    studio.segment.panel.layers.set_shown("difference", True)
    studio.until(lambda: "difference" in studio.frame.lanes[1].pictures)
    assert studio.frame.lanes[1].pictures["difference"].max() > 0.01
    assert "difference" not in studio.segment.canvases.first.scene.visible
    studio.do("compare")
    studio.until(lambda: len(studio.frame.lanes) == 1)
    assert not studio.segment.canvases.comparing


def test_the_form_follows_undo(studio: Studio) -> None:
    form = studio.segment.panel.first.form
    form.row("damping").editor.edited.emit(0.5)  # type: ignore[attr-defined]
    studio.settle()
    assert studio.frame.lanes[0].parameters["damping"] == 0.5
    form.row("iterations").editor.edited.emit(20)  # type: ignore[attr-defined]
    studio.settle()
    assert studio.frame.limits[0] == 20
    studio.do("undo")
    studio.do("undo")
    studio.settle()
    assert form.values()["damping"] == 0
    assert form.values()["iterations"] == 15


def test_inspecting_a_pixel_lists_its_clones_and_the_gallery_is_measured(studio: Studio) -> None:
    studio.do("show_clones")
    row, column = map(int, np.argwhere(studio.frame.lanes[0].pictures["belief"].argmax(-1) == 0)[0])
    studio.segment.inspect(row, column)
    studio.until(lambda: len(studio.frame.lanes[0].details.get("clones", ())) == 4)  # type: ignore[arg-type]
    browser = studio.segment.clones.browser
    studio.qtbot.waitUntil(lambda: browser.gallery is not None, timeout=60_000)
    assert browser.gallery is not None
    assert browser.gallery.use.sum() == pytest.approx(1.0)
    studio.until(lambda: "clone" in studio.frame.lanes[0].pictures)
    clone = int(studio.frame.lanes[0].pictures["clone"][row, column])
    studio.segment.clones.keep(clone)
    assert studio.segment.canvas.scene.lit_clone == clone


def test_a_picture_file_goes_through_the_threshold_dialog(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "line.png"
    image = QImage(40, 24, QImage.Format.Format_Grayscale8)
    image.fill(255)
    for x in range(5, 35):
        image.setPixel(x, 12, 0)
    image.save(str(path))
    studio.window.files.open(path)
    dialog = QApplication.activeModalWidget()
    studio.qtbot.waitUntil(lambda: dialog.picture is not None)  # type: ignore[union-attr]
    assert (dialog.picture.observed == 0).sum() == 30  # type: ignore[union-attr]
    dialog.accept()  # type: ignore[union-attr]
    studio.until(lambda: studio.frame.shape == (24, 40))
    studio.settle()
    assert studio.frame.name == "line.png"
    studio.do("copy_command")
    assert (
        QApplication.clipboard().text() == f"mrfstudio segment {path} --model small --iterations 15 --ink dark --thin"
    )


def test_the_command_names_an_example_in_words_until_somebody_draws(studio: Studio) -> None:
    studio.do("next_example")
    studio.until(lambda: studio.frame.name == "glyphs 5")
    studio.settle()
    studio.do("copy_command")
    line = QApplication.clipboard().text()
    words = studio.segment.files.example.words
    iterations = studio.frame.lanes[0].iteration
    assert words.startswith("figure:glyphs:5,seed=")
    assert line == f"mrfstudio segment {words} --model small --iterations {iterations}"
    studio.segment.post(Paint("observed", 0, ((3.5, 3.5),), 1.0))
    studio.settle()
    studio.messages.clear()
    studio.do("copy_command")
    studio.until(lambda: bool(studio.messages))
    assert QApplication.clipboard().text().startswith("mrfstudio replay")


def test_a_drawing_with_thick_lines_is_made_small_and_thin_and_the_command_says_so(
    studio: Studio, tmp_path: Path
) -> None:
    path = tmp_path / "thick.png"
    image = QImage(200, 120, QImage.Format.Format_Grayscale8)
    image.fill(255)
    for x, y in itertools.product(range(20, 180), range(50, 70)):
        image.setPixel(x, y, 0)
    image.save(str(path))
    studio.window.files.open(path)
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, PictureDialog)
    studio.qtbot.waitUntil(lambda: dialog.picture is not None)
    assert dialog.picture is not None
    assert dialog.side.text() == "Automatic"
    assert dialog.picture.observed.shape == (29, 48)  # one line keeps nothing apart: the smallest size serves
    dialog.side.selectAll()
    QTest.keyClicks(dialog.side, "40")  # typed, not stepped
    studio.qtbot.waitUntil(lambda: dialog.picture.observed.shape == (24, 40))
    assert (dialog.picture.observed == 0).any(axis=1).sum() == 1  # one row of pixels is left of four
    dialog.thin.click()
    studio.qtbot.waitUntil(lambda: (dialog.picture.observed == 0).any(axis=1).sum() == 4)
    dialog.thin.click()
    studio.qtbot.waitUntil(lambda: (dialog.picture.observed == 0).any(axis=1).sum() == 1)
    dialog.accept()
    studio.until(lambda: studio.frame.name == "thick.png")
    studio.settle()
    studio.do("copy_command")
    assert QApplication.clipboard().text().endswith("--ink dark --thin --side 40")


def test_a_refused_command_is_shown_and_the_form_goes_back(studio: Studio) -> None:
    from mrfstudio.engine.protocol.commands import SetModel

    studio.segment.post(SetModel(0, "no-such-model"))
    studio.qtbot.waitUntil(lambda: bool(studio.messages))
    assert "no-such-model" in studio.messages[-1]
    assert studio.window.message_bar.isVisible()
    assert studio.segment.panel.first.model.currentData() == "small"


def test_a_message_covers_no_tool(studio: Studio) -> None:
    bar, palette = studio.window.message_bar, studio.segment.palette
    studio.controller.message.emit(
        "A sentence that is long enough to be as wide as a message may become, and then some more."
    )
    beside = palette.mapTo(studio.window.centre, palette.rect().topRight()).x()
    assert palette.isVisible()
    assert bar.x() > beside
    assert bar.geometry().right() < studio.window.centre.width()
    bar.hide()
