"""Whole regions change sides where lines say so, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from mrfstudio.engine.data.drawn.figures import labelled
from mrfstudio.engine.data.pictures.border_noise import CONTOUR, IN, OUT
from mrfstudio.engine.families.grid.regions import agreed

Labels = NDArray[np.int64]
Numbers = NDArray[np.float64]


def comb(depth: int = 20) -> Labels:
    """A bar with five teeth 5 pixels wide, and bays as wide between them."""
    figure = np.zeros((48, 64), np.bool_)
    figure[8:16, 8:53] = True
    for left in range(8, 53, 10):
        figure[16 : 16 + depth, left : left + 5] = True
    return labelled(figure).astype(np.int64)


def disc(radius: float, side: int = 48) -> Labels:
    row, column = np.indices((side, side)) - side / 2
    return labelled(row**2 + column**2 < radius**2).astype(np.int64)


def none(labels: Labels) -> Numbers:
    return np.zeros(labels.shape)


def swapped(labels: Labels, part: NDArray[np.bool_]) -> Labels:
    """IN and OUT changed in a part of the picture (H, W)."""
    return np.where(part & (labels != CONTOUR), IN + OUT - labels, labels)


@pytest.mark.parametrize("across", [False, True])
def test_teeth_and_bays_that_are_taken_for_each_other_turn_together(across: bool) -> None:
    true = comb().T if across else comb()
    part = np.zeros(comb().shape, np.bool_)
    part[18:37, 13:48] = True  # two walls for each of four bays and three teeth
    found = agreed(swapped(true, part.T if across else part), none(true))
    assert np.array_equal(found, true)


def test_what_is_right_stays() -> None:
    true = comb()
    assert np.array_equal(agreed(true, none(true)), true)


def test_a_wall_in_an_empty_place_goes_and_the_larger_part_stays() -> None:
    true = disc(18)
    row, column = np.indices(true.shape)
    patch = np.asarray((row - 24) ** 2 + (column - 24) ** 2 < 36)
    assert np.array_equal(agreed(swapped(true, patch), none(true)), true)
    small = np.full((20, 30), OUT)
    small[:, 22:] = IN
    assert (agreed(small, none(small)) == OUT).all()
    assert (agreed(IN + OUT - small, none(small)) == IN).all()


@pytest.mark.parametrize("nats", [200.0, 1e4])
def test_a_hint_holds_its_part_and_turns_no_other(nats: float) -> None:
    true, row = disc(18), np.indices((48, 48))[0]
    part = (true == IN) & (row < 15)
    found, hints = swapped(true, part), none(true)
    assert np.array_equal(agreed(found, hints), true)
    hints[10, 24] = -nats
    assert np.array_equal(agreed(found, hints), found)
    hints[10, 24] = nats  # a hint for what the part is not
    assert np.array_equal(agreed(found, hints), true)


def test_the_largest_piece_stays_whatever_a_hint_says() -> None:
    labels = disc(10)
    labels[22:27, 22:27] = OUT  # what a soft hint has made of a part of the inside
    labels[24, 30:] = np.where(labels[24, 30:] == CONTOUR, OUT, labels[24, 30:])
    hints = none(labels)
    hints[22:27, 22:27] = -9.0
    assert np.array_equal(agreed(labels, hints), labels)


@pytest.mark.parametrize("gap", [2, 5, 7])
def test_a_figure_with_a_gap_stays_closed(gap: int) -> None:
    labels = disc(16)
    cut = np.zeros(labels.shape, np.bool_)
    cut[24 - gap // 2 : 24 - gap // 2 + gap, 30:] = True
    open_one = np.where(cut & (labels == CONTOUR), OUT, labels)
    pieces, _ = ndimage.label(open_one != CONTOUR)
    assert len(np.unique(pieces[pieces > 0])) == 1  # inside and outside are one empty place
    assert np.array_equal(agreed(open_one, none(labels)), open_one)


def test_walls_on_their_way_to_a_line_are_no_reason_to_turn() -> None:
    """IN two pixels away from a contour with many gaps: OUT comes through them and lies along the inside."""
    labels = disc(18)
    dashes = np.indices(labels.shape).sum(0) % 8 < 2
    inside = ndimage.binary_erosion(labels == IN, iterations=2)
    early = np.where(inside, IN, np.where((labels == CONTOUR) & ~dashes, CONTOUR, OUT))
    assert np.array_equal(agreed(early, none(labels)), early)


@pytest.mark.parametrize("thick", [1, 3, 4])
def test_lines_may_be_thick(thick: int) -> None:
    labels = np.full((40, 40), OUT)
    labels[6:34, 6:34] = CONTOUR
    labels[6 + thick : 34 - thick, 6 + thick : 34 - thick] = IN
    labels[18:23, 34 - thick : 34] = OUT  # a gap
    assert np.array_equal(agreed(labels, none(labels)), labels)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (2, 2), (3, 40)])
def test_pictures_of_any_shape(shape: tuple[int, int]) -> None:
    for seed in range(20):
        labels = np.random.default_rng(seed).integers(0, 3, shape)
        found = agreed(labels, none(labels))
        assert np.array_equal(found == CONTOUR, labels == CONTOUR)
        assert set(np.unique(found)) <= {CONTOUR, OUT, IN}
