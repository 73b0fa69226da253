"""The first iterations after the last edit as small pictures; a click goes there."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from mrfstudio.engine.protocol.commands import Scrub
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.ui.canvas.overlays import LayerStyle, as_image, belief, grey
from mrfstudio.ui.style.colours import colours_of, faded
from mrfstudio.ui.style.theme import px

COUNT = 15
MOST = 300  # pictures that are kept
TALLEST = 46  # design pixels of a square


class IterationStrip(QWidget):
    """Fifteen places. They are there before their pictures, so that nothing moves when these arrive."""

    command = Signal(object)

    def __init__(self, lane: int = 0, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lane = lane
        self.label_colours: tuple[tuple[int, str], ...] = ()
        """Colours of labels where a person chooses them; see `LayerStyle.palette`."""
        self.base = 0
        self.iteration = 0
        self._lanes: dict[int, dict[int, np.ndarray]] = {}
        self._drawn: dict[tuple[int, int], np.ndarray] = {}  # by lane and iteration
        self._bases: dict[int, set[int]] = {}  # by lane: the iterations that edits came after
        self._hover: int | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName("First iterations")
        self.setAccessibleDescription("Left and right arrow keys go through the first fifteen iterations.")
        self.setToolTip("<b>First iterations</b><br>The result after each of the first fifteen. Click one to go there.")

    def set_frame(self, frame: Frame) -> None:
        """Add the pictures of a frame."""
        lane = next((each for each in frame.lanes if each.lane == self.lane), None)
        if lane is None:
            return
        if frame.cut is not None:
            last = frame.cut
            for number in self._lanes:
                self._keep(number, lambda iteration: iteration <= last)
            self._bases = {number: {each for each in bases if each < last} for number, bases in self._bases.items()}
        for each in frame.lanes:
            known = self._lanes.setdefault(each.lane, {})
            self._bases.setdefault(each.lane, set()).add(each.base)
            for iteration, picture in each.strip:
                known[iteration] = picture
                self._drawn.pop((each.lane, iteration), None)
            if len(known) > MOST:  # those of other edits stay for who goes back to them, but not for ever
                middle = each.base + COUNT // 2
                near = set(sorted(known, key=lambda iteration: abs(iteration - middle))[:MOST])
                self._keep(each.lane, near.__contains__)
        for gone in set(self._lanes) - {each.lane for each in frame.lanes}:
            self._keep(gone, lambda iteration: False)
            del self._lanes[gone]
            self._bases.pop(gone, None)
        self.base, self.iteration = lane.base, frame.iteration
        self.update()

    @property
    def pictures(self) -> dict[int, np.ndarray]:
        """Of the lane by iteration: (h, w, labels) uint8 of 255 × belief, or (h, w) uint8 grey levels."""
        return self._lanes.setdefault(self.lane, {})

    @property
    def stride(self) -> int:
        """Iterations from one place to the next: a run that goes on beyond the last place, up to the next edit, has it
        grow."""
        later = min((each for each in self._bases.get(self.lane, ()) if each > self.base), default=None)
        run = (each for each in self.pictures if self.base < each and (later is None or each <= later))
        newest = max(run, default=self.base)
        stride = 1
        while max(newest, self.iteration) - self.base > COUNT * stride:
            stride *= 2
        return stride

    def clear(self) -> None:
        self.base = self.iteration = 0
        self._lanes.clear()
        self._bases.clear()
        self._drawn.clear()
        self.update()

    def set_label_colours(self, colours: tuple[tuple[int, str], ...]) -> None:
        """Other colours of labels."""
        if colours != self.label_colours:
            self.label_colours = colours
            self._drawn.clear()
            self.update()

    def _keep(self, lane: int, wanted: Callable[[int], bool]) -> None:
        pictures = self._lanes[lane]
        for iteration in [each for each in pictures if not wanted(each)]:
            del pictures[iteration]
            self._drawn.pop((lane, iteration), None)

    # Geometry ---------------------------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        return QSize(px(self, 600), px(self, TALLEST) + self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:
        width = px(self, 240)
        return QSize(width, self.heightForWidth(width))

    def heightForWidth(self, width: int) -> int:
        """Squares are no taller than they are wide: where they are many and small, the canvas gets the rest."""
        return min(px(self, TALLEST), width // COUNT) + self.fontMetrics().height() + px(self, 2)

    def place(self, iteration: int) -> QRectF:
        """Where an iteration's picture is drawn, a square."""
        cell = self.width() / COUNT
        side = min(cell - px(self, 4), self.height() - self.fontMetrics().height() - px(self, 4))
        x = ((iteration - self.base) / self.stride - 1) * cell + (cell - side) / 2
        return QRectF(round(x), px(self, 2), round(side), round(side))

    def named_each(self, last: int) -> int:
        """Every how many places have their number written: numbers up to `last` must not run into each other."""
        wide = self.fontMetrics().horizontalAdvance(f"{last}  ")
        return math.ceil(wide / max(self.width() / COUNT, 1))

    def iteration_at(self, x: float) -> int | None:
        """The iteration under a position that has a picture, else None."""
        index = self.base + self.stride * (1 + int(x / (self.width() / COUNT)))
        return index if index in self.pictures and index <= self.base + COUNT * self.stride else None

    # Painting ---------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, metrics = colours_of(self), self.fontMetrics()
        stride = self.stride
        last = self.base + COUNT * stride
        for iteration in range(self.base + stride, last + 1, stride):
            square = self.place(iteration)
            known = iteration in self.pictures
            if known:
                painter.fillRect(square, QColor(colours.paper))
                image = as_image(self._image(iteration))
                painter.drawImage(_fitted(square, image.width(), image.height()), image)
            present = iteration <= self.iteration < iteration + stride
            colour = colours.accent if present else colours.outline if known else colours.border
            painter.setPen(QPen(QColor(colour), 3 if present else 1))
            painter.setBrush(Qt.BrushStyle.NoBrush if not self._lit(iteration) else faded(colours.accent, 0.25))
            painter.drawRect(square.adjusted(0.5, 0.5, -0.5, -0.5))
            if (iteration - self.base) // stride % self.named_each(last) != 0:
                continue
            painter.setPen(QColor(colours.text if known else colours.muted))
            below = QRectF(square.center().x() - 40, square.bottom() + 1, 80, metrics.height())
            painter.drawText(below, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, str(iteration))
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.focus), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(self.rect()).adjusted(1, 1, -1, -1))

    def _lit(self, iteration: int) -> bool:
        return iteration == self._hover and iteration in self.pictures

    def _image(self, iteration: int) -> np.ndarray:
        key = self.lane, iteration
        if key not in self._drawn:
            look = LayerStyle(dark=colours_of(self).name == "dark", palette=self.label_colours)
            picture = self.pictures[iteration]
            drawn = grey(picture, look) if picture.ndim == 2 else belief(picture.astype(np.float32) / 255, look)
            self._drawn[key] = np.ascontiguousarray(drawn, np.uint32)
        return self._drawn[key]

    # Hands ------------------------------------------------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover = self.iteration_at(event.position().x())
        self.setCursor(Qt.CursorShape.ArrowCursor if self._hover is None else Qt.CursorShape.PointingHandCursor)
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        iteration = self.iteration_at(event.position().x())
        if iteration is not None and event.button() == Qt.MouseButton.LeftButton:
            self.command.emit(Scrub(iteration))

    def leaveEvent(self, event: QEvent) -> None:
        self._hover = None
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        wanted = self.iteration + step * self.stride
        wanted -= (wanted - self.base) % self.stride
        if wanted in self.pictures:
            self.command.emit(Scrub(wanted))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._drawn.clear()
            self.update()
        elif event.type() == QEvent.Type.FontChange:
            self.updateGeometry()


def _fitted(square: QRectF, width: int, height: int) -> QRectF:
    """The largest rectangle of a picture's shape in the middle of a square."""
    scale = min(square.width() / width, square.height() / height)
    size = QPointF(width * scale, height * scale)
    return QRectF(square.center() - size / 2, square.center() + size / 2)
