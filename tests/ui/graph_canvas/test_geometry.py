"""Where squares stand, and which lines an image keeps."""

from __future__ import annotations

import numpy as np

from mrfstudio.engine.protocol.frames import GraphFrame
from mrfstudio.engine.protocol.squares import CLEAR, cleared, middles_of, room_of
from mrfstudio.ui.graph_canvas.geometry import Geometry
from mrfstudio.ui.graph_canvas.raster import _kept


def test_squares_stand_clear_of_nodes_and_of_each_other() -> None:
    rng = np.random.default_rng(0)
    nodes = rng.uniform(0, 14, (40, 2))
    stars = np.array([(factor, node) for factor in range(25) for node in rng.choice(40, 3, replace=False)])
    edges = np.zeros((0, 2), np.int64)
    places = cleared(middles_of(nodes, edges, stars), nodes, room_of(nodes, edges, stars))
    nearest = np.hypot(*np.moveaxis(places[:, None] - nodes[None], -1, 0)).min(1)
    assert np.median(nearest) >= 0.95 * CLEAR
    assert nearest.min() > 0.4 * CLEAR
    between = np.hypot(*np.moveaxis(places[:, None] - places[None], -1, 0)) + 9 * np.eye(25)
    assert between.min() > 0.2 * CLEAR


def test_factors_over_the_same_nodes_stand_beside_each_other_and_short_edges_stay_straight() -> None:
    nodes = np.array([[0.0, 0.0], [0.6, 0.0]])
    edges, stars = np.array([[0, 1], [1, 0], [0, 1]]), np.zeros((0, 2), np.int64)
    middles = middles_of(nodes, edges, stars)
    assert len({tuple(place) for place in middles.round(3).tolist()}) == 3
    straight = cleared(middles[:1], nodes, room_of(nodes, edges[:1], stars))
    assert abs(straight[0, 1]) < 0.02


def test_hair_is_thinned_to_the_strongest_and_then_the_shortest() -> None:
    length, strength = np.array([10.0, 10.0, 50.0, 10.0]), np.array([0.1, 2.0, 2.0, 0.5])
    assert _kept(length, strength, 1000).all()
    assert _kept(length, strength, 65).tolist() == [False, True, True, False]
    assert _kept(length, strength, 20).tolist() == [False, True, False, False]


def test_a_long_edge_in_a_lattice_is_a_line_and_one_round_the_torus_is_two_ends() -> None:
    positions = np.stack(np.divmod(np.arange(20), 5)[::-1], 1) + 0.5
    edges = np.array([(0, 13), (0, 1), (0, 4), (2, 17), (0, 2)])
    ones, none = np.ones(20, np.int32), np.zeros((0, 2), np.int32)
    labels = tuple(range(20))
    graph = GraphFrame(positions, edges, none, ones, ones, labels, None, None, (4, 5), "grid", {}, {}, True)
    geometry = Geometry(graph)
    assert geometry.across.tolist() == [False, False, True, True, False]
    leaving = geometry.ends - positions[edges.ravel()]
    np.testing.assert_allclose(leaving[4:8], ((-0.5, 0), (0.5, 0), (0, -0.5), (0, 0.5)))
    np.testing.assert_array_equal(geometry.ends[0], geometry.ends[1])  # both ends at the square of the long edge
    square = geometry.squares[4]  # would stand on node 1
    assert np.hypot(*(square - positions[1])) > 0.2
