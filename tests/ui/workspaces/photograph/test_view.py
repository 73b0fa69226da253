"""Photographs in the real window on the real engine: strokes, labels, layers, files."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication

from mrfstudio.engine.files.images import read_labels
from mrfstudio.engine.protocol.commands.photographs import LEANING
from mrfstudio.ui.workspaces.segment.kind_question import KindQuestion
from mrfstudio.ui.workspaces.segment.picture_dialog import PictureDialog
from tests.engine.helpers.photographs import disc, inside
from tests.ui.helpers.pictures import pixels
from tests.ui.helpers.studio import Studio


def found(studio: Studio) -> np.ndarray:
    """Where the first label is."""
    return np.asarray(studio.frame.lanes[0].pictures["overlay"][..., 0] == 0)


def test_a_photograph_stays_one_and_its_object_comes_out(studio: Studio) -> None:
    assert (found(studio) == inside()).mean() > 0.98
    assert studio.window.badge.text.startswith("settled in")
    canvas = studio.canvas
    canvas.set_visible_layers({"photograph": 1.0})
    assert canvas.transform.scale >= 4  # pixels are seen as squares
    shown = pixels(canvas.grab().toImage())
    place = canvas.transform.to_widget(48.5, 36.5).toPoint()
    np.testing.assert_array_equal(shown[place.y(), place.x(), :3], disc()[36, 48])
    canvas.set_visible_layers({"photograph": 1.0, "overlay": 1.0})
    tinted = pixels(canvas.grab().toImage())[place.y(), place.x(), :3].astype(int)
    wanted = 0.45 * disc()[36, 48] + 0.55 * np.array([0xE6, 0x9F, 0x00])
    np.testing.assert_allclose(tinted, wanted, atol=4)


def test_a_stroke_is_seen_at_once_and_undone(studio: Studio) -> None:
    studio.key(Qt.Key.Key_2)
    studio.stroke((32, 44), (36, 48), (40, 52))
    assert studio.canvas.scene.layer("strokes")[36, 48] == 2  # type: ignore[index]
    studio.settle()
    assert not found(studio)[36, 48]
    studio.do("undo")
    studio.settle()
    assert found(studio)[36, 48]


def test_fill_on_a_photograph_without_strokes_says_what_it_needs(studio: Studio) -> None:
    studio.photograph.clear_strokes()
    studio.settle()
    studio.messages.clear()
    studio.canvas.choose_tool("fill")
    studio.stroke((36, 48))
    studio.qtbot.waitUntil(lambda: any("closed stroke" in each for each in studio.messages), timeout=60_000)
    studio.settle()
    assert not studio.frame.layers["strokes"].any()
    assert not studio.canvas.scene.layer("strokes").any()  # type: ignore[union-attr]


def test_a_brush_of_less_strength_paints_soft_strokes(studio: Studio) -> None:
    studio.key(Qt.Key.Key_1)
    studio.canvas.set_strength(0.5)
    studio.stroke((64, 6), (66, 12))
    studio.canvas.set_strength(1.0)
    assert 1 + LEANING in np.unique(studio.canvas.scene.layer("strokes"))
    studio.settle()
    assert (studio.frame.layers["strokes"] == 1 + LEANING).any()
    assert not found(studio)[66, 10]  # it only leans


def test_the_slider_shows_what_the_field_adds(studio: Studio) -> None:
    slider = studio.photograph.field.slider
    assert slider.value() == 100
    slider.setValue(0)
    studio.until(lambda: studio.frame.lanes[0].parameters["field"] == 0.0)
    studio.settle()
    studio.do("undo")
    studio.settle()
    assert slider.value() == 100


def test_compare_puts_mean_field_beside_belief_propagation(studio: Studio) -> None:
    studio.do("compare")
    studio.until(lambda: len(studio.frame.lanes) == 2)
    studio.settle()
    assert [lane.algorithm for lane in studio.frame.lanes] == ["cutout", "cutout-mean-field"]
    assert (studio.frame.lanes[1].pictures["overlay"][..., 0] == 0)[inside()].mean() > 0.95
    studio.do("compare")
    studio.until(lambda: len(studio.frame.lanes) == 1)


def test_labels_are_added_renamed_recoloured_and_deleted(studio: Studio) -> None:
    panel, palette = studio.photograph.panel.labels, studio.photograph.palette
    panel.add.click()
    studio.until(lambda: len(studio.frame.labels) == 3)
    studio.settle()
    assert [button.text().split()[0] for button in palette.targets] == ["Object", "Background", "Label"]
    panel.names[3].setText("Sky")
    panel.names[3].editingFinished.emit()
    panel.recolour(1, "#112233")
    studio.until(lambda: studio.frame.labels[2].title == "Sky" and studio.frame.labels[0].colour == "#112233")
    studio.settle()
    assert (1, "#112233") in studio.canvas.scene.look.palette
    studio.key(Qt.Key.Key_3)
    studio.stroke((60, 10), (66, 20))
    studio.settle()
    assert studio.frame.lanes[0].pictures["overlay"][64, 16, 0] == 2
    panel.deletes[3].click()
    studio.until(lambda: len(studio.frame.labels) == 2)
    studio.settle()
    assert not (studio.frame.layers["strokes"] == 3).any()
    assert not panel.deletes[1].isEnabled()


def test_layers_and_keys(studio: Studio) -> None:
    studio.key(Qt.Key.Key_K)
    studio.until(lambda: "cutout" in studio.frame.lanes[0].pictures)
    assert set(studio.photograph.panel.layers.visible()) == {"photograph", "cutout"}
    canvas = studio.canvas
    colours = pixels(canvas.grab().toImage())
    corner = canvas.transform.to_widget(4.5, 36.5).toPoint()
    red, green, blue = colours[corner.y(), corner.x(), :3].tolist()
    assert red == green == blue  # the checkerboard
    studio.key(Qt.Key.Key_K)
    for name in ("entropy", "scores", "walls", "residual"):
        studio.photograph.panel.layers.set_shown(name, True)
        studio.until(lambda name=name: name in studio.frame.lanes[0].pictures)
        assert canvas.grab().toImage().pixelColor(corner) != QColor(canvas.scene.look.colours.backdrop)


def test_where_next_brings_the_place_into_the_middle(studio: Studio) -> None:
    studio.photograph.clear_strokes()
    studio.settle()
    studio.messages.clear()
    studio.key(Qt.Key.Key_J)
    assert "No place is in doubt" in studio.messages[-1]
    studio.do("undo")
    studio.until(lambda: studio.canvas.scene.place is not None)
    row, column, _ = studio.canvas.scene.place  # type: ignore[misc]
    studio.key(Qt.Key.Key_J)
    assert studio.canvas.pixel_at(studio.canvas.rect().center().toPointF()) == (int(row), int(column))


def test_frames_carry_what_is_seen_and_no_more(studio: Studio) -> None:
    canvas = studio.canvas
    canvas.zoom(6.0)
    studio.until(lambda: studio.frame.rectangle[2] < 72)
    top, left, height, width = canvas.visible_rectangle()
    shown = studio.frame.rectangle
    assert shown[0] <= top
    assert shown[1] <= left
    assert shown[0] + shown[2] >= top + height
    assert shown[1] + shown[3] >= left + width
    canvas.zoom(1 / 200)
    studio.until(lambda: studio.frame.stride > 1)
    assert studio.frame.lanes[0].pictures["overlay"].shape[0] < 72


def test_photographs_are_opened_pasted_and_refused(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "leaf.png"
    Image.fromarray(disc(40, 60)).save(path)
    studio.window.files.open(path)
    studio.until(lambda: studio.frame.name == "leaf.png")
    studio.settle()
    assert studio.frame.shape == (40, 60)
    assert studio.photograph.advice.text().startswith("Paint on what you want")
    QApplication.clipboard().setImage(studio.canvas.grab().toImage())
    studio.do("paste")
    studio.until(lambda: studio.frame.name == "pasted picture")
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"no picture")
    studio.window.files.open(broken)
    studio.qtbot.waitUntil(lambda: any("broken.jpg is no picture" in each for each in studio.messages))


def test_the_examples_come_with_strokes(studio: Studio) -> None:
    studio.do("photograph_cat")
    studio.until(lambda: studio.frame.name == "cat")
    assert [each.title for each in studio.frame.labels] == ["Cat", "Background"]
    assert {0, 1, 2} == set(np.unique(studio.frame.layers["strokes"]).tolist())
    studio.do("undo")
    studio.until(lambda: studio.frame.name == "disc")
    studio.settle()


def test_exports_and_the_command(studio: Studio, tmp_path: Path) -> None:
    files = studio.photograph.files
    files._save_cut(tmp_path / "labels.png", "labels", 1)
    files.save_masks(tmp_path / "mask.png", studio.frame)
    wanted = ("labels.png", "mask-object.png", "mask-background.png")
    studio.qtbot.waitUntil(lambda: all((tmp_path / name).exists() for name in wanted))
    labels = read_labels(tmp_path / "labels.png")
    np.testing.assert_array_equal(labels == 1, found(studio))
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "mask-background.png")) == 255, labels == 2)
    studio.do("copy_cutout")
    studio.qtbot.waitUntil(lambda: QApplication.clipboard().image().width() == 96)
    clipped = QApplication.clipboard().image()
    assert clipped.pixelColor(48, 36).alpha() == 255
    assert clipped.pixelColor(2, 36).alpha() == 0
    studio.do("copy_command")
    studio.qtbot.waitUntil(lambda: "--scribbles" in QApplication.clipboard().text())
    words = shlex.split(QApplication.clipboard().text())
    assert words[:2] == ["mrfstudio", "segment"]
    assert words[words.index("--labels") + 1] == "2"
    strokes = read_labels(words[words.index("--scribbles") + 1])
    np.testing.assert_array_equal(strokes, studio.frame.layers["strokes"])
    np.testing.assert_array_equal(np.asarray(Image.open(words[2])), disc())


def test_a_session_is_saved_and_opened(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "disc.mrfs"
    before = found(studio)
    studio.window.files.save_to(path)
    studio.until(lambda: path.exists() and not studio.frame.modified)
    studio.do("clear_strokes")
    studio.settle()
    studio.window.files._open_session(path)
    studio.until(lambda: not studio.frame.undo and bool(studio.frame.layers["strokes"].any()))
    studio.settle()
    studio.until(lambda: "overlay" in studio.frame.lanes[0].pictures)
    np.testing.assert_array_equal(found(studio), before)


def test_a_coloured_picture_in_segment_asks_once_what_it_is(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "leaf.png"
    Image.fromarray(disc(40, 60)).save(path)
    studio.window.show_workspace("segment")
    for answer in ("as_drawing", "as_photograph"):
        studio.window.files.open(path)
        studio.qtbot.waitUntil(lambda: isinstance(QApplication.activeModalWidget(), KindQuestion))
        question = QApplication.activeModalWidget()
        assert isinstance(question, KindQuestion)
        getattr(question, answer).click()
        if answer == "as_drawing":
            studio.qtbot.waitUntil(lambda: isinstance(QApplication.activeModalWidget(), PictureDialog))
            QApplication.activeModalWidget().reject()  # type: ignore[union-attr]
    studio.until(lambda: studio.frame.workspace == "photograph" and studio.frame.name == "leaf.png")
    assert studio.window.workspace is studio.photograph
