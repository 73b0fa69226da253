"""Messages as odds: the same numbers as log-ratios and as the generic kernel, at every iteration."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import grid_edges, ising_grid
from mrfstudio.engine.inference.algorithm import kernels
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation, BeliefPropagationOnGraph
from mrfstudio.engine.inference.messages.binary_odds import BinaryOdds, MessageOdds
from mrfstudio.engine.inference.messages.binary_pairwise import BinaryPairwise, LogRatios
from mrfstudio.engine.workspaces.converge.pins import with_pins

SIDE = 24  # 1104 edges


def uneven(dtype: torch.dtype) -> FactorGraph:
    """A grid without some of its edges and with one lonely variable; tables of any form, fields of any size."""
    draw = np.random.default_rng(3)
    at = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    pairs = np.concatenate(
        [np.stack((at[:, :-1], at[:, 1:]), -1).reshape(-1, 2), np.stack((at[:-1], at[1:]), -1).reshape(-1, 2)]
    )
    pairs = pairs[np.sort(draw.permutation(len(pairs))[:1050])]
    factors = [(tuple(pair.tolist()), draw.normal(0, 0.7, (2, 2))) for pair in pairs]
    factors += [((v,), np.array([0.0, draw.normal(0, 40 if v % 50 == 0 else 1)])) for v in range(SIDE * SIDE)]
    return FactorGraph.from_factors([2] * (SIDE * SIDE + 1), factors, dtype=dtype)


@pytest.mark.parametrize("temperature", [1.0, 0.3, 2.5, 0.0])
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_odds_equal_both_other_kernels_at_every_iteration(
    temperature: float, damping: float, dtype: torch.dtype
) -> None:
    graph = uneven(dtype)
    evidence = graph.evidence({3: 1, 10: 0, 11: 1, 34: 1, 35: 0})
    bp = BeliefPropagation(temperature=temperature, damping=damping)
    found = kernels(bp, graph)
    assert [type(each) for each in found] == [BinaryOdds, BinaryPairwise, BeliefPropagationOnGraph]
    states = [each.init(bp, graph, evidence) for each in found]
    near = 2e-5 if dtype == torch.float32 else 1e-11
    for _ in range(10):
        states = [each.step(bp, graph, evidence, state) for each, state in zip(found, states, strict=True)]
        first, *others = [each.beliefs(bp, graph, evidence, state) for each, state in zip(found, states, strict=True)]
        for other in others:
            torch.testing.assert_close(first, other, atol=near, rtol=0)
        for state in states[1:]:
            assert float(states[0].residual) == pytest.approx(float(state.residual), abs=near)
    if temperature == 1.0:
        values = [each.log_partition(bp, graph, evidence, s).value for each, s in zip(found, states, strict=True)]
        assert values[0] == pytest.approx(values[2], rel=1e-5)


def test_what_could_leave_the_range_is_left_to_log_ratios() -> None:
    bp = BeliefPropagation()
    assert isinstance(bp.kernel_for(ising_grid(SIDE, SIDE, coupling=0.5, dtype=torch.float32)), BinaryOdds)
    strong = ising_grid(SIDE, SIDE, coupling=4.0, dtype=torch.float32)
    small = ising_grid(5, 4, coupling=0.5)
    hub = FactorGraph.ising([(0, v) for v in range(1, 1200)], [0.01] * 1199, [0.1] * 1200)
    for graph in (strong, small, hub):
        assert type(bp.kernel_for(graph)) is BinaryPairwise


def test_a_message_that_is_held_may_say_more_than_any_table() -> None:
    graph = ising_grid(SIDE, SIDE, coupling=0.5, dtype=torch.float32)
    bp, evidence = BeliefPropagation(), graph.no_evidence()
    state = bp.step(graph, evidence, bp.init(graph, evidence))
    assert isinstance(state, MessageOdds)
    held = with_pins(graph, bp, {(factor, 0): (1.0, 0.0) for factor in range(100)}, None, state)
    assert isinstance(held, LogRatios)
    after = bp.step(graph, evidence, held)
    assert bool(torch.isfinite(after.ratios).all())
    slow = bp.replace(kernel="generic")
    other = slow.init(graph, evidence)
    other = with_pins(graph, slow, {(f, 0): (1.0, 0.0) for f in range(100)}, None, slow.step(graph, evidence, other))
    other = slow.step(graph, evidence, other)
    torch.testing.assert_close(
        bp.beliefs(graph, evidence, after), slow.beliefs(graph, evidence, other), atol=1e-5, rtol=0
    )


def test_gradients_pass_through_a_step() -> None:
    graph = ising_grid(SIDE, SIDE, coupling=0.5, dtype=torch.float64)
    bp, evidence = BeliefPropagation(), graph.no_evidence()
    found = []
    for each in kernels(bp, graph):
        tables = graph.groups[0].tables.detach().clone().requires_grad_()
        known = graph.with_potentials(graph.unary, [tables])
        state = each.init(bp, known, evidence)
        for _ in range(3):
            state = each.step(bp, known, evidence, state)
        (gradient,) = torch.autograd.grad(
            each.beliefs(bp, known, evidence, state)[: graph.variables].square().sum(), tables
        )
        found.append(gradient - gradient.mean((0, 1)))  # a constant of a table changes nothing
    torch.testing.assert_close(found[0], found[2], atol=1e-9, rtol=0)


def test_messages_of_stronger_tables_do_not_leave_the_range_beside_hard_evidence() -> None:
    bp = BeliefPropagation()
    pairs = [tuple(pair) for pair in grid_edges(SIDE, SIDE).tolist()]
    strong, weak = (
        FactorGraph.ising(pairs, [c] * len(pairs), [0.1] * SIDE**2, dtype=torch.float32) for c in (3.6, 0.2)
    )
    evidence = strong.evidence(dict.fromkeys(range(0, SIDE * SIDE, 3), 1))
    state = bp.init(strong, evidence)
    for _ in range(20):
        state = bp.step(strong, evidence, state)
    assert isinstance(state, MessageOdds)
    assert float(state.odds.log().abs().max()) > 6
    after = bp.step(weak, weak.evidence(dict.fromkeys(range(0, SIDE * SIDE, 3), 1)), state)
    assert bool(torch.isfinite(after.odds).all())
