"""A small picture of contours, and a way to ask the engine again whenever a control moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
from PySide6.QtCore import QObject, QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QFormLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.answers import Picture
from mrfstudio.engine.protocol.requests import Request
from mrfstudio.ui.canvas.overlays import LayerStyle, as_image, layer_picture
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import px

A = TypeVar("A")


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
        look = LayerStyle(dark=colours.name == "dark")
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


class LatestQuestion(QObject, Generic[A]):
    """Asks questions of one kind, always the newest, never more than one at a time."""

    def __init__(self, controller: Controller, then: Callable[[A], None], refused: Callable[[str], None]) -> None:
        super().__init__()
        self._controller, self._then, self._refused = controller, then, refused
        self._waiting: Request[A] | None = None
        self._busy = False
        self._ended = False

    def ask(self, request: Request[A]) -> None:
        """Ask now, or as soon as the answer under way has come."""
        if self._busy:
            self._waiting = request
            return
        self._busy = True
        self._controller.ask(request, self._answered, self._was_refused)

    def end(self) -> None:
        """Answers still under way no longer matter."""
        self._ended = True

    def _answered(self, value: A) -> None:
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
            request, self._waiting = self._waiting, None
            self.ask(request)


class PreviewDialog(QDialog):
    """Accepted, its `picture` is what to segment; there is nothing to accept before it has one."""

    def __init__(self, title: str, waiting: str, parent: QWidget | None = None) -> None:
        """`waiting` is what the note says until the first picture has come."""
        super().__init__(parent)
        self.setWindowTitle(title)
        self.picture: Picture | None = None
        self.preview = Preview()
        self.note = QLabel(waiting, wordWrap=True)
        self.note.setProperty("role", "muted")
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self._accept = self.buttons.button(QDialogButtonBox.StandardButton.Ok)
        self._accept.setText("Segment")
        self._accept.setToolTip("Show this picture in the workspace and begin.")
        self._accept.setEnabled(False)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)

    def arrange(self, form: QFormLayout) -> None:
        """Lay everything out around a form."""
        right = QVBoxLayout()
        right.addLayout(form)
        right.addWidget(self.note)
        right.addStretch(1)
        columns = QHBoxLayout()
        columns.addWidget(self.preview, 1)
        columns.addLayout(right)
        layout = QVBoxLayout(self)
        layout.addLayout(columns)
        layout.addWidget(self.buttons)

    def show_picture(self, picture: Picture, words: str) -> None:
        """What the choices give."""
        self.picture = picture
        self.preview.show_picture(picture)
        self.note.setText(words)
        self._accept.setEnabled(True)

    def refuse(self, sentence: str) -> None:
        """The choices give no picture, and why."""
        self.note.setText(sentence)
        self._accept.setEnabled(False)
