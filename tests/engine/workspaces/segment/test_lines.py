"""Lines become one pixel wide and stay what they were; gaps between their ends close, and nothing else does."""

import numpy as np
import pytest
from scipy import ndimage

from mrfstudio.engine.workspaces.segment.lines import bridged, line_ends, thinned

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


def broken_ring(*gaps: tuple[int, int], radius: int = 15, width: float = 0.5) -> np.ndarray:
    """A circle on 50×50 without the pixels at some angles (first, last), in degrees."""
    rows, columns = np.mgrid[0:50, 0:50]
    ring = abs(np.hypot(rows - 25, columns - 25) - radius) <= width
    angle = np.degrees(np.arctan2(rows - 25, columns - 25)) % 360
    for first, last in gaps:
        ring &= ~((angle >= first) & (angle <= last))
    return ring


@pytest.mark.parametrize("width", [0.5, 2.0])
def test_gaps_up_to_the_given_width_close_and_wider_ones_stay(width: float) -> None:
    ring = broken_ring((40, 50), (200, 212), width=width)  # about 3 pixels each
    assert holes(ring) == 0
    closed = bridged(ring, 5)
    assert holes(closed) == 1
    assert (ring <= closed).all()
    assert closed.sum() - ring.sum() <= 2 * 5  # two lines, one pixel wide
    assert (bridged(broken_ring((40, 80), width=width), 5) == broken_ring((40, 80), width=width)).all()


def test_a_short_stroke_and_a_closed_ring_stay_as_they_are() -> None:
    stroke = np.zeros((20, 20), bool)
    stroke[5, 4:9] = True
    stroke[5:9, 8] = True
    assert (bridged(stroke, 8) == stroke).all()
    ring = broken_ring()
    assert (bridged(ring, 8) == ring).all()


def test_each_end_is_joined_to_one_other_the_nearest() -> None:
    lines = np.zeros((9, 40), bool)
    lines[4, 2:12] = lines[4, 15:25] = lines[4, 30:38] = True
    closed = bridged(lines, 10)
    assert closed[4, 2:38].all()
    assert closed.sum() == 36
    assert len(line_ends(closed)) == 2
    assert not bridged(np.zeros((5, 5), bool), 4).any()


def test_a_small_ring_with_a_gap_closes() -> None:
    rows, columns = np.mgrid[0:20, 0:20]
    ring = abs(np.hypot(rows - 10, columns - 10) - 4) <= 0.5
    ring[9:12, 13:] = False
    assert holes(ring) == 0
    assert holes(bridged(ring, 3)) == 1
