"""Advice that is the judgement of `auto`."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.join import stages
from mrfstudio.engine.inference.join.auto import Auto, AutoState
from mrfstudio.engine.inference.run import run
from mrfstudio.engine.workspaces.converge import picking
from mrfstudio.engine.workspaces.converge.picking import auto_advice


def test_exact_where_that_fits() -> None:
    graph = ising_grid(5, 5, seed=1)
    found = auto_advice(graph, graph.no_evidence())
    assert found is not None
    assert (found.title, found.algorithm) == ("Auto: exact", "auto")


def test_the_error_is_that_of_a_trial_where_nothing_exact_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "exact_stage", lambda *_: None)
    monkeypatch.setattr(stages, "LARGEST", 11.0)
    graph = ising_grid(12, 12, coupling=0.7, field=0.2, seed=1)
    found = auto_advice(graph, graph.no_evidence())
    assert found is not None
    said = re.fullmatch(r"Auto: error ≈ (.+)", found.title)
    assert said is not None
    state = run(Auto(seconds=picking.TRIAL), graph, graph.no_evidence()).state
    assert isinstance(state, AutoState)
    assert float(said[1]) == pytest.approx(state.error, rel=0.5)
    assert state.error > 0


def test_nothing_is_tried_out_on_large_graphs_and_none_is_offered_for_a_contradiction() -> None:
    large = ising_grid(40, 40, seed=1)
    found = auto_advice(large, large.no_evidence())
    assert found is not None
    assert found.title == "Auto"
    differ = np.where(np.eye(2, dtype=bool), -np.inf, 0.0)
    triangle = FactorGraph.from_factors([2, 2, 2], [((0, 1), differ), ((1, 2), differ), ((0, 2), differ)])
    assert auto_advice(triangle, triangle.evidence({0: 1})) is None
