"""Scores of binary RBMs and DBMs on queries of any distribution, beside independent units on the same queries."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.data.binary_rows import binary_rows
from mrfstudio.engine.data.dataset import Splits
from mrfstudio.engine.families.rbm.annealing import Annealing, annealed_log_z, as_values, base_of_rows
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.families.rbm.query import BinaryScores, binary_scores
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training.evaluation import Evaluation, evaluation
from mrfstudio.engine.training.queries import parse_queries

ITEMS = 500
"""Items between two words of progress."""


@evaluation("rbm", "dbm", log_z=True)
def evaluate_machine(model: RBM, splits: Splits, asked: Evaluation) -> dict[str, Any]:
    """`nce_bits` and `accuracy` over the visible units asked for, and the same of units that are independent.

    Those have the frequencies of the training split.
    """
    rows = binary_rows({name: torch.from_numpy(array[: asked.limit]) for name, array in splits[asked.split].items()})
    if rows.shape[1] != model.visible:
        raise StudioError(f"The data have {rows.shape[1]} units an item: this model has {model.visible} visible ones.")
    queries = parse_queries(asked.queries or "uniform:0.5")
    drawn = queries.draw(len(rows), model.belief_shape, torch.Generator().manual_seed(asked.seed))
    unknown = drawn.flatten(1)
    if not bool(unknown.any()):
        raise StudioError(f"The queries {queries} asked for no unit of {len(rows)} items: raise their number.")
    own = BinaryScores()
    torch.set_flush_denormal(True)
    for start in range(0, len(rows), ITEMS):
        part = slice(start, start + ITEMS)
        own += binary_scores(model, rows[part], unknown[part], asked.iterations)
        asked.tick(f"{own.items} of {len(rows)} items, {own.means()['nce_bits']:.4f} bits so far")
    training = binary_rows({name: torch.from_numpy(array) for name, array in splits["train"].items()})
    likelihood = _likelihood(model, training, rows, asked) if asked.log_z else {}
    return {
        "images": own.items,
        "queries": str(queries),
        "targets": own.targets,
        "iterations": asked.iterations,
        **own.means(),
        **likelihood,
        "baselines": {"independent_units": independent_scores(training, rows, unknown).means()},
    }


def _likelihood(model: RBM, training: Tensor, rows: Tensor, asked: Evaluation) -> dict[str, Any]:
    """log Z with its error bar, and of an RBM the mean negative log-likelihood `nll` of rows (N, V), nats an item.

    The chains begin with the means of the `training` rows (M, V).
    """
    settings = Annealing(temperatures=asked.log_z, seed=asked.seed)

    def told(message: dict[str, Any]) -> None:
        asked.tick(f"{message['done']} of {message['total']} temperatures")

    found = annealed_log_z(model, settings, base_of_rows(training, model), told)
    values = as_values(found, settings)
    if not model.second:
        values["nll"] = found.value + float(model.to(torch.float64).free_energy(rows.double()).mean())
    return values


def independent_scores(training: Tensor, rows: Tensor, unknown: Tensor) -> BinaryScores:
    """What units that know only their own frequency in the training rows (N, V) would score."""
    chance = ((training.sum(0) + 0.5) / (len(training) + 1)).expand_as(rows)
    nats = torch.nn.functional.binary_cross_entropy(chance, rows, reduction="none")[unknown]
    right = int(((chance > 0.5) == (rows > 0.5))[unknown].sum())
    return BinaryScores(len(rows), int(unknown.sum()), float(nats.double().sum()) / math.log(2), right)
