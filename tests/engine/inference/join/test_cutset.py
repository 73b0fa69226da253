"""Conditioning on a cut-set is exact, and a lower bound on the way."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.bench.adversary.graphs import random_case
from mrfstudio.bench.adversary.judge import Setting, findings
from mrfstudio.bench.adversary.oracle import enumerated
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.algorithm import Unsupported
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.join import budget, stages
from mrfstudio.engine.inference.join.auto import Auto, AutoState
from mrfstudio.engine.inference.join.cutset import CutSet, chosen_cut, tables_along
from mrfstudio.engine.inference.join.join_tree import tree_of
from mrfstudio.engine.inference.join.propagation import problem_of
from mrfstudio.engine.inference.run import Limits, run

EQUAL = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs_are_those_of_enumeration(seed: int) -> None:
    case = random_case(890_000 + seed)
    for bits in (2.0, 4.0):
        assert findings(case, enumerated(case), Setting("cut-set", {"bits": bits})) == []


def test_a_grid_with_held_variables_is_exact_and_bounded_on_the_way() -> None:
    graph = ising_grid(6, 6, coupling=1.0, field=0.3, seed=5)
    given, chosen = graph.evidence({7: 1}), CutSet(bits=4.0)
    cut = chosen_cut(chosen, graph, given)
    assert cut is not None
    assert cut.assignments > 4
    widths = [len(table) for table in tables_along(problem_of(graph, given), cut.rest.variables, set(cut.variables))]
    assert max(widths) <= 4
    seen: list[float] = []

    def look(state: object) -> None:
        found = chosen.log_partition(graph, given, state)  # type: ignore[arg-type]
        assert found.value is not None
        seen.append(found.value)
        assert found.kind == ("exact" if len(seen) == cut.assignments else "lower_bound")

    outcome = run(chosen, graph, given, on_step=look)
    right = run(Exact(), graph, given).state
    assert outcome.state.iteration == cut.assignments
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(Exact().log_partition(graph, given, right).value)
    torch.testing.assert_close(
        chosen.beliefs(graph, given, outcome.state), Exact().beliefs(graph, given, right), atol=1e-10, rtol=0
    )
    for mine, theirs in zip(
        chosen.factor_beliefs(graph, given, outcome.state), Exact().factor_beliefs(graph, given, right), strict=True
    ):
        torch.testing.assert_close(mine, theirs, atol=1e-10, rtol=0)


def test_too_many_states_of_held_variables_are_refused() -> None:
    graph = ising_grid(8, 8, seed=1)
    with pytest.raises(Unsupported, match="held variables"):
        run(CutSet(bits=2.0, assignments=4), graph, graph.no_evidence())


def test_a_contradiction_within_every_state_of_the_cut_is_one() -> None:
    different = np.where(np.eye(2, dtype=bool), -np.inf, 0.0)
    odd = FactorGraph.from_factors([2] * 3, [((0, 1), different), ((1, 2), different), ((0, 2), different)])
    with pytest.raises(ContradictoryEvidence):
        run(CutSet(bits=2.0), odd, odd.no_evidence())


def test_auto_holds_variables_where_a_tree_fits_into_the_time_and_not_into_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = ising_grid(9, 9, coupling=0.7, field=0.3, seed=2)
    given = graph.no_evidence()
    tree = stages.exact_stage(graph, given, 0, 1.0, 20.0, 20.0)
    assert tree is not None
    monkeypatch.setattr(budget, "TREE_MOST", 0.6 * tree_of(graph, given, 0, 1.0).memory)
    state = run(Auto(), graph, given, Limits(iterations=300)).state
    assert isinstance(state, AutoState)
    assert "cut-set" in state.picked
    assert state.error == 0
    right = run(Exact(), graph, given).state
    torch.testing.assert_close(state.answer, Exact().beliefs(graph, given, right), atol=1e-9, rtol=0)
