"""A session as a web page: every iteration computed again from its log, then written by `mrfstudio/pages`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from mrfstudio.engine.files.atomic import write_text
from mrfstudio.engine.files.sessions.session_file import load_session
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import GraphFrame
from mrfstudio.engine.session.label_pictures import VisiblePart
from mrfstudio.engine.session.lane_runner import LaneRunner
from mrfstudio.engine.session.lanes import Lane, TimelinePoint
from mrfstudio.engine.session.measurements import Measurements
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.session.timeline import every_point
from mrfstudio.engine.workspaces.workspace import LabelWorkspace, LaneView
from mrfstudio.pages.page import page_of
from mrfstudio.pages.run import CURVES, PageGraph, PageLane, PageRun

LETTERS = "ABCDEF"
LARGEST_SIDE = 128
"""Pixels of a picture along its longer side, at most: larger ones are sampled."""


def write_page(session: Path, out: Path, text: Sequence[str] = (), title: str = "", command: str = "") -> int:
    """Write the page of a session file; returns its size in bytes."""
    page = page_of(run_of_file(session, text, title, command))
    write_text(out, page)
    return len(page.encode())


def run_of_file(session: Path, text: Sequence[str] = (), title: str = "", command: str = "") -> PageRun:
    """Every iteration of a session file."""
    torch.set_flush_denormal(True)  # as in the window: the last bits of messages next to 0 depend on it
    return run_of(load_session(session), text, title or session.stem, command)


def run_of(session: Session, text: Sequence[str] = (), title: str = "", command: str = "") -> PageRun:
    """Every iteration of a session, from its beginning to where it is or goes."""
    timeline = session.timeline
    runner = LaneRunner(session.workspace)
    there = session.point.iteration if timeline.target is None else timeline.target
    collected = _Collected(runner)
    for point in every_point(runner, timeline.origin, timeline.log, max(there, timeline.newest)):
        collected.add(point)
    return collected.run(title or session.document.name, tuple(text), command)


@dataclass(eq=False)
class _Track:
    """What is collected of one lane; a point in which it has nothing to show repeats the one before."""

    beliefs: list[np.ndarray] = field(default_factory=list)
    messages: list[np.ndarray | None] = field(default_factory=list)


class _Collected:
    """Points of one course; a change of graph or size starts again, because a page shows one graph."""

    def __init__(self, runner: LaneRunner) -> None:
        self.runner = runner
        self.measurements = Measurements(runner)
        self.iterations: list[int] = []
        self.tracks: dict[int, _Track] = {}
        self.graph: GraphFrame | None = None
        self.lanes: tuple[Lane, ...] = ()
        self.cut = False
        self._kind: object = None

    def add(self, point: TimelinePoint) -> None:
        graph = self.runner.workspace.graph_frame(point.document, point.lanes[0].model)
        shape = point.document.shape if graph is None else (graph.nodes, graph.edges.tobytes(), graph.states.tobytes())
        kind = (shape, tuple(lane.number for lane in point.lanes))
        if kind != self._kind:
            self.cut = self._kind is not None
            self._kind, self.iterations, self.tracks = kind, [], {}
        if self.iterations and self.iterations[-1] == point.iteration:
            return
        self.graph, self.lanes = graph, point.lanes
        self.iterations.append(point.iteration)
        if point.iteration:
            self.measurements.measure(point, strip=False)
            self.measurements.finish()
        for lane in point.lanes:
            self._add_lane(self.tracks.setdefault(lane.number, _Track()), point, lane)

    def _add_lane(self, track: _Track, point: TimelinePoint, lane: Lane) -> None:
        view = self.runner.view(point, lane)
        try:
            if view is None:
                raise StudioError("Nothing was computed yet.")
            with torch.no_grad(), self.runner.pinned(view.state):
                track.beliefs.append(self._beliefs(point, view))
        except StudioError:  # beliefs without a value, such as contradictions found on the way
            track.beliefs.append(track.beliefs[-1] if track.beliefs else self._nothing(point))
        track.messages.append(self._messages(lane))

    def _beliefs(self, point: TimelinePoint, view: LaneView) -> np.ndarray:
        workspace = self.runner.workspace
        if self.graph is not None:
            whole = VisiblePart.fitting(None, 1, point.document.shape)
            return workspace.pictures(("marginal",), view, whole, None)["marginal"].astype(np.float32)
        window = VisiblePart.fitting(None, self._stride(point), point.document.shape)
        if isinstance(workspace, LabelWorkspace):
            shares = workspace.pictures(("belief",), view, window, None)["belief"]
        else:
            shares = workspace.pictures(("mean",), view, window, None)["mean"][..., None]
        return np.rint(255 * np.clip(shares, 0, 1)).astype(np.uint8)

    def _stride(self, point: TimelinePoint) -> int:
        return -(-max(point.document.shape) // LARGEST_SIDE)

    def _nothing(self, point: TimelinePoint) -> np.ndarray:
        if self.graph is not None:
            states = int(self.graph.states.max(initial=2))
            return np.full((self.graph.nodes, states), np.nan, np.float32)
        height, width = (-(-side // self._stride(point)) for side in point.document.shape)
        return np.zeros((height, width, 3 if isinstance(self.runner.workspace, LabelWorkspace) else 1), np.uint8)

    def _messages(self, lane: Lane) -> np.ndarray | None:
        """(edges, 2, states) float32, NaN where a node has fewer states; None where the algorithm sends none."""
        if self.graph is None or lane.state is None or not len(self.graph.edges):
            return None
        found = np.full((len(self.graph.edges), 2, int(self.graph.states.max())), np.nan, np.float32)
        for edge in range(len(self.graph.edges)):
            pair = self.runner.workspace.edge_messages(lane.model, lane.state, edge)
            if pair is None:
                return None
            for side in (0, 1):
                found[edge, side, : len(pair[side])] = pair[side]
        return found

    def run(self, title: str, text: tuple[str, ...], command: str) -> PageRun:
        notes = ("The graph or the lanes were changed on the way: this is what came after.",) if self.cut else ()
        labels: tuple[str, ...] = ()
        if self.graph is None and isinstance(self.runner.workspace, LabelWorkspace):
            names = getattr(self.lanes[0].model, "label_names", ())
            labels = tuple(str(name) for name in names)
        lanes = tuple(self._lane(lane) for lane in self.lanes)
        graph = None if self.graph is None else _graph(self.graph)
        return PageRun(title, tuple(self.iterations), lanes, graph, labels, text, command, notes)

    def _lane(self, lane: Lane) -> PageLane:
        track = self.tracks[lane.number]
        shapes = {each.shape for each in track.beliefs}
        beliefs = np.stack(track.beliefs) if len(shapes) == 1 else np.stack([track.beliefs[-1]] * len(self.iterations))
        known = [each for each in track.messages if each is not None]
        messages = None
        if known:
            messages = np.stack([np.full_like(known[0], np.nan) if each is None else each for each in track.messages])
        return PageLane(
            f"{LETTERS[lane.number]} {lane.name or lane.algorithm.name}", beliefs, messages, self._curves(lane)
        )

    def _curves(self, lane: Lane) -> dict[str, np.ndarray]:
        scalars = (
            {each.iteration: each for each in self.measurements.by_lane[lane.number].scalars} if lane.stepped else {}
        )
        found = {}
        for name in CURVES:
            values = [getattr(scalars.get(iteration), name, None) for iteration in self.iterations]
            found[name] = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        return found


def _graph(graph: GraphFrame) -> PageGraph:
    labels = tuple(str(label) for label in graph.labels)
    return PageGraph(graph.positions, graph.edges, graph.states, labels, graph.couplings, graph.stars)
