"""Lines become one pixel wide and stay what they were: as many pieces, as many holes, the same ends."""

import numpy as np
import pytest
from scipy import ndimage

from mrfstudio.engine.thinning import thinned

EIGHT = np.ones((3, 3))


def pieces(ink: np.ndarray) -> int:
    return int(ndimage.label(ink, EIGHT)[1])


def holes(ink: np.ndarray) -> int:
    return int(ndimage.label(~np.pad(ink, 1))[1]) - 1


def drawing(seed: int) -> np.ndarray:
    """Thick crossing lines and rings."""
    draws = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:50, 0:60]
    ink = np.zeros((50, 60), bool)
    for _ in range(3):
        y, x, radius = draws.uniform(10, 40), draws.uniform(10, 50), draws.uniform(5, 18)
        ink |= abs(np.hypot(rows - y, columns - x) - radius) < draws.uniform(1.5, 3.5)
    ink[:, int(draws.integers(5, 55)) :][:, :3] = True
    return ink


@pytest.mark.parametrize("seed", range(6))
def test_thinning_keeps_pieces_and_holes_and_leaves_no_thick_spot(seed: int) -> None:
    ink = drawing(seed)
    thin = thinned(ink)
    assert (thin <= ink).all()
    assert (pieces(thin), holes(thin)) == (pieces(ink), holes(ink))
    assert thin.sum() < 0.6 * ink.sum()
    assert not ndimage.binary_erosion(thin, EIGHT).any()


def test_a_thin_line_stays_as_long_as_it_is() -> None:
    line = np.zeros((9, 30), bool)
    line[4, 3:27] = True
    assert (thinned(line) == line).all()
    diagonal = np.eye(20, dtype=bool)
    assert (thinned(diagonal) == diagonal).all()


def test_paper_and_a_single_dot_stay() -> None:
    assert not thinned(np.zeros((4, 5), bool)).any()
    dot = np.zeros((5, 5), bool)
    dot[2, 2] = True
    assert (thinned(dot) == dot).all()
    assert thinned(np.ones((1, 1), bool)).all()


def test_a_closed_thick_line_still_encloses_its_inside() -> None:
    rows, columns = np.mgrid[0:40, 0:40]
    ring = abs(np.hypot(rows - 20, columns - 20) - 12) < 3
    assert holes(thinned(ring)) == 1
