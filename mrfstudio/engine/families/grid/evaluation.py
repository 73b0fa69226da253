"""Scores of grid models: labels of contour images, with the pixel's own evidence and without it."""

from __future__ import annotations

from typing import Any

import torch

from mrfstudio.engine.data.dataset import Splits
from mrfstudio.engine.families.contour_scores import NOTHING, SegmentationScores
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.query import scores
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.threads import side_by_side
from mrfstudio.engine.training.evaluation import Evaluation, evaluation

CHUNK = 10  # images at once: larger batches leave the cache
AT_ONCE = 10  # chunks between two words of progress


@evaluation("grid")
def evaluate_grid(model: GridMRF, splits: Splits, asked: Evaluation) -> dict[str, Any]:
    """Segmentation scores with the pixel's own evidence, and without it as [QT21] measures."""
    if asked.queries is not None:
        raise StudioError(
            "A grid model always answers the same query, all labels given the noisy image: leave --queries out."
        )
    arrays = splits[asked.split]
    if not {"images", "noisy_images"} <= set(arrays):
        raise StudioError("A grid model is evaluated on contour images: use --data border:FILE.")
    images = torch.from_numpy(arrays["images"][: asked.limit])
    noisy = torch.from_numpy(arrays["noisy_images"][: asked.limit])
    with_own, without_own = NOTHING, NOTHING
    torch.set_flush_denormal(True)

    def scored(start: int) -> tuple[SegmentationScores, SegmentationScores]:
        part = slice(start, start + CHUNK)
        return scores(model, images[part], noisy[part], asked.iterations)

    for first in range(0, len(images), AT_ONCE * CHUNK):
        for own, alone in side_by_side(scored, range(first, min(first + AT_ONCE * CHUNK, len(images)), CHUNK)):
            with_own, without_own = with_own + own, without_own + alone
        asked.tick(f"{with_own.images} of {len(images)} images, IoU so far {with_own.means()['iou']:.4f}")
    return {
        "images": with_own.images,
        "iterations": asked.iterations,
        **with_own.means(),
        **without_own.means("_without_evidence"),
    }
