"""What a pixel shows: short edges, as the noise of border ownership draws them, apart from lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import ndimage

from mrfstudio.engine.data.drawn.figure_drawing import any_kind, scene
from mrfstudio.engine.data.drawn.figures import DENSITY, labelled, seen_of
from mrfstudio.engine.data.pictures.border_noise import CONTOUR, IN, OUT, SEEN
from mrfstudio.engine.families.contours import UNKNOWN, UNSEEN
from mrfstudio.engine.families.grid.contours import GridContours
from mrfstudio.engine.families.grid.emission import SHORT, estimated, log_table, short_edges, shown
from mrfstudio.engine.families.grid.levels import LevelMessages, cleaned
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.shape import GridError
from mrfstudio.engine.files.model_file import save_model
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation

EMISSION = [[0.75, 0.002, 0.001], [0.2, 0.97, 0.99], [0.75, 0.1, 0.001]]


def model(dtype: torch.dtype = torch.float32) -> GridMRF:
    generator = torch.Generator().manual_seed(3)
    weights = 0.4 * torch.randn(4, 5, 5, generator=generator, dtype=dtype)
    return GridMRF((3, 1, 1), short_edges=True, emission=EMISSION, weights=weights)


def pieces_of_three_in_a_row(seen: np.ndarray) -> np.ndarray:
    """The same by looking at every piece (8-connected) by itself."""
    numbers, _ = ndimage.label(seen, np.ones((3, 3)))
    found = np.zeros(seen.shape, bool)
    for number, place in enumerate(ndimage.find_objects(numbers), 1):
        rows, columns = np.nonzero(numbers == number)
        straight = {place[0].stop - place[0].start, place[1].stop - place[1].start} <= {1, 3}
        one_by_one = len(rows) == 3 and (np.ptp(np.diff(rows)) == 0) and (np.ptp(np.diff(columns)) == 0)
        inner = rows.min() > 0 and columns.min() > 0 and rows.max() < len(seen) - 1 and columns.max() < len(seen[0]) - 1
        if straight and one_by_one and inner:
            found[rows, columns] = True
    return found


@pytest.mark.parametrize("density", [0.05, 0.12, 0.2, 0.5])
def test_short_edges_are_pieces_of_three_pixels_in_a_row(density: float) -> None:
    draw = np.random.default_rng(round(100 * density))
    seen = draw.random((3, 40, 33)) < density
    seen[0, 5:8, 9] = seen[1, 20, 10:13] = True
    expected = np.stack([pieces_of_three_in_a_row(one) for one in seen])
    assert expected.any() or density > 0.3
    np.testing.assert_array_equal(short_edges(seen), expected)


def test_the_noise_draws_nothing_else_and_contours_have_few() -> None:
    shares = []
    for index in range(8):
        draw = np.random.default_rng(np.random.SeedSequence(31, spawn_key=(index,)))
        labels = labelled(scene(any_kind(draw), draw, 30.0, 48).figure)
        noisy = seen_of(labels, draw, 0.2, DENSITY)
        short = short_edges(noisy == SEEN)
        assert short[(noisy == SEEN) & (labels == OUT)].all()
        shares.append(short[(noisy == SEEN) & (labels == CONTOUR)].mean())
    assert np.mean(shares) < 0.06


def test_pieces_at_the_border_of_a_picture_may_go_on() -> None:
    seen = np.zeros((9, 12), bool)
    seen[0:3, 4] = seen[5, 9:12] = True
    assert not short_edges(seen).any()
    assert short_edges(np.pad(seen, 1)).sum() == 6


def test_the_window_and_the_command_give_the_same_evidence() -> None:
    grid, observed = model(), np.full((10, 10), UNSEEN, np.uint8)
    observed[2, 2:5] = observed[6, 1:9] = SEEN
    observed[9, 9] = UNKNOWN
    kinds = shown(observed, True)
    assert (kinds[2, 2:5] == SHORT).all()
    assert (kinds[6, 1:9] == SEEN).all()
    ones = np.ones(observed.shape, np.float32)
    painted = GridContours().evidence(grid, observed, ones, np.zeros((10, 10, 3), np.float32))
    read = grid.evidence_from_image(observed).log_potentials
    torch.testing.assert_close(painted[:9], read[:9])
    assert (painted[9, 9] == 0).all()
    np.testing.assert_allclose(read[2, 3].numpy(), np.log(EMISSION[2]), rtol=1e-5)
    np.testing.assert_allclose(read[0, 0].numpy(), np.log(EMISSION[1]), rtol=1e-5)


def test_emission_is_estimated_for_lines_and_short_edges() -> None:
    noisy, labels = np.full((12, 12), UNSEEN, np.uint8), np.full((12, 12), OUT, np.uint8)
    labels[6], labels[8:] = CONTOUR, IN
    noisy[2, 2:5] = noisy[6, :9] = SEEN
    found = estimated(labels, noisy, np.full((3, 3), 0.3))
    np.testing.assert_allclose(found[:, CONTOUR], [0.75, 0.25, 0.75])
    np.testing.assert_allclose(found[:, OUT], [1e-10, 81 / 84, (3 / 84 / 12) ** (1 / 3)])
    np.testing.assert_allclose(found[:2, IN], [1e-10, 1], atol=1e-9)
    np.testing.assert_allclose(found, np.exp(log_table(found))[[SEEN, UNSEEN, SHORT]])
    kept = estimated(labels[:6], noisy[:6], np.full((3, 3), 0.3))
    assert (kept[:, [CONTOUR, IN]] == 0.3).all()


def test_copies_keep_a_short_edge_only_where_a_contour_is_believed() -> None:
    grid, observed = model(), np.full((10, 12), UNSEEN, np.uint8)
    observed[2, 2:5] = observed[7, 2:5] = SEEN
    evidence = grid.evidence_from_image(observed)
    labels = grid.label_evidence(evidence)
    messages = torch.ones(8, 5, 120)
    messages[:, 3:, :60] = 0.1  # above, neighbours speak for a contour
    messages[:, :3, 60:] = 0.1
    seen = cleaned(grid, LevelMessages(messages, labels)).reshape(3, 10, 12)
    table = grid.log_emission
    torch.testing.assert_close(seen[:, 2, 3], table[SEEN])
    torch.testing.assert_close(seen[:, 7, 3], table[UNSEEN])


def test_messages_equal_the_factor_graphs_with_short_edges() -> None:
    grid, observed = model(torch.float64), np.full((6, 7), UNSEEN, np.uint8)
    observed[2, 2:5] = observed[4, 1] = SEEN
    evidence = grid.evidence_from_image(observed)
    graph, packed = grid.as_graph(evidence)
    mine = other = BeliefPropagation(start="flat")
    here, there = mine.init(grid, evidence), other.init(graph, packed)
    for _ in range(6):
        here, there = mine.step(grid, evidence, here), other.step(graph, packed, there)
        found = grid.from_graph(other.beliefs(graph, packed, there), evidence)
        torch.testing.assert_close(mine.beliefs(grid, evidence, here), found)


def test_a_file_keeps_short_edges_and_a_model_without_them_is_a_start(tmp_path: Path) -> None:
    grid = model()
    path = tmp_path / "short.safetensors"
    save_model(path, "grid", grid.tensors(), {"hyperparameters": grid.hyperparameters()})
    again = open_model(str(path), "grid")
    assert isinstance(again, GridMRF)
    assert again.short_edges
    torch.testing.assert_close(again.emission, torch.tensor(EMISSION, dtype=torch.float64))
    plain = GridMRF((3, 1, 1), emission=[0.8, 0.03, 0.01], weights=torch.ones(4, 5, 5))
    grid.load_tensors(plain.tensors())
    assert bool((grid.weights == 1).all())
    torch.testing.assert_close(grid.emission, torch.tensor(EMISSION, dtype=torch.float64))
    with pytest.raises(GridError, match="short edge"):
        GridMRF((3, 1, 1), short_edges=True, emission=[0.8, 0.03, 0.01])
    with pytest.raises(GridError, match="3 probabilities"):
        GridMRF((3, 1, 1), short_edges=True, emission=[[0.8] * 3, [0.2] * 3, [1.2] * 3])


def test_strength_weighs_a_short_edge() -> None:
    grid, observed = model(), np.full((6, 6), UNSEEN, np.uint8)
    observed[2, 1:4] = SEEN
    half = GridContours().evidence(grid, observed, np.full((6, 6), 0.5, np.float32), np.zeros((6, 6, 3), np.float32))
    whole = Evidence(grid.evidence_from_image(observed).log_potentials).log_potentials
    torch.testing.assert_close(half, whole / 2)
