"""What learners of likelihood and of sampling need of a model: its unnormalised density, seen with one batch.

Each family has one `Density`, in `density.py` of its folder, and every learner that is written for densities works on
all of them. Scores are differentiable in the model's parameters; states, draws and moments never
carry gradients, so that

    gradient of log Z = E_model[∇ score]    and    gradient of -log p = E_model[∇ score] - ∇ score(data)

come from scores alone, whatever gave the expectation: a chain, messages, or an exact sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.registry import LEARNERS, MODELS, Parts
from mrfstudio.engine.training.learner import BatchContext, BatchSource, Learner, TrainingData

CHUNK = 100  # items of a validation that are worked on together


@dataclass(frozen=True)
class Inference:
    """Which algorithm answers for the model, and when it stops.

    A `temperature` above 1 makes answers about hidden variables more even, where a density is `tempered`.
    """

    algorithm: Algorithm
    limits: Limits
    temperature: float = 1.0


@dataclass(frozen=True)
class PartitionEstimate:
    """An estimate of log Z in two forms, for each item or for all of them at once.

    `value` is the number, without gradient; `surrogate` has the gradient Σ marginals · ∇potentials, and a value of no
    meaning. `converged` is the part of the runs that converged.
    """

    value: Tensor
    surrogate: Tensor
    converged: float


@dataclass(frozen=True)
class Posterior:
    """What the hidden variables are, given each item, without gradients.

    `marginals` are whatever `Density.expected` understands, `log_z` (B,) the log of the sum over hidden states, and
    `converged` the part of the runs that converged.
    """

    marginals: tuple[Tensor, ...]
    log_z: Tensor
    converged: float = 1.0


class Density:
    """One model with one batch: p(v) ∝ exp score(v) for visible states v (B, V), hidden units summed out."""

    conditional: ClassVar[bool] = False
    """Whether the distribution depends on features of the item: then no chain can persist from batch to batch."""
    single_sites: ClassVar[bool] = False
    """Whether one variable can be redrawn alone."""
    margins: ClassVar[bool] = False
    """Whether `rival` finds what the truth has to beat by a margin."""

    tempered: ClassVar[bool] = False
    """Whether `posterior` takes a temperature."""

    visible: Tensor
    """The batch's own states (B, V)."""
    draws: int
    """Uniform numbers that one sweep takes for an item."""
    at_once: int = CHUNK
    """Items whose conditionals fit into memory together."""

    def __init__(self, model: Any, batch: Any) -> None:
        raise NotImplementedError

    def part(self, rows: slice) -> Density:
        """The same density for some items of the batch."""
        raise NotImplementedError

    def score(self, states: Tensor) -> Tensor:
        """Log of the unnormalised probability (B,) of states (B, V); gradients flow to the parameters."""
        raise NotImplementedError

    def log_conditionals(self, states: Tensor) -> Tensor:
        """log p(v_i | all other visible units), (B, V), of states (B, V); gradients flow to the parameters."""
        raise NotImplementedError

    def sweep(self, states: Tensor, uniform: Tensor) -> Tensor:
        """States after one Gibbs sweep, from uniform numbers (B, draws)."""
        raise NotImplementedError

    def climb(self, states: Tensor, uniform: Tensor) -> Tensor:
        """States after one step of a search for a high score, from uniform numbers (B, draws): a sweep, or better."""
        return self.sweep(states, uniform)

    def redraw_site(self, states: Tensor, uniform: Tensor) -> Tensor:
        """States in which one random variable was drawn again, from uniform numbers (B, 2): which one, and how."""
        raise NotImplementedError

    def alone(self) -> Tensor:
        """The most probable states (B, V) of the visible units without any coupling: where a search begins."""
        raise NotImplementedError

    def rival(self, iterations: int, tolerance: float) -> tuple[Tensor, float]:
        """States (B, V) for which score + wrong units is high, and the part of the searches that settled."""
        raise NotImplementedError

    def wrong(self, states: Tensor) -> Tensor:
        """How many units of states (B, V) differ from the data, (B,)."""
        return (states != self.visible).double().sum(1)

    def disturbed(self, context: BatchContext) -> Density:
        """The batch as it is learned from: itself, or with noise where a model asks for it."""
        return self

    def posterior(self, inference: Inference) -> Posterior:
        """Beliefs of the hidden variables with the data clamped: the E-step."""
        raise NotImplementedError

    def expected(self, posterior: Posterior) -> Tensor:
        """E[score(v, h)] (B,) under a posterior; gradients flow to the parameters: the M-step raises it."""
        raise NotImplementedError

    def clamped(self, inference: Inference) -> PartitionEstimate:
        """log Σ_h exp score(v, h) of each item (B,), as an algorithm sees it where hidden variables need one."""
        score = self.score(self.visible)
        return PartitionEstimate(score.detach(), score, 1.0)

    def summed(self, inference: Inference) -> PartitionEstimate:
        """What `clamped` is for a model that hides: the value from the algorithm, the gradient from its beliefs."""
        found = self.posterior(inference)
        return PartitionEstimate(found.log_z, self.expected(found), found.converged)

    def joint(self) -> FactorGraph:
        """The whole distribution as a factor graph, hidden units included; gradients flow through its tables."""
        raise NotImplementedError

    def partition(self, inference: Inference) -> PartitionEstimate:
        """log Z as an algorithm sees it, with the gradient that its marginals give."""
        raise NotImplementedError

    @classmethod
    def hides(cls, model: Any) -> bool:
        """Whether the model has hidden variables that `score` does not sum out by a formula."""
        return False

    @classmethod
    def prepare(cls, model: Any) -> None:
        """Make a new model ready for learners of this family, before the first step."""

    @classmethod
    def refusal(cls, model: Any, algorithm: Algorithm) -> str | None:
        """Why `partition` cannot use the algorithm on this model, in one sentence."""
        raise NotImplementedError

    @classmethod
    def measure(cls, model: Any, source: BatchSource) -> dict[str, float]:
        """Scores on held-out items; the first one selects the best parameters. Lower is better for each."""
        return {"pseudo_bits": pseudo_bits(cls, model, source)}


_DENSITIES: Parts[type[Density]] = Parts()
density = _DENSITIES.register
"""Class decorator: how models of these kinds are seen, `@density("rbm")`."""


def density_class(model: Any) -> type[Density] | None:
    """The class that shows a model's density, or None."""
    return _DENSITIES.of(model)


def density_of(model: Any, batch: Any) -> Density:
    """The model's density with one batch; the learner has said before that it supports the model."""
    found = density_class(model)
    assert found is not None
    return found(model, batch)


class DensityLearner(Learner):
    """Base of the learners that work on densities."""

    loss_unit = "nats"
    needs: ClassVar[tuple[str, ...]] = ("score",)
    """Methods that a density must have for this learner."""
    sums_hidden: ClassVar[bool] = False
    """Whether it asks for beliefs of hidden variables, where a model has some that no formula sums out."""

    @classmethod
    def kinds(cls) -> tuple[str, ...]:
        return tuple(kind for kind in _DENSITIES.kinds() if cls.covers(_DENSITIES[kind]))

    @classmethod
    def covers(cls, found: type[Density]) -> bool:
        """Whether densities of this family can be learned so at all."""
        return all(getattr(found, method) is not getattr(Density, method) for method in cls.needs)

    def supports(self, model: Any) -> str | None:
        found = density_class(model)
        if found is None:
            kind = getattr(model, "kind", type(model).__name__)
            kinds = ", ".join(_DENSITIES.kinds())
            return (
                f"The learner {self.name} cannot train a {kind}, only {kinds}: use the learner {usual_learner(kind)}."
            )
        reason = self.refuses(found, model)
        if reason is not None:
            return reason
        if not self.covers(found):
            others = [cls.name for cls in LEARNERS if issubclass(cls, DensityLearner) and cls.covers(found)]
            return f"The learner {self.name} cannot train a {model.kind}: use {' or '.join(others)}."
        if found.hides(model) and not self.sums_hidden:
            return f"This {model.kind} has hidden variables, which {self.name} does not sum out: use likelihood or em."
        return None

    def refuses(self, found: type[Density], model: Any) -> str | None:
        """None, or one sentence that says why this density cannot be learned so and names a learner that can."""
        return None

    def start(self, model: Any, data: TrainingData, seed: int) -> dict[str, Tensor]:
        found = density_class(model)
        assert found is not None
        found.prepare(model)
        return {}

    def validate(self, model: Any, source: BatchSource) -> dict[str, float]:
        found = density_class(model)
        return {} if found is None else found.measure(model, source)


def usual_learner(kind: str) -> str:
    """The learner that a kind of model is trained with where nobody says."""
    return MODELS[kind].default_learner if kind in MODELS.names() else "query"


def contrast(density: Density, negative: Tensor) -> Tensor:
    """score(negative) - score(data) for each item, (B,): the loss of all contrastive learners [McA19]."""
    return density.score(negative) - density.score(density.visible)


def chunks(source: BatchSource) -> list[Tensor]:
    """The numbers of all items, a few at a time."""
    return list(torch.arange(len(source)).split(CHUNK))


def parts(seen: Density) -> Iterator[Density]:
    """The density for as many items at a time as fit into memory."""
    for start in range(0, len(seen.visible), seen.at_once):
        yield seen.part(slice(start, start + seen.at_once))


@torch.no_grad()
def pseudo_bits(cls: type[Density], model: Any, source: BatchSource) -> float:
    """-log2 p(v_i | the other visible units), a mean over items and units."""
    total = 0.0
    for indices in chunks(source):
        for seen in parts(cls(model, source[indices])):
            total -= float(seen.log_conditionals(seen.visible).double().mean(1).sum())
    return total / (len(source) * math.log(2))
