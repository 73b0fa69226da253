"""The shipped model for drawings of any size: what it fills, what hints decide, and what it says it does not know."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from mrfstudio.engine.data.drawn.drawing import Points, circle_angles, dense, fill, polar
from mrfstudio.engine.data.drawn.figure_drawing import any_kind, scene
from mrfstudio.engine.data.drawn.figures import DENSITY, NO_HINT, labelled, seen_of
from mrfstudio.engine.data.pictures.border_noise import CONTOUR, IN, OUT
from mrfstudio.engine.families.grid.doubt import settled, unlike
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.query import label_log_beliefs
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.graphs.evidence import Evidence

Picture = NDArray[np.uint8]
SHARP_ONES = [("crescent", 52, 64), ("spikes", 52, 64), ("comb", 52, 64), ("chevron", 110, 128), ("crescent", 110, 128)]


@pytest.fixture(scope="module")
def model() -> GridMRF:
    opened = open_model("grid-any", "grid")
    assert isinstance(opened, GridMRF)
    assert opened.start == "coarse"
    return opened


def circle(size: float, canvas: int) -> Picture:
    """Labels of a circle in the middle of a canvas."""
    return labelled(fill([(polar(0.5, circle_angles(256)) - 0.5) * size + canvas / 2], canvas))


def drawn(labels: Picture) -> Picture:
    """Its contour: 0 is seen."""
    return np.where(labels == CONTOUR, 0, 1).astype(np.uint8)


def inside(model: GridMRF, evidence: Evidence, iterations: int = 100) -> NDArray[np.bool_]:
    """Where IN is the most probable label, (H, W)."""
    return np.asarray(label_log_beliefs(model, evidence, iterations)[0].argmax(-1) == IN)


def overlap(found: NDArray[np.bool_], labels: Picture) -> float:
    true = labels == IN
    return float((found & true).sum() / (found | true).sum())


def square(labels: Picture, middle: tuple[int, int], label: int) -> Picture:
    """A hint of 3×3 pixels."""
    hints = np.full(labels.shape, NO_HINT, np.uint8)
    hints[middle[0] - 1 : middle[0] + 2, middle[1] - 1 : middle[1] + 2] = label
    return hints


@pytest.mark.parametrize(("size", "canvas"), [(8, 30), (24, 64), (40, 128), (100, 128)])
def test_circles_of_every_size_fill_and_stay(model: GridMRF, size: int, canvas: int) -> None:
    labels = circle(size, canvas)
    evidence = model.evidence_from_image(drawn(labels))
    found = inside(model, evidence)
    assert overlap(found, labels) > 0.98
    if canvas <= 64:
        assert (inside(model, evidence, 500) == found).all()


@pytest.mark.parametrize(
    ("smallest", "largest", "canvas", "count"), [(8, 16, 28, 16), (16, 32, 48, 10), (40, 64, 88, 4)]
)
def test_noisy_figures_of_every_size_fill_and_stay(
    model: GridMRF, smallest: float, largest: float, canvas: int, count: int
) -> None:
    scores, later = [], []
    for index in range(count):
        draw = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(index,)))
        labels = labelled(scene(any_kind(draw), draw, float(draw.uniform(smallest, largest)), canvas).figure)
        evidence = model.evidence_from_image(seen_of(labels, draw, 0.2, DENSITY))
        found = inside(model, evidence)
        scores.append(overlap(found, labels))
        if index < 3:
            later.append(float((inside(model, evidence, 300) != found).mean()))
    assert np.mean(scores) > (0.93 if smallest >= 16 else 0.85)
    assert max(later) < 0.005


@pytest.mark.parametrize(("kind", "size", "canvas"), SHARP_ONES)
def test_sharp_and_thin_figures_do_not_leak(model: GridMRF, kind: str, size: float, canvas: int) -> None:
    for seed in range(1 if canvas > 100 else 3):
        labels = labelled(scene(kind, np.random.default_rng(seed), size, canvas).figure)
        assert overlap(inside(model, model.evidence_from_image(drawn(labels))), labels) > 0.95


def test_a_thin_v_is_filled_and_its_hollow_is_not(model: GridMRF) -> None:
    arms = dense([(8, 8), (12, 8), (64, 100), (116, 8), (120, 8), (65, 110), (63, 110)])
    labels = labelled(fill([arms], 128))
    found = inside(model, model.evidence_from_image(drawn(labels)))
    assert overlap(found, labels) > 0.98
    assert not found[8:60, 48:80].any()


def spiral_outline() -> list[Points]:
    """A band of seven pixels in three and a half turns, seven pixels between them."""
    angle = np.linspace(0, 7 * math.pi, 210)
    middle, way = 4 + 7 * angle / math.pi, np.stack([np.cos(angle), np.sin(angle)], -1)
    return [np.concatenate([64 + (middle + 3.5)[:, None] * way, (64 + (middle - 3.5)[:, None] * way)[::-1]])]


def ring_outlines() -> list[Points]:
    return [(polar(0.5, circle_angles(256)) - 0.5) * size + 64 for size in (100, 70, 40)]


@pytest.mark.parametrize("outlines", [spiral_outline, ring_outlines])
def test_what_smaller_copies_merge_is_filled(model: GridMRF, outlines: Callable[[], list[Points]]) -> None:
    labels = labelled(fill(outlines(), 128))
    assert overlap(inside(model, model.evidence_from_image(drawn(labels))), labels) > 0.98


def test_iterations_after_the_answer_change_nothing(model: GridMRF) -> None:
    for index in range(6):
        draw = np.random.default_rng(np.random.SeedSequence(11, spawn_key=(index,)))
        labels = labelled(scene(any_kind(draw), draw, float(draw.uniform(10, 34)), 40 if index else 56).figure)
        evidence = model.evidence_from_image(seen_of(labels, draw, 0.2, DENSITY))
        scores = []
        for iterations in (100, 500):
            outside = label_log_beliefs(model, evidence, iterations)[0][..., OUT].exp() >= 0.5
            found, true = ~np.asarray(outside), labels != OUT
            scores.append(float((found & true).sum() / (found | true).sum()))
        assert abs(scores[1] - scores[0]) <= 0.002


def test_a_clump_of_ink_that_swings_keeps_its_labels(model: GridMRF) -> None:
    """Messages of this noisy figure of 8 to 16 pixels swing for ever, and moved its IoU by up to .047."""
    seed = 88_100_001
    draw = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 13)))
    size = math.exp(draw.uniform(math.log(8), math.log(16)))
    labels = labelled(scene(any_kind(draw), draw, size, 28).figure)
    noise = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(100, 28, 13)))
    evidence = model.evidence_from_image(seen_of(labels, noise, 0.2, DENSITY))
    first = np.asarray(label_log_beliefs(model, evidence, 100)[0][..., OUT].exp() >= 0.5)
    for iterations in (300, 500):
        later = np.asarray(label_log_beliefs(model, evidence, iterations)[0][..., OUT].exp() >= 0.5)
        assert (later == first).all()


def test_a_hint_fills_a_closed_contour_however_wide(model: GridMRF) -> None:
    labels = circle(100, 128)
    evidence = model.evidence_from_image(drawn(labels))
    for middle, label in (((64, 64), IN), ((64, 20), IN), ((4, 4), OUT)):
        hinted = model.with_hints(evidence, square(labels, middle, label))
        assert overlap(inside(model, hinted), labels) > 0.98


def test_two_hints_decide_a_drawing_with_a_gap(model: GridMRF) -> None:
    labels = circle(60, 96)
    seen = drawn(labels)
    seen[46:51, 60:] = 1  # a gap of 5 pixels
    hints = np.minimum(square(labels, (48, 48), IN), square(labels, (48, 91), OUT))
    hinted = model.with_hints(model.evidence_from_image(seen), hints)
    assert overlap(inside(model, hinted), labels) > 0.95


def test_soft_hints_weigh_by_their_strength(model: GridMRF) -> None:
    labels = circle(20, 40)
    seen = drawn(labels)
    seen[12:29, 24:] = 1  # a quarter is missing: what the drawing means is open
    shares = []
    for strength in (0.5, 1.0, 2.0):
        log = model.evidence_from_image(seen).log_potentials.clone()
        log[18:23, 16:21, OUT] += strength
        shares.append(float(inside(model, Evidence(log))[labels == IN].mean()))
    assert shares[0] > 0.98
    assert shares[0] > shares[1] + 0.02
    assert shares[1] > shares[2] + 0.1  # beyond the hinted pixels, which are 8 % of the inside


def test_the_model_doubts_what_it_did_not_learn(model: GridMRF) -> None:
    row, column = np.indices((64, 64))
    board = np.where(((row // 6 + column // 6) % 2 == 1), IN, OUT).astype(np.uint8)
    crossing = ((row + 2 * column) % 17 == 0) | ((3 * row - column) % 23 == 0)
    pictures = {
        "circle": drawn(circle(30, 64)),
        "board": drawn(labelled(board == IN)),
        "hatching": np.where(crossing, 0, 1).astype(np.uint8),
    }
    said = {}
    with torch.no_grad():
        for name, picture in pictures.items():
            evidence = model.evidence_from_image(picture)
            said[name] = unlike(model, evidence, settled(model, evidence, model.iterations))
    assert said["circle"] is None
    assert said["board"] is not None
    assert said["hatching"] is not None
    assert math.isfinite(model.likeness["most_undecided_by_side"] if model.likeness else math.inf)
