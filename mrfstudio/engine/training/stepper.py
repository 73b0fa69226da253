"""One step of training: choose the batch, get its gradient, check it, move the parameters; and keep the best ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.runtime.device import device_of, moved
from mrfstudio.engine.training import optimiser
from mrfstudio.engine.training.checkpoint import TrainingState
from mrfstudio.engine.training.learner import (
    BatchContext,
    BatchResult,
    BatchSource,
    Learner,
    TrainableModel,
    TrainingData,
    derive_seed,
    first_items,
)
from mrfstudio.engine.training.optimiser import steps_per_epoch
from mrfstudio.engine.training.parallel import OneProcess

GRADIENT = "gradient/"
"""Before the name of a tensor: the norm of its part of the gradient, among the numbers of a step."""


class Diverged(Exception):
    """A loss or a gradient left the finite range. The model holds the parameters of `good_step` again."""

    def __init__(self, found: str, good_step: int) -> None:
        super().__init__(found)
        self.good_step = good_step


@dataclass(frozen=True)
class StepResult:
    """What the whole batch gave, over all processes. `gradient_norm` is that before clipping."""

    loss: float
    gradient_norm: float
    items: int
    scalars: Mapping[str, float] = field(default_factory=dict)


class Stepper:
    """Moves one model. Everything that changes beside its parameters is in the `TrainingState` it is given."""

    def __init__(self, model: TrainableModel, data: TrainingData, seed: int, parallel: OneProcess) -> None:
        self.model, self.data, self.seed, self.parallel = model, data, seed, parallel
        self._order: tuple[int, Tensor] | None = None
        self._before: dict[str, Tensor] = {}

    def set_data(self, data: TrainingData) -> None:
        """Learn from other items; the order of this epoch is drawn again, because there may be more or fewer."""
        self.data, self._order = data, None

    def trained(self) -> dict[str, Tensor]:
        """The tensors that the optimiser moves."""
        return {name: tensor for name, tensor in self.model.tensors().items() if tensor.requires_grad}

    def take(self, learner: Learner, state: TrainingState, rate: float, progress: float) -> StepResult:
        """Do step `state.step` + 1, or raise `Diverged` and leave the last good parameters."""
        indices, epoch = self._indices(state.step, learner)
        rows = self.parallel.rows(len(indices), learner.items_together)
        device = device_of(self.model)
        context = BatchContext(self.seed, state.step, epoch, len(indices), rows, progress, device)
        parameters = self.trained()
        for parameter in parameters.values():
            parameter.grad = None
        result = self._batch(learner, state, indices[context.rows], context)
        result = self._averaged(result, parameters)
        squares = optimiser.gradient_squares(parameters)
        norm = math.sqrt(sum(squares.values()))
        self._check(result.loss, norm, state.step)
        self._before = copies(self.model.tensors())
        optimiser.clip(parameters, norm, learner.clip_norm)
        betas = (learner.beta1, learner.beta2)
        optimiser.update(parameters, state.moments, learner.optimiser, state.step + 1, rate, betas)
        with torch.no_grad():
            learner.after_step(self.model)
        self._average(learner, state)
        state.learner = dict(result.state)
        state.step += 1
        state.items += len(indices)
        each = {GRADIENT + name: math.sqrt(square) for name, square in squares.items()} if len(squares) > 1 else {}
        return StepResult(result.loss, norm, len(indices), {**result.scalars, **each})

    def _average(self, learner: Learner, state: TrainingState) -> None:
        if learner.averaging == 0:
            state.average = {}
            return
        parameters = self.trained()
        if not state.average:
            state.average = copies(parameters)
        optimiser.follow(state.average, parameters, learner.averaging, state.step + 1)

    def _indices(self, step: int, learner: Learner) -> tuple[Tensor, int]:
        """The items of a step: each epoch goes once through the data in an order that (seed, epoch) gives."""
        epoch, position = divmod(step, steps_per_epoch(learner, len(self.data.train)))
        if self._order is None or self._order[0] != epoch:
            generator = torch.Generator().manual_seed(derive_seed(self.seed, "order", epoch))
            self._order = epoch, torch.randperm(len(self.data.train), generator=generator, device="cpu")
        start = position * learner.batch_size
        return self._order[1][start : start + learner.batch_size], epoch

    def _batch(self, learner: Learner, state: TrainingState, indices: Tensor, context: BatchContext) -> BatchResult:
        """What the learner makes of the items of these numbers (rows,)."""
        draw: Any = getattr(self.data.train, "draw", None)
        # A learner should draw from its context only; one that uses torch's own generator is made repeatable too.
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(derive_seed(self.seed, "global", context.step, context.rows.start))
            batch = self.data.train[indices] if draw is None else draw(indices, context)
            return learner.batch(self.model, moved(batch, torch.device(context.device)), state.learner, context)

    def _averaged(self, result: BatchResult, parameters: Mapping[str, Tensor]) -> BatchResult:
        """The mean over all processes, each by the weight of its part of the batch. Parameters keep their shapes.

        Two sums travel, however many tensors the model has: numbers, then all gradients as one vector.
        """
        if self.parallel.size == 1:
            return result
        names = sorted(result.scalars)
        values = [result.loss, *(result.scalars[name] for name in names)]
        moved_here = [float(parameter.grad is not None) for parameter in parameters.values()]
        local = [result.weight, *(result.weight * value for value in values), *moved_here]
        total = self.parallel.all_reduce(torch.tensor(local, dtype=torch.float64)).tolist()
        weight, moved_by = total[0], total[1 + len(values) :]
        # One that no process has a gradient of stays without, as with one process.
        moving = [each for each, by in zip(parameters.values(), moved_by, strict=True) if by]
        self._add_up(moving, result.weight, weight)
        loss, *scalars = (value / weight for value in total[1 : 1 + len(values)])
        return BatchResult(loss, weight, dict(zip(names, scalars, strict=True)), result.state)

    def _add_up(self, parameters: list[Tensor], own: float, weight: float) -> None:
        """Give each parameter (…) its gradient over all processes; `own` of the whole weight was computed here."""
        if not parameters:
            return
        gradients = [torch.zeros_like(each) if each.grad is None else each.grad * own for each in parameters]
        added = self.parallel.all_reduce(torch.cat([gradient.reshape(-1) for gradient in gradients])) / weight
        for parameter, part in zip(parameters, added.split([each.numel() for each in parameters]), strict=True):
            parameter.grad = part.reshape(parameter.shape).to(parameter.dtype)

    def _check(self, loss: float, norm: float, step: int) -> None:
        """Stop before a bad gradient is used. A bad loss accuses the last update, so that is taken back as well."""
        if math.isfinite(loss) and math.isfinite(norm):
            return
        if math.isfinite(loss):
            raise Diverged(f"The norm of the gradient became {norm} at step {step + 1}", step)
        good_step = step
        if self._before:
            assign(self.model.tensors(), self._before)
            good_step -= 1
        raise Diverged(f"The loss became {loss} at step {step + 1}", good_step)


def copies(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Independent copies without history, each in its own shape (…)."""
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


@torch.no_grad()
def assign(tensors: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
    """Write values into live tensors of the same shape (…), in place, on their own device and in their precision."""
    for name, tensor in tensors.items():
        tensor.copy_(values[name])


@contextmanager
def exchanged(tensors: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> Iterator[None]:
    """For a while the live tensors named in `values`, of the same shape (…), hold those instead."""
    live = {name: tensors[name] for name in values}
    before = copies(live)
    assign(live, values)
    try:
        yield
    finally:
        assign(live, before)


# Validation -----------------------------------------------------------------------------------------------------------


def validate(learner: Learner, model: TrainableModel, source: BatchSource, seed: int) -> dict[str, float]:
    """The learner's metrics on the first `validation_items` of the source, without gradients."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        # The same seed each time: two validations then differ by the parameters alone.
        torch.default_generator.manual_seed(derive_seed(seed, "validation"))
        return learner.validate(model, first_items(source, learner.validation_items))


def keep_best(
    state: TrainingState, learner: Learner, metrics: Mapping[str, float], tensors: Mapping[str, Tensor]
) -> None:
    """Copy the tensors, of any shape, into `state.best` if the monitored metric is best so far, else count the wait."""
    if not metrics:
        return
    name = learner.monitor or next(iter(metrics))
    score = metrics[name]
    sign = 1.0 if learner.better == "lower" else -1.0
    first_or_better = state.best_score is None or sign * score < sign * state.best_score
    if math.isfinite(score) and (first_or_better or learner.keep == "last"):
        state.best_score, state.best_step = score, state.step
        state.best_validation, state.best = dict(metrics), copies(tensors)
        state.waited = 0
    else:
        state.waited += 1
