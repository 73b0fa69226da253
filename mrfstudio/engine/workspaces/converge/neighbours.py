"""Beliefs of variables that stand beside each other: the lines of a lattice."""

from __future__ import annotations

import numpy as np
import torch

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.workspaces.workspace import LaneView


def neighbour_beliefs(view: LaneView) -> np.ndarray:
    """Beliefs (n - 1, states, states) of variables v and v + 1 that share a factor of two; 0 where they do not."""
    graph: FactorGraph = view.model
    most = int(graph.cardinalities.max(initial=1))
    found = np.zeros((max(graph.variables - 1, 0), most, most), np.float32)
    if not graph.groups or view.algorithm.marginals_only or view.state.iteration == 0:
        return found
    with torch.no_grad():
        tables = view.algorithm.factor_beliefs(graph, view.evidence, view.state)
    for group, beliefs in zip(graph.groups, tables, strict=False):
        if group.order != 2:
            continue
        first, second = group.scopes.cpu().numpy()
        table = beliefs.cpu().numpy()
        for column in np.flatnonzero(second == first + 1):
            rows, columns = table.shape[:2]
            found[first[column], :rows, :columns] = table[:, :, column]
    return found
