"""The inspector of one pixel."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mrfstudio.ui.plots.heat_map import HeatMap
from mrfstudio.ui.workspaces.segment.inspector import Inspector
from tests.ui.helpers.widgets import DETAILS, emitted, gallery, shown


def marked_row(heat: HeatMap) -> int:
    """The row between the two lines that are drawn across the whole map."""
    (lines,) = heat.content.shapes
    assert heat.matrix is not None
    wide, top = heat.matrix.shape[1], int(lines.y[0])
    assert lines.x.tolist() == [0, wide, 0, wide]
    assert lines.y.tolist() == [top, top, top + 1, top + 1]
    return top


def test_the_inspector_lists_labels_clones_and_four_potentials(qtbot: QtBot) -> None:
    inspector = Inspector()
    shown(qtbot, inspector, 320, 640)
    assert "Inspect tool" in inspector.heading.text()
    inspector.set_details(DETAILS)
    inspector.set_gallery(gallery())
    assert "row 3, column 5" in inspector.heading.text()
    assert inspector.clones.accessibleDescription() == "clone 6 60.0%, clone 2 30.0%"
    assert sum(heat.isVisible() for heat in inspector.maps) == 4
    hovered = emitted(inspector.clone_hovered)
    inspector.clones.setFocus()
    QTest.keyClick(inspector.clones, Qt.Key.Key_Down)
    assert hovered == [6]
    assert [marked_row(heat) for heat in inspector.maps] == [6] * 4
    inspector.set_details({})
    assert not inspector.clones.isVisible()
