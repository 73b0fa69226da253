"""The pencil goes through every point of the hand, smoothly, and one pixel wide."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import ndimage

from mrfstudio.engine.protocol.raster import stroke_mask
from mrfstudio.ui.canvas.pencil import Pencil, Point
from mrfstudio.ui.canvas.tools import ToolBox

SHAPE = (64, 64)


def stroke(hand: list[Point], fine: bool) -> list[tuple[Point, ...]]:
    pencil = Pencil()
    pieces = [pencil.begin(hand[0], fine), *(pencil.to(point) for point in hand[1:]), pencil.end()]
    return [piece for piece in pieces if piece]


def painted(hand: list[Point], fine: bool = True) -> np.ndarray:
    picture = np.zeros(SHAPE, bool)
    for piece in stroke(hand, fine):
        top, left, mask = stroke_mask(piece, 0.5, SHAPE)
        picture[top : top + mask.shape[0], left : left + mask.shape[1]] |= mask
    return picture


def circle(points: int, radius: float = 24.0) -> list[Point]:
    angles = [2 * math.pi * k / points for k in range(points + 1)]
    return [(32 + radius * math.cos(a), 32 + radius * math.sin(a)) for a in angles]


def test_a_circle_of_ten_points_is_round() -> None:
    # The ends of a line have a neighbour on one side only; they lie in the first and last pieces here.
    way = [point for piece in stroke(circle(10), fine=False)[2:-1] for point in piece]
    radii = [math.hypot(x - 32, y - 32) for x, y in way]
    # Straight lines would come within 24 cos 18° = 22.8 of the middle.
    assert min(radii) > 23.5
    assert max(radii) < 24.5


@pytest.mark.parametrize("points", [7, 40, 400])
def test_a_fine_line_is_one_pixel_wide_and_has_no_gap(points: int) -> None:
    line = painted(circle(points))
    assert ndimage.label(line, np.ones((3, 3)))[1] == 1
    assert ndimage.label(~line)[1] == 2  # it is closed
    # No pixel could be taken away without a gap: each touches others at sides or corners, never in a step of three.
    corner = np.array([[0, 1], [1, 1]])
    for turn in range(4):
        assert not (ndimage.correlate(line.astype(int), np.rot90(corner, turn), mode="constant") == 3).any()


def test_the_line_goes_through_every_point_of_the_hand() -> None:
    draws = np.random.default_rng(3)
    hand = [(float(x), float(y)) for x, y in np.cumsum(draws.normal(0, 3, (25, 2)), 0) + 32]
    way = np.array([point for piece in stroke(hand, fine=False) for point in piece])
    for point in hand:
        assert np.hypot(*(way - point).T).min() < 1e-9


def test_pieces_join_and_a_dot_is_a_pixel() -> None:
    pieces = stroke(circle(30), fine=True)
    assert all(a[-1] == b[0] for a, b in itertools.pairwise(pieces))
    assert stroke([(3.2, 4.9)], fine=True) == [((3.5, 4.5),)]


def test_a_sharp_turn_stays_a_corner() -> None:
    line = painted([(10.5, 10.5), (50.5, 10.5), (50.5, 50.5)])
    assert line[10, 10:50].all()
    assert line[11:51, 50].all()
    assert line.sum() == 80  # its two sides touch at a corner, as contours do that models learned from


def test_there_and_back_keeps_the_tip() -> None:
    assert painted([(10.5, 10.5), (11.5, 10.5), (10.5, 10.5)])[10, 11]


def test_pressure_makes_a_wide_brush_finer_and_never_a_fine_one_wider() -> None:
    box = ToolBox()
    for radius, expected in ((0.5, {0.5}), (3.0, {1.5})):
        box.set_radius(radius)
        sent = [*box.press((5, 5), pressure=0.5), *box.move((9, 5), 0.5), *box.move((14, 6), 0.5), *box.release(SHAPE)]
        assert {command.radius for command in sent} == expected  # type: ignore[attr-defined]
