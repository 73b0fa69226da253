"""Clones that follow a contour: their symmetries, and what they know before any training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from mrfstudio.engine.data.pictures.border_noise import CONTOUR, IN, OUT
from mrfstudio.engine.families.grid.lines import line_clones, line_permutations, line_potentials, turns_of
from mrfstudio.engine.families.grid.model import Grid, GridMRF
from mrfstudio.engine.families.grid.shape import STEPS, GridError, GridShape
from mrfstudio.engine.families.grid.symmetry import state_permutations, symmetries, tied_index
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation


def untrained(clones: int = 40) -> GridMRF:
    """With the emission that the first potentials were chosen with."""
    model = Grid(clones=clones, tying="lines").build(0, [0.1, 0.6, 0.3], [0.9, 0.018, 0.0017])
    model.weights.requires_grad_(False)
    return model


def answer(model: GridMRF, picture: NDArray[np.uint8], iterations: int) -> torch.Tensor:
    """Label beliefs (H, W, 3) of a picture in which 0 is a contour seen."""
    bp, evidence = BeliefPropagation(), model.evidence_from_image(picture)
    state = bp.init(model, evidence)
    for _ in range(iterations):
        state = bp.step(model, evidence, state)
    return model.label_beliefs(bp.beliefs(model, evidence, state))


def ring(side: int = 20, radius: float = 5.0) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """A disc, and the contour around it."""
    row, column = np.indices((side, side)) - (side - 1) / 2
    inside = row**2 + column**2 < radius**2
    near = inside.copy()
    for axis in (0, 1):
        near |= np.roll(inside, 1, axis) | np.roll(inside, -1, axis)
    return inside, near & ~inside


@pytest.mark.parametrize(("clones", "turns"), [(8, 0), (24, 1), (40, 2), (56, 3), (16, None), (12, None), (0, None)])
def test_how_far_so_many_clones_turn(clones: int, turns: int | None) -> None:
    assert turns_of(clones) == turns


def test_symmetries_carry_clones_to_clones_and_keep_their_turns() -> None:
    moved = line_permutations((40, 1, 1), symmetries())
    lines = line_clones(40)
    turn = np.append((lines[:, 1] - lines[:, 0] + 4) % 8 - 4, [9, 10])  # OUT and IN stay apart
    for permutation in moved:
        assert sorted(permutation) == list(range(42))
        assert (turn[permutation] == turn).all()
    assert len({tuple(permutation) for permutation in moved}) == 8
    assert moved.shape == state_permutations((40, 1, 1)).shape


def test_tied_potentials_keep_the_first_ones_as_they_are() -> None:
    index, count = tied_index((40, 1, 1), GridShape(1, 1, 1, 8).directions, "lines")
    model = untrained()
    assert model.weights.shape == (count,)
    assert count < model.potentials.numel() / 7
    assert int(index.max()) == count - 1
    first = torch.from_numpy(line_potentials((40, 1, 1), STEPS)).float()
    torch.testing.assert_close(model.potentials, first, atol=1e-5, rtol=0.0)


@pytest.mark.parametrize("change", [np.rot90, np.fliplr, np.transpose])
def test_a_turned_or_mirrored_picture_gets_the_turned_or_mirrored_answer(change: Callable[[Any], Any]) -> None:
    model = untrained(24).to(torch.float64)
    with torch.no_grad():
        model.weights += torch.randn(model.weights.shape, generator=torch.Generator().manual_seed(0)).double()
    picture = (np.random.default_rng(3).random((7, 7)) > 0.3).astype(np.uint8)
    for label in (CONTOUR, OUT, IN):
        expected = change(answer(model, picture, 4)[..., label].numpy())
        found = answer(model, np.ascontiguousarray(change(picture)), 4)[..., label].numpy()
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_an_untrained_model_fills_a_broken_circle_and_drops_an_edge_that_bounds_nothing() -> None:
    inside, contour = ring(side=32)
    picture = np.where(contour, 0, 1).astype(np.uint8)
    row, column = np.argwhere(contour)[1]
    picture[row, column] = 1  # a gap of one pixel in the line
    picture[20:23, 5] = 0  # three pixels that bound nothing, in the open: the border could close a figure with them
    found = answer(untrained(), picture, 40).argmax(-1).numpy()
    assert ((found == IN) == inside).all()
    assert (found[20:23, 5] == OUT).all()
    assert (found[contour] == CONTOUR).all()


@pytest.mark.parametrize(("clones", "connectivity"), [(16, 8), (40, 4), (41, 8)])
def test_lines_need_headings_and_eight_neighbours(clones: int, connectivity: int) -> None:
    with pytest.raises(GridError, match="Lines need 8 neighbours"):
        GridMRF((clones, 1, 1), connectivity=connectivity, tying="lines")


def test_weights_of_another_shape_are_refused_by_name() -> None:
    with pytest.raises(GridError, match="'weights'"):
        untrained().load_tensors(GridMRF((16, 1, 1), tying="square").tensors())
