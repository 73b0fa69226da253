"""Cycle bases and region graphs: everything counted once, whatever the graph."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import IsingGraph, complete_edges, grid_edges, ising_grid, random_edges
from mrfstudio.engine.inference.regions.cycles import cycle_basis
from mrfstudio.engine.inference.regions.region_graph import (
    RegionGraph,
    bethe_regions,
    cluster_variation,
    cycle_regions,
    shared_regions,
)
from tests.engine.helpers.graphs import random_factors


def counted(regions: RegionGraph, graph: FactorGraph) -> tuple[list[int], list[int]]:
    """How often each variable and each factor is counted (Eq. 4.13)."""
    variables, factors = np.zeros(graph.variables, dtype=int), np.zeros(graph.factors, dtype=int)
    for members, inside, number in zip(regions.regions, regions.factors, regions.counting, strict=True):
        variables[list(members)] += number
        factors[list(inside)] += number
    return variables.tolist(), factors.tolist()


def random_graph(seed: int) -> FactorGraph:
    """Erdős–Rényi of any density, or factors of order up to 3 with mixed numbers of states."""
    rng = np.random.default_rng(seed)
    if seed % 2:
        nodes = int(rng.integers(3, 14))
        edges = random_edges(nodes, float(rng.uniform(0.1, 0.9)), rng)
        return FactorGraph.ising(edges, rng.normal(size=len(edges)), rng.normal(size=nodes))
    return FactorGraph.from_factors(*random_factors(seed, variables=7, factors=10))


@pytest.mark.parametrize("outer_face", [False, True])
def test_every_variable_and_factor_of_100_random_graphs_is_counted_once(outer_face: bool) -> None:
    for seed in range(100):
        graph = random_graph(seed)
        made = [cycle_regions(graph, outer_face=outer_face), bethe_regions(graph)]
        for regions in [*made, *(shared_regions(graph, number) for number in (0, 1, 3))]:
            variables, factors = counted(regions, graph)
            assert set(variables) == {1}, seed
            assert set(factors) <= {1}, seed


@pytest.mark.parametrize("seed", range(20))
def test_the_cycles_are_a_basis_of_the_cycle_space(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(4, 12))
    edges = random_edges(nodes, float(rng.uniform(0.2, 0.95)), rng).tolist()
    graph = nx.Graph(edges)
    cycles = cycle_basis([(a, b) for a, b in edges])
    rank = graph.number_of_edges() - graph.number_of_nodes() + nx.number_connected_components(graph)
    assert len(cycles) == rank
    column = {frozenset(edge): i for i, edge in enumerate(edges)}
    incidence = np.zeros((len(cycles), len(edges)), dtype=int)
    for row, cycle in enumerate(cycles):
        assert len(set(cycle)) == len(cycle) > 2
        for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            incidence[row, column[frozenset((a, b))]] += 1  # KeyError: a step that is no edge
    assert rank_modulo_two(incidence) == rank


def rank_modulo_two(rows: np.ndarray) -> int:
    left, rank = rows % 2, 0
    for column in range(left.shape[1]):
        pivots = np.flatnonzero(left[rank:, column])
        if len(pivots):
            left[[rank, rank + pivots[0]]] = left[[rank + pivots[0], rank]]
            others = np.flatnonzero(left[:, column])
            left[others[others != rank]] ^= left[rank]
            rank += 1
    return rank


def test_a_grid_has_faces_interior_edges_and_interior_nodes() -> None:
    regions = cycle_regions(ising_grid(5, 5))
    found = Counter(zip(map(len, regions.regions), regions.counting.tolist(), regions.levels.tolist(), strict=True))
    assert found == {(4, 1, 0): 16, (2, -1, 1): 24, (1, 1, 2): 9}


def test_the_outer_face_brings_corner_paths_and_a_sum_of_two() -> None:
    regions = cycle_regions(ising_grid(5, 5), outer_face=True)
    found = Counter(zip(map(len, regions.regions), regions.counting.tolist(), strict=True))
    assert found == {(16, 1): 1, (4, 1): 16, (3, -1): 4, (2, -1): 32, (1, 1): 21}
    assert regions.counting.sum() == 2


def test_the_outer_face_of_a_ladder_holds_everything() -> None:
    assert cycle_regions(ising_grid(2, 5), outer_face=True).regions == (tuple(range(10)),)


def test_a_complete_graph_has_triangles_through_one_node() -> None:
    cycles = cycle_basis([(a, b) for a, b in complete_edges(7).tolist()])
    assert len(cycles) == 15
    assert set.intersection(*map(set, cycles)) == {0}
    regions = cycle_regions(IsingGraph(shape="complete", nodes=7).make())
    found = Counter(zip(map(len, regions.regions), regions.counting.tolist(), strict=True))
    assert found == {(3, 1): 15, (2, -4): 6, (1, 10): 1}


def test_edges_on_no_cycle_are_roots() -> None:
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]
    regions = cycle_regions(FactorGraph.ising(edges, np.ones(5), np.zeros(6)))
    assert {regions.regions[r] for r in regions.roots} == {(0, 1, 2), (2, 3), (3, 4), (5,)}


def test_long_cycles_are_left_out() -> None:
    ring = IsingGraph(shape="ring", nodes=40).make()
    regions = cycle_regions(ring, largest=1 << 10)
    assert all(len(region) <= 2 for region in regions.regions)
    assert set(counted(regions, ring)[0]) == {1}


def test_parents_are_the_smallest_regions_around() -> None:
    """{2} lies in {1, 2} and that in {0, 1, 2}: no edge may skip the region between."""
    roots = [frozenset(r) for r in ({0, 1, 2}, {1, 2, 3}, {2, 4})]
    regions = cluster_variation(roots, [])
    named = {(regions.regions[p], regions.regions[c]) for p, c in regions.edges.tolist()}
    assert named == {((0, 1, 2), (1, 2)), ((1, 2, 3), (1, 2)), ((1, 2), (2,)), ((2, 4), (2,))}


def test_a_planar_graph_with_several_drawings_uses_its_shortest_faces() -> None:
    strip = [(a, b) for a in range(9) for b in (a + 1, a + 2) if b < 9]
    assert [len(cycle) for cycle in cycle_basis(strip)] == [3] * 7


def test_torus_cycles_come_from_algorithm_one() -> None:
    edges = IsingGraph(shape="torus", height=4, width=4).draw()[0]
    assert not nx.check_planarity(nx.Graph(edges.tolist()))[0]
    cycles = cycle_basis([(a, b) for a, b in edges.tolist()])
    assert len(cycles) == len(edges) - 16 + 1
    assert len(grid_edges(4, 4)) < len(edges)


def test_one_shared_node_of_a_complete_graph_is_the_star_of_its_cycles() -> None:
    edges = complete_edges(7)
    graph = FactorGraph.ising(edges, np.ones(len(edges)), np.zeros(7))
    star, shared = cycle_regions(graph), shared_regions(graph, 1)
    assert set(shared.regions) == set(star.regions)
    assert Counter(zip(shared.regions, shared.counting.tolist(), strict=True)) == Counter(
        zip(star.regions, star.counting.tolist(), strict=True)
    )


def test_each_part_shares_its_own_nodes_with_most_neighbours_as_far_as_tables_allow() -> None:
    wheel = [(3, other) for other in (0, 1, 2, 4)] + [(0, 1), (1, 2), (2, 4), (4, 0)]
    edges = np.array([*wheel, (5, 6), (6, 7), (7, 5)])
    graph = FactorGraph.ising(edges, np.ones(len(edges)), np.zeros(8))
    roots = [set(region) for region, level in zip(*_levelled(shared_regions(graph, 1)), strict=True) if level == 0]
    assert all(({3} if min(root) < 5 else {5}) <= root for root in roots)
    assert sorted(map(len, roots)) == [3, 3, 3, 3, 3]
    small = shared_regions(graph, 1, largest=4)  # no table of three: nothing is shared
    assert max(map(len, small.regions)) == 2


def _levelled(regions: RegionGraph) -> tuple[tuple[tuple[int, ...], ...], list[int]]:
    return regions.regions, regions.levels.tolist()
