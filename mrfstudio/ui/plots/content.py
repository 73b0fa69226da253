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
    ends: Range | None = None
    """The smallest and the largest y, where somebody keeps them: not to be looked for at every new point."""

    @property
    def extremes(self) -> Range:
        return (float(self.y.min()), float(self.y.max())) if self.ends is None else self.ends


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
    each: Callable[[Colours], np.ndarray] | None = None
    """Makes the colour of every point, (n, 3) or with an alpha (n, 4) uint8; None paints all alike."""
    symbol: str = "o"
    """`o` a disc, `s` a square, `+` and `x` crosses."""
    edge: Paint | None = None
    """A thin outline."""
    named: bool = True
    """Whether legend and table have it; squares that explain colours are no numbers."""


@dataclass(frozen=True, eq=False)
class PlotPicture:
    """A map: `values` (rows, columns) over the rectangle of x and y ends; row 0 is at y's first end.

    Values of labels are (rows, columns, labels). `colour` makes (height, width, 3) uint8 of the values for a theme, as
    many pixels as it likes.
    """

    values: np.ndarray
    x: Range
    y: Range
    colour: Callable[[np.ndarray, Colours], np.ndarray]
    describe: Callable[[int, int, float], str] | None = None
    numbers: Callable[[float], str] | None = None
    """What a cell says of its value, where it has room; cells then have frames."""
    name: str = ""


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
        self.pictures: Sequence[PlotPicture] = ()
        self.rows: Sequence[str] = ()
        """The names of the rows of a map, in place of numbers at the left."""
        self.columns: Sequence[str] = ()
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
    def picture(self) -> PlotPicture | None:
        """The only map, or the first of several."""
        return self.pictures[0] if self.pictures else None

    @picture.setter
    def picture(self, picture: PlotPicture | None) -> None:
        self.pictures = () if picture is None else (picture,)

    @property
    def anything(self) -> bool:
        """Whether there is anything to see."""
        return (
            bool(self.pictures)
            or any(len(line.x) for line in self.lines)
            or any(len(dots.x) for dots in self.dots)
            or any(len(bars.heights) for bars in self.bars)
        )

    def switches(self) -> dict[int, tuple[str, Paint]]:
        """What the legend can switch: key, name and colour, in order."""
        found: dict[int, tuple[str, Paint]] = {}
        everything: list[PlotLine | PlotBars | Dots] = [*self.lines, *self.dots, *self.bars]
        for each in everything:
            if isinstance(each, PlotBars) or each.named:
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
        for dots in (each for each in self.dots if each.named):
            nothing = np.full(len(dots.x), np.nan)
            _rows(writer, dots.name, dots.x, dots.y, nothing, nothing)
        for bars in self.bars:
            middle = (bars.edges[:-1] + bars.edges[1:]) / 2
            values = bars.heights if bars.values is None else bars.values
            _rows(writer, bars.name, middle, values, bars.edges[:-1], bars.edges[1:])
        for shown in self.pictures:
            self._write_map(writer, shown)
        return out.getvalue()

    def _write_map(self, writer, shown: PlotPicture) -> None:  # type: ignore[no-untyped-def]  # csv has no public type
        """A row for each cell; of a map of labels one for each of them."""
        high, wide = shown.values.shape[:2]
        down = self.rows or [f"{y:g}" for y in centres(*shown.y, high)]
        across = self.columns or [repr(float(x)) for x in centres(*shown.x, wide)]
        if shown.name:  # of several: their places on the screen mean nothing
            down, across = [str(row) for row in range(high)], [str(column) for column in range(wide)]
        for label, plane in enumerate(np.moveaxis(shown.values.reshape(high, wide, -1), 2, 0)):
            of = f"{shown.name}, label {label}" if shown.values.ndim > 2 else shown.name
            for name, row in zip(down, plane, strict=True):
                for place, value in zip(across, row, strict=True):
                    writer.writerow((f"{of}, row {name}" if of else name, place, repr(float(value)), "", ""))


def frames(spans: Sequence[tuple[Range, Range]], paint: Paint, width: float) -> PlotShapes:
    """Four lines around each of some rectangles, given by their ends across and up."""
    x = [(left, right, right, right, right, left, left, left) for (left, right), _ in spans]
    y = [(low, low, low, high, high, high, high, low) for _, (low, high) in spans]
    return PlotShapes(np.array(x, np.float64).ravel(), np.array(y, np.float64).ravel(), paint, width)


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
