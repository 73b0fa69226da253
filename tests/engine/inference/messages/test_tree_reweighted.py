"""TRW: spanning trees counted, an upper bound of log Z, the same fixed points as α-BP with α_e = 1/μ_e."""

import networkx as nx
import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs import spanning_trees
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import grid_edges, ising_grid
from mrfstudio.engine.inference.messages.alpha_bp import AlphaBP
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.messages.tree_reweighted import TreeReweighted, spanning_tree_probabilities
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.protocol.catalogue import ParameterError
from tests.engine.helpers.graphs import distance, enumerate_all, random_factors

SURE = Limits(iterations=5000, tolerance=1e-10)


def random_edges(seed: int, nodes: int = 7, count: int = 11) -> np.ndarray:
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, nodes, (count, 2))
    return edges[edges[:, 0] != edges[:, 1]]


def random_pairwise(seed: int, *, zeros: float = 0.0, strength: float = 1.0) -> tuple[FactorGraph, float]:
    cards, factors = random_factors(seed, variables=7, factors=12, order=2, zeros=zeros, strength=strength)
    return FactorGraph.from_factors(cards, factors), enumerate_all(cards, factors).log_z


@pytest.mark.parametrize("seed", range(4))
def test_probabilities_are_those_of_listed_spanning_trees(seed: int) -> None:
    pairs = sorted({(min(a, b), max(a, b)) for a, b in random_edges(seed, nodes=6).tolist()})
    graph = nx.Graph(pairs)
    largest = graph.subgraph(max(nx.connected_components(graph), key=len))
    trees = list(nx.SpanningTreeIterator(largest))
    edges = np.array(list(largest.edges))
    expected = [sum(tree.has_edge(a, b) for tree in trees) / len(trees) for a, b in edges]
    np.testing.assert_allclose(spanning_trees.appearance_probabilities(6, edges), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_sparse_inverse_equals_the_dense_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several components, isolated nodes and parallel edges included; Σμ counts the edges of a spanning forest."""
    edges = random_edges(seed, nodes=30, count=45)
    dense = spanning_trees.appearance_probabilities(31, edges)
    monkeypatch.setattr(spanning_trees, "DENSE", 1)
    np.testing.assert_allclose(spanning_trees.appearance_probabilities(31, edges), dense, atol=1e-12)
    pieces = nx.number_connected_components(nx.MultiGraph([*edges.tolist()]))
    assert dense.sum() == pytest.approx(len(set(edges.ravel().tolist())) - pieces)
    assert ((dense > 0) & (dense <= 1)).all()


def test_on_a_tree_every_edge_is_certain_and_trw_is_exact() -> None:
    rng = np.random.default_rng(0)
    cards = [2, 3, 2, 4, 3]
    factors = [((v,), rng.normal(size=k)) for v, k in enumerate(cards)]
    factors += [((a, b), rng.normal(size=(cards[a], cards[b]))) for a, b in [(0, 1), (2, 1), (1, 3), (3, 4)]]
    graph = FactorGraph.from_factors(cards, factors)
    truth = enumerate_all(cards, factors, {4: 1})
    np.testing.assert_allclose(spanning_tree_probabilities(graph), 1.0)
    given = graph.evidence({4: 1})
    trw = TreeReweighted()
    outcome = run(trw, graph, given, SURE)
    assert distance(graph, trw.beliefs(graph, given, outcome.state), truth.marginals) < 1e-9
    value = trw.log_partition(graph, given, outcome.state)
    assert value.value == pytest.approx(truth.log_z, abs=1e-9)
    assert value.kind == "upper_bound"


@pytest.mark.parametrize("probabilities", ["matrix-tree", "uniform"])
@pytest.mark.parametrize("zeros", [0.0, 0.1])
@pytest.mark.parametrize("seed", [0, 1, 3, 5])
def test_log_z_is_an_upper_bound(seed: int, zeros: float, probabilities: str) -> None:
    graph, log_z = random_pairwise(seed, zeros=zeros)
    assert np.isfinite(log_z)
    trw = TreeReweighted(probabilities=probabilities)
    outcome = run(trw, graph, graph.no_evidence(), SURE)
    assert outcome.converged
    value = trw.log_partition(graph, graph.no_evidence(), outcome.state)
    assert value.kind == "upper_bound"
    assert value.value is not None
    assert value.value >= log_z - 1e-9


def test_before_convergence_it_is_an_estimate() -> None:
    graph = ising_grid(4, 4, seed=1)
    trw = TreeReweighted()
    state = run(trw, graph, graph.no_evidence(), Limits(iterations=2)).state
    assert trw.log_partition(graph, graph.no_evidence(), state).kind == "estimate"


@pytest.mark.parametrize("seed", range(3))
def test_fixed_points_are_those_of_alpha_bp_with_alpha_one_over_mu(seed: int) -> None:
    graph = ising_grid(3, 3, coupling=0.6, field=0.4, seed=seed)
    given = graph.no_evidence()
    mu = spanning_tree_probabilities(graph)
    trw, alpha_bp = TreeReweighted(), AlphaBP(edge_alphas=tuple(1 / mu), damping=0.5)
    one, two = run(trw, graph, given, SURE), run(alpha_bp, graph, given, SURE)
    assert one.converged
    assert two.converged
    torch.testing.assert_close(
        trw.beliefs(graph, given, one.state), alpha_bp.beliefs(graph, given, two.state), atol=1e-7, rtol=0
    )
    value = trw.log_partition(graph, given, one.state).value
    assert value == pytest.approx(alpha_bp.log_partition(graph, given, two.state).value, abs=1e-7)
    for a, b in zip(
        trw.factor_beliefs(graph, given, one.state), alpha_bp.factor_beliefs(graph, given, two.state), strict=True
    ):
        torch.testing.assert_close(a, b, atol=1e-7, rtol=0)


def test_certain_edges_are_bp_at_every_step_and_no_bound_is_claimed() -> None:
    graph = ising_grid(3, 4, coupling=0.5, seed=4)
    given = graph.no_evidence()
    trw = TreeReweighted(damping=0.2, memory=0, edge_probabilities=(1.0,) * graph.factors)
    bp = BeliefPropagation(damping=0.2)
    one, two = trw.init(graph, given), bp.init(graph, given)
    for _ in range(40):
        one, two = trw.step(graph, given, one), bp.step(graph, given, two)
        torch.testing.assert_close(trw.beliefs(graph, given, one), bp.beliefs(graph, given, two), atol=1e-12, rtol=0)
    assert trw.residual(one) < 1e-6
    assert trw.log_partition(graph, given, one).kind == "estimate"


def test_uniform_stays_in_the_forest_polytope_on_unevenly_dense_graphs() -> None:
    """A clique of six with a long tail: (n - 1) / m on every edge would put more than a tree into the clique."""
    edges = [(a, b) for a in range(6) for b in range(a)] + [(v, v + 1) for v in range(5, 25)]
    graph = FactorGraph.ising(edges, np.ones(len(edges)), np.zeros(26))
    used = TreeReweighted(probabilities="uniform")
    outcome = run(used, graph, graph.no_evidence(), Limits(iterations=3))
    smallest = spanning_tree_probabilities(graph).min()
    assert smallest == pytest.approx(2 / 6)
    assert smallest * 15 <= 5 < 25 / len(edges) * 15
    same = TreeReweighted(edge_probabilities=(smallest,) * len(edges))
    torch.testing.assert_close(
        used.beliefs(graph, graph.no_evidence(), outcome.state),
        same.beliefs(graph, graph.no_evidence(), run(same, graph, graph.no_evidence(), Limits(iterations=3)).state),
    )


def test_refusals_name_an_algorithm_that_can() -> None:
    cubic = FactorGraph.from_factors([2, 2, 2], [((0, 1, 2), np.zeros((2, 2, 2)))])
    assert "bp covers" in str(TreeReweighted().supports(cubic))
    with pytest.raises(ParameterError):
        TreeReweighted(edge_probabilities=(0.0,))
    pair = FactorGraph.ising([(0, 1)], [1.0], [0.0, 0.0])
    assert "2 edge probabilities were given for 1 edges" in str(
        TreeReweighted(edge_probabilities=(1.0, 0.5)).supports(pair)
    )


def test_a_graph_too_dense_to_count_is_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spanning_trees, "DENSE", 1)
    monkeypatch.setattr(spanning_trees, "MOST_ENTRIES", 10)
    graph = FactorGraph.ising(grid_edges(4, 4), np.ones(24), np.zeros(16))
    reason = TreeReweighted().supports(graph)
    assert reason is not None
    assert "alpha-bp" in reason
