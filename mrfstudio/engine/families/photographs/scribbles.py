"""Photographs cut by scribbles, as commands and canvases ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from mrfstudio.engine.families.photographs.cutout import Cutout, CutoutState
from mrfstudio.engine.families.photographs.evidence import outside
from mrfstudio.engine.families.photographs.full_size import full_size
from mrfstudio.engine.families.photographs.network import PhotoScores, fitted
from mrfstudio.engine.families.photographs.photograph import Photograph
from mrfstudio.engine.families.photographs.settings import CutoutSettings
from mrfstudio.engine.families.photographs.soft_edges import refined
from mrfstudio.engine.families.scribbles import Cut, Scribbles, scribbles
from mrfstudio.engine.protocol.commands.photographs import Label


@scribbles("photo-scores")
class ScoredScribbles(Scribbles):
    """Scores from colours and distances on a contrast grid."""

    settings = CutoutSettings

    def open(self, rgb: NDArray[np.uint8]) -> Photograph:
        return Photograph(rgb)

    def cut(
        self, opened: Photograph, strokes: NDArray[np.uint8], labels: int, settings: Any = None, model: Any = None
    ) -> Cutout:
        learned = None if model is None else model.scores(opened.levels[opened.thinking].features)
        return Cutout(opened, strokes, labels, settings, learned=learned)

    def labels(self, model: PhotoScores) -> tuple[Label, ...]:
        return model.labels

    def answer(self, cutting: Cutout, state: CutoutState) -> Cut:
        return full_size(cutting, state)

    def refined(self, rgb: NDArray[np.uint8], belief: NDArray[np.floating]) -> NDArray[np.float32]:
        return refined(rgb, belief)

    def fitted(
        self, examples: Sequence[tuple[Photograph, NDArray[np.floating]]], labels: Sequence[Any]
    ) -> tuple[PhotoScores, dict[str, Any]]:
        parts = []
        for opened, beliefs in examples:
            level = opened.levels[opened.thinking]
            small = functional.adaptive_avg_pool2d(torch.from_numpy(np.asarray(beliefs, np.float32))[None], level.size)
            parts.append((level.features, small[0].numpy()))
        model = fitted(parts, labels)
        titles = ", ".join(each.title for each in model.labels)
        card = {
            "hyperparameters": model.hyperparameters(),
            "summary": f"Scores of {titles}, kept from strokes on {len(parts)} photograph{'s' * (len(parts) > 1)}.",
            "photographs": len(parts),
        }
        return model, card

    def outside(self, cutting: Cutout) -> int:
        label, _ = outside(cutting.strokes[cutting.photograph.thinking].numpy())
        return 1 if label is None else label + 1
