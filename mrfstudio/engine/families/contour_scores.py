"""How good label beliefs are: normalised cross-entropy in bits, intersection over union, pixel accuracy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

CONTOUR, OUT, IN = 0, 1, 2
SMALLEST_LOG = -100.0
"""A belief of exactly 0 on the truth costs 100 nats instead of spoiling the mean of all images."""


@dataclass(frozen=True)
class SegmentationScores:
    """Sums over images; add two to join parts of a data set, `means` gives what is printed."""

    images: int
    nce_bits: float
    iou: float
    pixel_accuracy: float

    def __add__(self, other: SegmentationScores) -> SegmentationScores:
        return SegmentationScores(
            self.images + other.images,
            self.nce_bits + other.nce_bits,
            self.iou + other.iou,
            self.pixel_accuracy + other.pixel_accuracy,
        )

    def means(self, suffix: str = "") -> dict[str, float]:
        """`nce_bits`, `iou` and `pixel_accuracy` as means over images, each name followed by `suffix`."""
        names = ("nce_bits", "iou", "pixel_accuracy")
        return {name + suffix: getattr(self, name) / max(self.images, 1) for name in names}


NOTHING = SegmentationScores(0, 0.0, 0.0, 0.0)


def segmentation_scores(log_beliefs: Tensor, labels: Tensor) -> SegmentationScores:
    """Scores of normalised label log-beliefs (B, H, W, L) against true labels (B, H, W).

    The normalised cross-entropy is the mean over all pixels of -log2 of the belief on the truth. The intersection over
    union compares P(OUT) < 0.5 with label ≠ OUT; the image's border counts as OUT in the estimate, because there is
    nothing beyond it that could close a figure; two empty figures agree (1).
    """
    labels = labels.long()
    picked = log_beliefs.gather(-1, labels.unsqueeze(-1)).squeeze(-1).clamp_min(SMALLEST_LOG)
    bits = -picked.double().mean((1, 2)) / math.log(2)
    estimate = log_beliefs[..., OUT] < math.log(0.5)
    inner = torch.zeros_like(estimate)
    inner[:, 1:-1, 1:-1] = estimate[:, 1:-1, 1:-1]
    figure = labels != OUT
    union = (inner | figure).sum((1, 2))
    overlap = torch.where(union > 0, (inner & figure).sum((1, 2)) / union.clamp_min(1), 1.0)
    correct = (log_beliefs.argmax(-1) == labels).double().mean((1, 2))
    return SegmentationScores(len(labels), float(bits.sum()), float(overlap.double().sum()), float(correct.sum()))
