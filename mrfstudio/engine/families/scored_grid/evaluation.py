"""Scores of scored grids: bits, pixels and intersection over union, of the network alone and with the field."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.data.dataset import Splits
from mrfstudio.engine.families.contour_scores import CONTOUR, IN, NOTHING, OUT, segmentation_scores
from mrfstudio.engine.families.scored_grid.field import UNLABELLED, ScoreField, flat_messages, next_messages
from mrfstudio.engine.families.scored_grid.model import ScoredGrid, labels_of, pictures_of
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training.evaluation import Evaluation, evaluation
from mrfstudio.engine.training.learner import BatchSource, TensorSource

ITERATIONS = 12
CHUNK = 20
SMALLEST_LOG = -100.0
SETTLED = 1e-3
CONTOUR_LABELS = (CONTOUR, OUT, IN)


def log_beliefs(field: ScoreField, iterations: int) -> tuple[Tensor, float]:
    """Log-beliefs (B, H, W, C) after so many iterations, and the last change of a message; 0 is the network alone."""
    messages, change = flat_messages(field), 0.0
    for _ in range(iterations):
        new = next_messages(field, field.node, messages)
        change = float((new.detach().exp() - messages.detach().exp()).abs().amax())
        messages = new
    return torch.log_softmax(field.node + messages.sum(0), -1), change


@torch.no_grad()
def measure(model: ScoredGrid, source: BatchSource, iterations: int = ITERATIONS) -> dict[str, float]:
    """`nce_bits` (the mean over labelled pixels), `iou`, `pixel_accuracy`, and the first two of the network alone.

    `iou` is a mean over the labels that occur; of contour images it is that of figures, as every model of contours is
    measured. `converged` is the part of batches whose messages settled.
    """
    totals = {"field": _Counts(model.labels), "network": _Counts(model.labels)}
    settled = batches = 0
    for indices in torch.arange(len(source)).split(CHUNK):
        batch = source[indices]
        field, labels = model.field(pictures_of(batch)), labels_of(batch, model.labels)
        answer, change = log_beliefs(field, iterations)
        figures = "noisy_images" in batch and model.labels == len(CONTOUR_LABELS)
        totals["field"].add(answer, labels, figures)
        totals["network"].add(torch.log_softmax(field.node, -1), labels, figures)
        settled, batches = settled + (change <= SETTLED), batches + 1
    alone = totals["network"]
    return {
        "nce_bits": totals["field"].bits,
        "iou": totals["field"].iou,
        "pixel_accuracy": totals["field"].accuracy,
        "nce_bits_network": alone.bits,
        "iou_network": alone.iou,
        "converged": settled / max(batches, 1),
    }


class _Counts:
    """Sums over labelled pixels."""

    def __init__(self, labels: int) -> None:
        self.table = torch.zeros(labels, labels, dtype=torch.float64)
        self.nats, self.figures = 0.0, NOTHING

    def add(self, logs: Tensor, labels: Tensor, figures: bool) -> None:
        """Add pictures with log-beliefs (B, H, W, C) and true labels (B, H, W)."""
        if figures:
            self.figures += segmentation_scores(logs, labels)
        known = labels != UNLABELLED
        truth, found = labels[known], logs[known]
        self.nats -= float(found.gather(1, truth[:, None]).clamp_min(SMALLEST_LOG).double().sum())
        count = len(self.table)
        self.table += torch.bincount(truth * count + found.argmax(1), minlength=count**2).reshape(count, count)

    @property
    def bits(self) -> float:
        return self.nats / (math.log(2) * max(float(self.table.sum()), 1.0))

    @property
    def accuracy(self) -> float:
        return float(self.table.trace() / self.table.sum().clamp_min(1))

    @property
    def iou(self) -> float:
        if self.figures.images:
            return self.figures.means()["iou"]
        hit = self.table.diagonal()
        union = self.table.sum(0) + self.table.sum(1) - hit
        return float((hit / union.clamp_min(1))[union > 0].mean())


@evaluation("scored-grid")
def evaluate_scored_grid(model: ScoredGrid, splits: Splits, asked: Evaluation) -> dict[str, Any]:
    """Segmentation scores of the field, and of the network alone."""
    if asked.queries is not None:
        raise StudioError("A scored-grid always answers the same query, all labels of a picture: leave --queries out.")
    arrays = {name: torch.from_numpy(array[: asked.limit]) for name, array in splits[asked.split].items()}
    source = TensorSource(**arrays)
    asked.tick(f"{len(source)} pictures")
    return {"images": len(source), "iterations": asked.iterations, **measure(model, source, asked.iterations)}
