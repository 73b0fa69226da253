"""Contours of a person's picture: at which size nothing that matters is lost."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from mrfstudio.engine.workspaces.segment.pictures import (
    SIDES,
    contour_picture,
    evenly_lit,
    fitting_side,
    looks_filled,
    shrunk,
)


def boxes(side: int, count: int, line: int) -> np.ndarray:
    """`count` × `count` boxes drawn with lines of `line` pixels on a sheet (side, side)."""
    ink = np.zeros((side, side), np.bool_)
    step = side // (count + 1)
    for k in range(1, count + 2):
        at = k * step - step // 2
        ink[at : at + line, step // 2 : step // 2 + count * step + line] = True
        ink[step // 2 : step // 2 + count * step + line, at : at + line] = True
    return ink


def test_one_large_box_needs_few_pixels_and_many_small_ones_more() -> None:
    one, many = boxes(600, 1, 6), boxes(600, 24, 3)
    assert fitting_side(one) == SIDES[0]
    assert fitting_side(many) > SIDES[1]


def test_a_page_of_letters_is_not_made_small() -> None:
    from PIL import Image, ImageDraw

    page = Image.new("L", (256, 256), 255)
    for top in range(4, 250, 14):
        ImageDraw.Draw(page).text((3, top), "the quick brown fox jumps over the lazy dog", fill=0)
    assert fitting_side(np.asarray(page) < 128) >= 128  # at 48 lines of letters are bars with new regions between


def test_a_small_drawing_keeps_its_size() -> None:
    assert fitting_side(boxes(40, 1, 1)) == 40


def test_no_region_is_lost_at_the_size_that_is_chosen() -> None:
    grey = np.where(boxes(500, 10, 3), 0.0, 1.0)
    picture = contour_picture(grey, longest=None)
    assert ndimage.label(picture.observed)[1] == 101  # every box, and what lies around them


@pytest.mark.parametrize("side", [64, 200])
def test_a_side_that_is_asked_for_is_kept(side: int) -> None:
    assert contour_picture(np.where(boxes(500, 2, 3), 0.0, 1.0), longest=side).observed.shape == (side, side)


def test_two_figures_that_nearly_touch_stay_apart() -> None:
    """Where their lines meet no region is lost, but a figure between them would be none of the two."""
    y, x = np.indices((600, 900))
    far = [np.hypot(x - middle, y - 300) for middle in (260, 600)]
    ink = np.logical_or.reduce([np.abs(distance - 160) < 5 for distance in far])  # 10 pixels of paper between them
    side = fitting_side(ink)
    assert side > SIDES[1]
    assert ndimage.label(shrunk(ink, (round(side * 2 / 3), side)), np.ones((3, 3)))[1] == 2
    assert fitting_side(np.abs(far[0] - 160) < 5) == 48


@pytest.mark.parametrize("side", [16, 90, 640])
def test_a_disc_is_a_filled_figure_and_a_ring_of_a_pen_is_lines(side: int) -> None:
    y, x = np.indices((side, side)) + 0.5
    far = np.hypot(x - side / 2, y - side / 2)
    disc, ring = far < 0.35 * side, np.abs(far - 0.35 * side) < max(0.7, 0.02 * side)
    assert looks_filled(disc)
    assert not looks_filled(ring)
    found = contour_picture(np.where(disc, 0.0, 1.0), longest=None, filled=None, thin=True)
    assert found.truth is not None
    assert set(found.truth[found.observed == 0]) == {0}  # its outline, not the bones of it
    assert contour_picture(np.where(ring, 0.0, 1.0), longest=None, filled=None, thin=True).truth is None


def in_shade(side: int = 400) -> np.ndarray:
    """Light on a sheet (side, side) that falls to less than half from right to left, and a little downwards."""
    row, column = np.indices((side, side)) / side
    return ((0.42 + 0.5 * column) * (1 - 0.2 * row)).astype(np.float32)


def test_lines_on_paper_in_uneven_light_are_found_and_the_shade_is_not() -> None:
    ink = boxes(400, 2, 6)
    drawn = np.where(ink, 0.35, 1.0).astype(np.float32)
    noise = np.random.default_rng(0).normal(0, 0.01, drawn.shape).astype(np.float32)
    picture = contour_picture(np.clip(drawn * in_shade() + noise, 0, 1), filled=None, longest=400)
    assert picture.truth is None  # the dark half is no filled figure
    assert ((picture.observed == 0) == ink).mean() > 0.99
    assert ndimage.label(picture.observed)[1] == 5
    half = contour_picture(in_shade(), filled=False, longest=400, threshold=0.5)
    assert np.array_equal(half.observed == 0, in_shade() <= 0.5)  # a threshold that is given is the picture's own


def test_paper_in_even_light_filled_figures_and_light_lines_stay_as_they_are() -> None:
    y, x = np.indices((400, 400))
    figure = np.where(np.hypot(y - 200, x - 200) < 120, 0.1, 0.9).astype(np.float32)
    for grey in (np.where(boxes(400, 3, 5), 0.0, 1.0), figure, 1 - np.where(boxes(400, 3, 5), 0.1, 1.0)):
        np.testing.assert_array_equal(evenly_lit(grey.astype(np.float32)), grey.astype(np.float32))
