"""Ising graphs by shape: what has an edge, and what a slider keeps."""

import networkx as nx
import numpy as np
import pytest

from mrfstudio.engine.graphs.ising import IsingGraph, grid_edges, ising_grid, ring_edges, torus_edges


def as_networkx(graph: IsingGraph) -> nx.Graph:
    edges, couplings, fields = graph.draw()
    assert len(couplings) == len(edges)
    pairs = {tuple(sorted(edge)) for edge in edges.tolist()}
    assert len(pairs) == len(edges)
    made = nx.Graph()
    made.add_nodes_from(range(len(fields)))
    made.add_edges_from(pairs)
    return made


def test_shapes_are_what_they_are_called() -> None:
    same = nx.utils.graphs_equal
    assert nx.is_isomorphic(as_networkx(IsingGraph(shape="grid", height=3, width=4)), nx.grid_2d_graph(3, 4))
    torus = nx.grid_2d_graph(3, 4, periodic=True)
    assert nx.is_isomorphic(as_networkx(IsingGraph(shape="torus", height=3, width=4)), torus)
    assert same(as_networkx(IsingGraph(shape="complete", nodes=6)), nx.complete_graph(6))
    assert same(as_networkx(IsingGraph(shape="ring", nodes=7)), nx.cycle_graph(7))
    assert nx.is_tree(as_networkx(IsingGraph(shape="tree", nodes=40)))
    random = as_networkx(IsingGraph(shape="erdos-renyi", nodes=60, probability=0.3))
    assert random.number_of_edges() == pytest.approx(0.3 * 60 * 59 / 2, rel=0.15)


@pytest.mark.parametrize("shape", ["grid", "torus", "complete", "erdos-renyi", "tree", "ring"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_small_ones_have_no_edge_twice(shape: str, size: int) -> None:
    as_networkx(IsingGraph(shape=shape, height=size, width=2, nodes=size)).number_of_nodes()
    as_networkx(IsingGraph(shape=shape, height=1, width=size, nodes=size, probability=1.0))
    graph = IsingGraph(shape=shape, height=size, width=1, nodes=size).make()
    assert graph.variables == size


def test_strengths_scale_one_draw() -> None:
    weak = IsingGraph(shape="erdos-renyi", coupling=0.1, field=0.2, seed=4)
    strong = weak.replace(coupling=0.3, field=0.1)
    for a, b, factor in zip(weak.draw(), strong.draw(), (1, 3, 0.5), strict=True):
        np.testing.assert_allclose(factor * a, b)
    other = weak.replace(seed=5).draw()[1]
    assert len(other) != len(weak.draw()[1]) or not np.allclose(other, weak.draw()[1])
    assert set(IsingGraph(couplings="equal", coupling=-0.7).draw()[1].tolist()) == {-0.7}


def test_a_grid_made_either_way_is_the_same() -> None:
    one = ising_grid(3, 5, coupling=0.4, field=0.3, seed=9)
    two = IsingGraph(height=3, width=5, coupling=0.4, field=0.3, seed=9).make()
    assert bool((one.groups[0].tables == two.groups[0].tables).all())
    assert bool((one.unary == two.unary).all())
    assert len(torus_edges(2, 2)) == len(grid_edges(2, 2)) == 4
    assert len(ring_edges(2)) == 1
