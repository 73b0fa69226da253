"""The pixels under a brush."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.raster import rectangle_mask, stroke_mask

SHAPE = (17, 23)

coordinate = st.floats(-6, 30, allow_nan=False, width=32)
paths = st.lists(st.tuples(coordinate, coordinate), min_size=1, max_size=6)


def whole(points: list[tuple[float, float]], radius: float, shape: tuple[int, int] = SHAPE) -> np.ndarray:
    image = np.zeros(shape, bool)
    top, left, mask = stroke_mask(points, radius, shape)
    image[top : top + mask.shape[0], left : left + mask.shape[1]] = mask
    return image


def distance(points: list[tuple[float, float]]) -> np.ndarray:
    """From each pixel's centre to the polyline, one segment and one pixel at a time."""
    ends = list(pairwise(points)) or [(points[0], points[0])]
    result = np.full(SHAPE, np.inf)
    for row in range(SHAPE[0]):
        for column in range(SHAPE[1]):
            centre = np.array([column + 0.5, row + 0.5])
            for start, end in (np.array(pair, float) for pair in ends):
                step = end - start
                length = step @ step
                along = 0.0 if length == 0 else min(max((centre - start) @ step / length, 0.0), 1.0)
                result[row, column] = min(result[row, column], float(np.hypot(*(centre - start - along * step))))
    return result


@settings(max_examples=40, deadline=None)
@given(paths, st.floats(0.75, 9, width=32))
def test_a_brush_covers_the_pixels_whose_centre_is_within_its_radius(
    points: list[tuple[float, float]], radius: float
) -> None:
    measured, covered = distance(points), whole(points, radius)
    clear = np.abs(measured - radius) > 1e-6  # rounding decides on the circle itself
    assert (covered == (measured <= radius))[clear].all()


@settings(max_examples=60, deadline=None)
@given(coordinate, coordinate, st.floats(0, 0.49))
def test_a_thin_brush_paints_exactly_the_pixel_under_the_cursor(x: float, y: float, radius: float) -> None:
    expected = np.zeros(SHAPE, bool)
    if 0 <= x < SHAPE[1] and 0 <= y < SHAPE[0]:
        expected[int(y), int(x)] = True
    assert (whole([(x, y)], radius) == expected).all()


@settings(max_examples=60, deadline=None)
@given(st.tuples(st.floats(0, 22.9), st.floats(0, 16.9)), st.tuples(st.floats(0, 22.9), st.floats(0, 16.9)))
def test_a_thin_fast_stroke_has_no_gaps(start: tuple[float, float], end: tuple[float, float]) -> None:
    from scipy import ndimage

    covered = whole([start, end], 0.4)
    assert covered[int(start[1]), int(start[0])]
    assert covered[int(end[1]), int(end[0])]
    assert ndimage.label(covered, np.ones((3, 3)))[1] == 1


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(coordinate, coordinate), min_size=3, max_size=8), st.sampled_from([0.2, 0.6, 1.0, 3.7]))
def test_a_stroke_in_pieces_is_the_whole_stroke(points: list[tuple[float, float]], radius: float) -> None:
    pieces = np.zeros(SHAPE, bool)
    for start, end in pairwise(points):
        pieces |= whole([start, end], radius)
    assert (pieces == whole(points, radius)).all()


def test_a_long_stroke_that_is_computed_in_parts_is_the_same() -> None:
    points = [tuple(p) for p in np.random.default_rng(0).uniform(0, 200, (300, 2))]
    expected = np.zeros((200, 200), bool)
    for start, end in pairwise(points):
        expected |= whole([start, end], 2.5, (200, 200))  # type: ignore[list-item]
    assert (whole(points, 2.5, (200, 200)) == expected).all()  # type: ignore[arg-type]


def test_a_brush_beside_the_image_covers_nothing() -> None:
    assert stroke_mask([(-5, -5), (-4, 30)], 2, SHAPE)[2].size == 0


def test_a_brush_of_no_size_or_place_is_refused() -> None:
    with pytest.raises(StudioError, match="finite"):
        stroke_mask([(1, float("nan"))], 2, SHAPE)
    with pytest.raises(StudioError, match="radius -1"):
        stroke_mask([(1, 1)], -1, SHAPE)


def test_a_rectangle_is_cut_at_the_border() -> None:
    top, left, mask = rectangle_mask((-2, 20, 5, 9), SHAPE)
    assert (top, left, mask.shape) == (0, 20, (3, 3))
    assert rectangle_mask((40, 0, 3, 3), SHAPE)[2].size == 0
