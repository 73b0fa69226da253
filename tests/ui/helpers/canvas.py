"""Hands on a canvas: where a pixel lies, how it is dragged over, what is seen."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from mrfstudio.ui.canvas import Canvas
from tests.ui.helpers.pictures import pixels

LEFT, RIGHT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton, Qt.MouseButton.MiddleButton

NONE = Qt.KeyboardModifier.NoModifier


def at(canvas: Canvas, row: float, column: float) -> QPoint:
    """The middle of a pixel on the widget."""
    return canvas.transform.to_widget(column + 0.5, row + 0.5).toPoint()


def drag(canvas: Canvas, points: list[tuple[int, int]], button: Qt.MouseButton = LEFT) -> None:
    QTest.mousePress(canvas, button, NONE, at(canvas, *points[0]))
    for point in points[1:]:
        QTest.mouseMove(canvas, at(canvas, *point))
    QTest.mouseRelease(canvas, button, NONE, at(canvas, *points[-1]))


def shown(canvas: Canvas) -> np.ndarray:
    """The colour in the middle of each pixel as it is on the screen, (h, w, 3)."""
    canvas.pointer = None
    image = pixels(canvas.grab().toImage())
    rows, columns = canvas.scene.shape
    scale = image.shape[1] / canvas.width()
    points = [[canvas.transform.to_widget(c + 0.5, r + 0.5) * scale for c in range(columns)] for r in range(rows)]
    return np.array([[image[int(p.y()), int(p.x())] for p in row] for row in points])
