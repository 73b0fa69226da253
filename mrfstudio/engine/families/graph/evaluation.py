"""Scores of fields: answers to queries, the exact likelihood where it can be had, pseudolikelihood."""

from __future__ import annotations

from typing import Any

import torch

from mrfstudio.engine.data.dataset import Splits
from mrfstudio.engine.families.graph.density import log_partition
from mrfstudio.engine.families.graph.model import TiedGraph
from mrfstudio.engine.families.graph.query import query_scores
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training.density import density_class
from mrfstudio.engine.training.evaluation import Evaluation, evaluation
from mrfstudio.engine.training.learner import TensorSource


@evaluation("factor-graph")
def evaluate_graph(model: TiedGraph, splits: Splits, asked: Evaluation) -> dict[str, Any]:
    """`nce_bits` and `accuracy` of belief propagation on queries, `nll` in nats for each item (null where exact
    inference does not fit), `pseudo_bits`, and `true_nll` where the data know it."""
    arrays = {name: torch.from_numpy(array[: asked.limit]) for name, array in splits[asked.split].items()}
    source, found, queries = TensorSource(**arrays), density_class(model), asked.queries or "uniform:0.5"
    assert found is not None
    asked.tick(f"{len(source)} items")
    answers = query_scores(model, source, queries, asked.iterations, asked.seed)
    if not answers.targets:
        raise StudioError(f"The queries {queries} asked for no variable of {len(source)} items: raise their number.")
    scores: dict[str, Any] = {**answers.means(), "nll": None, **found.measure(model, source)}
    if "logp" in arrays:
        scores["true_nll"] = -float(arrays["logp"].double().mean())
    return {
        "images": len(source),
        "queries": queries,
        "iterations": asked.iterations,
        "variables": model.variables,
        **scores,
        "log_partition": log_partition(model),
    }
