"""Query training: tune a model for the inference that will be used with it.

Belief propagation is unrolled for a number of iterations from the evidence of a query, and the cross-entropy of its
beliefs on the query's targets is minimised. What a query is, and how it is unrolled, depends on the model: each kind
has one `QueryObjective`, in `query.py` of its family's folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from mrfstudio.engine.protocol.catalogue import choice, integer, number, text
from mrfstudio.engine.registry import LEARNERS, Parts
from mrfstudio.engine.training.density import density_class, usual_learner
from mrfstudio.engine.training.learner import BatchContext, BatchResult, BatchSource, Learner, TrainingData
from mrfstudio.engine.training.queries import parse_queries


class QueryObjective(Protocol):
    """Query training of one kind of model.

    One whose queries are drawn from `learner.queries` also has `shape(model)`, the shape of what they ask about.
    """

    def start(self, learner: Query, model: Any, data: TrainingData, seed: int) -> dict[str, Tensor]: ...

    def batch(
        self, learner: Query, model: Any, batch: Any, state: Mapping[str, Tensor], context: BatchContext
    ) -> BatchResult:
        """As `Learner.batch`; `state` holds tensors by name, each in the shape that `start` gave it."""
        ...

    def validate(self, learner: Query, model: Any, source: BatchSource) -> dict[str, float]: ...


_OBJECTIVES: Parts[QueryObjective] = Parts()
ObjectiveClass = TypeVar("ObjectiveClass", bound=type[Any])


def query_objective(*kinds: str) -> Callable[[ObjectiveClass], ObjectiveClass]:
    """Class decorator: how models of these kinds are query-trained."""

    def register(cls: ObjectiveClass) -> ObjectiveClass:
        _OBJECTIVES.register(*kinds)(cls())
        return cls

    return register


def _objective(model: Any) -> QueryObjective:
    """The objective of a model that `supports` has let through."""
    found = _OBJECTIVES.of(model)
    assert found is not None
    return found


@LEARNERS.register
class Query(Learner):
    """Parameters of query training. The defaults are those that trained the shipped grid models."""

    name = "query"
    title = "Query training"
    summary = "Unrolls belief propagation and minimises the cross-entropy of its beliefs on what a query asks for."
    monitor = "nce_bits"

    learning_rate: float = number(0.1, "How far one step goes.", low=0.0, low_open=True, high=100.0, logarithmic=True)
    batch_size: int = integer(10, "Items in one step.", low=1, high=1_000_000, logarithmic=True)
    beta2: float = number(
        0.99, "Memory of the squared gradient (Adam's second β).", low=0.0, high=1.0, high_open=True, advanced=True
    )
    warm_up: int = integer(20, "Steps over which the learning rate first rises from zero.", low=0, unit="steps")
    validate_every: int = integer(
        200, "Steps between two validations; 0 validates after every epoch.", low=0, unit="steps"
    )
    validation_items: int = integer(100, "Items used in a validation, from the front; 0 takes all.", low=0)

    queries: str = text(
        "uniform:0.5",
        "What is asked, of models that take queries: uniform:P, one, patch:HxW, half:SIDE, mask:FILE; several with +.",
    )
    iterations: int = integer(15, "Iterations of belief propagation that are unrolled.", low=1, high=1000)
    first_iterations: int = integer(
        5, "Iterations at the start; they grow, because few are faster and the first steps need no more.", low=1
    )
    growth: float = number(0.2, "Part of the run after which all iterations are unrolled.", low=0.0, high=1.0)
    jitter: int = integer(
        2, "The number of iterations of a batch is drawn from ±N around the present one.", low=0, advanced=True
    )
    readouts: int = integer(
        5, "The loss is the mean over so many last iterations: beliefs then settle instead of swinging.", low=1
    )
    start_temperature: float = number(
        5.0,
        "Temperature that the messages of a new RBM or DBM begin with; it is learned.",
        low=0.0,
        low_open=True,
        advanced=True,
    )
    own_evidence: float = number(
        0.5, "Weight of beliefs with the pixel's own evidence in the loss; the rest is without it.", low=0.0, high=1.0
    )
    crop: int = integer(24, "Side of the windows cut from images early on; they hold the whole figure.", low=3)
    full_images: float = number(0.5, "Part of the run after which only whole images are used.", low=0.0, high=1.0)
    early_full_images: float = number(
        0.3, "Part of the batches before that which are whole images.", low=0.0, high=1.0, advanced=True
    )
    noise: str = choice("fresh", ("fresh", "given"), "Whether noise is drawn again each time or taken from the data.")
    window: str = choice(
        "crop",
        ("crop", "fitted"),
        "Grid: early windows of one size, or always windows that fit the figures of images unrolled together.",
        advanced=True,
    )
    pixels_at_once: int = integer(
        6000,
        "Grid, fitted windows: pixels unrolled together; many small windows or one large one.",
        low=1,
        advanced=True,
    )
    longest: int = integer(
        0,
        "Grid: the number of iterations is drawn up to this, the window's width at least, so that more never harm; 0 "
        "keeps to `iterations`.",
        low=0,
        high=10_000,
        advanced=True,
    )
    gradient_iterations: int = integer(
        0, "Grid: gradients flow through so many last iterations; 0 is all of them.", low=0, advanced=True
    )
    coarse_starts: float = number(
        0.0,
        "Grid: part of the groups whose first messages come from the canvas halved.",
        low=0.0,
        high=1.0,
        advanced=True,
    )
    emission: str = choice(
        "kept",
        ("kept", "data"),
        "Grid: whether a model that starts from another keeps its P(seen | label) or takes that of the data.",
        advanced=True,
    )
    revive: float = number(
        0.0,
        "At the start, clones that explain less than this part of an even share become copies of busy ones; 0 leaves "
        "them.",
        low=0.0,
        high=1.0,
        advanced=True,
    )
    first_order: float = number(
        0.0,
        "Part of the run in which a Gaussian RBM is trained with first-order messages: nearly the same, in a tenth of "
        "the time.",
        low=0.0,
        high=1.0,
    )
    images_at_once: int = integer(2, "Images unrolled together; more leave the cache.", low=1, advanced=True)
    clip_images: float = number(
        1.5,
        "Gradients of images unrolled together are shortened to this norm before the mean: where an image is undecided "
        "between two answers its gradient is a hundred times longer than others, and of little use. 0 leaves them.",
        low=0.0,
        advanced=True,
    )

    @property
    def items_together(self) -> int:
        """Gradients are shortened by groups of images, so that groups stay whole."""
        return self.images_at_once

    @classmethod
    def kinds(cls) -> tuple[str, ...]:
        return _OBJECTIVES.kinds()

    def supports(self, model: Any) -> str | None:
        if _OBJECTIVES.of(model) is not None:
            return None
        kinds, kind = ", ".join(_OBJECTIVES.kinds()), getattr(model, "kind", type(model).__name__)
        remedy = f": use the learner {'likelihood or cd' if density_class(model) else usual_learner(kind)}"
        return f"Query training has no objective for a {kind}, only for {kinds}{remedy}."

    def check(self, model: Any) -> None:
        objective = _objective(model)
        if hasattr(objective, "shape"):
            parse_queries(self.queries).draw(1, objective.shape(model), torch.Generator())

    def start(self, model: Any, data: TrainingData, seed: int) -> dict[str, Tensor]:
        self.check(model)
        return _objective(model).start(self, model, data, seed)

    def batch(self, model: Any, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        return _objective(model).batch(self, model, batch, state, context)

    def after_step(self, model: Any) -> None:
        objective = _objective(model)
        if hasattr(objective, "after_step"):
            objective.after_step(self, model)

    def validate(self, model: Any, source: BatchSource) -> dict[str, float]:
        return _objective(model).validate(self, model, source)


def iterations_now(learner: Query, context: BatchContext) -> int:
    """Iterations to unroll at this point of the run: growing, then steady, always with jitter."""
    grown = learner.iterations
    first = min(learner.first_iterations, learner.iterations)
    if learner.growth > 0 and context.progress < learner.growth:
        grown = int(first + (learner.iterations - first + 1) * context.progress / learner.growth)
    spread = int(
        torch.randint(-learner.jitter, learner.jitter + 1, (1,), generator=context.generator("jitter"), device="cpu")
    )
    return max(1, min(grown, learner.iterations) + spread)
