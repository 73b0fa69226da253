"""α-BP: BP at α = 1, mean field towards 0, one α an edge, priors, zeros and gradients."""

import math

import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.messages.alpha_bp import AlphaBP, with_prior
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.protocol.catalogue import ParameterError
from tests.engine.helpers.graphs import enumerate_all, random_factors


def pairwise(seed: int, *, zeros: float = 0.0, strength: float = 1.0) -> FactorGraph:
    cards, factors = random_factors(seed, variables=7, factors=14, order=2, zeros=zeros, strength=strength)
    return FactorGraph.from_factors(cards, factors)


@pytest.mark.parametrize("zeros", [0.0, 0.15])
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("seed", [0, 4, 5])  # graphs with a solution where there are zeros
def test_alpha_one_is_bp_at_every_step(seed: int, damping: float, zeros: float) -> None:
    graph = pairwise(seed, zeros=zeros)
    given = graph.no_evidence()
    alpha_bp, bp = AlphaBP(alpha=1.0, damping=damping), BeliefPropagation(damping=damping)
    one, two = alpha_bp.init(graph, given), bp.init(graph, given)
    for _ in range(15):
        one, two = alpha_bp.step(graph, given, one), bp.step(graph, given, two)
        torch.testing.assert_close(
            alpha_bp.beliefs(graph, given, one), bp.beliefs(graph, given, two), atol=1e-12, rtol=0
        )
        assert alpha_bp.residual(one) == pytest.approx(bp.residual(two), abs=1e-12)
    value = alpha_bp.log_partition(graph, given, one)
    assert value.kind == "estimate"
    assert value.value == pytest.approx(bp.log_partition(graph, given, two).value, abs=1e-9)
    for a, b in zip(alpha_bp.factor_beliefs(graph, given, one), bp.factor_beliefs(graph, given, two), strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=0)


def test_one_step_is_the_printed_equation() -> None:
    """Eq. 3.17 written out with loops in the linear domain, from messages that are not uniform, one α an edge."""
    graph = pairwise(3)
    rng = np.random.default_rng(0)
    edges = [(p, tuple(s), g.tables[..., i].exp().numpy()) for g in graph.groups
             for i, (p, s) in enumerate(zip(g.positions.tolist(), g.scopes.T.tolist(), strict=True))]  # fmt: skip
    edges.sort(key=lambda edge: edge[0])
    alphas = rng.uniform(0.3, 1.7, len(edges))
    alpha_bp = AlphaBP(edge_alphas=tuple(alphas))
    given = graph.no_evidence()
    local = [np.exp(v) for v in graph.unpack(graph.unary)]
    m = {(e, v): np.ones(len(local[v])) for e, (_, scope, _) in enumerate(edges) for v in scope}
    state = alpha_bp.init(graph, given)
    for _ in range(4):
        new = {}
        for e, (_, (s, t), table) in enumerate(edges):
            for to, frm, phi in ((s, t, table), (t, s, table.T)):
                others = np.prod([m[o, frm] for o, edge in enumerate(edges) if frm in edge[1] and o != e], axis=0)
                inner = m[e, frm] ** (1 - alphas[e]) * local[frm] * others
                value = m[e, to] ** (1 - alphas[e]) * (phi ** alphas[e] @ inner)
                new[e, to] = value / value.sum()
        m, state = new, alpha_bp.step(graph, given, state)
    for v, belief in enumerate(graph.unpack(alpha_bp.beliefs(graph, given, state))):
        product = local[v] * np.prod([m[e, v] for e, edge in enumerate(edges) if v in edge[1]], axis=0)
        np.testing.assert_allclose(belief, product / product.sum(), atol=1e-12)


def test_equal_alphas_on_edges_are_a_global_alpha() -> None:
    graph = pairwise(4)
    given = graph.no_evidence()
    one, each = AlphaBP(alpha=0.7), AlphaBP(edge_alphas=(0.7,) * graph.factors)
    limits = Limits(iterations=9, tolerance=0)
    a, b = run(one, graph, given, limits).state, run(each, graph, given, limits).state
    torch.testing.assert_close(one.beliefs(graph, given, a), each.beliefs(graph, given, b), atol=1e-13, rtol=0)


def test_small_alpha_is_mean_field() -> None:
    graph = ising_grid(3, 3, coupling=0.4, field=0.5, seed=1)
    given = graph.no_evidence()
    alpha_bp = AlphaBP(alpha=0.02)
    outcome = run(alpha_bp, graph, given, Limits(iterations=2000, tolerance=1e-6))
    assert outcome.converged
    mean_field = MeanField()
    product = run(mean_field, graph, given, Limits(iterations=2000, tolerance=1e-12)).state
    torch.testing.assert_close(
        alpha_bp.beliefs(graph, given, outcome.state), mean_field.beliefs(graph, given, product), atol=5e-3, rtol=0
    )
    bound = mean_field.log_partition(graph, given, product).value
    assert alpha_bp.log_partition(graph, given, outcome.state).value == pytest.approx(bound, abs=0.02)


@pytest.mark.parametrize("alpha", [0.4, 0.9, 1.3])
def test_the_gradient_of_log_z_alpha_is_the_beliefs(alpha: float) -> None:
    """log Z_α is stationary in the messages: nudging a local potential moves it by the belief."""
    graph = ising_grid(3, 3, coupling=0.4, field=0.5, seed=2)
    alpha_bp, size, nudge = AlphaBP(alpha=alpha), graph.packing.size, 1e-4
    free = run(alpha_bp, graph, graph.no_evidence(), Limits(iterations=5000, tolerance=1e-13)).state
    beliefs = alpha_bp.beliefs(graph, graph.no_evidence(), free)
    for entry in (0, 11):
        values = []
        for sign in (1, -1):
            given = Evidence(sign * nudge * torch.eye(size, dtype=torch.float64)[entry])
            state = run(alpha_bp, graph, given, Limits(iterations=5000, tolerance=1e-13)).state
            values.append(alpha_bp.log_partition(graph, given, state).value)
        assert (values[0] - values[1]) / (2 * nudge) == pytest.approx(float(beliefs[entry]), abs=1e-6)


def test_factor_beliefs_agree_with_node_beliefs_at_a_fixed_point() -> None:
    graph = pairwise(8, strength=0.4)
    given = graph.no_evidence()
    alpha_bp = AlphaBP(alpha=0.6)
    outcome = run(alpha_bp, graph, given, Limits(iterations=5000, tolerance=1e-13))
    assert outcome.converged
    singles = graph.unpack(alpha_bp.beliefs(graph, given, outcome.state))
    for group, tables in zip(graph.groups, alpha_bp.factor_beliefs(graph, given, outcome.state), strict=True):
        for number, (s, t) in enumerate(group.scopes.T.tolist()):
            np.testing.assert_allclose(tables[..., number].sum(1).numpy(), singles[s], atol=1e-9)
            np.testing.assert_allclose(tables[..., number].sum(0).numpy(), singles[t], atol=1e-9)


@pytest.mark.parametrize("alpha", [0.3, 1.4, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_zeros_and_strong_tables_give_no_nan(seed: int, alpha: float) -> None:
    cards, factors = random_factors(seed, variables=7, factors=12, order=2, zeros=0.2, strength=20.0)
    graph = FactorGraph.from_factors(cards, factors)
    given = graph.no_evidence()
    truth = enumerate_all(cards, factors)
    alpha_bp = AlphaBP(alpha=alpha, damping=0.1)
    try:
        outcome = run(alpha_bp, graph, given, Limits(iterations=40))
    except ContradictoryEvidence:
        assert math.isinf(truth.log_z)
        return
    beliefs = alpha_bp.beliefs(graph, given, outcome.state)
    assert outcome.ending != "not finite"
    assert bool(torch.isfinite(beliefs).all())
    value = alpha_bp.log_partition(graph, given, outcome.state).value
    # With zeros, messages that have not settled say nothing about log Z.
    assert value is None if not outcome.residuals[-1] < 0.01 else value is not None and math.isfinite(value)
    for tables in alpha_bp.factor_beliefs(graph, given, outcome.state):
        assert not bool(torch.isnan(tables).any())


def test_forbidden_states_stay_forbidden() -> None:
    """Neighbours on a loop of four must differ: evidence on one node decides all."""
    differ = np.where(np.eye(2, dtype=bool), -np.inf, 0.3)
    graph = FactorGraph.from_factors([2] * 4, [((v, (v + 1) % 4), differ) for v in range(4)])
    given = graph.evidence({0: 1})
    for alpha in (0.4, 1.0, 1.5):
        alpha_bp = AlphaBP(alpha=alpha)
        outcome = run(alpha_bp, graph, given, Limits(iterations=500))
        assert outcome.converged
        beliefs = graph.unpack(alpha_bp.beliefs(graph, given, outcome.state))
        assert [int(b.argmax()) for b in beliefs] == [1, 0, 1, 0]
        assert all(b.max() == 1.0 for b in beliefs)


def test_gradients_flow_through_unrolled_steps() -> None:
    graph = pairwise(9)
    alpha_bp = AlphaBP(alpha=0.6, damping=0.2)

    def unrolled(potentials: torch.Tensor) -> torch.Tensor:
        given = Evidence(potentials)
        state = alpha_bp.init(graph, given)
        for _ in range(3):
            state = alpha_bp.step(graph, given, state)
        return alpha_bp.beliefs(graph, given, state)

    start = torch.randn(graph.packing.size, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(unrolled, (start,))


def test_a_prior_is_one_more_factor_on_each_variable() -> None:
    cards, factors = random_factors(5, order=2)
    graph = FactorGraph.from_factors(cards, factors)
    rng = np.random.default_rng(1)
    priors = [rng.normal(size=k) for k in cards]
    extended = FactorGraph.from_factors(cards, factors + [((v,), p) for v, p in enumerate(priors)])
    alpha_bp, limits = AlphaBP(alpha=0.5), Limits(iterations=20, tolerance=0)
    given = with_prior(graph, graph.no_evidence(), priors)
    one, two = run(alpha_bp, graph, given, limits).state, run(alpha_bp, extended, extended.no_evidence(), limits).state
    expected = extended.unpack(alpha_bp.beliefs(extended, extended.no_evidence(), two))
    for a, b in zip(graph.unpack(alpha_bp.beliefs(graph, given, one)), expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    with pytest.raises(ParameterError, match="one for each"):
        with_prior(graph, graph.no_evidence(), priors[1:])


def test_a_mean_field_prior_pulls_towards_mean_field_and_has_no_log_z() -> None:
    graph = ising_grid(3, 3, coupling=0.5, field=0.5, seed=3)
    given = graph.no_evidence()
    plain, prior = AlphaBP(), AlphaBP(prior="mean-field")
    states = [run(a, graph, given, Limits(iterations=200)).state for a in (plain, prior)]
    product = run(MeanField(), graph, given).state
    log_q = [np.log(v) for v in graph.unpack(MeanField().beliefs(graph, given, product))]
    by_hand = run(plain, graph, with_prior(graph, given, log_q), Limits(iterations=200)).state
    torch.testing.assert_close(
        prior.beliefs(graph, given, states[1]), plain.beliefs(graph, with_prior(graph, given, log_q), by_hand),
        atol=1e-5, rtol=0,
    )  # fmt: skip
    assert prior.log_partition(graph, given, states[1]).value is None
    assert plain.log_partition(graph, given, states[0]).value is not None


def test_what_is_not_covered_is_refused_in_one_sentence() -> None:
    cubic = FactorGraph.from_factors([2, 2, 2], [((0, 1, 2), np.zeros((2, 2, 2)))])
    assert AlphaBP().supports(cubic) == (
        "alpha-bp needs factors of two variables, but one here joins 3: bp covers factors of any order."
    )
    pair = FactorGraph.ising([(0, 1)], [1.0], [0.0, 0.0])
    assert "2 values of α were given for 1 edges" in str(AlphaBP(edge_alphas=(1.0, 0.5)).supports(pair))
    for wrong in ({"alpha": 0.0}, {"alpha": 2.5}, {"edge_alphas": (0.0,)}):
        with pytest.raises(ParameterError):
            AlphaBP(**wrong)
