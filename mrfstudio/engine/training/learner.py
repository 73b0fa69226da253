"""What a model, a data source and a learner owe the trainer.

A *model* has named tensors and can take others in their place. A *learner* turns one batch into a loss and leaves the
gradient in `.grad` of the model's tensors; `trainer.py` does everything else: order of batches, optimiser, schedule,
validation, checkpoints, pauses. To add a learner, write one file in `learners/` and its name into
`LEARNERS` there:

    @LEARNERS.register
    class Query(Learner):
        name = "query"
        iterations: int = integer(15, "Iterations of belief propagation that are unrolled.", low=1)

        def supports(self, model): ...
        def batch(self, model, batch, state, context): ...
        def validate(self, model, source): ...

Randomness is counted, not carried: every draw comes from `context`, whose generators depend on (seed, step, label)
alone. So a resumed run needs no hidden state, and a batch split over several processes draws what one process would.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

from mrfstudio.engine.protocol.catalogue import Parameters, choice, integer, number


@runtime_checkable
class TrainableModel(Protocol):
    """A distribution with parameters in named tensors.

    `tensors` gives the live tensors: those with `requires_grad` are trained in place, the others are only saved.
    `hyperparameters` are the values, ready for JSON, from which an equal empty model can be made again.
    """

    @property
    def kind(self) -> str: ...

    def tensors(self) -> dict[str, Tensor]: ...

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take tensors by name, each in the shape (…) that it has in `tensors()`."""
        ...

    def hyperparameters(self) -> dict[str, Any]: ...


class BatchSource(Protocol):
    """Items by number. `source[indices]`, indices (batch,) of int64, gives the batch that the learner understands.

    A tensor is a source. A source whose items are drawn again each time also has `draw(indices, context)`, and the
    trainer then calls that instead.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, indices: Tensor) -> Any:
        """The items of these numbers (batch,), as the learner understands them."""
        ...


class TensorSource:
    """Several tensors (N, …) with the same first axis; a batch is a dictionary of their rows."""

    def __init__(self, **tensors: Tensor) -> None:
        lengths = {name: len(tensor) for name, tensor in tensors.items()}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"the tensors of one source have different lengths {lengths}: expected one length.")
        self.tensors = tensors

    def __len__(self) -> int:
        return len(next(iter(self.tensors.values())))

    def __getitem__(self, indices: Tensor) -> dict[str, Tensor]:
        return {name: tensor[indices] for name, tensor in self.tensors.items()}


class _FirstItems:
    def __init__(self, source: BatchSource, count: int) -> None:
        self._source, self._count = source, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, indices: Tensor) -> Any:
        return self._source[indices]


def first_items(source: BatchSource, count: int) -> BatchSource:
    """The first `count` items of a source; 0 or too many gives all."""
    return _FirstItems(source, count) if 0 < count < len(source) else source


@dataclass(frozen=True)
class TrainingData:
    """What a training run sees. `validation` may be missing; then nothing is selected and the last parameters stay."""

    train: BatchSource
    validation: BatchSource | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""


def derive_seed(*keys: int | str) -> int:
    """A 63-bit seed that depends on all keys and on nothing else, on every machine and Python."""
    digest = hashlib.blake2b(repr(keys).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


@dataclass(frozen=True)
class BatchContext:
    """Where in the run a batch stands, and the only source of randomness for it.

    `rows` are the positions in the whole batch (of `batch_size` items) that this process computes.
    `progress` in [0, 1] is the finished part of the run: for curricula. Under a time budget it follows the clock.
    """

    seed: int
    step: int
    epoch: int
    batch_size: int
    rows: slice
    progress: float = 0.0
    device: torch.device | str = "cpu"
    """Where draws are wanted; they are made on the CPU, so that they are the same everywhere."""

    def seed_for(self, label: str = "") -> int:
        """A seed for this step, for generators of other libraries; another label gives an independent one."""
        return derive_seed(self.seed, "batch", self.step, label)

    def generator(self, label: str = "") -> torch.Generator:
        """A fresh generator on the CPU, seeded with `seed_for`."""
        return torch.Generator().manual_seed(self.seed_for(label))

    def uniform(self, *shape: int, label: str = "") -> Tensor:
        """Uniform numbers (rows, *shape) for this process, cut from those of the whole batch."""
        drawn = torch.rand(self.batch_size, *shape, generator=self.generator(label), device="cpu")
        return drawn[self.rows].to(self.device)

    def integers(self, low: int, high: int, *shape: int, label: str = "") -> Tensor:
        """Uniform whole numbers in [low, high), (rows, *shape), cut from those of the whole batch."""
        drawn = torch.randint(low, high, (self.batch_size, *shape), generator=self.generator(label), device="cpu")
        return drawn[self.rows].to(self.device)


@dataclass(frozen=True)
class BatchResult:
    """What one batch gave, beside the gradients now in `.grad` of the model's tensors.

    `loss` is a mean over `weight` terms (items, or targets of queries), in the learner's `loss_unit`; the gradient is
    that of the same mean. Several processes are averaged by weight. `state` is the learner's next state.
    """

    loss: float
    weight: float = 1.0
    scalars: Mapping[str, float] = field(default_factory=dict)
    state: Mapping[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Here, and nowhere else in a step, a number waits for the device: learners give tensors.
        object.__setattr__(self, "loss", float(self.loss))


class Learner(Parameters):
    """Base of all learners: how one batch becomes a gradient, and the parameters that all of them share."""

    loss_unit: ClassVar[str] = "bits"
    monitor: ClassVar[str] = ""
    """The validation metric that selects the best parameters and stops early; empty: the first one."""
    better: ClassVar[Literal["lower", "higher"]] = "lower"
    of_batches: ClassVar[bool] = True
    """Whether a step is the gradient of its batch alone, so that several processes may share the batch."""

    learning_rate: float = number(0.01, "How far one step goes.", low=0.0, low_open=True, high=100.0, logarithmic=True)
    batch_size: int = integer(50, "Items in one step.", low=1, high=1_000_000, logarithmic=True)
    epochs: float = number(10.0, "Passes over the training data; a part of one is allowed.", low=0.0, low_open=True)
    schedule: str = choice(
        "cosine", ("constant", "cosine"), "Whether the learning rate stays or falls along half a cosine to the end."
    )
    warm_up: int = integer(0, "Steps over which the learning rate first rises from zero.", low=0, unit="steps")
    final_rate: float = number(
        0.0, "Where the cosine ends, as a part of the learning rate.", low=0.0, high=1.0, advanced=True
    )
    clip_norm: float = number(1.0, "Longer gradients are shortened to this norm; 0 leaves them.", low=0.0)
    optimiser: str = choice("adam", ("adam", "sgd"), "Adam, or plain gradient descent with momentum.", advanced=True)
    beta1: float = number(
        0.9,
        "Memory of the gradient (Adam's first β, or the momentum).",
        low=0.0,
        high=1.0,
        high_open=True,
        advanced=True,
    )
    beta2: float = number(
        0.999, "Memory of the squared gradient (Adam's second β).", low=0.0, high=1.0, high_open=True, advanced=True
    )
    averaging: float = number(
        0.0,
        "Memory of the averaged parameters, which are then the ones that are validated and kept; 0 averages nothing.",
        low=0.0,
        high=1.0,
        high_open=True,
        advanced=True,
    )
    validate_every: int = integer(
        0, "Steps between two validations; 0 validates after every epoch.", low=0, unit="steps"
    )
    validation_items: int = integer(0, "Items used in a validation, from the front; 0 takes all.", low=0, advanced=True)
    patience: int = integer(
        0, "Stop after so many validations without a better one; 0 never stops early.", low=0, unit="validations"
    )
    keep: str = choice(
        "best",
        ("best", "last"),
        "Which parameters stay: those of the best validation, or the last, where too few items validate to choose by.",
        advanced=True,
    )

    @property
    def items_together(self) -> int:
        """Items of a batch that must stay in one process, because the learner treats them as a group."""
        return 1

    @classmethod
    def kinds(cls) -> tuple[str, ...]:
        """The kinds of models that it can train at all, for menus; empty where only `supports` knows."""
        return ()

    def supports(self, model: Any) -> str | None:
        """None if this learner can train the model, else one sentence that says why not."""
        raise NotImplementedError

    def check(self, model: Any) -> None:
        """Raise a `StudioError` where these parameters do not fit the model, such as queries larger than its pictures.

        Asked when parameters change while a run goes on: a mistake then must not end it.
        """

    def start(self, model: Any, data: TrainingData, seed: int) -> dict[str, Tensor]:
        """The learner's own first state, such as persistent chains. It is saved with every checkpoint."""
        return {}

    def batch(self, model: Any, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        """Compute the loss of one batch and add its gradient to `.grad` of the model's tensors (cleared before).

        `state` holds tensors by name, each in the shape (…) that `start` gave it. Must not change the parameters, nor
        `state` in place; must draw only from `context`.
        """
        raise NotImplementedError

    def after_step(self, model: Any) -> None:
        """Put the updated parameters back where they are valid, such as a temperature above zero. In place."""

    def validate(self, model: Any, source: BatchSource) -> dict[str, float]:
        """Metrics on held-out items, by name. Must give the same numbers each time for the same parameters."""
        return {}
