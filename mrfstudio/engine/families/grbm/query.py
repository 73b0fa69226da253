"""Query training of the Gaussian RBM: some pixels are given, the density of the others is the loss.

The cross-entropy of a pixel whose belief has mean N/Λ and precision Λ at the true value v, in standard units, is
½ log(2π/Λ) + ½ Λ (v - N/Λ)² nats; reported in bits, as a mean over all pixels that were asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.families.grbm.first_order import first_order_beliefs
from mrfstudio.engine.families.grbm.messages import Columns, make_rows, run_beliefs
from mrfstudio.engine.families.grbm.model import GRBM, pictures_of
from mrfstudio.engine.families.grbm.unrolled import unrolled_beliefs
from mrfstudio.engine.runtime.threads import side_by_side
from mrfstudio.engine.training.learner import BatchContext, BatchResult, BatchSource, TrainingData, derive_seed
from mrfstudio.engine.training.learners.query import Query, iterations_now, query_objective
from mrfstudio.engine.training.queries import parse_queries, settled_gaussians


@query_objective("grbm")
class GrbmObjective:
    """Loss and scores for pictures (B, height, width)."""

    def shape(self, model: GRBM) -> tuple[int, ...]:
        return model.image_shape

    def start(self, learner: Query, model: GRBM, data: TrainingData, seed: int) -> dict[str, Tensor]:
        return {}

    def batch(
        self,
        learner: Query,
        model: GRBM,
        batch: Mapping[str, Tensor],
        state: Mapping[str, Tensor],
        context: BatchContext,
    ) -> BatchResult:
        pictures = pictures_of(batch)
        unknown = parse_queries(learner.queries).draw_batch(model.image_shape, context)
        targets = max(1, int(unknown.sum()))
        iterations = iterations_now(learner, context)
        readouts = tuple(range(max(1, iterations - learner.readouts + 1), iterations + 1))
        scalars = {"iterations": float(iterations)}
        if context.progress < learner.first_order:
            loss = _first_order_bits(model, pictures, unknown, readouts) / targets
            loss.backward()
            return BatchResult(float(loss.detach()), float(targets), scalars, state)
        columns = Columns.of(model.weights.detach())
        columns.weights.requires_grad_()
        leaves = {
            name: tensor for name, tensor in model.tensors().items() if tensor.requires_grad and name != "weights"
        }
        wanted = (columns.weights, *leaves.values())

        def differentiated(part: slice) -> tuple[float, float, tuple[Tensor, ...]]:
            bits, settled = _loss_bits(model, pictures[part], unknown[part], readouts, columns)
            loss = bits / targets
            return float(loss.detach()), settled, torch.autograd.grad(loss, wanted)

        count = learner.images_at_once
        parts = [slice(i, i + count) for i in range(0, len(pictures), count)]
        found = side_by_side(differentiated, parts, min(count, len(pictures)) * _messages(model, unknown))
        sums = [torch.stack(parts).sum(0) for parts in zip(*(gradients for *_, gradients in found), strict=True)]
        model.weights.grad = sums[0].t().contiguous()
        for tensor, gradient in zip(leaves.values(), sums[1:], strict=True):
            tensor.grad = gradient
        total = sum(loss for loss, *_ in found)
        settled = sum(share for _, share, _ in found) / len(found)
        if math.isfinite(settled):
            scalars["converged"] = settled
        return BatchResult(total, float(targets), scalars, state)

    def validate(self, learner: Query, model: GRBM, source: BatchSource) -> dict[str, float]:
        """Scores on queries that are the same each time."""
        pictures = pictures_of(source[torch.arange(len(source))])
        generator = torch.Generator().manual_seed(derive_seed("validation queries"))
        unknown = parse_queries(learner.queries).draw(len(pictures), model.image_shape, generator)
        found = side_by_side(
            lambda i: scores(model, pictures[i], unknown[i], learner.iterations),
            range(len(pictures)),
            _messages(model, unknown),
        )
        return sum(found, GaussianScores()).means()


def _messages(model: GRBM, unknown: Tensor) -> int:
    """Messages of a direction of the picture that asks for most, of `unknown` (n, height, width)."""
    return int(unknown.flatten(1).sum(1).max()) * model.hidden if len(unknown) else 0


def _loss_bits(
    model: GRBM, pictures: Tensor, unknown: Tensor, readouts: tuple[int, ...], columns: Columns
) -> tuple[Tensor, float]:
    """Cross-entropy in bits, a mean over readouts, summed over the unknown pixels of a few pictures; and settled ones.

    `pictures` and `unknown` are (n, height, width); the first result is a scalar.
    """
    evidence = model.evidence_from_image(pictures, unknown)
    rows = make_rows(model, evidence, columns)
    truth = model.standardise(pictures).reshape(-1)[rows.places]
    information, precision = unrolled_beliefs(rows, readouts[-1], readouts)
    settled = settled_gaussians(information.detach(), precision.detach())
    return gaussian_bits(information, precision, truth).sum() / len(readouts), settled


def _first_order_bits(model: GRBM, pictures: Tensor, unknown: Tensor, readouts: tuple[int, ...]) -> Tensor:
    """The same loss with first-order messages, all pictures (B, height, width) of a batch at once."""
    information, precision = first_order_beliefs(
        model, model.evidence_from_image(pictures, unknown), readouts[-1], readouts
    )
    bits = gaussian_bits(information, precision, model.standardise(pictures))
    return (bits * unknown.flatten(1)).sum() / len(readouts)


def gaussian_bits(information: Tensor, precision: Tensor, truth: Tensor) -> Tensor:
    """-log2 N(truth; information/precision, 1/precision), (…, pixels) like what is given."""
    error = truth - information / precision
    return 0.5 * (math.log(2 * math.pi) - precision.log() + precision * error.square()) / math.log(2)


@dataclass(frozen=True)
class GaussianScores:
    """Sums over pixels that were asked for, and how many pictures they came from. Squares are in standard units."""

    images: int = 0
    targets: int = 0
    bits: float = 0.0
    squares: float = 0.0

    def __add__(self, other: GaussianScores) -> GaussianScores:
        return GaussianScores(
            self.images + other.images,
            self.targets + other.targets,
            self.bits + other.bits,
            self.squares + other.squares,
        )

    def means(self) -> dict[str, float]:
        count = max(self.targets, 1)
        return {"nce_bits": self.bits / count, "mse": self.squares / count}


def gaussian_scores(information: Tensor, precision: Tensor, truth: Tensor) -> GaussianScores:
    """Scores of one picture's beliefs (targets,) in standard units."""
    bits = float(gaussian_bits(information, precision, truth).double().sum())
    squares = float((truth - information / precision).double().square().sum())
    return GaussianScores(1, truth.numel(), bits, squares)


@torch.no_grad()
def scores(model: GRBM, grey: Tensor, unknown: Tensor, iterations: int) -> GaussianScores:
    """Scores of the model's answer for one picture (height, width) after some iterations."""
    rows = make_rows(model, model.evidence_from_image(grey, unknown))
    information, precision = run_beliefs(rows, iterations)
    return gaussian_scores(information, precision, model.standardise(grey)[rows.places])
