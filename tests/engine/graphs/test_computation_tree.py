"""The computation tree is what belief propagation sees: its exact root is BP's belief after as many iterations."""

from __future__ import annotations

import numpy as np
import pytest

from mrfstudio import infer
from mrfstudio.engine.graphs.sketch import Strengths
from mrfstudio.engine.graphs.sources import make_source
from mrfstudio.engine.graphs.words import graph_of
from mrfstudio.engine.protocol.errors import StudioError

STRENGTHS = Strengths(coupling=0.8, field=0.5)


@pytest.mark.parametrize(("of", "nodes", "depth"), [("ring", 3, 6), ("ring", 5, 7), ("grid", 3, 4)])
def test_the_exact_root_is_what_bp_believes_after_as_many_iterations(of: str, nodes: int, depth: int) -> None:
    shape = {"nodes": nodes} if of == "ring" else {"rows": nodes, "columns": nodes}
    graph = graph_of(make_source(of, {"couplings": "random", "seed": 4, **shape}).sketch(STRENGTHS))
    options = {"of": of, "nodes": nodes, "depth": depth, "couplings": "random", "seed": 4}
    tree = graph_of(make_source("computation-tree", options).sketch(STRENGTHS))
    loopy = infer(graph, algorithm="bp", iterations=depth, tolerance=0.0)
    exact = infer(tree, algorithm="exact")
    np.testing.assert_allclose(loopy.marginals[0], exact.marginals[0], atol=1e-6)


def test_a_tree_that_is_too_large_is_refused() -> None:
    with pytest.raises(StudioError, match="smaller depth"):
        make_source("computation-tree", {"of": "grid", "nodes": 6, "depth": 30}).sketch()
