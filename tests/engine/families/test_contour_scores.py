"""The scores of segmentations, on cases that can be counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from mrfstudio.engine.families.contour_scores import IN, OUT, segmentation_scores


def certain(labels: torch.Tensor, belief: float = 1.0) -> torch.Tensor:
    rest = torch.full((*labels.shape, 3), (1 - belief) / 2)
    return rest.scatter(-1, labels.long().unsqueeze(-1), belief).log()


def test_the_truth_has_full_marks() -> None:
    labels = torch.full((2, 5, 5), OUT)
    labels[:, 2, 2] = IN
    assert segmentation_scores(certain(labels), labels).means() == {"nce_bits": 0.0, "iou": 1.0, "pixel_accuracy": 1.0}


def test_ignorance_costs_the_logarithm_of_the_number_of_labels() -> None:
    labels = torch.full((1, 4, 4), OUT)
    scores = segmentation_scores(torch.full((1, 4, 4, 3), -math.log(3)), labels)
    assert scores.means()["nce_bits"] == pytest.approx(math.log2(3))


def test_overlap_is_counted_inside_the_border_and_averaged_over_images() -> None:
    truth = torch.full((2, 6, 6), OUT)
    truth[:, 2:4, 2:4] = IN  # four pixels
    guess = torch.full((2, 6, 6), OUT)
    guess[0, 2:4, 3:5] = IN  # two right, two wrong: 2 / 6
    guess[1, 2:4, 2:4] = IN
    guess[1, 0] = IN  # the border is OUT by decree: 4 / 4
    scores = segmentation_scores(certain(guess, 0.9), truth).means("_x")
    assert scores["iou_x"] == pytest.approx((1 / 3 + 1) / 2)
    assert scores["pixel_accuracy_x"] == pytest.approx((32 / 36 + 30 / 36) / 2)


def test_parts_add_up_to_the_whole() -> None:
    generator = np.random.default_rng(0)
    labels = torch.from_numpy(generator.integers(0, 3, (6, 7, 8)))
    beliefs = torch.log_softmax(torch.from_numpy(generator.normal(size=(6, 7, 8, 3))), -1)
    whole = segmentation_scores(beliefs, labels).means()
    parts = segmentation_scores(beliefs[:2], labels[:2]) + segmentation_scores(beliefs[2:], labels[2:])
    assert parts.images == 6
    assert parts.means() == pytest.approx(whole)


def test_a_wrong_certainty_costs_a_finite_amount() -> None:
    truth = torch.full((1, 3, 3), OUT)
    bits = segmentation_scores(certain(torch.full((1, 3, 3), IN)), truth).means()["nce_bits"]
    assert bits == pytest.approx(100 / math.log(2))
