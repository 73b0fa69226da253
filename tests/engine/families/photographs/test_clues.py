import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from mrfstudio.engine.families.photographs.colours import ColourCells, lab_array
from mrfstudio.engine.families.photographs.evidence import islands, outside
from mrfstudio.engine.families.photographs.geodesic import FAR, distances
from mrfstudio.engine.families.photographs.photograph import Photograph, reduced


def test_distances_along_a_picture_are_shortest_paths() -> None:
    rng = np.random.default_rng(1)
    features = rng.random((2, 9, 11)).astype(np.float32)
    sources = np.full((2, 9, 11), FAR)
    sources[0, 4, 5] = 0.0
    sources[1, 0, :] = 0.3
    found = distances(features, sources, length=2.0, sweeps=8)
    nodes, edges = np.arange(99).reshape(9, 11), []
    for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
        a = nodes[: 9 - dy, max(0, -dx) : 11 - max(0, dx)].ravel()
        b = nodes[dy:, max(0, dx) : 11 - max(0, -dx)].ravel()
        flat = features.reshape(2, -1)
        cost = np.sqrt(((flat[:, a] - flat[:, b]) ** 2).sum(0)) + 2.0 / np.sqrt(99) * np.hypot(dy, dx)
        edges.append((a, b, cost))
    a, b, cost = (np.concatenate(each) for each in zip(*edges, strict=True))
    graph = coo_array((cost, (a, b)), shape=(99, 99))
    all_pairs = dijkstra(graph, directed=False)
    np.testing.assert_allclose(found[0].ravel(), all_pairs[nodes[4, 5]], rtol=1e-4)
    np.testing.assert_allclose(found[1].ravel(), 0.3 + all_pairs[nodes[0]].min(0), rtol=1e-4)


def test_lab_of_known_colours() -> None:
    rgb = np.array([[[255, 255, 255], [255, 0, 0], [0, 0, 0]]], np.uint8)
    expected = [[1.0, 0.0, 0.0], [0.5324, 0.8009, 0.6720], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(lab_array(rgb)[:, 0].T, expected, atol=2e-3)


def test_a_table_of_colours_is_a_density_that_is_large_on_its_own_colours() -> None:
    rng = np.random.default_rng(0)
    picture = np.concatenate([np.full((3, 8, 8), 0.2), np.full((3, 8, 8), 0.5)], 2) + rng.normal(0, 0.01, (3, 8, 16))
    cells = ColourCells(picture.astype(np.float32))
    weights = np.zeros((8, 16), np.float32)
    weights[:, :8] = 1.0
    table = cells.table(weights, 0.5)
    assert float(table.sum()) == pytest.approx(1.0, abs=1e-5)
    seen = cells.look(table)
    assert float(seen[:, :8].min()) > 100 * float(seen[:, 8:].max())


def test_the_label_around_everything_is_found_from_the_frame() -> None:
    marks = np.zeros((2, 30, 40), np.float32)
    marks[1, 15, 15:25] = 1
    marks[0, 5, 5:35] = marks[0, 25, 5:35] = 1
    assert outside(marks)[0] == 0
    halves = np.zeros((2, 30, 40), np.float32)
    halves[0, :, 10] = halves[1, :, 29] = 1
    assert outside(halves)[0] is None


def test_a_reduced_photograph_is_the_mean_of_its_blocks() -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (7, 8, 3)).astype(np.uint8)
    small = reduced(rgb, 3)
    assert small.shape == (3, 3, 3)
    np.testing.assert_allclose(small[0, 1], rgb[:3, 3:6].mean((0, 1)), atol=0.51)
    np.testing.assert_allclose(small[2, 0], rgb[6:, :3].mean((0, 1)), atol=0.51)


def test_strokes_of_two_labels_in_one_block_say_nothing() -> None:
    photograph = Photograph(np.zeros((80, 80, 3), np.uint8))
    strokes = np.zeros((80, 80), np.uint8)
    strokes[0, 0], strokes[1, 1], strokes[40, 40] = 1, 2, 2
    _, coarse = photograph.strokes(strokes, 2)
    assert float(coarse[:, 0, 0].sum()) == 0.0
    assert coarse[:, 20, 20].tolist() == [0.0, 1.0]


def test_a_part_that_no_stroke_touches_is_an_island_but_holes_are_not() -> None:
    marks = np.zeros((2, 20, 30), np.float32)
    marks[0, 1, :] = marks[0, 18, :] = marks[1, 10, 5:8] = 1
    beliefs = np.zeros((2, 20, 30), np.float32)
    beliefs[1, 6:14, 3:12] = beliefs[1, 6:9, 20:24] = 0.9
    beliefs[1, 12, 9] = 0.0
    beliefs[0] = 1 - beliefs[1]
    found = islands(beliefs, marks)
    assert not found[0].any()
    assert found[1].sum() == 12
    assert found[1, 7, 21]
