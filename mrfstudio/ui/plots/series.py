"""The numbers behind the curves: every iteration of every lane, none lost."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

import numpy as np

from mrfstudio.engine.protocol.frames import Frame, Scalars
from mrfstudio.ui.plots.content import PlotMark
from mrfstudio.ui.widgets.lane_names import LETTERS

MEASURES = ("residual", "log_partition", "iou", "nce_bits", "mse", "seconds")
FIRST_ROOM = 256
MOST_MARKS = 40
"""Changes that plots remember."""


class _Known:
    """The finite values of a measure, or where they stand; grows by what is new, so that asking again is cheap.

    What was given out stays as it was: numbers are only ever added behind it.
    """

    def __init__(self) -> None:
        self._values = np.empty(FIRST_ROOM)
        self._count = 0
        self.seen = 0
        """Iterations that were looked at."""
        self.last = 0.0
        """The sum so far, where sums are wanted."""
        self.ends = (np.inf, -np.inf)

    def add(self, values: np.ndarray) -> None:
        count = self._count + len(values)
        if count > len(self._values):
            self._values = np.concatenate([self.values, np.empty(max(count, FIRST_ROOM))])
        self._values[self._count : count] = values
        self._count = count
        if len(values) == 1:
            self.ends = min(self.ends[0], float(values[0])), max(self.ends[1], float(values[0]))
        elif len(values):
            self.ends = min(self.ends[0], float(values.min())), max(self.ends[1], float(values.max()))

    @property
    def values(self) -> np.ndarray:
        return self._values[: self._count]


class Series:
    """One lane's scalars by iteration, in an array that doubles when full. Column 0 is the iteration, NaN nothing."""

    def __init__(self) -> None:
        self._rows = np.empty((FIRST_ROOM, 1 + len(MEASURES)))
        self._count = 0
        self._known: dict[tuple[str, str], _Known] = {}

    def __len__(self) -> int:
        return self._count

    def extend(self, scalars: Iterable[Scalars]) -> None:
        """Add iterations. One that is already there is replaced, and what came after it forgotten."""
        for each in scalars:
            if self._count and each.iteration <= self._rows[self._count - 1, 0]:
                self.cut(each.iteration - 1)
            if self._count == len(self._rows):
                self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
            values = (getattr(each, name) for name in MEASURES)
            self._rows[self._count] = (each.iteration, *(np.nan if value is None else value for value in values))
            self._count += 1

    def cut(self, iteration: int) -> None:
        """Forget everything after an iteration."""
        self._known.clear()
        self._count = int(np.searchsorted(self._rows[: self._count, 0], iteration, side="right"))

    @property
    def iterations(self) -> np.ndarray:
        return self._rows[: self._count, 0]

    def values(self, measure: str) -> np.ndarray:
        """(iterations,) float64, NaN where nothing was measured."""
        return self._rows[: self._count, 1 + MEASURES.index(measure)]

    def known(self, measure: str, unit: str = "iteration") -> tuple[np.ndarray, np.ndarray]:
        """Where the finite values of a measure stand, see `along`, and the values."""
        return self.along(unit, measure), self._finite("values", measure).values

    def ends(self, measure: str) -> tuple[float, float]:
        """The smallest and the largest finite value of a measure."""
        return self._finite("values", measure).ends

    def along(self, unit: str, measure: str) -> np.ndarray:
        """Where the finite values of a measure stand: iterations, or seconds of computing since the first."""
        return self._finite("second" if unit == "second" else "iteration", measure).values

    def counted(self, unit: str) -> np.ndarray:
        """(iterations,): what the horizontal axis counts, at every iteration."""
        return np.cumsum(np.nan_to_num(self.values("seconds"))) if unit == "second" else self.iterations

    def _finite(self, what: str, measure: str) -> _Known:
        known = self._known.get((what, measure))
        if known is None:
            known = self._known[what, measure] = _Known()
        if known.seen < self._count:
            new = slice(known.seen, self._count)
            values = self.values(measure)[new]
            wanted = values if what == "values" else self.iterations[new]
            if what == "second":
                wanted = known.last + np.cumsum(np.nan_to_num(self.values("seconds")[new]))
                known.last = float(wanted[-1])
            known.add(wanted[np.isfinite(values)])
            known.seen = self._count
        return known


class AllSeries:
    """The series of all lanes."""

    def __init__(self) -> None:
        self.lanes: dict[int, Series] = {}
        self.titles: dict[int, str] = {}
        self.marks: list[PlotMark] = []
        """Where parameters were changed, by iteration."""
        self._settings: dict[str, object] = {}

    def take(self, frame: Frame) -> None:
        """Add a frame: forget what its cut says, then append every scalar it carries."""
        self._notice(frame)
        for gone in set(self.lanes) - {lane.lane for lane in frame.lanes}:
            del self.lanes[gone], self.titles[gone]
        for lane in frame.lanes:
            series = self.lanes.setdefault(lane.lane, Series())
            self.titles[lane.lane] = f"{lane.model}, {lane.algorithm}"
            if frame.cut is not None:
                series.cut(frame.cut)
            series.extend(lane.scalars)

    def _notice(self, frame: Frame) -> None:
        """Keep where a parameter of a lane or of the graph differs from the frame before."""
        if frame.cut is not None:
            self.marks = [mark for mark in self.marks if mark.x <= frame.cut]
        now = {
            f"{LETTERS[lane.lane]} {name.replace('_', ' ')}": value
            for lane in frame.lanes
            for name, value in {"algorithm": lane.algorithm, **lane.parameters}.items()
        }
        if frame.graph is not None:
            now |= frame.graph.strengths
        changed = [name for name in now if name in self._settings and self._settings[name] != now[name]]
        if changed and frame.iteration:
            words = "; ".join(f"{name} {_short(self._settings[name])} → {_short(now[name])}" for name in changed)
            self._mark(frame.iteration, words)
        self._settings = now

    def _mark(self, iteration: int, words: str) -> None:
        """One mark for one iteration: a slider that is dragged makes many frames."""
        same = [mark for mark in self.marks if mark.x == iteration]
        self.marks = [mark for mark in self.marks if mark.x != iteration]
        before = same[0].words.split(" → ")[0] if same else ""
        if before and words.startswith(before.rpartition(" ")[0]):
            words = f"{before} → {words.split(' → ')[-1]}"
        self.marks = [*self.marks, PlotMark(iteration, words)][-MOST_MARKS:]

    def clear(self) -> None:
        self.lanes.clear()
        self.titles.clear()
        self.marks = []
        self._settings = {}

    def to_csv(self) -> str:
        """All numbers as a table: lane, iteration, then the measures."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("lane", "iteration", *MEASURES))
        for lane, series in sorted(self.lanes.items()):
            columns = [series.values(name) for name in MEASURES]
            for iteration, *row in zip(series.iterations, *columns, strict=True):
                writer.writerow(
                    (lane, int(iteration), *("" if np.isnan(value) else repr(float(value)) for value in row))
                )
        return out.getvalue()


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
