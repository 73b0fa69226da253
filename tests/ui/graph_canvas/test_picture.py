"""Pictures of graphs: colours, messages beside their receivers, thousands of nodes."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QSize
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.frames import GraphFrame
from mrfstudio.ui.export.pictures import Drawing
from mrfstudio.ui.graph_canvas.input import GraphCanvas
from mrfstudio.ui.graph_canvas.lines import Lines, Words
from mrfstudio.ui.graph_canvas.picture import GraphPicture
from mrfstudio.ui.graph_canvas.raster import HAIR, LatticeRaster, LineRaster, packed
from mrfstudio.ui.style.colours import DARK, LIGHT, rgb
from mrfstudio.ui.style.graph_colours import LEVELS, change_levels, node_colours, state_colour
from tests.ui.helpers.widgets import shown


def graph_frame(edges: list[tuple[int, int]], positions: np.ndarray, lattice: tuple[int, int] | None) -> GraphFrame:
    count, pairs = len(positions), np.array(edges, np.int32).reshape(-1, 2)
    ones = np.full(count, 2, np.int32)
    labels = tuple(range(count))
    source = "grid" if lattice else "drawn"
    stars = np.zeros((0, 2), np.int32)
    return GraphFrame(positions, pairs, stars, ones, ones, labels, None, None, lattice, source, {}, {}, True)


def test_a_message_lies_beside_its_receiver_on_the_side_of_its_sender() -> None:
    positions = np.array([[0.5, 0.5], [1.5, 0.5]], np.float32)
    raster = LatticeRaster(graph_frame([(0, 1)], positions, (1, 2)), 5)
    nodes, halves = np.array([1, 2], np.uint32), np.array([[3, 4]], np.uint32)
    image = raster.image(nodes, halves, np.array([False, True]), LIGHT)
    assert image.shape == (5, 10)
    assert (image[2, 2], image[2, 4], image[2, 5]) == (1, 3, 4)
    assert image[1, 7] == 2
    assert image[2, 7] == packed(np.array(rgb(LIGHT.ink), np.uint8))  # evidence
    assert image[0, 0] == packed(np.array(rgb(LIGHT.paper), np.uint8))


def test_across_the_border_of_a_torus_a_message_comes_from_outside() -> None:
    positions = np.array([[column + 0.5, 0.5] for column in range(3)], np.float32)
    raster = LatticeRaster(graph_frame([(2, 0)], positions, (1, 3)), 5)
    image = raster.image(np.zeros(3, np.uint32), np.array([[7, 8]], np.uint32), np.zeros(3, np.bool_), LIGHT)
    assert (image[2, 14], image[2, 0]) == (7, 8)


def test_lines_of_any_graph_reach_from_node_to_middle() -> None:
    starts, ends = np.array([[5.0, 5.0], [25.0, 5.0]]), np.array([[15.0, 5.0], [15.0, 5.0]])
    raster = LineRaster(starts, ends, starts, 2.0, (11, 31))
    image = raster.image(np.array([1, 2], np.uint32), np.array([3, 4], np.uint32), np.array([0, 9]), DARK)
    assert (image[5, 5], image[5, 10], image[5, 20], image[5, 25]) == (1, 3, 4, 2)
    assert image[0, 0] == packed(np.array(rgb(DARK.paper), np.uint8))
    known = np.array([False, True])
    marked = raster.image(np.array([1, 2], np.uint32), np.zeros(2, np.uint32), np.array([0, 9]), DARK, known)
    assert (marked[5, 5], marked[5, 25]) == (1, packed(np.array(rgb(DARK.ink), np.uint8)))


def test_colours_of_marginals_and_changes() -> None:
    sure = node_colours(np.array([[1, 0], [0.5, 0.5], [0, 1]], np.float32), LIGHT)
    assert sure[0, 2] > sure[0, 0]  # blue
    assert sure[2, 0] > sure[2, 2]  # orange
    assert sure[1].min() > 250  # undecided is paper
    assert state_colour(1, 2, LIGHT) == tuple(sure[2].tolist())
    assert node_colours(np.eye(3, dtype=np.float32), LIGHT)[2].tolist() == list(rgb(LIGHT.labels[2]))
    levels = change_levels(np.array([0.0, 1e-5, 1e-3, 1.0]))
    assert levels[0] == levels[1] == 0
    assert 0 < levels[2] < LEVELS - 1 == levels[3]


def test_an_empty_canvas_says_what_belongs_there(qtbot: QtBot) -> None:
    canvas = GraphCanvas()
    qtbot.addWidget(canvas)
    canvas.resize(300, 200)
    image: QImage = canvas.grab().toImage()
    assert len({image.pixel(x, y) for x in range(300) for y in range(200)}) > 2
    assert canvas.note() == []
    assert canvas.node_at(QPointF(10, 10)) is None


def test_nodes_grow_with_the_text_and_leave_their_neighbours_room() -> None:
    usual, large = GraphPicture(), GraphPicture(unit=2.0)
    for scale in (4.0, 20.0, 40.0, 70.0, 140.0):
        assert usual.radius(scale) <= large.radius(scale)
    assert large.radius(40.0) > 1.4 * usual.radius(40.0)
    assert 2 * large.radius(40.0) < 40.0
    assert large.radius(500.0) == 2 * usual.radius(500.0)


def test_values_of_messages_never_stand_on_each_other_or_on_a_node(qtbot: QtBot) -> None:
    def written(
        starts: list[tuple[float, float]], ends: list[tuple[float, float]], words: Words | None = None, text: str = "1"
    ) -> int:
        count = len(starts)
        zeros = np.zeros(count, np.int64)
        lines = Lines(np.arange(count), np.array(starts), np.array(ends), zeros, zeros > 0, np.ones(count), zeros)
        said = np.tile([1.0, 0.75], (count, 1))
        drawing = Drawing(
            QSize(400, 400),
            lambda painter: lines.paint_values(painter, said, 12.0, 11, LIGHT, words),
            paper=LIGHT.paper,
        )
        return drawing.svg().count(f">{text}: 0.75<")

    assert written([(50, 50), (50, 200)], [(300, 50), (300, 200)]) == 2
    assert written([(50, 50), (50, 50)], [(300, 50), (300, 55)]) == 1
    assert written([(50, 50), (90, 50)], [(300, 50), (390, 300)]) == 1  # the second node is where the number would be
    # States by name, and not where the name of the node stands below it.
    assert written([(50, 50)], [(300, 50)], lambda _, state: ("Rain", ("no", "yes")[state]), "yes") == 1
    assert written([(50, 50)], [(50, 180)], lambda _, state: ("Rain", ("no", "yes")[state]), "yes") == 0


def test_of_too_many_lines_the_strongest_are_drawn_and_those_that_change_most() -> None:
    rows = np.repeat(np.arange(100.0), 4)
    starts = np.stack([np.zeros(400), rows], 1)
    ends = starts + np.array([99.0, 0.0])
    strength = np.where(np.arange(400) < 4, 2.0, 1.0)  # the first row is strong
    raster = LineRaster(starts, ends, np.zeros((0, 2)), 1.0, (100, 100), strength)
    assert raster.kept[:4].all()
    assert raster.kept.sum() == int(HAIR * 100)
    paper = packed(np.array(rgb(LIGHT.paper), np.uint8))
    colour, nobody = np.full(400, 5, np.uint32), np.zeros(0, np.uint32)

    def drawn(order: np.ndarray) -> set[int]:
        image = raster.image(nobody, colour, order, LIGHT)
        return set(np.flatnonzero((image != paper).any(1)).tolist())

    calm = drawn(np.zeros(400, np.uint8))
    assert 0 in calm
    loudest = np.where(rows == 60, 3, 1).astype(np.uint8)
    assert drawn(loudest) == calm | {60}  # everything changes, one row most
    few = np.where(rows == 70, 1, 0).astype(np.uint8)
    assert drawn(few) == calm | {70}


def test_lines_out_of_sight_take_no_room_from_those_in_it() -> None:
    starts = np.array([[10.0, 5.0], [500.0, 5.0]])
    ends = starts + np.array([20.0, 0.0])
    raster = LineRaster(starts, ends, starts, 1.0, (20, 60), np.array([1.0, 5.0]))
    assert raster.kept.tolist() == [True]


def test_a_large_graph_follows_the_hand_as_an_image_and_is_drawn_anew_when_it_rests(qtbot: QtBot) -> None:
    rng = np.random.default_rng(0)
    positions = (60 * rng.random((4000, 2))).astype(np.float32)
    edges = [(int(a), int(b)) for a, b in rng.integers(0, 4000, (4000, 2)) if a != b]
    canvas = GraphCanvas()
    shown(qtbot, canvas, 300, 300)
    canvas.picture.graph = graph_frame(edges, positions, None)
    canvas.fit()
    canvas.grab()
    made = canvas.picture._raster
    assert canvas.picture.drawn_as_image
    before, first = canvas.grab().toImage(), canvas.transform
    canvas.move_by(14, 9)
    moved, now = canvas.grab().toImage(), canvas.transform
    assert canvas.picture._raster is made  # nothing was computed
    right, down = round(now.left - first.left), round(now.top - first.top)
    assert right or down
    inside = [(x, y) for x in range(100, 200, 3) for y in range(100, 200, 3)]
    assert all(moved.pixel(x + right, y + down) == before.pixel(x, y) for x, y in inside)
    qtbot.waitUntil(lambda: not canvas.picture.moving, timeout=60_000)
    canvas.grab()
    assert canvas.picture._raster is not made
