"""Pictures to inpaint: the gallery, files and the clipboard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtCore import QModelIndex, QSignalBlocker, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from mrfstudio.ui.workspaces.inpaint.crop_dialog import CropDialog
from tests.ui.helpers.inpaint import hidden
from tests.ui.helpers.studio import Studio


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
