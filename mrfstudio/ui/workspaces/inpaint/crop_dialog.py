"""Bring a picture to a model's size: choose a part of it, and see at once what the model will get."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QImage,
    QImageReader,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.engine.protocol.answers import GreyPicture
from mrfstudio.engine.protocol.requests.inpaint import CropPicture
from mrfstudio.ui.canvas.marks import two_tone
from mrfstudio.ui.canvas.overlays import LayerStyle, as_image, grey
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.style.colours import colours_of, faded
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.preview import LatestQuestion

SMALLEST = 0.05  # of the largest part that fits
STEPS = 100
ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}


class CropDialog(QDialog):
    """Accepted, its `picture` is what to inpaint."""

    def __init__(
        self, controller: Controller, source: Path | np.ndarray, model: str, parent: QWidget | None = None
    ) -> None:
        """`source` is a file, or grey levels (h, w) from 0 to 1."""
        super().__init__(parent)
        self.setWindowTitle("Part of the picture")
        self._source, self._model = source, model
        self.picture: GreyPicture | None = None
        self.view, self.small = CropView(), ResultView()
        self.size_slider = QSlider(Qt.Orientation.Horizontal)
        self.size_slider.setRange(round(SMALLEST * STEPS), STEPS)
        self.size_slider.setValue(STEPS)
        self.size_slider.setAccessibleName("Size of the part")
        self.size_slider.setToolTip("How much of the picture is taken. The wheel does the same.")
        self.match = QCheckBox("Match brightness and contrast")
        self.match.setToolTip("Give the part the brightness and contrast that the model was trained on.")
        self.note = QLabel(wordWrap=True)
        self.note.setProperty("role", "muted")
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setText("Inpaint")
        self._build()
        self._question = LatestQuestion(controller, self._show, self._refuse)
        self.view.moved.connect(self._moved)
        self.size_slider.valueChanged.connect(lambda value: self.view.set_size(value / STEPS))
        self.match.toggled.connect(self._ask)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.finished.connect(self._question.end)
        self._load()
        self._ask()

    def _build(self) -> None:
        right = QVBoxLayout()
        right.addWidget(QLabel("What the model gets"))
        right.addWidget(self.small, 1)
        right.addWidget(self.match)
        right.addWidget(self.note)
        left = QVBoxLayout()
        left.addWidget(QLabel("Drag the frame; arrow keys move it, + and - change its size."))
        left.addWidget(self.view, 1)
        row = QHBoxLayout()
        label = QLabel("&Size")
        label.setBuddy(self.size_slider)
        row.addWidget(label)
        row.addWidget(self.size_slider, 1)
        left.addLayout(row)
        columns = QHBoxLayout()
        columns.addLayout(left, 3)
        columns.addLayout(right, 2)
        layout = QVBoxLayout(self)
        layout.addLayout(columns, 1)
        layout.addWidget(self.buttons)
        self.resize(px(self, 760), px(self, 480))

    def _load(self) -> None:
        """Show the source itself; Qt reads it for the screen, the engine for the model."""
        if isinstance(self._source, Path):
            reader = QImageReader(str(self._source))
            reader.setAutoTransform(True)  # upright, as the engine reads it
            self.view.set_image(reader.read())
        else:
            levels = (np.clip(self._source, 0, 1) * 255 + 0.5).astype(np.uint8)
            pixels = np.ascontiguousarray(grey(levels, LayerStyle()), np.uint32)
            self.view.set_image(as_image(pixels).copy())

    def _ask(self) -> None:
        source = str(self._source) if isinstance(self._source, Path) else self._source
        self._question.ask(CropPicture(source, self._model, self.view.rectangle(), self.match.isChecked()))

    def _moved(self) -> None:
        self.size_slider.blockSignals(True)
        self.size_slider.setValue(round(self.view.share * STEPS))
        self.size_slider.blockSignals(False)
        self._ask()

    def _show(self, picture: GreyPicture) -> None:
        if self.picture is None:  # the first answer says which proportions the model takes
            self.view.begin(picture)
        self.picture = picture
        self.small.show_picture(picture.picture)
        self.note.setText(described(picture))
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(True)

    def _refuse(self, sentence: str) -> None:
        self.note.setText(sentence)
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(False)


class CropView(QWidget):
    """The whole picture, dimmed outside a frame of fixed proportions."""

    moved = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._image = QImage()
        self._full = (1, 1)
        self._largest = (1.0, 1.0)
        self._centre = (0.5, 0.5)
        self.share = 1.0
        """The frame's size, as a part of the largest one that fits."""
        self._known = False
        self._grabbed: tuple[QPointF, tuple[float, float]] | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(px(self, 260), px(self, 260))
        self.setAccessibleName("Picture with a frame")
        self.setToolTip("Drag the frame, or move it with the arrow keys; the wheel, + and - change its size.")

    def set_image(self, image: QImage) -> None:
        self._image = image
        self.update()

    def begin(self, picture: GreyPicture) -> None:
        """Take sizes from the engine's first answer: its part is the largest one, in the middle."""
        assert picture.rectangle is not None
        top, left, height, width = picture.rectangle
        self._full, self._largest = picture.full_size, (height, width)
        self._centre = (top + height / 2, left + width / 2)
        self._known = True
        self.update()

    def rectangle(self) -> tuple[float, float, float, float] | None:
        """Top, left, height, width in pixels of the source; None before the sizes are known."""
        if not self._known:
            return None
        height, width = self._largest[0] * self.share, self._largest[1] * self.share
        top = min(max(self._centre[0] - height / 2, 0.0), self._full[0] - height)
        left = min(max(self._centre[1] - width / 2, 0.0), self._full[1] - width)
        return top, left, height, width

    def set_size(self, share: float) -> None:
        self.share = min(max(share, SMALLEST), 1.0)
        self._settle()

    def _settle(self) -> None:
        """Keep the frame inside, so that a later move starts where it is seen."""
        part = self.rectangle()
        if part is not None:
            self._centre = (part[0] + part[2] / 2, part[1] + part[3] / 2)
            self.update()
            self.moved.emit()

    def _place(self) -> QRectF:
        """Where the whole picture is drawn."""
        height, width = self._full if self._known else (self._image.height() or 1, self._image.width() or 1)
        scale = min(self.width() / width, self.height() / height)
        size = QPointF(width * scale, height * scale)
        middle = QRectF(self.rect()).center()
        return QRectF(middle - size / 2, middle + size / 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, place = colours_of(self), self._place()
        painter.fillRect(self.rect(), QColor(colours.backdrop))
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        if not self._image.isNull():
            painter.drawImage(place, self._image)
        part = self.rectangle()
        if part is not None:
            scale = place.width() / self._full[1]
            top, left, height, width = (value * scale for value in part)
            frame = QRectF(place.left() + left, place.top() + top, width, height)
            outside = QPainterPath()
            outside.addRect(place)
            outside.addRect(frame)  # what both cover is left out
            painter.fillPath(outside, faded(colours.backdrop, 0.65))
            for pen in two_tone():
                painter.setPen(pen)
                painter.drawRect(frame)
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.focus), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(self.rect()).adjusted(1, 1, -1, -1))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._grabbed = event.position(), self._centre

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grabbed is None or not self._known:
            return
        start, centre = self._grabbed
        scale = self._place().width() / self._full[1]
        moved = (event.position() - start) / scale
        self._centre = centre[0] + moved.y(), centre[1] + moved.x()
        self._settle()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._grabbed = None

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.set_size(self.share * 1.1 ** (-event.angleDelta().y() / 120))
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in ARROWS:
            right, down = ARROWS[key]
            step = max(self._full) / (20 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 100)
            self._centre = self._centre[0] + down * step, self._centre[1] + right * step
            self._settle()
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            self.set_size(self.share * (0.95 if key == Qt.Key.Key_Minus else 1.05))
        else:
            super().keyPressEvent(event)


class ResultView(QWidget):
    """The part at the model's size, in large pixels."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picture: np.ndarray | None = None
        self.setMinimumSize(px(self, 160), px(self, 180))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Preview")

    def sizeHint(self) -> QSize:
        return QSize(px(self, 240), px(self, 300))

    def show_picture(self, picture: np.ndarray) -> None:
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
        height, width = self._picture.shape
        scale = min(self.width() / width, self.height() / height)
        size = QPointF(width * scale, height * scale)
        middle = QRectF(self.rect()).center()
        pixels = np.ascontiguousarray(grey(self._picture, LayerStyle()), np.uint32)
        painter.drawImage(QRectF(middle - size / 2, middle + size / 2), as_image(pixels))


def described(picture: GreyPicture) -> str:
    """Sizes in one sentence."""
    height, width = picture.picture.shape
    if picture.rectangle is None:
        return f"{width}×{height} pixels."
    part = f"{picture.rectangle[3]:.0f}×{picture.rectangle[2]:.0f}"
    return f"{width}×{height} pixels, made from {part} of {picture.full_size[1]}×{picture.full_size[0]}."
