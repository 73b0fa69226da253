"""Residual belief propagation: the fixed points of belief propagation, reached more often."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation, BeliefPropagationOnGraph
from mrfstudio.engine.inference.messages.residual_bp import ResidualPropagation, Tries, _round
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.runtime.interruption import Interrupted, interruptible


def tree(strength: float) -> FactorGraph:
    """Orders 2 to 4, two to four states, some zeros; no loop."""
    draw = np.random.default_rng(int(strength))
    states = [2, 3, 4, 2, 3, 2, 4, 3, 2]
    scopes = [(0, 1), (1, 2, 3), (3, 4, 5, 6), (6, 7), (2, 8)]
    tables = [draw.normal(0, 1, [states[v] for v in scope]) * strength for scope in scopes]
    tables[0][0, 1] = tables[2][1, 0, 1, 2] = tables[3][2, 0] = -np.inf
    return FactorGraph.from_factors(states, list(zip(scopes, tables, strict=True)))


@pytest.mark.parametrize("strength", [1.0, 30.0, 1000.0])
def test_trees_are_exact(strength: float) -> None:
    graph = tree(strength)
    given = graph.evidence({8: 1})
    found = run(ResidualPropagation(), graph, given, Limits(iterations=50))
    right = run(Exact(), graph, given).state
    assert found.converged
    torch.testing.assert_close(
        ResidualPropagation().beliefs(graph, given, found.state),
        Exact().beliefs(graph, given, right),
        atol=1e-9,
        rtol=0,
    )
    log_z = ResidualPropagation().log_partition(graph, given, found.state).value
    assert log_z == pytest.approx(Exact().log_partition(graph, given, right).value, rel=1e-9)


def test_its_fixed_points_are_those_of_belief_propagation() -> None:
    graph = ising_grid(6, 6, coupling=0.5, field=0.3, seed=3)
    given = graph.no_evidence()
    both = []
    for algorithm in (ResidualPropagation(), BeliefPropagation(kernel="generic")):
        outcome = run(algorithm, graph, given)
        assert outcome.converged
        both.append(algorithm.beliefs(graph, given, outcome.state))
    torch.testing.assert_close(*both, atol=1e-7, rtol=0)


def test_it_settles_after_a_restart_where_belief_propagation_swings() -> None:
    graph = ising_grid(10, 10, coupling=1.0, field=0.3, seed=0)
    given, limits = graph.no_evidence(), Limits(iterations=250, tolerance=1e-6)
    assert not run(BeliefPropagation(), graph, given, limits).converged
    assert not run(ResidualPropagation(restarts=0), graph, given, limits).converged
    outcome = run(ResidualPropagation(), graph, given, limits)
    assert outcome.converged
    assert outcome.state.iteration > ResidualPropagation().patience


def test_no_two_factors_that_speak_in_a_round_share_a_variable() -> None:
    graph = ising_grid(5, 5, coupling=1.0, field=0.5, seed=1)
    given = graph.no_evidence()
    local = graph.local_potentials(given)
    messages = ResidualPropagation().init(graph, given).messages[0]
    after = _round(graph, local, messages, 0.0)
    blocks = graph.packing.by_message((after != messages).double())
    heard: list[int] = []
    for group, axes in zip(graph.groups, blocks, strict=True):
        spoke = torch.stack([block.amax(-2) for block in axes]).amax(0) > 0
        heard += group.scopes[:, spoke].flatten().tolist()
    assert heard
    assert len(heard) == len(set(heard))


def test_other_evidence_is_judged_anew() -> None:
    graph = ising_grid(4, 4, coupling=0.4, field=0.3, seed=3)
    chosen = ResidualPropagation()
    settled = run(chosen, graph, graph.no_evidence()).state
    other = graph.evidence({5: 1})
    moved = chosen.resume(graph, other, settled)
    assert isinstance(moved, Tries)
    assert moved.residual == torch.inf
    outcome = run(chosen, graph, other, start=moved)
    fresh = BeliefPropagationOnGraph().beliefs(
        BeliefPropagation(), graph, other, run(BeliefPropagation(kernel="generic"), graph, other).state
    )
    torch.testing.assert_close(chosen.beliefs(graph, other, outcome.state), fresh, atol=1e-7, rtol=0)


def test_a_step_can_be_interrupted() -> None:
    graph = ising_grid(4, 4, seed=3)
    given = graph.no_evidence()
    begun = ResidualPropagation().init(graph, given)
    with interruptible(lambda: True), pytest.raises(Interrupted):
        ResidualPropagation().step(graph, given, begun)
