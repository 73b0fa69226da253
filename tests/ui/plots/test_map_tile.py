"""Tiles with a map: pyqtgraph draws it, and a cell that is pointed at says its value."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QRectF
from PySide6.QtGui import QHelpEvent, QImage, QPainter
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.answers import UnitGallery
from mrfstudio.ui.plots.content import PlotPicture
from mrfstudio.ui.plots.drawing.stamp import MapStamp
from mrfstudio.ui.style.colours import LIGHT, Colours
from mrfstudio.ui.workspaces.inpaint.unit_gallery import UnitPanel, unit_map
from mrfstudio.ui.workspaces.segment.clone_browser import CloneBrowser
from tests.ui.helpers.pictures import pixels
from tests.ui.helpers.widgets import gallery, shown


def test_a_stamp_has_sharp_cells_in_the_colours_of_its_map(qapp: QApplication) -> None:
    levels = np.arange(6).reshape(2, 3) * 40

    def colour(values: np.ndarray, colours: Colours) -> np.ndarray:
        return np.repeat(values[..., None], 3, -1).astype(np.uint8)

    image = QImage(32, 22, QImage.Format.Format_RGB32)
    image.fill(255)
    painter = QPainter(image)
    MapStamp(PlotPicture(levels, (0, 3), (0, 2), colour), LIGHT).paint(painter, QRectF(1, 1, 30, 20))
    painter.end()
    inside = pixels(image)[1:21, 1:31, 0]
    np.testing.assert_array_equal(inside, np.kron(levels, np.ones((10, 10))))


@pytest.fixture
def units(qtbot: QtBot) -> UnitPanel:
    panel = UnitPanel()
    fields = np.random.default_rng(0).normal(size=(6, 5, 4)).astype(np.float32)
    shown(qtbot, panel, 420, 420)
    panel.set_gallery(UnitGallery("m", fields, "grey levels"))
    QApplication.processEvents()
    return panel


def test_the_cell_of_a_hidden_unit_says_its_value(units: UnitPanel) -> None:
    index = units.model.index(2)
    tile = units.view.itemDelegate()
    place = QRectF(units.view.visualRect(index))
    field = tile.field(place, index)  # type: ignore[attr-defined]  # a tile with a map
    point = field.topLeft() + (field.bottomRight() - field.topLeft()) * 0.5
    assert units.gallery is not None
    unit = units.model.unit(2)
    row, column = 2, 2
    words = tile.words_at(point, place, index)  # type: ignore[attr-defined]  # as above
    assert words == f"row 2, column 2: <b>{units.gallery.fields[unit][row, column]:+.6g}</b> grey levels"
    assert tile.words_at(place.bottomLeft(), place, index) == ""  # type: ignore[attr-defined]  # as above
    here = point.toPoint()
    event = QHelpEvent(QEvent.Type.ToolTip, here, units.view.viewport().mapToGlobal(here))
    QApplication.sendEvent(units.view.viewport(), event)
    assert words in QToolTip.text()
    assert f"Unit {unit}" in QToolTip.text()
    QToolTip.hideText()


def test_a_tile_looks_like_the_plot_that_its_menu_saves(units: UnitPanel) -> None:
    """Both are the same picture in the same colours."""
    index = units.model.index(1)
    place = units.view.visualRect(index)
    field = units.view.itemDelegate().field(QRectF(place), index)  # type: ignore[attr-defined]  # a tile with a map
    drawn = pixels(units.view.viewport().grab().toImage())
    assert units.gallery is not None
    picture = unit_map(units.gallery, units.model.unit(1)).content.picture
    assert picture is not None
    expected = picture.colour(picture.values, LIGHT)
    for row in range(5):
        for column in range(4):
            y = field.top() + (row + 0.5) * field.height() / 5
            x = field.left() + (column + 0.5) * field.width() / 4
            np.testing.assert_array_equal(drawn[int(y), int(x), :3], expected[row, column])


def test_the_cell_of_a_clone_says_its_labels(qtbot: QtBot) -> None:
    browser = CloneBrowser()
    shown(qtbot, browser, 420, 420)
    browser.set_gallery(gallery())
    QApplication.processEvents()
    index = browser.model.index(1)
    place = QRectF(browser.view.visualRect(index))
    tile = browser.view.itemDelegate()
    field = tile.field(place, index)  # type: ignore[attr-defined]  # a tile with a map
    clone = browser.model.clones[1]
    share = gallery().patches[clone][0, 0, 0]
    words = tile.words_at(field.topLeft(), place, index)  # type: ignore[attr-defined]  # as above
    assert words.startswith(f"row 0, column 0: CONTOUR <b>{share:.1%}</b>")
