"""A Gaussian RBM on small colour windows: the rival of the mixture, query-trained to answer any mask.

A window is given to it without its mean in each channel and divided by its contrast, so that one set of hidden units
serves faint and strong patterns; rows of its `picture` are rows of the window, three numbers a pixel. It learns with
masks of whole pixels and first-order messages (`families/grbm/first_order.py`), which also answer the windows of a
photograph: all of them are a few products of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.families.grbm.components import component_start
from mrfstudio.engine.families.grbm.first_order import first_order_beliefs
from mrfstudio.engine.families.grbm.model import FLOOR, GRBM
from mrfstudio.engine.families.grbm.query import gaussian_bits
from mrfstudio.engine.families.patches.model import CHANNELS, CUT, PatchError, windows_of
from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.protocol.catalogue import integer, number
from mrfstudio.engine.registry import MODELS
from mrfstudio.engine.training.learner import BatchContext, BatchResult, BatchSource, TrainingData, derive_seed
from mrfstudio.engine.training.learners.query import Query, iterations_now, query_objective
from mrfstudio.engine.training.queries import parse_queries

if TYPE_CHECKING:
    from mrfstudio.engine.graphs.evidence import GaussianEvidence

LEAST_CONTRAST = 0.01
"""Deviation, in parts of white, that is added to a window's: a flat one is not blown up to noise."""
SEEDS = 20_000


class PatchMachine(GRBM):
    """A GRBM whose pictures are windows in colour, (side, 3 · side)."""

    kind = "patch-rbm"

    def __init__(self, side: int, hidden: int, *, floor: float = FLOOR, dtype: torch.dtype = torch.float32) -> None:
        if side < 2:
            raise PatchError(f"Windows of {side} pixels are too small: expected at least 2 a side.")
        super().__init__((side, CHANNELS * side), hidden, variance="learned", floor=floor, dtype=dtype)
        self.side = int(side)

    def hyperparameters(self) -> dict[str, Any]:
        return {"side": self.side, "hidden": self.hidden, "floor": self.floor}


def contrast_of(windows: Tensor) -> Tensor:
    """Deviation (N, 1) that windows (N, pixels) without their means are divided by."""
    return windows.square().mean(1, keepdim=True).sqrt() + LEAST_CONTRAST


def patterns_of(batch: Any) -> Tensor:
    """Pieces of a batch as the machine sees them, (N, pixels)."""
    windows = windows_of(batch)
    return windows / contrast_of(windows)


@MODELS.register
class PatchRbmPlan(ModelPlan):
    """What a person chooses about a new one."""

    name = "patch-rbm"
    title = "Gaussian RBM on colour patches"
    summary = "Repairs photographs of any size: small colour windows with binary hidden units, learned from a folder."
    data_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {"images": CUT}
    learner_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "query": {
            "learning_rate": 3e-3,
            "batch_size": 100,
            "epochs": 1.0,
            "iterations": 10,
            "first_iterations": 4,
            "growth": 0.5,
            "jitter": 1,
            "readouts": 2,
            "clip_norm": 0.5,
            "averaging": 0.998,
            "beta2": 0.999,
            "queries": "uniform:0.5+uniform:0.8+patch:4x4+patch:8x4+patch:4x8",
            "validation_items": 500,
        }
    }

    hidden: int = integer(192, "Hidden units.", low=1, high=100_000, logarithmic=True)
    floor: float = number(
        FLOOR, "Part of a pixel's own precision below which its belief's may not fall.", low=0.0, high=1.0,
        low_open=True, advanced=True,
    )  # fmt: skip

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> PatchMachine:
        return PatchMachine(**hyperparameters)

    def build_for(self, data: TrainingData, seed: int) -> PatchMachine:
        """A new one whose first units are staircases along the principal components of the windows."""
        generator = torch.Generator().manual_seed(seed)
        patterns = patterns_of(data.train[torch.randperm(len(data.train), generator=generator)[:SEEDS]])
        model = PatchMachine(math.isqrt(patterns.shape[1] // CHANNELS), self.hidden, floor=self.floor)
        found = component_start(patterns, self.hidden, None)
        with torch.no_grad():
            noise = 0.01 * torch.randn(model.weights.shape, generator=generator)
            model.weights.copy_(found.weights.to(model.weights) + noise)
            model.visible_bias.copy_(found.visible_bias)
            model.hidden_bias.copy_(found.hidden_bias)
            model.log_precision.copy_(found.precision.log())
        model.trained()
        return model


@query_objective("patch-rbm")
class PatchObjective:
    """The cross-entropy of hidden pixels, in bits of standard units."""

    def shape(self, model: PatchMachine) -> tuple[int, ...]:
        return model.side, model.side

    def start(self, learner: Query, model: PatchMachine, data: TrainingData, seed: int) -> dict[str, Tensor]:
        return {}

    def batch(
        self, learner: Query, model: PatchMachine, batch: Any, state: Mapping[str, Tensor], context: BatchContext
    ) -> BatchResult:
        patterns = patterns_of(batch)
        unknown = parse_queries(learner.queries).draw_batch(self.shape(model), context)
        iterations = iterations_now(learner, context)
        readouts = tuple(range(max(1, iterations - learner.readouts + 1), iterations + 1))
        bits, count = _bits(model, patterns, unknown, readouts)
        loss = bits / count
        loss.backward()
        return BatchResult(float(loss.detach()), float(count), {"iterations": float(iterations)}, state)

    def validate(self, learner: Query, model: PatchMachine, source: BatchSource) -> dict[str, float]:
        """The same on queries that are the same each time."""
        patterns = patterns_of(source[torch.arange(len(source))])
        generator = torch.Generator().manual_seed(derive_seed("validation queries"))
        unknown = parse_queries(learner.queries).draw(len(patterns), self.shape(model), generator)
        bits, count = _bits(model, patterns, unknown, (learner.iterations,))
        return {"nce_bits": float(bits) / count}


def _bits(model: PatchMachine, patterns: Tensor, unknown: Tensor, readouts: tuple[int, ...]) -> tuple[Tensor, int]:
    """Bits of the hidden numbers, a mean over readouts, summed; and how many there are.

    `patterns` (N, pixels · CHANNELS), `unknown` (N, side, side).
    """
    hidden = unknown.flatten(1).repeat_interleave(CHANNELS, 1)
    evidence = pattern_evidence(patterns, hidden, torch.zeros_like(patterns))
    information, precision = first_order_beliefs(model, evidence, readouts[-1], readouts)
    bits = gaussian_bits(information, precision, patterns) * hidden
    return bits.sum() / len(readouts), max(1, int(hidden.sum()))


def pattern_evidence(patterns: Tensor, unknown: Tensor, precision: Tensor) -> GaussianEvidence:
    """Windows (N, pixels) whose unknown numbers are known with some precision, 0 not at all."""
    from mrfstudio.engine.graphs.evidence import GaussianEvidence

    soft = torch.where(unknown, precision, 0.0)
    return GaussianEvidence(patterns, ~unknown, soft * patterns, soft)
