"""The contraction matrix against its dense twin, its certificates, and what they promise about α-BP."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mrfstudio.bench.sigma import RandomGraphs, message_errors
from mrfstudio.engine.convergence.contraction import ContractionMatrix, largest_ratio, node_sigmas, sigma_max
from mrfstudio.engine.convergence.many import sigma_max_each
from mrfstudio.engine.convergence.perron import ON_ONE_THREAD, dot
from mrfstudio.engine.convergence.spectral import contracts, spectral_radius
from mrfstudio.engine.convergence.verdict import alpha_interval, contraction, interval_of, verdict_on
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import grid_edges, ising_grid
from mrfstudio.engine.graphs.pairwise import couplings_of
from mrfstudio.engine.inference.messages.alpha_bp import AlphaBP
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.protocol.catalogue import ParameterError
from mrfstudio.engine.tasks.infer import answer, make_algorithm
from tests.engine.helpers.graphs import enumerate_all

KINDS = ["random", "tree", "ring", "complete", "two parts", "parallel edges"]


def dense(edges: np.ndarray, couplings: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """Eq. 3.24 entry by entry; directed edges are (edge, from, to)."""
    directed = [(e, a, b) for e, (a, b) in enumerate(edges.tolist())]
    directed += [(e, b, a) for e, a, b in directed]
    matrix = np.zeros((len(directed), len(directed)))
    for row, (e, t, s) in enumerate(directed):
        strength = np.tanh(abs(alphas[e] * couplings[e]))
        for column, (f, u, v) in enumerate(directed):
            if (f, u, v) == (e, t, s):
                matrix[row, column] = abs(1 - alphas[e])
            elif (f, u, v) == (e, s, t):
                matrix[row, column] = abs(1 - alphas[e]) * strength
            elif v == t:
                matrix[row, column] = strength
    return matrix


def edges_of_kind(kind: str, rng: np.random.Generator) -> np.ndarray:
    if kind == "tree":
        return np.array([(int(rng.integers(v)), v) for v in range(1, 8)])
    if kind == "ring":
        return np.array([(v, (v + 1) % 6) for v in range(6)])
    if kind == "complete":
        return np.array(list(itertools.combinations(range(5), 2)))
    if kind == "two parts":
        return np.array([(0, 1), (1, 2), (2, 0), (4, 5), (5, 6), (6, 7), (7, 4), (4, 6)])
    if kind == "parallel edges":
        return np.array([(0, 1), (1, 0), (1, 2), (2, 0), (0, 1)])
    pairs = [pair for pair in itertools.combinations(range(7), 2) if rng.random() < 0.4]
    return np.array(pairs or [(0, 1)])


def random_case(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    edges = edges_of_kind(kind, rng)
    couplings = rng.uniform(0.1, 1.5) * rng.normal(size=len(edges))
    choice = seed % 4
    each = rng.uniform(0.2, 1.8, len(edges))
    alphas = each if choice == 3 else np.full(len(edges), (1.0, 0.5, float(each[0]))[choice])
    return edges, couplings, alphas


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_four_numbers_are_those_of_the_dense_matrix(kind: str, seed: int) -> None:
    edges, couplings, alphas = random_case(kind, seed)
    twin = dense(edges, couplings, alphas)
    matrix = ContractionMatrix(edges, couplings, alphas)
    assert matrix.norm_1 == pytest.approx(np.abs(twin).sum(0).max())
    assert matrix.norm_inf == pytest.approx(np.abs(twin).sum(1).max())
    sigma, radius = sigma_max(matrix, 1e-6), spectral_radius(matrix, 1e-6)
    true_sigma, true_radius = np.linalg.norm(twin, 2), np.abs(np.linalg.eigvals(twin)).max()
    # Eigenvalues of a nilpotent matrix come out of eigvals as rounding to the power of 1/size.
    slack = 1e-9 if true_radius > 0.05 else 0.05
    for found, truth, room in ((sigma, true_sigma, 1e-9), (radius, true_radius, slack)):
        assert found.lower - room <= truth <= found.upper + room
        assert found.upper - found.lower <= 1.1e-6 * found.upper + 1e-8


def test_products_are_those_of_the_dense_matrix() -> None:
    edges, couplings, alphas = random_case("random", 3)
    twin = dense(edges, couplings, alphas)
    matrix = ContractionMatrix(edges, couplings, alphas)
    rng = np.random.default_rng(0)
    place = {(int(e), int(s)): i for i, (e, s) in enumerate(zip(matrix.undirected, matrix.receiver, strict=True))}
    labels = np.unique(edges)
    ends = np.concatenate([edges[:, 1], edges[:, 0]])
    order = [place[i % len(edges), int(np.searchsorted(labels, end))] for i, end in enumerate(ends)]
    z = rng.normal(size=matrix.size)
    np.testing.assert_allclose(matrix.times(z)[order], twin @ z[order], atol=1e-12)
    np.testing.assert_allclose(matrix.transposed_times(z)[order], twin.T @ z[order], atol=1e-12)


@given(st.integers(0, 10_000), st.sampled_from(KINDS))
@settings(max_examples=25, deadline=None)
def test_any_positive_vector_gives_an_upper_bound(seed: int, kind: str) -> None:
    edges, couplings, alphas = random_case(kind, seed)
    matrix = ContractionMatrix(edges, couplings, alphas)
    x = np.random.default_rng(seed).lognormal(size=matrix.size)
    bound = np.sqrt(largest_ratio(matrix.gram_times(x), x))
    assert bound >= np.linalg.norm(dense(edges, couplings, alphas), 2) - 1e-9
    assert largest_ratio(matrix.gram_times(-x), -x) == np.inf


def test_at_alpha_one_the_nodes_decide() -> None:
    edges, couplings, _ = random_case("random", 4)
    matrix = ContractionMatrix(edges, couplings, 1.0)
    lower, upper = node_sigmas(matrix)
    for node in range(matrix.nodes):
        strengths = matrix.tanh[matrix.receiver == node]
        block = np.diag(strengths) @ (np.ones((len(strengths),) * 2) - np.eye(len(strengths)))
        assert lower[node] - 1e-12 <= np.linalg.norm(block, 2) <= upper[node] + 1e-12
        assert upper[node] - lower[node] < 1e-9


def test_equal_couplings_on_a_large_grid_are_enclosed() -> None:
    """The hard case: the gap below the largest eigenvalue closes with the size. Bulk value of M: see the row sums."""
    matrix = ContractionMatrix(grid_edges(40, 40), np.full(3120, 0.3), 0.5)
    sigma = sigma_max(matrix, 1e-4)
    assert sigma.upper <= sigma.lower * (1 + 1e-4)
    assert sigma.upper <= matrix.norm_inf
    again = sigma_max(ContractionMatrix(grid_edges(40, 40), np.full(3120, 0.301), 0.5), 1e-4, sigma.vector)
    assert again.products < sigma.products
    assert sigma.upper < again.upper


@pytest.mark.parametrize("seed", range(12))
def test_a_guarantee_is_kept(seed: int) -> None:
    """Where the spectral radius is certified below 1, random starts meet at one fixed point."""
    rng = np.random.default_rng(seed)
    edges = edges_of_kind("random", rng)
    alpha = float(rng.uniform(0.3, 1.3))
    couplings = rng.normal(size=len(edges))
    while not contracts(ContractionMatrix(edges, couplings, alpha)):
        couplings *= 0.8
        alpha = min(alpha, 1.5)
    graph = FactorGraph.ising(edges, couplings, rng.normal(size=7))
    alpha_bp, nothing, ends = AlphaBP(alpha=alpha), graph.no_evidence(), []
    for start in range(3):
        state = alpha_bp.init(graph, nothing)
        noise = torch.from_numpy(np.random.default_rng(start).normal(size=state.messages.shape, scale=3.0))
        blocks = graph.packing.by_message(noise)[0]
        messages = torch.cat([torch.log_softmax(block, -2).flatten(-2) for block in blocks], -1)
        outcome = run(alpha_bp, graph, nothing, Limits(iterations=3000, tolerance=1e-10),
                      start=type(state)(0, state.residual, messages))  # fmt: skip
        assert outcome.converged
        ends.append(alpha_bp.beliefs(graph, nothing, outcome.state))
    torch.testing.assert_close(ends[0], ends[1], atol=1e-6, rtol=0)
    torch.testing.assert_close(ends[0], ends[2], atol=1e-6, rtol=0)


def test_guaranteed_means_that_a_bound_is_below_one() -> None:
    loop = np.array([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    for strength, alpha in itertools.product((0.1, 0.3, 0.5, 0.9, 1.5), (0.4, 1.0, 1.2, 2.0)):
        graph = FactorGraph.ising(loop, np.full(5, strength), np.zeros(4))
        verdict = contraction(graph, alpha=alpha)
        radius = np.abs(np.linalg.eigvals(dense(loop, np.full(5, strength), np.full(5, alpha)))).max()
        assert verdict.guaranteed == (radius < 1), (strength, alpha)


def test_the_verdict_at_a_hairs_breadth_is_right() -> None:
    """Scaled so that the spectral radius is 1 ± 1e-6, nearer than the tolerance of the enclosure."""
    edges = grid_edges(5, 5)
    couplings = np.random.default_rng(0).normal(size=len(edges))

    def radius(scale: float) -> float:
        return float(np.abs(np.linalg.eigvals(dense(edges, scale * couplings, np.full(len(edges), 0.7)))).max())

    low, high = 0.0, 5.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if radius(middle) < 1 else (low, middle)
    for scale, expected in ((low * (1 - 1e-6), True), (low * (1 + 1e-6), False)):
        graph = FactorGraph.ising(edges, scale * couplings, np.zeros(25))
        assert contraction(graph, alpha=0.7, tolerance=1e-3).guaranteed is expected


def test_tables_that_are_not_symmetric_become_couplings_and_fields_exactly() -> None:
    rng = np.random.default_rng(1)
    edges = [(0, 1), (2, 1), (2, 0), (2, 3), (0, 1)]
    factors = [(edge, rng.normal(size=(2, 2))) for edge in edges] + [((v,), rng.normal(size=2)) for v in range(4)]
    graph = FactorGraph.from_factors([2] * 4, factors)
    found = couplings_of(graph)
    np.testing.assert_array_equal(found.edges, edges)
    plain = FactorGraph.ising(found.edges, found.couplings, found.fields)
    plain_factors = [((v,), np.array([-h, h])) for v, h in enumerate(found.fields)]
    plain_factors += [(edge, j * np.array([[1, -1], [-1, 1]])) for edge, j in zip(edges, found.couplings, strict=True)]
    np.testing.assert_allclose(
        enumerate_all([2] * 4, factors).joint, enumerate_all([2] * 4, plain_factors).joint, atol=1e-12
    )
    alpha_bp, limits = AlphaBP(alpha=0.6), Limits(iterations=3000, tolerance=1e-11)
    ends = [
        alpha_bp.beliefs(g, g.no_evidence(), run(alpha_bp, g, g.no_evidence(), limits).state) for g in (graph, plain)
    ]
    torch.testing.assert_close(ends[0], ends[1], atol=1e-8, rtol=0)
    assert contraction(graph, alpha=0.6).norm_1 == pytest.approx(contraction(plain, alpha=0.6).norm_1)


def test_zeros_in_tables_have_a_tanh_of_one_or_none() -> None:
    equal = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
    one_way = np.array([[0.0, 0.0], [-np.inf, 0.0]])
    both = np.array([[0.0, -np.inf], [0.0, -np.inf]])
    graph = FactorGraph.from_factors([2] * 4, [((0, 1), equal), ((1, 2), one_way), ((2, 3), both)])
    found = couplings_of(graph)
    np.testing.assert_array_equal(np.tanh(np.abs(found.couplings)), [1, 1, 0])
    verdict = contraction(graph, alpha=0.5)
    assert not verdict.guaranteed
    assert np.isfinite(verdict.sigma_max.upper)


def test_hard_evidence_is_conditioned_on_first() -> None:
    graph = FactorGraph.ising([(0, 1), (1, 2), (2, 0), (2, 3), (3, 2), (2, 1)], [1.0] * 6, np.zeros(4))
    assert not contraction(graph).guaranteed
    cut = contraction(graph, graph.evidence({2: 1}))
    assert cut.guaranteed
    alone = contraction(FactorGraph.ising([(0, 1)], [1.0], np.zeros(2)))
    assert cut.as_dict() == alone.as_dict()
    everything = contraction(graph, graph.evidence(dict.fromkeys(range(4), 0)), 0.5)
    assert everything.guaranteed
    assert everything.norm_1 == 0


def test_the_interval_of_alpha_has_its_ends_where_the_radius_is_one() -> None:
    edges = grid_edges(4, 4)
    rng = np.random.default_rng(0)
    seen = set()
    for scale in (0.15, 0.3, 0.45, 3.0):
        given_couplings = couplings_of(FactorGraph.ising(edges, scale * rng.normal(size=24) + scale, np.zeros(16)))
        interval = interval_of(given_couplings)
        radii = {
            alpha: np.abs(np.linalg.eigvals(dense(edges, given_couplings.couplings, np.full(24, alpha)))).max()
            for alpha in (0.005, 0.05, 0.2, 0.5, 0.8, 1.0, 1.2, 1.5)
        }
        if interval is None:
            seen.add("none")
            assert min(radii.values()) >= 1
            continue
        for alpha, radius in radii.items():
            if interval.low < alpha <= interval.high:
                assert radius < 1
            elif alpha > interval.high + interval.step or alpha < interval.low - interval.step:
                assert radius >= 1
        seen.add("from 0" if interval.low == 0 else "from above 0")
    assert {"none", "from 0"} <= seen


def test_many_graphs_at_once_equal_one_by_one() -> None:
    rng = np.random.default_rng(2)
    nodes, graphs = 9, 7
    parts = [
        np.array([p for p in itertools.combinations(range(nodes), 2) if rng.random() < 0.3]) for _ in range(graphs)
    ]
    parts[3] = parts[3][:0]  # a graph without edges
    together = np.concatenate([part.reshape(-1, 2) + g * nodes for g, part in enumerate(parts)])
    couplings = 0.4 * rng.normal(size=len(together))
    for alpha in (0.5, 1.0):
        found = sigma_max_each(together, couplings, alpha, graphs, nodes, 1e-6)
        assert found[3] == 0
        for g in range(graphs):
            mine = together[:, 0] // nodes == g
            if mine.any():
                twin = dense(together[mine], couplings[mine], np.full(mine.sum(), alpha))
                assert found[g] == pytest.approx(np.linalg.norm(twin, 2), rel=2e-6)


def test_infer_prints_the_diagnostics_where_they_are_defined() -> None:
    graph = ising_grid(3, 3, coupling=0.3, seed=1)
    nothing, limits = graph.no_evidence(), Limits(iterations=50)
    found = answer(AlphaBP(alpha=0.7), graph, nothing, limits)["diagnostics"]
    twin = dense(couplings_of(graph).edges, couplings_of(graph).couplings, np.full(12, 0.7))
    assert found["sigma_max"] == pytest.approx(np.linalg.norm(twin, 2), rel=1e-5)
    assert found["spectral_radius"] == pytest.approx(np.abs(np.linalg.eigvals(twin)).max(), rel=1e-5)
    assert found["norm_1"] == pytest.approx(twin.sum(0).max())
    assert found["norm_inf"] == pytest.approx(twin.sum(1).max())
    assert found["guaranteed"] is True
    low, high = found["alpha_interval"]
    assert low == 0
    assert high > 1
    hot = answer(make_algorithm("bp", {"temperature": 2.0}), graph, nothing, limits)["diagnostics"]
    half = FactorGraph.ising(grid_edges(3, 3), couplings_of(graph).couplings / 2, np.zeros(9))
    assert hot["sigma_max"] == pytest.approx(contraction(half, tolerance=1e-6).sigma_max.upper)
    for name in ("mean-field", "trw"):
        assert "diagnostics" not in answer(make_algorithm(name, {}), graph, nothing, limits)
    ternary = FactorGraph.from_factors([3, 3], [((0, 1), np.ones((3, 3)))])
    assert "diagnostics" not in answer(AlphaBP(), ternary, ternary.no_evidence(), limits)
    with pytest.raises(ParameterError, match="two states"):
        contraction(ternary)
    with pytest.raises(ParameterError, match="two states"):
        alpha_interval(ternary)


def test_a_verdict_nearby_starts_the_next() -> None:
    graph = ising_grid(30, 30, coupling=0.5, seed=3)
    given_couplings = couplings_of(graph)
    cold = verdict_on(given_couplings, 0.6)
    warm = verdict_on(given_couplings, 0.605, near=cold)
    again = verdict_on(given_couplings, 0.605)
    assert warm.sigma_max.products < again.sigma_max.products
    assert warm.spectral_radius.products < again.spectral_radius.products
    assert warm.sigma_max.upper == pytest.approx(again.sigma_max.upper, rel=2e-4)
    assert warm.spectral_radius.upper == pytest.approx(again.spectral_radius.upper, rel=2e-4)


def test_message_errors_of_the_figures_fall_at_least_as_fast_as_sigma_max_says() -> None:
    """Figure 3.4b on ten graphs: ‖z⁽ⁿ⁾ - z*‖ shrinks by σ_max a step, and probabilities follow within a factor."""
    drawn = RandomGraphs.draw(40, 0.2, 0.1, np.random.default_rng(3))
    sigmas = drawn.sigmas(0.5)
    graphs = drawn.keep(np.flatnonzero(sigmas < 1)[:10])
    np.testing.assert_allclose(graphs.sigmas(0.5), sigmas[sigmas < 1][:10], rtol=1e-4)
    errors = message_errors(graphs, 0.5)
    assert errors.shape == (199, 10)
    assert (errors[0] > 1e-5).all()
    assert (errors[60] <= 3 * errors[10] * graphs.sigmas(0.5) ** 50).all()


def test_products_of_long_vectors_in_pieces_are_the_whole_product() -> None:
    rng = np.random.default_rng(0)
    for size in (1, ON_ONE_THREAD, ON_ONE_THREAD + 1, 3 * ON_ONE_THREAD + 17):
        a, b = rng.normal(size=(2, size))
        assert dot(a, b) == pytest.approx(float((a * b).sum()), abs=1e-9)
