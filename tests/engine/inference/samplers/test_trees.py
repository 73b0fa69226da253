"""Trees drawn at once: the right marginals, with less noise than visits have."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.inference.samplers.gibbs import Gibbs, Samples
from mrfstudio.engine.inference.samplers.trees import forests, swept_trees


def mixed(strength: float = 1.0) -> FactorGraph:
    """Loops, orders 2 to 4, two to four states, a repeated scope and some zeros."""
    draw = np.random.default_rng(3)
    states = [2, 3, 4, 2, 3, 2]
    scopes = [(0, 1), (1, 2), (0, 2), (2, 3, 4), (0, 3, 4, 5), (4, 5), (4, 5)]
    tables = [draw.normal(0, strength, [states[v] for v in scope]) for scope in scopes]
    tables[3][1, 0, 2] = tables[4][0, 1, 1, 0] = -np.inf
    return FactorGraph.from_factors(states, list(zip(scopes, tables, strict=True)))


@pytest.mark.parametrize(
    "graph", [mixed(), ising_grid(5, 6, seed=1), ising_grid(1, 9, seed=1)], ids=["mixed", "grid", "chain"]
)
def test_forests_have_every_variable_and_no_loop(graph: FactorGraph) -> None:
    seen: set[int] = set()
    for forest in forests(graph):
        members = set(forest.members.tolist())
        seen |= members
        assert len(forest.parents) == len(members) - len(forest.roots)  # a forest
        for group in graph.groups:
            for scope in group.scopes.t().tolist():
                assert len(members & set(scope)) <= 2
    assert seen == set(range(graph.variables))


def test_one_sweep_over_a_tree_has_the_exact_marginals() -> None:
    draw = np.random.default_rng(0)
    states = [2, 3, 4, 2, 3]
    scopes = [(0, 1), (1, 2), (3, 1), (4, 3)]
    tables = [draw.normal(0, 300.0, [states[v] for v in scope]) for scope in scopes]
    graph = FactorGraph.from_factors(states, list(zip(scopes, tables, strict=True)))
    given = graph.evidence({4: 1})
    chains = torch.zeros((3, 5), dtype=torch.long)
    _, seen = swept_trees(graph, graph.local_potentials(given), chains, torch.Generator().manual_seed(0))
    right = Exact().beliefs(graph, given, run(Exact(), graph, given).state)
    for row in seen:
        torch.testing.assert_close(row, right, atol=1e-9, rtol=0)


def test_draws_of_a_tree_are_distributed_as_its_joint_states() -> None:
    table = np.log(np.array([[0.5, 0.1], [0.1, 0.3]]))
    graph = FactorGraph.from_factors([2, 2], [((0, 1), table)])
    chains = torch.zeros((20_000, 2), dtype=torch.long)
    local = graph.local_potentials(graph.no_evidence())
    drawn, _ = swept_trees(graph, local, chains, torch.Generator().manual_seed(1))
    shares = np.bincount((2 * drawn[:, 0] + drawn[:, 1]).numpy(), minlength=4) / len(drawn)
    np.testing.assert_allclose(shares, [0.5, 0.1, 0.1, 0.3], atol=5 * np.sqrt(0.25 / len(drawn)))


def test_a_loopy_graph_with_zeros_is_right_within_its_error() -> None:
    graph = mixed()
    given = graph.evidence({1: 2})
    chosen = Gibbs(sampler="trees", burn_in=20)
    outcome = run(chosen, graph, given, Limits(iterations=400, tolerance=0.01))
    assert outcome.converged
    right = Exact().beliefs(graph, given, run(Exact(), graph, given).state)
    error = float((chosen.beliefs(graph, given, outcome.state) - right).abs().max())
    assert error < 6 * chosen.residual(outcome.state)


def test_marginals_of_trees_are_nearer_to_the_truth_than_visits() -> None:
    graph = ising_grid(6, 6, coupling=0.6, field=0.2, seed=4)
    given = graph.no_evidence()
    right = Exact().beliefs(graph, given, run(Exact(), graph, given).state)
    errors = {"gibbs": 0.0, "trees": 0.0}
    for seed in range(3):
        for sampler in errors:
            chosen = Gibbs(sampler=sampler, burn_in=20, seed=seed)
            state = run(chosen, graph, given, Limits(iterations=60, tolerance=0.0)).state
            errors[sampler] += float((chosen.beliefs(graph, given, state) - right).abs().mean())
    assert errors["trees"] < errors["gibbs"] / 1.3


def test_chains_that_are_stuck_do_not_count_as_moved() -> None:
    """Two needles that no tree connects: shares between 0 and 1 alone do not say that a chain can move."""
    graph = mixed()
    chosen = Gibbs(sampler="trees", burn_in=0, chains=4)
    given = graph.no_evidence()
    state = run(chosen, graph, given, Limits(iterations=8, tolerance=0.0)).state
    assert isinstance(state, Samples)
    stuck = Samples(**{**vars(state), "moved": torch.zeros_like(state.moved)})
    doubt = stuck.doubt(torch.zeros(graph.packing.size, dtype=torch.bool), graph.packing.owners(graph.device))
    assert doubt is not None
    assert "never moved" in doubt
