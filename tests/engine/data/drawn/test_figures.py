"""Generated figures of any size: their labels, their noise, and that no split shares a picture with another."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import ndimage

from mrfstudio.engine.data.drawn.figure_drawing import FIGURES, scene, several
from mrfstudio.engine.data.drawn.figures import NO_HINT, Figures, by_hand, hints_for, labelled
from mrfstudio.engine.data.pictures.border_noise import CONTOUR, IN, OUT, SEEN


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("kind", FIGURES)
@pytest.mark.parametrize("size", [10.0, 90.0])
def test_a_figure_is_about_as_large_as_asked_and_closed(kind: str, size: float) -> None:
    labels = labelled(scene(kind, generator(3), size, 128).figure)
    rows, columns = np.nonzero(labels == IN)
    longest = max(np.ptp(rows), np.ptp(columns)) + 1
    assert 0.6 * size - 2 <= longest <= size + 2
    # A way from IN to OUT by sides of pixels crosses the contour.
    pieces, _ = ndimage.label(labels != CONTOUR)
    assert not set(pieces[labels == IN]) & set(pieces[labels == OUT])


def test_the_hole_of_a_ring_is_outside() -> None:
    for seed in range(5):
        labels = labelled(scene("ring", generator(seed), 60.0, 96).figure)
        pieces, _ = ndimage.label(labels == OUT)
        middle = ndimage.center_of_mass(labels != OUT)
        hole = pieces[round(middle[0]), round(middle[1])]
        assert hole not in (0, pieces[0, 0])


def test_a_figure_cut_by_the_canvas_has_no_contour_along_the_cut() -> None:
    labels = labelled(scene("ellipse", generator(0), 40.0, 64, (0.0, 32.0)).figure)
    assert (labels[:, 0] == IN).any()
    assert (labels[:, 0] == CONTOUR).sum() <= 4


def test_several_figures_do_not_touch() -> None:
    counts = [ndimage.label(several(generator(seed), 90.0, 128).figure, np.ones((3, 3)))[1] for seed in range(12)]
    assert max(counts) >= 3


def test_a_pencil_line_bounds_the_figure_and_has_gaps() -> None:
    draw = generator(5)
    drawn = scene("blob", draw, 50.0, 96)
    labels, noisy = by_hand(drawn, draw, 50.0, doubled=False, gaps=0)
    assert (noisy[labels == CONTOUR] == SEEN).mean() > 0.9
    assert (labels == IN).sum() > 0.7 * drawn.figure.sum()
    gaps = [by_hand(drawn, generator(seed), 50.0, doubled=False, gaps=6)[1] for seed in range(8)]
    assert min((one == SEEN).sum() for one in gaps) < (noisy == SEEN).sum()


def test_all_of_a_pencil_line_is_contour_and_what_it_encloses_is_inside() -> None:
    """Small figures, whose shaky line often meets itself: no ink is left OUT, and a few enclosed pixels are IN."""
    for seed in range(40):
        draw = generator(seed)
        drawn = scene("blob", draw, 9.0, 32)
        labels, noisy = by_hand(drawn, draw, 9.0, doubled=False, gaps=0)
        ink = noisy == SEEN
        assert (labels[ink] == CONTOUR).all()
        enclosed = ndimage.binary_fill_holes(ink) & ~ink
        assert (labels[enclosed] == IN).mean() > 0.9 if enclosed.any() else not (labels == IN).any()
        assert not (labels[~ndimage.binary_fill_holes(ink)] == IN).any()


def test_hints_say_the_truth() -> None:
    labels = labelled(scene("star", generator(1), 50.0, 64).figure)
    hints = hints_for(labels, generator(2), (IN, OUT))
    given = hints != NO_HINT
    assert set(hints[given]) == {IN, OUT}
    assert (hints[given] == labels[given]).all()


def test_sizes_cover_the_octaves_evenly() -> None:
    sizes = []
    for index in range(150):
        labels = Figures(hinted=0.0).picture("train", index).labels
        rows, columns = np.nonzero(labels == IN)
        if len(rows):
            sizes.append(max(np.ptp(rows), np.ptp(columns)) + 1)
    shares = np.histogram(np.log2(sizes), [math.log2(4), 3, 4, 5, 6, 7])[0] / len(sizes)
    assert (shares[1:] > 0.1).all()


def test_pictures_depend_on_split_and_index_alone() -> None:
    small = Figures(count=3, validation=2, test=2, canvas=48, largest=30.0)
    splits = small.open()
    assert splits["train"]["images"].shape == (3, 48, 48)
    again = small.picture("val", 1)
    np.testing.assert_array_equal(splits["val"]["images"][1], again.labels)
    np.testing.assert_array_equal(splits["val"]["noisy_images"][1], again.noisy)
    everything = [image.tobytes() for split in splits for image in splits[split]["images"]]
    assert len(set(everything)) == len(everything)
    assert splits.constants["p_contour"].shape == (3,)
