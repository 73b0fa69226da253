"""Scores of fully visible fields: the exact likelihood where it can be had, and the pseudolikelihood."""

from __future__ import annotations

from typing import Any

import torch

from mrfstudio.engine.data.contract import Splits
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.evaluation import Asked
from mrfstudio.engine.learning.contract import TensorSource
from mrfstudio.engine.learning.density import density_class
from mrfstudio.engine.learning.density_graph import log_partition
from mrfstudio.engine.models.tied_graph import TiedGraph


def evaluate_graph(model: TiedGraph, splits: Splits, asked: Asked) -> dict[str, Any]:
    """`nll` in nats for each item (null where exact inference does not fit), `pseudo_bits`, and `true_nll` if known."""
    if asked.queries is not None:
        raise StudioError("A fully visible field is scored by its likelihood: leave --queries out.")
    arrays = {name: torch.from_numpy(array[: asked.limit]) for name, array in splits[asked.split].items()}
    source, found = TensorSource(**arrays), density_class(model)
    assert found is not None
    asked.tick(f"{len(source)} items")
    scores: dict[str, Any] = {"nll": None, **found.measure(model, source)}
    if "logp" in arrays:
        scores["true_nll"] = -float(arrays["logp"].double().mean())
    return {"images": len(source), "variables": model.variables, **scores, "log_partition": log_partition(model)}
