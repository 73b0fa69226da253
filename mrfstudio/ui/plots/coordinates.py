"""Where things stand in a plot: its margins, the ranges of its axes, and what zooming and panning do to them."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtWidgets import QWidget

from mrfstudio.ui.plots.axes import smoothed
from mrfstudio.ui.plots.content import Content, PlotLine, Range
from mrfstudio.ui.style.theme import px

WIDEST = 0.3
"""The part of a plot that numbers at the left take at most."""
SMALLEST = 1e-12
"""Where a value of 0 is drawn on a logarithmic axis."""


class Coordinates(QWidget):
    """An area with two axes, on which a `Content` is looked at."""

    def __init__(self, content: Content, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.content = content
        self.log_x = self.log_y = False
        self.smallest = SMALLEST
        self.smoothing = 0.0
        self.fits = True
        """Whether heights follow what is in sight: wheel and drag then move along the horizontal axis alone."""
        self.zoom_x: Range | None = None
        self.zoom_y: Range | None = None
        self.axes = (True, True)
        """Whether there are numbers at the left and below."""
        self.inverted = False
        """Whether heights count downwards, as rows do."""
        self.square = False
        """Whether the area is a square in the middle."""
        self.same_scale = False
        """Whether one unit is as long across as it is up, as cells of a picture are."""
        self.whole_numbers = False
        self.units: tuple[str, ...] = ()
        """What the horizontal axis can count, the present choice first in `content.across`."""
        self.owner: Coordinates | None = None
        """The plot that this one is a large twin of."""
        self.numbers_width = 0
        """Pixels of the longest number at the left so far; more than usual widens the axis."""

    def look_like(self, other: Coordinates) -> None:
        """Show the same part in the same way, and go on doing so where nobody zooms."""
        self.owner = other
        self.log_x, self.log_y, self.smoothing, self.fits = other.log_x, other.log_y, other.smoothing, other.fits
        self.axes, self.inverted, self.smallest = other.axes, other.inverted, other.smallest
        self.square, self.same_scale = other.square, other.same_scale
        self.whole_numbers, self.units = other.whole_numbers, other.units

    def refresh(self) -> None:
        """Draw again, soon."""
        self.update()

    # Geometry ---------------------------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        return QSize(px(self, 220), px(self, 130))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 130), px(self, 76))

    def heading_height(self) -> int:
        return round(self.fontMetrics().height() * 1.5) + px(self, 2) if self.content.title else px(self, 4)

    def heading_width(self) -> int:
        """How far the heading may go to the right."""
        return self.width()

    def margins(self) -> tuple[int, int, int, int]:
        """Left, top, right, bottom of the area; from the font, and wider only for numbers that would not fit."""
        metrics = self.fontMetrics()
        beyond = self.room() + px(self, 2)
        usual = metrics.horizontalAdvance("-88.888")
        wide = max(usual, min(self.numbers_width, round(WIDEST * self.width())))
        left = wide + px(self, 6) if self.axes[0] else beyond
        bottom = metrics.height() + px(self, 3) if self.axes[1] else px(self, 2)
        over = self.heading_height() if self.content.title or not self.axes[0] else self.room()
        return left, over, beyond, bottom

    def room(self) -> int:
        """Pixels around axes and area, for numbers that reach beyond an end."""
        return round(self.fontMetrics().height() * 0.6) if any(self.axes) else 0

    def area(self) -> QRectF:
        """Where lines are drawn."""
        before, over, beyond, below = self.margins()
        room = QRectF(before, over, max(self.width() - before - beyond, 1), max(self.height() - over - below, 1))
        if self.same_scale and self.content.anything:
            (left, right), (low, high) = self.whole_x(), self.whole_y()
            unit = min(room.width() / (right - left), room.height() / (high - low))
            return QRectF(room.left(), room.top(), unit * (right - left), unit * (high - low))
        if not self.square:
            return room
        side = min(room.width(), room.height())
        return QRectF(room.left() + (room.width() - side) / 2, room.top(), side, side)

    def place(self, x: float, y: float) -> QPointF:
        """A point in coordinates of the axes on the widget."""
        area, (left, right), (low, high) = self.area(), self.span_x(), self.span_y()
        part = (y - low) / (high - low)
        across = area.left() + area.width() * (x - left) / (right - left)
        return QPointF(across, area.top() + area.height() * (part if self.inverted else 1 - part))

    def at(self, point: QPointF) -> tuple[float, float]:
        """The coordinates of the axes under a point of the widget."""
        area, (left, right), (low, high) = self.area(), self.span_x(), self.span_y()
        part = (point.y() - area.top()) / area.height()
        up = part if self.inverted else 1 - part
        return left + (point.x() - area.left()) / area.width() * (right - left), low + up * (high - low)

    # Ranges -----------------------------------------------------------------------------------------------------------

    def whole_x(self) -> Range:
        """What is in sight while nobody has zoomed, in coordinates of the axis."""
        if self.owner is not None and self.owner.log_x == self.log_x:
            return self.owner.whole_x()
        if self.content.picture is not None:
            return self.content.picture.x
        places = [line.x for line in self.lines()] + [dots.x for dots in self.content.dots]
        return padded([self.across(x) for x in places])

    def whole_y(self) -> Range:
        if self.owner is not None and self.owner.log_y == self.log_y:
            return self.owner.whole_y()
        if self.content.picture is not None:
            return self.content.picture.y
        return padded(self._heights())

    def span_x(self) -> Range:
        return self.zoom_x or self.whole_x()

    def span_y(self) -> Range:
        if self.zoom_y is not None:
            return self.zoom_y
        if self.zoom_x is not None and self.fits:
            heights = self._heights(self.zoom_x)
            return padded(heights) if any(len(each) for each in heights) else self.whole_y()
        return self.whole_y()

    def _heights(self, span: Range | None = None) -> list[np.ndarray]:
        """All heights on the axis, or those of a range of the horizontal one."""
        found = []
        for line in self.lines():
            inside = slice(None) if span is None else _inside(self.across(line.x), span)
            y = smoothed(line.y, self.smoothing) if line.smoothed else line.y
            found += [self.upwards(each[inside]) for each in (y, line.low, line.high) if each is not None]
        for dots in self.content.dots:
            found.append(self.upwards(dots.y))
        if self.content.levels and found:
            found.append(self.upwards(np.array([level.value for level in self.content.levels])))
        return found

    def lines(self) -> list[PlotLine]:
        """Those that are switched on."""
        return [line for line in self.content.lines if line.key not in self.content.hidden and len(line.x)]

    def across(self, x: np.ndarray) -> np.ndarray:
        return np.log10(np.maximum(x, self.smallest)) if self.log_x else x

    def upwards(self, y: np.ndarray) -> np.ndarray:
        return np.log10(np.maximum(y, self.smallest)) if self.log_y else y

    # Views ------------------------------------------------------------------------------------------------------------

    @property
    def zoomed(self) -> bool:
        return self.zoom_x is not None or self.zoom_y is not None

    def reset(self) -> None:
        """Show everything again."""
        self.zoom_x = self.zoom_y = None
        self.numbers_width = 0
        self.refresh()

    def set_logarithmic(self, *, x: bool | None = None, y: bool | None = None) -> None:
        """Powers of ten at equal distances, or not."""
        self.log_x = self.log_x if x is None else x
        self.log_y = self.log_y if y is None else y
        self.zoom_x = self.zoom_y = None
        self.numbers_width = 0
        self.forget_range()
        self.grow()
        self.refresh()

    def set_smoothing(self, strength: float) -> None:
        """0 shows what was measured, nearly 1 a mean over very many points."""
        self.smoothing = min(max(strength, 0.0), 0.999)
        self.refresh()

    def set_unit(self, unit: str) -> None:
        """Let the horizontal axis count something else, one of `units`."""
        if self.owner is not None:
            self.owner.set_unit(unit)
            self.whole_numbers = self.owner.whole_numbers
            self.reset()

    def forget_range(self) -> None:
        """Let axes that only grow shrink again."""

    def grow(self) -> None:
        """Let them grow to what is shown."""

    def zoom(self, factor: float, at: QPointF, *, across: bool = True, up: bool = False) -> None:
        """Keep `factor` of what is in sight around a point of the widget."""
        x, y = self.at(at)
        if across:
            left, right = self.span_x()
            self.zoom_x = (x - (x - left) * factor, x + (right - x) * factor)
        if up:
            low, high = self.span_y()
            self.zoom_y = (y - (y - low) * factor, y + (high - y) * factor)
        self.refresh()

    def pan(self, by: QPointF) -> None:
        """Move what is in sight by so many pixels."""
        area, (left, right), (low, high) = self.area(), self.span_x(), self.span_y()
        shift = -by.x() / area.width() * (right - left)
        self.zoom_x = (left + shift, right + shift)
        if not self.fits or self.zoom_y is not None or not self.content.lines:
            rise = by.y() / area.height() * (high - low) * (-1 if self.inverted else 1)
            self.zoom_y = (low + rise, high + rise)
        self.refresh()


def _inside(x: np.ndarray, span: Range) -> slice:
    return slice(int(np.searchsorted(x, span[0])), int(np.searchsorted(x, span[1], side="right")))


def padded(values: list[np.ndarray], part: float = 0.06) -> Range:
    """A range that holds all finite values with a little room, never of no width."""
    finite = [each[np.isfinite(each)] for each in values]
    low = min((float(each.min()) for each in finite if len(each)), default=0.0)
    high = max((float(each.max()) for each in finite if len(each)), default=1.0)
    room = part * (high - low) or max(abs(high) * 1e-3, 1e-9)
    return low - room, high + room
