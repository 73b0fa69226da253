"""The curves of runs: every step of every run that is shown, none lost."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

import numpy as np

from mrfstudio.engine.protocol.training import LearnerChange
from mrfstudio.ui.plots.content import PlotMark

STEP = "step"
FIRST_ROOM = 1024
NOTED = {"step": STEP, "second": "seconds", "epoch": "epoch", "image": "images"}
"""The column of each unit."""


class RunSeries:
    """Columns of one run by name, in arrays that double when full; NaN where nothing was measured."""

    def __init__(self, columns: Mapping[str, np.ndarray] | None = None) -> None:
        self._columns: dict[str, np.ndarray] = {STEP: np.empty(FIRST_ROOM)}
        self._count = 0
        self._known: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        if columns:
            self.extend(columns)

    def __len__(self) -> int:
        return self._count

    def extend(self, columns: Mapping[str, np.ndarray]) -> None:
        """Add rows. Steps that are there already are replaced, as after a resume; a repeated last step is completed."""
        if STEP not in columns or not len(columns[STEP]):
            return
        steps = np.asarray(columns[STEP], dtype=np.float64)
        start = int(np.searchsorted(self._columns[STEP][: self._count], steps[0]))
        completed = start < self._count and len(steps) == 1 and start == self._count - 1
        end = start + len(steps)
        self._make_room(end, columns)
        for name, column in self._columns.items():
            new = columns.get(name)
            if new is not None:
                given = np.asarray(new, dtype=np.float64)
                column[start:end] = np.where(np.isnan(given) & completed, column[start:end], given)
            elif not completed:
                column[start:end] = np.nan
        self._count = end
        self._known.clear()

    def _make_room(self, end: int, columns: Mapping[str, np.ndarray]) -> None:
        room = len(self._columns[STEP])
        while room < end:
            room *= 2
        for name in (*self._columns, *columns):
            old = self._columns.get(name)
            if old is None or len(old) < room:
                grown = np.full(room, np.nan)
                if old is not None:
                    grown[: self._count] = old[: self._count]
                self._columns[name] = grown

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._columns)

    @property
    def last_step(self) -> int:
        return int(self._columns[STEP][self._count - 1]) if self._count else 0

    def known(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Steps and finite values of a column; found once for each time that rows were added."""
        if name not in self._columns:
            return np.empty(0), np.empty(0)
        if name not in self._known:
            values = self._columns[name][: self._count]
            finite = np.isfinite(values)
            self._known[name] = self._columns[STEP][: self._count][finite], values[finite]
        return self._known[name]

    def along(self, unit: str, name: str) -> np.ndarray:
        """Where the finite values of a column stand: steps, or what the run has noted of another unit."""
        if name not in self._columns:
            return np.empty(0)
        return self.counted(unit)[np.isfinite(self._columns[name][: self._count])]

    def counted(self, unit: str) -> np.ndarray:
        """(steps,): what the horizontal axis counts, at every step; it never falls.

        A run of an older version noted no images: they are NaN, and nothing of it is drawn over them.
        """
        column = self._columns.get(NOTED[unit])
        return np.full(self._count, np.nan) if column is None else column[: self._count]

    def column(self, name: str) -> np.ndarray:
        """(steps,) with NaN where nothing was measured."""
        return self._columns[name][: self._count]


class RunCurves:
    """The runs that are drawn, by the number of their colour: 0 is the one that is looked at."""

    def __init__(self) -> None:
        self.lanes: dict[int, RunSeries] = {}
        self.titles: dict[int, str] = {}
        self.alike: dict[int, int] = {}
        """Runs that differ only in their seed: the number of each, and that of the first of them."""
        self.marks: list[PlotMark] = []
        """Where parameters of the run that is looked at were changed."""

    def mark_changes(self, changes: Sequence[LearnerChange]) -> None:
        """Mark each step from which something is different, with all that is."""
        said: dict[int, list[str]] = {}
        for each in changes:
            value = f"{each.value:g}" if isinstance(each.value, float) else str(each.value)
            said.setdefault(each.step, []).append(f"{each.name.replace('_', ' ')} {value}")
        self.marks = [PlotMark(float(step), ", ".join(words)) for step, words in said.items()]

    def groups(self) -> list[list[int]]:
        """Runs that differ only in their seed, together; the others alone."""
        found: dict[int, list[int]] = {}
        for lane in self.lanes:
            found.setdefault(self.alike.get(lane, lane), []).append(lane)
        return list(found.values())

    def to_csv(self) -> str:
        """All numbers as a table: run, step, then every column."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        names = list(dict.fromkeys(name for series in self.lanes.values() for name in series.names if name != STEP))
        writer.writerow(("run", STEP, *names))
        for lane, series in sorted(self.lanes.items()):
            columns = [series.column(name) if name in series.names else np.full(len(series), np.nan) for name in names]
            for step, *row in zip(series.column(STEP), *columns, strict=True):
                cells = ("" if np.isnan(value) else repr(float(value)) for value in row)
                writer.writerow((self.titles[lane], int(step), *cells))
        return out.getvalue()


Points = tuple[np.ndarray, np.ndarray]


def mean_and_range(curves: Sequence[Points]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Places, means, lowest and highest of several curves, at the places where all of them were measured."""
    common = curves[0][0]
    for x, _ in curves[1:]:
        common = np.intersect1d(common, x)
    heights = np.stack([y[np.searchsorted(x, common)] for x, y in curves]) if len(common) else np.zeros((1, 0))
    return common, heights.mean(0), heights.min(0), heights.max(0)
