"""Factors and links by number, their strength, and lattices."""

from __future__ import annotations

import numpy as np
import pytest

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.layouts.lattice import by_corners, row_by_row
from mrfstudio.engine.graphs.links import entries_of, links_of, neighbours_of, scope_of, table_of
from mrfstudio.engine.graphs.strength import strengths_of
from mrfstudio.engine.protocol.errors import StudioError
from tests.engine.helpers.graphs import random_factors


def mixed() -> FactorGraph:
    rng = np.random.default_rng(0)
    scopes = [(0, 1, 2), (2, 3), (3, 0, 1), (1, 3), (0, 2, 3, 1)]
    cards = [2, 3, 2, 4]
    return FactorGraph.from_factors(cards, [(s, rng.normal(size=[cards[v] for v in s])) for s in scopes])


def test_edges_come_first_and_every_factor_keeps_its_variables_and_its_table() -> None:
    graph = mixed()
    links = links_of(graph)
    assert (len(links.edges), links.larger, links.factors) == (2, 3, 5)
    assert sorted(scope_of(graph, factor) for factor in range(2)) == [(1, 3), (2, 3)]
    for factor in range(links.factors):
        scope = scope_of(graph, factor)
        assert links.variables[list(links.of(factor))].tolist() == list(scope)
        assert table_of(graph, factor).shape == tuple(graph.cardinalities[list(scope)])
        assert [links.axis(link) for link in links.of(factor)] == list(range(len(scope)))
        for axis, variable in enumerate(scope):
            assert (factor, axis) in neighbours_of(graph, variable)
            entries = entries_of(graph, factor, axis)
            assert len(entries) == graph.cardinalities[variable]
            # A message speaks about the states of its variable.
            spoken = graph.packing.cavity_entries[entries]
            assert spoken.tolist() == graph.packing.entries(np.array([variable]), len(entries))[:, 0].tolist()
    with pytest.raises(StudioError, match="no factor 5"):
        scope_of(graph, 5)


def test_the_strength_of_an_ising_edge_is_its_coupling_whatever_the_fields() -> None:
    spin = np.array([-1.0, 1.0])
    table = -0.7 * np.outer(spin, spin) + 0.4 * spin[:, None] - 1.3 * spin[None] + 5
    graph = FactorGraph.from_factors([2, 2], [((0, 1), table)])
    strength, sign = strengths_of(graph)
    assert strength[0] == pytest.approx(0.7, abs=1e-6)
    assert sign[0] == -1


def test_a_product_of_single_factors_has_no_strength_and_zeros_are_strong() -> None:
    rng = np.random.default_rng(1)
    parts = [rng.normal(size=k) for k in (2, 3, 4)]
    alone = parts[0][:, None, None] + parts[1][None, :, None] + parts[2]
    with np.errstate(divide="ignore"):
        equal = np.log(np.eye(3))
    graph = FactorGraph.from_factors([2, 3, 4, 3], [((0, 1, 2), alone), ((1, 3), equal)])
    strength, sign = strengths_of(graph)
    assert strength.tolist() == pytest.approx([4.714, 0.0], abs=1e-3)  # the pair comes first
    assert sign.tolist() == [1, 0]


def lattice_edges(rows: int, columns: int, torus: bool = False) -> np.ndarray:
    number = np.arange(rows * columns).reshape(rows, columns)
    right, down = (number, np.roll(number, -1, 1)), (number, np.roll(number, -1, 0))
    if not torus:
        right, down = (number[:, :-1], number[:, 1:]), (number[:-1], number[1:])
    return np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in (right, down)])


@pytest.mark.parametrize("torus", [False, True])
def test_a_lattice_is_recognised_by_its_edges(torus: bool) -> None:
    assert row_by_row(6000, lattice_edges(60, 100, torus)) == (60, 100)


def test_other_graphs_are_no_lattices() -> None:
    rng = np.random.default_rng(0)
    assert row_by_row(36, rng.integers(0, 36, (80, 2))) is None
    assert row_by_row(36, np.stack([np.arange(35), np.arange(1, 36)], 1)) is None  # a chain
    assert by_corners(36, rng.integers(0, 36, (60, 2))) is None


def test_a_lattice_numbered_anyhow_is_laid_out_as_one() -> None:
    edges = lattice_edges(7, 12)
    shuffled = np.random.default_rng(3).permutation(84)
    places = by_corners(84, shuffled[edges])
    assert places is not None
    assert (np.abs(places[shuffled[edges[:, 0]]] - places[shuffled[edges[:, 1]]]).sum(1) == 1).all()
    assert len({tuple(place) for place in places.tolist()}) == 84


def test_links_of_random_graphs_cover_every_message_once() -> None:
    for seed in range(5):
        cards, factors = random_factors(seed, order=4)
        graph = FactorGraph.from_factors(cards, factors)
        entries = [
            entries_of(graph, factor, axis)
            for factor in range(links_of(graph).factors)
            for axis in range(len(scope_of(graph, factor)))
        ]
        covered = np.sort(np.concatenate([np.zeros(0, np.int64), *entries]))
        assert covered.tolist() == list(range(graph.packing.message_size))
