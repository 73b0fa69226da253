"""No family's own code says "converged" before the fixed point, or "impossible" of what only underflows.

The same cases as `tests/engine/inference/test_trust.py` has for factor graphs.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from mrfstudio.engine.families.chain.recursion import log_partitions
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.photographs.rules import FieldAlphaMessages
from mrfstudio.engine.families.rbm.matrix_bp import MatrixBP
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.families.scored_grid import messages as potts
from mrfstudio.engine.families.scored_grid.field import ScoreField
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.algorithm import Algorithm, GraphLike, kernels
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run

DTYPES = [torch.float64, torch.float32]
SAME = torch.tensor([[1.0, -1.0], [-1.0, 1.0]])
"""x y of two spins."""
FIELDS = [[-15.0, 15.0], [14.5, -14.5]]
"""Of two spins with J = 20: what one wants, the other denies, and log-odds of 29 decide."""


def machine(dtype: torch.dtype, scale: float) -> tuple[RBM, Evidence]:
    """A visible and a hidden unit; ½ w s t is J x y with w = 2 J."""
    model = RBM(1, 1, dtype=dtype)
    model.weights.fill_(40.0 * scale)
    model.outer_bias.fill_(-29.0 * scale)
    model.hidden_bias.fill_(30.0 * scale)
    return model, Evidence(torch.zeros(1, 2, dtype=dtype))


def field(dtype: torch.dtype, scale: float) -> tuple[ScoreField, Evidence]:
    node = scale * torch.tensor([FIELDS], dtype=dtype)
    edge = (20 * scale * SAME).to(dtype).reshape(1, 1, 2, 2)
    return ScoreField(node, edge, torch.zeros(0, 2, 2, 2, dtype=dtype)), Evidence(torch.zeros_like(node))


def grid(dtype: torch.dtype, scale: float) -> tuple[GridMRF, Evidence]:
    weights = (20 * scale * SAME).to(dtype).expand(2, 2, 2).clone()
    model = GridMRF((1, 1), connectivity=4, label_names=("a", "b"), weights=weights, dtype=dtype)
    return model, Evidence(scale * torch.tensor([FIELDS], dtype=dtype))


def true_beliefs(model: GraphLike, evidence: Evidence) -> Tensor:
    graph, packed = model.as_graph(evidence)
    state = run(Exact(), graph, packed).state
    return model.from_graph(Exact().beliefs(graph, packed, state), evidence)


@pytest.mark.parametrize(
    ("damping", "scale", "dtype"),
    [(0.0, 1.0, DTYPES[0]), (0.9, 1.0, DTYPES[0]), (0.5, 1.0, DTYPES[1]), (0.5, 10.0, DTYPES[0])],
)
@pytest.mark.parametrize(
    ("make", "algorithm"),
    [
        (machine, BeliefPropagation()),
        (machine, BeliefPropagation(schedule="sequential")),
        (machine, BeliefPropagation(kernel="generic")),
        (machine, MatrixBP()),
        (machine, MatrixBP(schedule="parallel")),
        (field, BeliefPropagation()),
        (grid, BeliefPropagation(start="flat")),
    ],
)
def test_converged_means_the_fixed_point_also_where_probabilities_saturate(
    make, algorithm: Algorithm, damping: float, scale: float, dtype: torch.dtype
) -> None:
    model, evidence = make(dtype, scale)
    algorithm = algorithm.replace(damping=damping)
    tolerance = 1e-9 if dtype == torch.float64 else 1e-6
    outcome = run(algorithm, model, evidence, Limits(iterations=1500, tolerance=tolerance))
    assert outcome.converged
    wrong = algorithm.beliefs(model, evidence, outcome.state) - true_beliefs(model, evidence)
    assert float(wrong.abs().max()) < (1e-5 if dtype == torch.float64 else 5e-3)


@pytest.mark.parametrize("seed", [3, 16])
@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_strong_machines_that_are_called_converged_do_not_move(seed: int, damping: float) -> None:
    """Messages of units of 0 and 1 have totals of hundreds."""
    rng = np.random.default_rng(seed)
    model = RBM(3, 3, dtype=torch.float64)
    model.weights.copy_(torch.from_numpy(50 * rng.normal(size=(3, 3))))
    model.outer_bias.copy_(torch.from_numpy(40 * rng.normal(size=3)))
    model.hidden_bias.copy_(torch.from_numpy(40 * rng.normal(size=3)))
    observed = torch.zeros(3, 2, dtype=torch.float64)
    observed[0, 1] = -math.inf
    for algorithm in (MatrixBP(damping=damping), MatrixBP(schedule="parallel"), BeliefPropagation(damping=damping)):
        outcome = run(algorithm, model, Evidence(observed), Limits(iterations=300))
        if outcome.converged:
            after = algorithm.replace(damping=0.0).step(model, Evidence(observed), outcome.state)
            before, then = (algorithm.beliefs(model, Evidence(observed), s) for s in (outcome.state, after))
            assert float((before - then).abs().max()) < 1e-4


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_grid_whose_messages_would_underflow_has_other_code(dtype: torch.dtype) -> None:
    """Entries of a message kept in the linear domain are as small as e^-span."""
    limit = -math.log(torch.finfo(dtype).tiny)
    for part, kept in ((0.9, True), (1.1, False)):
        weights = torch.zeros(2, 3, 3, dtype=dtype)
        weights[:, 0, 1:] = part * limit
        model = GridMRF((1, 1, 1), connectivity=4, weights=weights, dtype=dtype)
        bp = BeliefPropagation(start="flat")
        assert bool(kernels(bp, model)) == kept
        evidence = Evidence(torch.tensor([[[0.0, -5.0, 3.0], [2.0, 0.0, -1.0]]], dtype=dtype))
        outcome = run(bp, model, evidence, Limits(iterations=50, tolerance=1e-6))
        assert outcome.ending != "not finite"
        wrong = bp.beliefs(model, evidence, outcome.state) - true_beliefs(model, evidence)
        assert float(wrong.abs().max()) < 1e-3


def enumerated_chains(scores: np.ndarray, emissions: np.ndarray) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """The score of every assignment of one chain, with W (K+1, …, K) and e (T, K)."""
    order, states, steps = scores.ndim - 1, scores.shape[-1], len(emissions)
    assignments = list(itertools.product(range(states), repeat=steps))
    totals = []
    for z in assignments:
        padded = (states,) * order + z
        totals.append(sum(scores[padded[t : t + order + 1]] + emissions[t, z[t]] for t in range(steps)))
    return np.array(totals), assignments


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("strength", [1.0, 300.0])
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_chains_sum_what_the_past_denies_and_the_present_wants(
    zeros: float, strength: float, order: int, dtype: torch.dtype
) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        table = strength * rng.normal(size=(4,) * order + (3,))
        table[rng.random(table.shape) < zeros] = -np.inf
        scores = torch.tensor(table, dtype=dtype)
        emissions = torch.tensor(strength * rng.normal(size=(1, 4, 3)), dtype=dtype, requires_grad=True)
        totals, assignments = enumerated_chains(scores.double().numpy(), emissions[0].detach().double().numpy())
        found = log_partitions(scores, emissions, torch.tensor([4]))
        if np.isneginf(totals.max()):
            assert bool(found.isneginf().all())
            continue
        truth = totals.max() + np.log(np.exp(totals - totals.max()).sum())
        assert float(found.detach()) == pytest.approx(truth, abs=(1e-9 if dtype == torch.float64 else 1e-5) * strength)
        (posterior,) = torch.autograd.grad(found.sum(), emissions)
        expected = np.zeros((4, 3))
        for chance, z in zip(np.exp(totals - truth), assignments, strict=True):
            expected[np.arange(4), z] += chance
        assert np.abs(posterior[0].double().numpy() - expected).max() < (1e-9 if dtype == torch.float64 else 5e-3)


def test_two_states_of_a_chain_that_want_different_columns_are_no_contradiction() -> None:
    """Left to right: the second state follows the first alone, and the column says the opposite by e^800."""
    table = torch.tensor([[0.0, -math.inf], [-math.inf, 0.0], [0.0, 0.0]], dtype=torch.float64)
    emissions = torch.tensor([[[0.0, -800.0], [-800.0, 0.0]]], dtype=torch.float64)
    assert float(log_partitions(table, emissions, torch.tensor([2]))) == pytest.approx(math.log(2) - 800)


@pytest.mark.parametrize("labels", [2, 3])
def test_the_residual_of_alpha_messages_on_potts_grids_is_that_of_the_whole_step(labels: int) -> None:
    gains = [torch.expm1(torch.full(potts.weight_shape(k, 3, 3), 1.0)) for k in range(2)]
    scores = torch.randn(labels, 3, 3, generator=torch.Generator().manual_seed(0))
    found = []
    for alpha in (0.01, 1.0):
        rule = FieldAlphaMessages(alpha)
        local = rule.local(scores)
        start = rule.start(gains, local)
        found.append(float(rule.step(local, gains, start, torch.empty_like(start))))
    assert found[0] > 0.2 * found[1]
