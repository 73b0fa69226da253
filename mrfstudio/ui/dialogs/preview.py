"""A small picture of contours, and a way to ask the engine again whenever a control moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.answers import Picture
from mrfstudio.ui.canvas.overlays import Look, as_image, layer_picture
from mrfstudio.ui.colours import colours_of
from mrfstudio.ui.controller import Controller
from mrfstudio.ui.theme import px


class Preview(QWidget):
    """Shows an observed contour image, over the grey picture it was found in."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picture: Picture | None = None
        self.setMinimumSize(px(self, 280), px(self, 280))
        self.setAccessibleName("Preview")

    def sizeHint(self) -> QSize:
        return QSize(px(self, 360), px(self, 360))

    @property
    def picture(self) -> Picture | None:
        return self._picture

    def show_picture(self, picture: Picture) -> None:
        self._picture = picture
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = colours_of(self)
        painter.fillRect(self.rect(), QColor(colours.backdrop))
        if self._picture is None:
            painter.setPen(QColor(colours.muted))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "The preview appears here.")
            return
        place = self._place(self._picture.observed.shape)
        painter.fillRect(place, QColor(colours.paper))
        look = Look(dark=colours.name == "dark")
        for name, array, opacity in (("grey", self._picture.grey, 0.25), ("observed", self._picture.observed, 1.0)):
            if array is None:
                continue
            pixels = layer_picture(name, array, look)
            assert pixels is not None
            pixels = np.ascontiguousarray(pixels, np.uint32)
            painter.setOpacity(opacity)
            painter.drawImage(place, as_image(pixels))

    def _place(self, shape: tuple[int, ...]) -> QRect:
        """The picture as large as fits, in the middle, with square pixels."""
        scale = min(self.width() / shape[1], self.height() / shape[0])
        width, height = round(shape[1] * scale), round(shape[0] * scale)
        return QRect((self.width() - width) // 2, (self.height() - height) // 2, width, height)


class Asker(QObject):
    """Asks one question again and again, with the newest arguments, never more than one at a time."""

    def __init__(
        self, controller: Controller, question: str, then: Callable[[Any], None], refused: Callable[[str], None]
    ) -> None:
        super().__init__()
        self._controller, self._question = controller, question
        self._then, self._refused = then, refused
        self._waiting: dict[str, Any] | None = None
        self._busy = False
        self._ended = False

    def ask(self, **arguments: Any) -> None:
        """Ask now, or as soon as the answer under way has come."""
        if self._busy:
            self._waiting = arguments
            return
        self._busy = True
        self._controller.ask(self._question, self._answered, self._was_refused, **arguments)

    def end(self) -> None:
        """Answers still under way no longer matter."""
        self._ended = True

    def _answered(self, value: Any) -> None:
        self._next()
        if not self._ended:
            self._then(value)

    def _was_refused(self, sentence: str) -> None:
        self._next()
        if not self._ended:
            self._refused(sentence)

    def _next(self) -> None:
        self._busy = False
        if self._waiting is not None and not self._ended:
            arguments, self._waiting = self._waiting, None
            self.ask(**arguments)
