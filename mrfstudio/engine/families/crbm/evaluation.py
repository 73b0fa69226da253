"""Scores of conditional RBMs: wrong pixels, asked as the model was learned."""

from __future__ import annotations

from typing import Any

import torch

from mrfstudio.engine.data.dataset import Splits
from mrfstudio.engine.families.crbm.density import measure
from mrfstudio.engine.families.crbm.model import CRBM, conditional_rows
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training.evaluation import Evaluation, evaluation
from mrfstudio.engine.training.learner import TensorSource


@evaluation("crbm")
def evaluate_crbm(model: CRBM, splits: Splits, asked: Evaluation) -> dict[str, Any]:
    """`pixel_error` and `changed_error` in percent, `nce_bits`, and those of the damaged picture itself.

    The number of iterations is the model's own: another than in learning makes the answers worse [PI17].
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
