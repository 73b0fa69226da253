"""The pixels under a brush."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from mrfstudio.engine.protocol.commands import PaintEllipse, PaintLasso, PaintRectangle
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.raster import command_mask, ellipse_mask, lasso_mask, rectangle_mask, stroke_mask

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


# Ellipse, lasso, everything but ---------------------------------------------------------------------------------------

boxes = st.tuples(st.integers(-5, 20), st.integers(-5, 20), st.integers(1, 20), st.integers(1, 20))


def filled(found: tuple[int, int, np.ndarray], shape: tuple[int, int] = SHAPE) -> np.ndarray:
    top, left, mask = found
    image = np.zeros(shape, bool)
    image[top : top + mask.shape[0], left : left + mask.shape[1]] = mask
    return image


@settings(max_examples=40, deadline=None)
@given(boxes)
def test_an_ellipse_covers_the_pixels_whose_centre_lies_in_it(box: tuple[int, int, int, int]) -> None:
    top, left, height, width = box
    covered = filled(ellipse_mask(box, SHAPE))
    for row in range(SHAPE[0]):
        for column in range(SHAPE[1]):
            y, x = (row + 0.5 - top - height / 2) * 2 / height, (column + 0.5 - left - width / 2) * 2 / width
            if abs(x * x + y * y - 1) > 1e-9:
                assert covered[row, column] == (x * x + y * y < 1)


def winding(points: list[tuple[float, float]], x: float, y: float) -> float:
    """Turns of a closed line around a point, by the angles that its edges are seen under."""
    away = np.array(points) - (x, y)
    angle = np.arctan2(away[:, 1], away[:, 0])
    turn = (np.roll(angle, -1) - angle + np.pi) % (2 * np.pi) - np.pi
    return float(turn.sum() / (2 * np.pi))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(coordinate, coordinate), min_size=3, max_size=7))
def test_a_lasso_covers_what_it_goes_around(points: list[tuple[float, float]]) -> None:
    covered, near = filled(lasso_mask(points, SHAPE)), distance([*points, points[0]])
    for row in range(SHAPE[0]):
        for column in range(SHAPE[1]):
            if near[row, column] > 1e-6:
                assert covered[row, column] == (round(winding(points, column + 0.5, row + 0.5)) != 0)


@settings(max_examples=20, deadline=None)
@given(boxes, st.integers(-4, 6), st.integers(-4, 6))
def test_everything_but_is_the_rest_and_a_part_of_the_image_sees_its_part(
    box: tuple[int, int, int, int], row: int, column: int
) -> None:
    lasso = ((2.0, 3.0), (15.0, 4.5), (9.5, 14.0))
    for command in (
        PaintRectangle("mask", 1, box),
        PaintEllipse("mask", 1, box),
        PaintLasso("mask", 1, lasso),
    ):
        inside, outside = (filled(command_mask(each, SHAPE)) for each in (command, replace(command, outside=True)))
        assert (inside != outside).all()
        part = filled(command_mask(command, SHAPE, (row, column)))
        rows, columns = np.indices(SHAPE)
        shared = (rows - row >= 0) & (rows - row < SHAPE[0]) & (columns - column >= 0) & (columns - column < SHAPE[1])
        assert (inside[shared] == part[(rows - row)[shared], (columns - column)[shared]]).all()


def test_a_lasso_that_crosses_itself_leaves_no_hole() -> None:
    star = [(10 + 7 * np.sin(k * 4 * np.pi / 5), 8 - 7 * np.cos(k * 4 * np.pi / 5)) for k in range(5)]
    assert filled(lasso_mask(star, SHAPE))[8, 10]


def test_a_lasso_with_points_that_are_no_numbers_is_refused() -> None:
    with pytest.raises(StudioError, match="finite"):
        lasso_mask([(0, 0), (1, float("nan")), (2, 2)], SHAPE)


@settings(max_examples=60, deadline=None)
@given(boxes, st.integers(-4, 6), st.integers(-4, 6))
def test_an_outline_is_one_pixel_wide_closed_and_cut_by_the_border(
    box: tuple[int, int, int, int], row: int, column: int
) -> None:
    for command in (PaintRectangle("observed", 0, box), PaintEllipse("observed", 0, box)):
        area, line = (filled(command_mask(each, SHAPE)) for each in (command, replace(command, outline=True)))
        # The same area on a sheet so large that nothing is cut: what is inside and touches nothing outside is no line.
        large = (SHAPE[0] + 80, SHAPE[1] + 80)
        moved = replace(command, rectangle=(box[0] + 40, box[1] + 40, *box[2:]))
        top, left, mask = command_mask(moved, large)
        whole = np.zeros(large, bool)
        whole[top : top + mask.shape[0], left : left + mask.shape[1]] = mask
        expected = (whole & ~ndimage.binary_erosion(whole))[40 : 40 + SHAPE[0], 40 : 40 + SHAPE[1]]
        assert (line == expected).all()
        assert (line <= area).all()
        part = filled(command_mask(replace(command, outline=True), SHAPE, (row, column)))
        rows, columns = np.indices(SHAPE)
        shared = (rows - row >= 0) & (rows - row < SHAPE[0]) & (columns - column >= 0) & (columns - column < SHAPE[1])
        assert (line[shared] == part[(rows - row)[shared], (columns - column)[shared]]).all()


def test_the_outline_of_a_lasso_is_the_closed_line_itself() -> None:
    square = PaintLasso("observed", 0, ((2.5, 3.5), (12.5, 3.5), (12.5, 10.5), (2.5, 10.5)), outline=True)
    line = filled(command_mask(square, SHAPE))
    expected = np.zeros(SHAPE, bool)
    expected[3:11, 2:13] = True
    expected[4:10, 3:12] = False
    assert (line == expected).all()


def test_rounding_carries_no_stroke_into_the_picture() -> None:
    points = [(-9.0, 3.5), (-1.4e-45, 3.5), (-9.0, 3.5)]
    for start, end in pairwise(points):
        assert not whole([start, end], 0.2).any()
    assert not whole(points, 0.2).any()
    assert not whole([*points, (-9.0, 9.0)], 0.2).any()


def test_a_stroke_far_beyond_the_picture_is_sampled_only_where_it_is_seen() -> None:
    near, far = whole([(0.5, 8.5), (30.0, 8.5)], 0.2), whole([(0.5, 8.5), (1e8, 8.5)], 0.2)
    assert (near == far).all()
    assert far[8].all()
    assert whole([(-1e11, 8.5), (1e11, 8.5)], 0.2)[8].all()
