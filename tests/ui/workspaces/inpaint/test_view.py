"""Inpaint in the real window on the real engine: first visit, models, sessions, export."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractButton, QAbstractSlider, QApplication, QComboBox, QScrollBar, QTabBar, QWidget

from mrfstudio.engine.files import links
from mrfstudio.engine.protocol.commands import Paint, PaintRectangle
from mrfstudio.ui.workspaces.shared.canvas_files import CanvasFiles
from tests.ui.helpers.inpaint import hidden, mean
from tests.ui.helpers.pictures import pixels
from tests.ui.helpers.studio import Studio


def test_the_first_visit_fills_in_a_hole_and_says_what_to_try(studio: Studio) -> None:
    titles = [action.text() for action in studio.window.rail.actions()]
    assert titles[:4] == ["Segment", "Photograph", "Repair", "Inpaint"]
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


def test_a_picture_too_large_for_a_link_goes_into_files(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`test_copied_commands.py` has all others."""
    monkeypatch.setattr(CanvasFiles, "new_place", lambda self: tmp_path / "query")
    monkeypatch.setattr(links, "LONGEST", 100)
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


def test_noise_and_holes_come_by_keys(studio: Studio) -> None:
    before, known = studio.frame.layers["picture"].copy(), int((studio.frame.layers["mask"] == 0).sum())
    studio.do("add_noise")
    studio.settle()
    changed = studio.frame.layers["picture"] != before
    assert 0 < changed.mean() < 0.5
    studio.do("cut_hole")
    studio.settle()
    assert int((studio.frame.layers["mask"] == 0).sum()) < known
    studio.do("undo")
    studio.do("undo")
    studio.settle()
    assert np.array_equal(studio.frame.layers["picture"], before)
