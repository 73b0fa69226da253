"""Alpha of soft borders, and where a stroke would help most."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.families.photographs import soft_edges
from mrfstudio.engine.families.photographs.sensitivity import expected_error, settled_by_a_stroke
from mrfstudio.engine.families.photographs.soft_edges import refined
from mrfstudio.engine.families.scored_grid.contrast_grid import contrast_weights


def ramp(width: int) -> tuple[np.ndarray, np.ndarray]:
    """A red half that runs into a blue one over `width` pixels, and the true alpha of red, (60, 120)."""
    alpha = np.clip((60 + width / 2 - np.arange(120) - 0.5) / width, 0, 1)
    colours = alpha[:, None] * (200, 40, 30) + (1 - alpha[:, None]) * (20, 60, 180)
    rgb = np.tile(np.rint(colours).astype(np.uint8), (60, 1, 1))
    return rgb, np.tile(alpha.astype(np.float32), (60, 1))


@pytest.mark.parametrize("side", [32, 768])
def test_a_border_that_runs_from_one_colour_to_another_gets_its_own_alpha(
    side: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soft_edges, "SIDE", side)
    rgb, truth = ramp(8)
    found = refined(rgb, (truth > 0.5).astype(np.float32), longer=1000)
    assert np.abs(found - truth).max() < 0.25
    assert np.abs(found - truth).mean() < 0.01
    assert ((found[:, 58:62] > 0.1) & (found[:, 58:62] < 0.9)).all()


def test_far_from_the_border_nothing_is_transparent() -> None:
    rgb, truth = ramp(2)
    found = refined(rgb, truth)
    assert set(np.unique(found[:, :50])) == {1.0}
    assert set(np.unique(found[:, 70:])) == {0.0}


def test_where_colours_do_not_differ_the_belief_decides() -> None:
    belief = np.tile(np.linspace(1, 0, 40, dtype=np.float32), (20, 1))
    found = refined(np.full((20, 40, 3), 90, np.uint8), belief, longer=2000)
    assert found[10, 15] > 0.5 > found[10, 25]


def test_a_stroke_is_worth_most_in_the_larger_doubtful_region_and_nothing_crosses_a_wall() -> None:
    picture = torch.zeros(3, 20, 40)
    picture[:, :, 25:] = 1.0
    error = torch.zeros(20, 40)
    error[:, :25], error[8:12, 30:34] = 0.3, 0.3
    settled = settled_by_a_stroke(error, [w.expm1_() for w in contrast_weights(picture, 4.0)])
    assert float(settled[10, 12]) > 2 * float(settled[10, 32])
    assert float(settled[10, 22]) > 3 * float(settled[10, 27])


def test_expected_error_counts_what_hangs_on_neighbours_alone() -> None:
    beliefs = torch.tensor([[[0.99, 0.99]], [[0.01, 0.01]]])
    scores = torch.tensor([[[4.0, -1.0]], [[0.0, 1.0]]])
    sure, doubtful = expected_error(beliefs, scores)[0].tolist()
    assert sure < 0.05
    assert doubtful > 0.4
