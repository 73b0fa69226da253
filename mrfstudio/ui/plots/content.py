"""What a plot shows, apart from how: the same content is drawn small below the canvas, large as a page, on paper.

Numbers are plain; a logarithmic axis is a matter of the view. Colours are functions of the theme, so that one content
can be drawn light and dark.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QColor

from mrfstudio.ui.style.colours import Colours

Paint = Callable[[Colours], QColor]
Range = tuple[float, float]
DASHES: tuple[list[float], ...] = ([], [5, 3], [1.5, 2.5], [7, 3, 1.5, 3], [10, 4], [3, 2, 1, 2])
"""Of lanes, runs and states, in their order."""


@dataclass(frozen=True, eq=False)
class PlotLine:
    """A curve: x (n,) ascends, y (n,). `key` switches it; lines of one key share colour and switch."""

    key: int
    name: str
    x: np.ndarray
    y: np.ndarray
    paint: Paint
    dash: int = 0
    width: float = 1.6
    low: np.ndarray | None = None
    """With `high`, the lower end of a band around the line, (n,)."""
    high: np.ndarray | None = None
    named: bool = True
    """Whether heading and legend name it; a line that only accompanies another does not."""
    smoothed: bool = True
    """Whether the slider smooths it."""


@dataclass(frozen=True, eq=False)
class PlotBars:
    """Bars from `base` up to base + heights (n,), between `edges` (n + 1,). `values` (n,) are said when pointed at."""

    key: int
    name: str
    edges: np.ndarray
    heights: np.ndarray
    paint: Paint
    base: float = 0.0
    values: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Dots:
    """Points x (n,), y (n,); `sizes` in design pixels, one or (n,)."""

    key: int
    name: str
    x: np.ndarray
    y: np.ndarray
    paint: Paint
    sizes: float | np.ndarray = 4.5
    ring: bool = False
    """Only the outline, with a halo: a point that marks a place."""


@dataclass(frozen=True, eq=False)
class PlotPicture:
    """A map: `values` (rows, columns) over the rectangle of x and y ends; row 0 is at y's first end.

    `colour` makes (rows, columns, 3) uint8 of the values for a theme.
    """

    values: np.ndarray
    x: Range
    y: Range
    colour: Callable[[np.ndarray, Colours], np.ndarray]
    smooth: bool = False
    describe: Callable[[int, int, float], str] | None = None


@dataclass(frozen=True, eq=False)
class PlotShapes:
    """Straight lines from (x, y)[2i] to (x, y)[2i + 1]: contours, diagonals, frames."""

    x: np.ndarray
    y: np.ndarray
    paint: Paint
    width: float = 1.0
    dashed: bool = False


@dataclass(frozen=True)
class PlotLevel:
    """A value to compare with: a dashed line across, with its name."""

    name: str
    value: float


@dataclass(frozen=True)
class PlotMark:
    """Where something was changed, on the horizontal axis."""

    x: float
    words: str


@dataclass(frozen=True)
class Note:
    """Words at a place: `anchor` is the part of the words that stands there, (0.5, 0) the middle of their top."""

    text: str
    x: float
    y: float
    anchor: tuple[float, float] = (0.5, 0.0)
    room: float = 0.0
    """How much of the vertical axis the words may take: they are left out where letters are taller; 0 keeps them."""


class Content(QObject):
    """Everything in one plot. `tell` says that something changed."""

    changed = Signal()

    def __init__(self, title: str = "", unit: str = "", help: str = "", across: str = "", up: str = "") -> None:
        """`across` is what the horizontal axis counts, `up` what the vertical one shows."""
        super().__init__()
        self.title, self.unit, self.help, self.across, self.up = title, unit, help, across, up
        self.lines: Sequence[PlotLine] = ()
        self.bars: Sequence[PlotBars] = ()
        self.dots: Sequence[Dots] = ()
        self.picture: PlotPicture | None = None
        self.shapes: Sequence[PlotShapes] = ()
        self.levels: Sequence[PlotLevel] = ()
        self.marks: Sequence[PlotMark] = ()
        self.notes: Sequence[Note] = ()
        self.present: float | None = None
        """Where we are on the horizontal axis."""
        self.empty = ""
        """What is said while there is nothing to show."""
        self.legend = True
        """Whether the heading names what can be switched."""
        self.hidden: set[int] = set()
        """Keys that the legend has switched off."""

    def tell(self) -> None:
        self.changed.emit()

    @property
    def anything(self) -> bool:
        """Whether there is anything to see."""
        return (
            self.picture is not None
            or any(len(line.x) for line in self.lines)
            or any(len(dots.x) for dots in self.dots)
            or any(len(bars.heights) for bars in self.bars)
        )

    def switches(self) -> dict[int, tuple[str, Paint]]:
        """What the legend can switch: key, name and colour, in order."""
        found: dict[int, tuple[str, Paint]] = {}
        everything: list[PlotLine | PlotBars | Dots] = [*self.lines, *self.dots, *self.bars]
        for each in everything:
            if not isinstance(each, PlotLine) or each.named:
                found.setdefault(each.key, (each.name, each.paint))
        return found

    def switch(self, key: int) -> None:
        """Show what was hidden, or the other way round."""
        self.hidden ^= {key}
        self.tell()

    def to_csv(self) -> str:
        """All numbers as a table: what, x, y, and the ends of a band or a bar where there are any."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("name", self.across or "x", self.up or self.title or "y", "low", "high"))
        for line in self.lines:
            low = np.full(len(line.x), np.nan) if line.low is None else line.low
            high = np.full(len(line.x), np.nan) if line.high is None else line.high
            _rows(writer, line.name if line.named else f"{line.name}, each", line.x, line.y, low, high)
        for dots in self.dots:
            nothing = np.full(len(dots.x), np.nan)
            _rows(writer, dots.name, dots.x, dots.y, nothing, nothing)
        for bars in self.bars:
            middle = (bars.edges[:-1] + bars.edges[1:]) / 2
            values = bars.heights if bars.values is None else bars.values
            _rows(writer, bars.name, middle, values, bars.edges[:-1], bars.edges[1:])
        if self.picture is not None:
            shown = self.picture
            across, down = (centres(*shown.x, shown.values.shape[1]), centres(*shown.y, shown.values.shape[0]))
            for y, row in zip(down, shown.values, strict=True):
                nothing = np.full(len(row), np.nan)
                _rows(writer, f"{y:g}", across, row, nothing, nothing)
        return out.getvalue()


def centres(first: float, last: float, cells: int) -> np.ndarray:
    """The middles of cells between two ends, (cells,)."""
    return first + (last - first) * (np.arange(cells) + 0.5) / max(cells, 1)


def _rows(writer, name: str, *columns: np.ndarray) -> None:  # type: ignore[no-untyped-def]  # csv has no public type
    for row in zip(*(np.asarray(column, dtype=np.float64) for column in columns), strict=True):
        writer.writerow((name, *("" if np.isnan(value) else repr(float(value)) for value in row)))


class Crosshair(QObject):
    """One position on the horizontal axis, shown by every plot that shares it; None while nobody points.

    All of them count the same: `counted` tells what, from now on.
    """

    moved = Signal(object)
    counted = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.x: float | None = None

    def move(self, x: float | None) -> None:
        if x != self.x:
            self.x = x
            self.moved.emit(x)
