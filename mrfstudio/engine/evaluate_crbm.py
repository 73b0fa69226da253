"""Scores of conditional RBMs: wrong pixels, asked as the model was learned."""

from __future__ import annotations

from typing import Any

import torch

from mrfstudio.engine.data.contract import Splits
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.evaluation import Asked
from mrfstudio.engine.learning.contract import TensorSource
from mrfstudio.engine.learning.density_crbm import measure
from mrfstudio.engine.models.crbm import CRBM, conditional_rows


def evaluate_crbm(model: CRBM, splits: Splits, asked: Asked) -> dict[str, Any]:
    """`pixel_error` and `changed_error` in percent, `nce_bits`, and those of the damaged picture itself.

    The number of iterations is the model's own: another than in learning makes the answers worse (seed 001).
    """
    if asked.queries is not None:
        raise StudioError("A crbm always answers the same query, the clean picture: leave --queries out.")
    arrays = {name: torch.from_numpy(array[: asked.limit]) for name, array in splits[asked.split].items()}
    clean, damaged = conditional_rows(arrays)
    if (clean.shape[1], damaged.shape[1]) != (model.visible, model.features):
        raise StudioError(f"The pictures have {clean.shape[1]} pixels: this model predicts {model.visible}.")
    asked.tick(f"{len(clean)} pictures")
    return {
        "images": len(clean),
        "iterations": int(model.iterations),
        "decoder": model.decoder if model.hidden else "logistic",
        **measure(model, TensorSource(**arrays)),
        "damaged_error": 100 * float((clean != damaged).double().mean()),
    }
