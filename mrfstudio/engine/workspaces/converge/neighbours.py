"""Beliefs of variables that stand beside each other: the lines of a lattice."""

from __future__ import annotations

import numpy as np
import torch

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.workspaces.workspace import LaneView


def neighbour_beliefs(view: LaneView) -> np.ndarray:
    """Beliefs (n - 1, states, states) of variables v and v + 1 that share a factor; 0 where they do not.

    A factor of more variables is summed over the others.
    """
    graph: FactorGraph = view.model
    most = int(graph.cardinalities.max(initial=1))
    found = np.zeros((max(graph.variables - 1, 0), most, most), np.float32)
    if not graph.groups or view.algorithm.marginals_only or view.state.iteration == 0:
        return found
    with torch.no_grad():
        tables = view.algorithm.factor_beliefs(graph, view.evidence, view.state)
    for group, beliefs in zip(graph.groups, tables, strict=False):
        scopes, table = to_host(group.scopes), to_host(beliefs)
        for axis in range(group.order - 1):
            first, second = scopes[axis], scopes[axis + 1]
            pairs = table.sum(tuple(other for other in range(group.order) if other not in (axis, axis + 1)))
            rows, columns = pairs.shape[:2]
            for column in np.flatnonzero(second == first + 1):
                found[first[column], :rows, :columns] = pairs[:, :, column]
    return found
