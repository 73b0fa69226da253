"""Query training of the cloned grid MRF: the evidence is the noisy image, the targets are all labels."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.data.border_noise import CONTOUR, OUT, SEEN, seeded_noise
from mrfstudio.engine.evidence import Evidence
from mrfstudio.engine.inference.grid_kernel import linear_evidence, run_beliefs, unrolled_beliefs
from mrfstudio.engine.learning.contract import BatchContext, BatchResult, BatchSource, TrainingData, derive_seed
from mrfstudio.engine.learning.query import Query, iterations_now, query_objective
from mrfstudio.engine.learning.segmentation_metrics import NOTHING, SegmentationScores, segmentation_scores
from mrfstudio.engine.learning.settled import settled_share
from mrfstudio.engine.models.grid import GridMRF
from mrfstudio.engine.models.grid_growth import revive
from mrfstudio.engine.threads import side_by_side

SMALLEST_BELIEF = 1e-30
Labels = NDArray[np.uint8]


@query_objective("grid")
class GridObjective:
    """Loss and scores for labels (B, H, W) and noisy images (B, H, W) in which 0 is a contour seen."""

    def start(self, learner: Query, model: GridMRF, data: TrainingData, seed: int) -> dict[str, Tensor]:
        """How much noise the data have: probability of a missing contour pixel, spurious 3-pixel edges an image."""
        some = data.train[torch.arange(min(200, len(data.train)))]
        labels, seen = some["images"].numpy(), some["noisy_images"].numpy() == SEEN
        if learner.revive > 0:
            revive(model, clone_use(model, some["noisy_images"], learner.iterations), learner.revive)
        contour = labels == CONTOUR
        missing = 1.0 - seen[contour].mean() if contour.any() else 0.0
        spurious = (seen & (labels == OUT)).sum() / 3 / len(labels)
        return {"missing": torch.tensor(float(missing)), "spurious": torch.tensor(float(round(spurious)))}

    def batch(
        self,
        learner: Query,
        model: GridMRF,
        batch: Mapping[str, Tensor],
        state: Mapping[str, Tensor],
        context: BatchContext,
    ) -> BatchResult:
        labels, noisy = batch["images"].numpy(), batch["noisy_images"].numpy()
        if learner.noise == "fresh":
            seed = derive_seed(context.seed, "noise", context.step)
            rows = np.arange(context.batch_size)[context.rows]
            spurious, missing = int(state["spurious"]), float(state["missing"])
            noisy = seeded_noise(labels, seed, indices=rows, spurious=spurious, deletion=missing)
        chance = float(torch.rand(1, generator=context.generator("whole")))
        if context.progress < learner.full_images and chance >= learner.early_full_images:
            labels, noisy = windows(labels, noisy, learner.crop, context)
        iterations = iterations_now(learner, context)
        total, settled, gradient = 0.0, 0.0, torch.zeros_like(model.weights)
        parts = [
            slice(start, min(start + learner.images_at_once, len(labels)))
            for start in range(0, len(labels), learner.images_at_once)
        ]

        def differentiated(part: slice) -> tuple[float, float, Tensor]:
            loss, share = _loss_bits(model, labels[part], noisy[part], iterations, learner)
            return loss.item(), share, torch.autograd.grad(loss, model.weights)[0]

        for part, (loss, share, found) in zip(parts, side_by_side(differentiated, parts), strict=True):
            images = part.stop - part.start
            norm = float(found.norm()) / images
            gradient.add_(found, alpha=min(1.0, learner.clip_images / norm) if learner.clip_images and norm else 1.0)
            total += loss
            settled += share * images
        model.weights.grad = gradient / len(labels)
        scalars = {"iterations": float(iterations)}
        if math.isfinite(settled):
            scalars["converged"] = settled / len(labels)
        return BatchResult(total / len(labels), float(len(labels)), scalars, state)

    def validate(self, learner: Query, model: GridMRF, source: BatchSource) -> dict[str, float]:
        with_own, without = NOTHING, NOTHING

        def part(start: int) -> tuple[SegmentationScores, SegmentationScores]:
            batch = source[torch.arange(start, min(start + learner.images_at_once, len(source)))]
            return scores(model, batch["images"], batch["noisy_images"], learner.iterations)

        for own, others in side_by_side(part, range(0, len(source), learner.images_at_once)):
            with_own, without = with_own + own, without + others
        return {**with_own.means(), **without.means("_without_evidence")}


def clone_use(model: GridMRF, noisy: Tensor, iterations: int) -> Tensor:
    """How many pixels each clone of CONTOUR explains in noisy images (B, H, W), as expected counts (clones,)."""
    potentials = model.potentials.detach()

    def part(start: int) -> Tensor:
        evidence = model.evidence_from_image(noisy[start : start + 2].numpy())
        log_evidence = model.state_evidence(evidence)
        product = run_beliefs(potentials, log_evidence, model.shape_of(evidence), iterations)
        product = product * linear_evidence(log_evidence)
        return (product / product.sum(0))[: model.clones[0]].sum(1)

    return torch.stack(side_by_side(part, range(0, len(noisy), 2))).sum(0)


def windows(labels: Labels, noisy: Labels, side: int, context: BatchContext) -> tuple[Labels, Labels]:
    """Cut a random window of `side` × `side` pixels from each image, around the whole figure where it fits."""
    count, height, width = labels.shape
    tall, wide = min(side, height), min(side, width)
    draws = context.uniform(2, label="window").numpy()
    figure = labels != OUT
    tops = _starts(figure.any(2), tall, draws[:, 0])
    lefts = _starts(figure.any(1), wide, draws[:, 1])
    rows, columns = tops[:, None] + np.arange(tall), lefts[:, None] + np.arange(wide)
    where = np.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]
    return labels[where], noisy[where]


def _starts(occupied: NDArray[np.bool_], side: int, draws: NDArray[np.float32]) -> NDArray[np.int64]:
    """First row (or column) of each window; `occupied` (B, length) says where the figure is."""
    length = occupied.shape[1]
    last = length - side
    first_used = np.where(occupied.any(1), occupied.argmax(1), 0)
    end_used = np.where(occupied.any(1), length - occupied[:, ::-1].argmax(1), length)
    low, high = np.clip(end_used - side, 0, last), np.clip(first_used, 0, last)
    low, high = np.where(low <= high, low, 0), np.where(low <= high, high, last)  # a figure larger than the window
    starts: NDArray[np.int64] = np.minimum(low + (draws * (high - low + 1)).astype(np.int64), high)
    return starts


def _loss_bits(model: GridMRF, labels: Labels, noisy: Labels, iterations: int, learner: Query) -> tuple[Tensor, float]:
    """Cross-entropy in bits, a mean over pixels and readouts, summed over images; and the share of settled pixels."""
    evidence = model.evidence_from_image(noisy)
    readouts = tuple(range(max(1, iterations - learner.readouts + 1), iterations + 1))
    states = model.state_evidence(evidence)
    products = unrolled_beliefs(model.potentials, states, model.shape_of(evidence), iterations, readouts)
    target = torch.from_numpy(labels.reshape(-1).astype(np.int64))
    nats = products.new_zeros(())
    weights = learner.own_evidence, 1 - learner.own_evidence
    both = _both(model, products, evidence)
    for log_beliefs, weight in zip(both, weights, strict=True):
        if weight > 0:
            nats = nats - weight * log_beliefs[:, target, torch.arange(len(target))].sum()
    return nats / (math.log(2) * len(readouts) * labels[0].size), settled_share(both[0].detach().transpose(1, 2))


def _both(model: GridMRF, products: Tensor, evidence: Evidence) -> tuple[Tensor, Tensor]:
    """Label log-beliefs (R, labels, N) of products (R, S, N), with and without the pixel's own evidence."""
    parts = [part.sum(1) for part in products.split(model.clones, 1)]
    logs = torch.log(torch.stack(parts, 1).clamp_min(SMALLEST_BELIEF))
    own = evidence.log_potentials.reshape(-1, model.labels).t()
    return torch.log_softmax(logs + own, 1), torch.log_softmax(logs, 1)


@torch.no_grad()
def label_log_beliefs(model: GridMRF, evidence: Evidence, iterations: int) -> tuple[Tensor, Tensor]:
    """Label log-beliefs (B, H, W, labels) with and without the pixel's own evidence, for evidence of that shape."""
    shape = model.shape_of(evidence)
    product = run_beliefs(model.potentials, model.state_evidence(evidence), shape, iterations)
    with_own, without = _both(model, product[None], evidence)
    size = evidence.log_potentials.shape
    return with_own[0].t().reshape(size), without[0].t().reshape(size)


def scores(
    model: GridMRF, labels: Tensor, noisy: Tensor, iterations: int
) -> tuple[SegmentationScores, SegmentationScores]:
    """Scores of a few images with and without the pixel's own evidence."""
    with_own, without = label_log_beliefs(model, model.evidence_from_image(noisy.numpy()), iterations)
    return segmentation_scores(with_own, labels), segmentation_scores(without, labels)
