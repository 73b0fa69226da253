"""Lanes side by side: how far each is from a reference, in numbers, points and pictures.

The reference is exact inference where it can be computed, else a lane. Errors are those of the tables in [Liu20]:
over p(x_i = s) of all nodes and all states s but the first, and with pairs also over p(x_i = s, x_j = s') of all
factors of two variables, each entry once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.protocol.commands import SetView
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import Comparison, LaneScore
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.session.document import frozen
from mrfstudio.engine.session.exact_reference import ExactReference
from mrfstudio.engine.session.lane_runner import LaneRunner
from mrfstudio.engine.session.lanes import Lane, TimelinePoint
from mrfstudio.engine.session.measurements import LaneMeasurements, Measurements
from mrfstudio.engine.workspaces.workspace import LabelWorkspace, LaneView

LETTERS = "ABCDEF"
POINTS = 4000
"""Points of a scatter plot: more are a cloud that takes long to draw."""

NO_LABELS = "Nothing exact to compare such pictures with: the layer “Difference” shows where two lanes disagree."

Vector = NDArray[np.float64]


class Comparer:
    """Compares the lanes of one session, as far as its view asks for it."""

    def __init__(self, runner: LaneRunner, measurements: Measurements, clock: Callable[[], float]) -> None:
        self._runner, self._measurements = runner, measurements
        self._exact = ExactReference(clock)
        self.reference: LaneView | None = None
        """What the last comparison was made with, for pictures of the error."""

    @property
    def waiting(self) -> bool:
        """Whether `poll` will have something new at some time."""
        return self._exact.waiting

    def poll(self) -> bool:
        """Whether a reference has come that was waited for."""
        return self._exact.poll()

    def close(self) -> None:
        """Nobody looks any more."""
        self._exact.forget()
        self.reference = None

    def compare(self, point: TimelinePoint, asked: SetView) -> Comparison:
        """The comparison at a point; models whose beliefs are no labels have times alone."""
        workspace = self._runner.workspace
        if not isinstance(workspace, LabelWorkspace):
            scores = tuple(self._score(point, lane, None, None) for lane in point.lanes)
            return Comparison("none", None, NO_LABELS, scores=scores)
        views = {lane.number: self._runner.view(point, lane) for lane in point.lanes}
        kind, lane, text = self._find(point, views, asked.reference)
        with torch.no_grad():
            truth = None if self.reference is None else _Beliefs(workspace, self.reference)
            scores = tuple(self._score(point, lane, views[lane.number], truth) for lane in point.lanes)
            log_z = _log_z(self.reference) if kind == "exact" else None
        points = None if truth is None else truth.points
        return Comparison(kind, lane, text, log_z, points, scores)

    # The reference ----------------------------------------------------------------------------------------------------

    def _find(
        self, point: TimelinePoint, views: dict[int, LaneView | None], wanted: int | None
    ) -> tuple[str, int | None, str]:
        """Choose what to compare with: its kind, the lane it is, and a sentence about it."""
        first = point.lanes[0]
        begun = views[first.number]
        self.reference = None
        if wanted is not None and any(lane.number == wanted for lane in point.lanes):
            self.reference = views[wanted]
            return "lane", wanted, f"Compared with lane {LETTERS[wanted]}, as chosen."
        for lane in point.lanes:
            if lane.algorithm.name == Exact.name and lane.stepped and lane.model is first.model:
                self.reference = views[lane.number]
                return "exact", lane.number, f"Compared with exact inference, lane {LETTERS[lane.number]}."
        if begun is None:
            return "none", None, "Nothing to compare yet: the first lane could not begin."
        try:
            answer = self._exact.answer(begun)
        except StudioError as problem:
            return "none", None, str(problem)
        if answer.view is not None:
            self.reference = answer.view
            return "exact", None, "Compared with exact inference."
        if answer.computing:
            return "computing", None, "Exact marginals are being computed in the background…"
        self.reference = begun
        reason = answer.reason[:1].lower() + answer.reason[1:]
        return "lane", first.number, f"Compared with lane {LETTERS[first.number]}: {reason}."

    # Numbers ----------------------------------------------------------------------------------------------------------

    def _score(self, point: TimelinePoint, lane: Lane, view: LaneView | None, truth: _Beliefs | None) -> LaneScore:
        made: dict[str, Any] = {"lane": lane.number, "iterations": lane.done, "seconds": self._runner.pace(lane)}
        if view is None or truth is None:
            return LaneScore(**made)
        try:
            mine = _Beliefs(truth.workspace, view)
            if mine.nodes.shape != truth.nodes.shape:
                return LaneScore(**made)
            made.update(_errors(mine, truth), marginals=mine.points)
        except StudioError:
            return LaneScore(**made)  # beliefs without a value; the lane's own message says why
        log_z, exact = self._log_partition(lane), _log_z(truth.view)
        if log_z is not None and exact is not None and lane.model is truth.view.model:
            made["log_partition_error"] = log_z - exact
        return LaneScore(**made)

    def _log_partition(self, lane: Lane) -> float | None:
        """What the lane last said about log Z, up to where it is shown."""
        numbers = self._measurements.by_lane.get(lane.number, LaneMeasurements())
        known = (s for s in reversed(numbers.scalars) if s.iteration <= lane.iteration and s.log_partition is not None)
        last = next(known, None)
        return None if last is None else last.log_partition


class _Beliefs:
    """The probabilities of a view as vectors: nodes (n, states), and pairs where the algorithm has them."""

    def __init__(self, workspace: LabelWorkspace, view: LaneView) -> None:
        self.workspace, self.view = workspace, view
        labels = workspace.labels(view)
        flat = labels.reshape(-1, labels.shape[-1])
        self.nodes = flat[: view.model.variables] if isinstance(view.model, FactorGraph) else flat

    @property
    def singles(self) -> Vector:
        """p(x_i = s) for s > 0."""
        return self.nodes[:, 1:].ravel().astype(np.float64)

    @property
    def points(self) -> np.ndarray:
        """Some of `singles`, evenly spread, for a scatter plot."""
        singles = self.singles
        return frozen(singles[:: -(-len(singles) // POINTS) or 1].astype(np.float32))

    def pairs(self) -> Vector | None:
        """p(x_i = s, x_j = s') for s, s' > 0 of all factors of two variables; None where there are no such beliefs."""
        if "pairs" not in self.view.kept:
            self.view.kept["pairs"] = self._pairs()
        found: Vector | None = self.view.kept["pairs"]
        return found

    def _pairs(self) -> Vector | None:
        if not isinstance(self.view.model, FactorGraph):
            return None
        view = self.view
        try:
            tables = view.algorithm.factor_beliefs(view.model, view.evidence, view.state)
        except StudioError:
            return None
        groups = view.model.groups
        if len(tables) != len(groups):
            return None  # exact inference before its step
        two = [table[1:, 1:] for table, group in zip(tables, groups, strict=True) if group.order == 2]
        flat = [to_host(table.reshape(-1).double()) for table in two]
        return np.concatenate(flat) if flat else np.zeros(0)


def _errors(mine: _Beliefs, truth: _Beliefs) -> dict[str, Any]:
    """ℓ1, correlation and the largest error against the truth."""
    own, true = mine.singles, truth.singles
    if not len(own):
        return {}
    apart = np.abs(own - true)
    found: dict[str, Any] = {"l1": float(apart.mean()), "largest": float(apart.max())}
    found["worst"] = int(apart.argmax()) // max(mine.nodes.shape[1] - 1, 1)
    found["correlation"] = _correlation(own, true)
    if mine.view.model is truth.view.model:
        own_pairs, true_pairs = mine.pairs(), truth.pairs()
        if own_pairs is not None and true_pairs is not None:
            together = np.concatenate([apart, np.abs(own_pairs - true_pairs)])
            found["l1_pairs"] = float(together.mean())
    return found


def _correlation(a: Vector, b: Vector) -> float | None:
    """Pearson's; None where one of them does not vary."""
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(np.clip(a @ b / scale, -1, 1)) if scale > 1e-12 * max(len(a), 1) else None


def _log_z(view: LaneView | None) -> float | None:
    if view is None or not isinstance(view.algorithm, Exact):
        return None
    return view.algorithm.log_partition(view.model, view.evidence, view.state).value
