"""Query training of the cloned grid MRF: the evidence is the noisy image, the targets are all labels."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.data.pictures.border_noise import CONTOUR, OUT, SEEN, seeded_noise
from mrfstudio.engine.families.contour_scores import NOTHING, SegmentationScores, segmentation_scores
from mrfstudio.engine.families.grid.growth import revive
from mrfstudio.engine.families.grid.kernel import (
    beliefs_of,
    linear_evidence,
    run_beliefs,
    run_messages,
    unrolled_beliefs,
)
from mrfstudio.engine.families.grid.levels import all_passes, plan_for
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.steadying import Steadying
from mrfstudio.engine.families.grid.windows import Group, Labels, groups
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.runtime.threads import side_by_side
from mrfstudio.engine.training.learner import BatchContext, BatchResult, BatchSource, TrainingData, derive_seed
from mrfstudio.engine.training.learners.query import Query, query_objective
from mrfstudio.engine.training.queries import settled_share

SMALLEST_BELIEF = 1e-30
MOSTLY = 0.5
"""Part of coarse starts in training from which on a model is asked that way too."""


@query_objective("grid")
class GridObjective:
    """Loss and scores for labels (B, H, W) and noisy images (B, H, W) in which 0 is a contour seen."""

    def start(self, learner: Query, model: GridMRF, data: TrainingData, seed: int) -> dict[str, Tensor]:
        """How much noise the data have: probability of a missing contour pixel, spurious 3-pixel edges an image."""
        some = data.train[torch.arange(min(200, len(data.train)))]
        labels, seen = to_host(some["images"]), to_host(some["noisy_images"]) == SEEN
        if learner.revive > 0:
            revive(model, clone_use(model, some["noisy_images"], learner.iterations), learner.revive)
        if learner.emission == "data":
            model.estimate_emission(labels, to_host(some["noisy_images"]))
        model.start = "coarse" if learner.coarse_starts >= MOSTLY else "flat"
        model.iterations = max(learner.iterations, learner.longest)
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
        labels, noisy = to_host(batch["images"]), to_host(batch["noisy_images"])
        if learner.noise == "fresh":
            seed = derive_seed(context.seed, "noise", context.step)
            rows = np.arange(context.batch_size)[context.rows]
            spurious, missing = int(state["spurious"]), float(state["missing"])
            noisy = seeded_noise(labels, seed, indices=rows, spurious=spurious, deletion=missing)
        hints = to_host(batch["hints"]) if "hints" in batch else None
        parts = list(groups(learner, labels, noisy, hints, context))
        total, settled, gradient = 0.0, 0.0, torch.zeros_like(model.weights)

        def differentiated(part: Group) -> tuple[float, float, Tensor]:
            loss, share = _loss_bits(model, part, learner)
            return float(loss.detach()), share, torch.autograd.grad(loss, model.weights)[0]

        for part, (loss, share, found) in zip(parts, side_by_side(differentiated, parts), strict=True):
            images = len(part.labels)
            norm = float(found.norm()) / images
            gradient.add_(found, alpha=min(1.0, learner.clip_images / norm) if learner.clip_images and norm else 1.0)
            total += loss
            settled += share * images
        model.weights.grad = gradient / len(labels)
        scalars = {"iterations": sum(part.iterations for part in parts) / len(parts)}
        if math.isfinite(settled):
            scalars["converged"] = settled / len(labels)
        return BatchResult(total / len(labels), float(len(labels)), scalars, state)

    def validate(self, learner: Query, model: GridMRF, source: BatchSource) -> dict[str, float]:
        with_own, without = NOTHING, NOTHING
        # Between the fewest and the most, where the number of iterations is drawn.
        iterations = round(math.sqrt(learner.iterations * max(learner.iterations, learner.longest)))

        def part(start: int) -> tuple[SegmentationScores, SegmentationScores]:
            batch = source[torch.arange(start, min(start + learner.images_at_once, len(source)))]
            return scores(model, batch["images"], batch["noisy_images"], iterations, batch.get("hints"))

        for own, others in side_by_side(part, range(0, len(source), learner.images_at_once)):
            with_own, without = with_own + own, without + others
        return {**with_own.means(), **without.means("_without_evidence")}


def clone_use(model: GridMRF, noisy: Tensor, iterations: int) -> Tensor:
    """How many pixels each clone of CONTOUR explains in noisy images (B, H, W), as expected counts (clones,)."""
    potentials = model.potentials.detach()

    def part(start: int) -> Tensor:
        evidence = model.evidence_from_image(to_host(noisy[start : start + 2]))
        log_evidence = model.state_evidence(evidence)
        product = run_beliefs(potentials, log_evidence, model.shape_of(evidence), iterations)
        product = product * linear_evidence(log_evidence)
        return (product / product.sum(0))[: model.clones[0]].sum(1)

    return torch.stack(side_by_side(part, range(0, len(noisy), 2))).sum(0)


def _loss_bits(model: GridMRF, group: Group, learner: Query) -> tuple[Tensor, float]:
    """Cross-entropy in bits, a mean over pixels and readouts, summed over images; and the share of settled pixels.

    With `gradient_iterations` the iterations before them run without gradients: what they found is a constant.
    """
    labels, iterations = group.labels, group.iterations
    evidence = _evidence(model, group.noisy, group.hints)
    shape, states, potentials = model.shape_of(evidence), model.state_evidence(evidence), model.potentials
    start = None
    if group.coarse:
        start = all_passes(model, model.label_evidence(evidence), shape)
    before = max(0, iterations - learner.gradient_iterations) if learner.gradient_iterations else 0
    if before:
        start = run_messages(potentials.detach(), states, shape, before, start)
    last = iterations - before
    readouts = tuple(range(max(1, last - learner.readouts + 1), last + 1))
    products = unrolled_beliefs(potentials, states, shape, last, readouts, start)
    target = torch.as_tensor(labels.reshape(-1).astype(np.int64), device=products.device)
    nats = products.new_zeros(())
    weights = learner.own_evidence, 1 - learner.own_evidence
    both = _both(model, products, evidence)
    for log_beliefs, weight in zip(both, weights, strict=True):
        if weight > 0:
            nats = nats - weight * log_beliefs[:, target, torch.arange(len(target), device=target.device)].sum()
    return nats / (math.log(2) * len(readouts) * labels[0].size), settled_share(both[0].detach().transpose(1, 2))


def _both(model: GridMRF, products: Tensor, evidence: Evidence) -> tuple[Tensor, Tensor]:
    """Label log-beliefs (R, labels, N) of products (R, S, N), with and without the pixel's own evidence."""
    parts = [part.sum(1) for part in products.split(model.clones, 1)]
    logs = torch.log(torch.stack(parts, 1).clamp_min(SMALLEST_BELIEF))
    own = evidence.log_potentials.reshape(-1, model.labels).t()
    return torch.log_softmax(logs + own, 1), torch.log_softmax(logs, 1)


def _evidence(model: GridMRF, noisy: Labels, hints: Labels | None) -> Evidence:
    evidence = model.evidence_from_image(noisy)
    return evidence if hints is None else model.with_hints(evidence, hints)


@torch.no_grad()
def label_log_beliefs(model: GridMRF, evidence: Evidence, iterations: int) -> tuple[Tensor, Tensor]:
    """Label log-beliefs (B, H, W, labels) with and without the pixel's own evidence, for evidence of that shape.

    Steps of a pass over smaller copies count among the iterations, as in the window.
    """
    shape, start, steadying = model.shape_of(evidence), None, None
    if model.start == "coarse":
        start, steadying = all_passes(model, model.label_evidence(evidence), shape), Steadying(model, shape)
        iterations = max(0, iterations - len(plan_for(model, shape)))
    messages = run_messages(model.potentials, model.state_evidence(evidence), shape, iterations, start, steadying)
    product = beliefs_of(messages, model.potentials)
    with_own, without = _both(model, product[None], evidence)
    size = evidence.log_potentials.shape
    return with_own[0].t().reshape(size), without[0].t().reshape(size)


def scores(
    model: GridMRF, labels: Tensor, noisy: Tensor, iterations: int, hints: Tensor | None = None
) -> tuple[SegmentationScores, SegmentationScores]:
    """Scores of a few images (B, height, width) with and without the pixel's own evidence."""
    evidence = _evidence(model, to_host(noisy), None if hints is None else to_host(hints))
    with_own, without = label_log_beliefs(model, evidence, iterations)
    return segmentation_scores(with_own, labels), segmentation_scores(without, labels)
