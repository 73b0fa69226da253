"""The numbers behind the curves: every iteration of every lane, none lost."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

import numpy as np

from mrfstudio.engine.frames import Frame, Scalars

MEASURES = ("residual", "log_partition", "iou", "nce_bits", "mse")
FIRST_ROOM = 256


class Series:
    """One lane's scalars by iteration, in an array that doubles when full. Column 0 is the iteration, NaN nothing."""

    def __init__(self) -> None:
        self._rows = np.empty((FIRST_ROOM, 1 + len(MEASURES)))
        self._count = 0

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
        self._count = int(np.searchsorted(self._rows[: self._count, 0], iteration, side="right"))

    @property
    def iterations(self) -> np.ndarray:
        return self._rows[: self._count, 0]

    def values(self, measure: str) -> np.ndarray:
        """(iterations,) float64, NaN where nothing was measured."""
        return self._rows[: self._count, 1 + MEASURES.index(measure)]

    def known(self, measure: str) -> tuple[np.ndarray, np.ndarray]:
        """Iterations and finite values of a measure."""
        values = self.values(measure)
        finite = np.isfinite(values)
        return self.iterations[finite], values[finite]


class AllSeries:
    """The series of all lanes."""

    def __init__(self) -> None:
        self.lanes: dict[int, Series] = {}
        self.titles: dict[int, str] = {}

    def take(self, frame: Frame) -> None:
        """Add a frame: forget what its cut says, then append every scalar it carries."""
        for gone in set(self.lanes) - {lane.lane for lane in frame.lanes}:
            del self.lanes[gone], self.titles[gone]
        for lane in frame.lanes:
            series = self.lanes.setdefault(lane.lane, Series())
            self.titles[lane.lane] = f"{lane.model}, {lane.algorithm}"
            if frame.cut is not None:
                series.cut(frame.cut)
            series.extend(lane.scalars)

    def clear(self) -> None:
        self.lanes.clear()
        self.titles.clear()

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
