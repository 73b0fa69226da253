"""The messages along one edge over all iterations that history holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mrfstudio.engine.document import frozen
from mrfstudio.engine.frames import MessageTrace
from mrfstudio.engine.lanes import Lane, Moment
from mrfstudio.engine.workspaces.contract import Workspace

LONGEST = 2000
"""Iterations of one trace; more cannot be told apart on a screen."""

Pair = tuple[np.ndarray, np.ndarray]


class Tracer:
    """Reads each state once: what was read before is kept as long as history keeps the state."""

    def __init__(self, workspace: Workspace, lane: int, edge: int) -> None:
        self.lane, self.edge = lane, edge
        self._workspace = workspace
        self._read: dict[int, tuple[object, Pair]] = {}

    def trace(self, moments: Sequence[Moment], now: Lane) -> MessageTrace | None:
        """Both messages at every key-frame, and at the present state of the lane; None where there are none."""
        states = {each.iteration: each for moment in moments for each in moment.lanes if each.number == self.lane}
        states[now.iteration] = now
        found: dict[int, tuple[object, Pair]] = {}
        for iteration in sorted(states)[-LONGEST:]:
            lane = states[iteration]
            known = self._read.get(iteration)
            if known is not None and known[0] is lane.state:
                found[iteration] = known
                continue
            pair = None if lane.state is None else self._workspace.edge_messages(lane.model, lane.state, self.edge)
            if pair is not None:
                found[iteration] = (lane.state, pair)
        self._read = found
        if not found:
            return None
        to_first, to_second = (np.stack([pair[1][side] for pair in found.values()]) for side in (0, 1))
        return MessageTrace(self.edge, frozen(np.array(list(found))), frozen(to_first), frozen(to_second))
