"""A model and a learner small enough to train in a test: logistic regression on made-up points.

Run as a program, it trains and prints every step, so that a test can kill it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.data.dataset import Dataset, Splits
from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.protocol.catalogue import choice, integer, number
from mrfstudio.engine.registry import DATASETS, LEARNERS, MODELS
from mrfstudio.engine.training.command import train_command
from mrfstudio.engine.training.control import Command, Poll, no_commands
from mrfstudio.engine.training.learner import (
    BatchContext,
    BatchResult,
    BatchSource,
    Learner,
    TensorSource,
    TrainingData,
)
from mrfstudio.engine.training.runs.child import train_run
from mrfstudio.engine.training.trainer import Trainer

FEATURES = 5


def cross_entropy_bits(logits: Tensor, labels: Tensor) -> Tensor:
    return (torch.nn.functional.softplus(logits) - labels * logits).mean() / math.log(2)


class LogisticModel:
    """Weights (features,), a bias, and a tensor that is kept but not trained."""

    kind = "toy"

    def __init__(self) -> None:
        self.weight = torch.zeros(FEATURES, requires_grad=True)
        self.bias = torch.zeros(1, requires_grad=True)
        self.scale = torch.ones(1)

    def tensors(self) -> dict[str, Tensor]:
        return {"weight": self.weight, "bias": self.bias, "scale": self.scale}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for name, tensor in self.tensors().items():
                tensor.copy_(tensors[name])

    def hyperparameters(self) -> dict[str, Any]:
        return {"features": FEATURES}

    def logits(self, points: Tensor) -> Tensor:
        return points @ self.weight + self.bias


class ToyLearner(Learner):
    """Cross-entropy in bits. Its draws and its state are there to be remembered over a kill."""

    name = "toy"
    monitor = "nce_bits"

    noise: float = number(0.1, "Noise on the points, drawn from the context.", low=0.0)
    misbehave: str = choice("no", ("no", "loss", "gradient"), "What becomes infinite at the sixth step.")

    def supports(self, model: Any) -> str | None:
        return None if model.kind == "toy" else f"The toy learner trains toy models only, not {model.kind!r}."

    def start(self, model: Any, data: TrainingData, seed: int) -> dict[str, Tensor]:
        return {"drift": torch.zeros(FEATURES)}

    def batch(self, model: Any, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        points = batch["points"] + self.noise * (context.uniform(FEATURES) - 0.5) + state["drift"]
        loss = cross_entropy_bits(model.logits(points), batch["labels"])
        if context.step == 5 and self.misbehave != "no":
            loss = loss * math.inf if self.misbehave == "loss" else loss
        loss.backward()
        if context.step == 5 and self.misbehave == "gradient":
            model.weight.grad[0] = math.nan
        drift = 0.9 * state["drift"] + 0.01 * torch.randn(FEATURES, generator=context.generator("drift"))
        return BatchResult(loss.item(), len(points), {"mean_point": points.mean().item()}, {"drift": drift})

    def validate(self, model: Any, source: BatchSource) -> dict[str, float]:
        batch = source[torch.arange(len(source))]
        logits = model.logits(batch["points"])
        return {
            "nce_bits": cross_entropy_bits(logits, batch["labels"]).item(),
            "accuracy": ((logits > 0) == (batch["labels"] > 0.5)).float().mean().item(),
        }


def toy_data(items: int = 100) -> TrainingData:
    generator = torch.Generator().manual_seed(7)
    points = torch.randn(items + 40, FEATURES, generator=generator)
    truth = torch.tensor([2.0, -1.0, 0.5, 0.0, 1.0])
    labels = torch.bernoulli(torch.sigmoid(points @ truth), generator=generator)
    return TrainingData(
        TensorSource(points=points[:items], labels=labels[:items]),
        TensorSource(points=points[items:], labels=labels[items:]),
        name="toy",
    )


class ToyPlan(ModelPlan):
    """The entry of MODELS that makes toy models."""

    name = "toy"
    default_data = "toy"

    start: float = number(0.0, "The first value of every weight.")

    def build_for(self, data: TrainingData, seed: int) -> LogisticModel:
        model = LogisticModel()
        with torch.no_grad():
            model.weight.fill_(self.start)
        return model


class ToyDataset(Dataset):
    """The entry of DATASETS; half of its options are there to share names with other parts."""

    name = "toy"
    path = "none"

    items: int = integer(100, "Training items.", low=0)
    seed: int = integer(0, "Never set by the training's own seed.")

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Any = None) -> Splits:
        data = toy_data(self.items)
        parts = {"train": data.train, "val": data.validation}
        arrays = {
            split: {name: tensor.numpy() for name, tensor in part.tensors.items()}
            for split, part in parts.items()
            if isinstance(part, TensorSource)
        }
        return Splits(arrays, {"constant": np.full(1, self.seed)})


REGISTRIES = ((MODELS, ToyPlan), (LEARNERS, ToyLearner), (DATASETS, ToyDataset))


def train_toy(report: Any, poll: Poll, **arguments: Any) -> dict[str, Any]:
    """`train_command` in a process that knows the toy parts: what a job runs in the tests."""
    for registry, part in REGISTRIES:
        registry.register(part)
    return train_command("toy", "toy", report=report, poll=poll, **arguments)


def train_toy_run(report: Any, poll: Poll, **arguments: Any) -> dict[str, Any]:
    """`train_run` in a process that knows the toy parts."""
    for registry, part in REGISTRIES:
        registry.register(part)
    return train_run(report=report, poll=poll, **arguments)


def toy_learner(**changes: Any) -> ToyLearner:
    return ToyLearner(**{"batch_size": 16, "epochs": 4.0, "learning_rate": 0.05, "warm_up": 3, **changes})


class StepClock:
    """A clock that the trainer itself moves: one second each time it listens, which is once a step."""

    def __init__(self, poll: Poll = no_commands) -> None:
        self.now = 0.0
        self._poll = poll

    def __call__(self) -> float:
        return self.now

    def poll(self) -> Iterable[Command]:
        self.now += 1.0
        return self._poll()


def toy_trainer(path: Any = None, **options: Any) -> Trainer:
    """A run of 28 steps, 7 an epoch, by a clock of one second a step."""
    clock = StepClock(options.pop("poll", no_commands))
    learner = toy_learner(**options.pop("learner", {}))
    settings: dict[str, Any] = {"seed": 3, **options}
    return Trainer(LogisticModel(), learner, toy_data(), model_path=path, clock=clock, poll=clock.poll, **settings)


def main() -> None:
    trainer = toy_trainer(sys.argv[1], resume=True, checkpoint_seconds=4.0)
    for record in trainer.run():
        print(record.step, flush=True)
        sys.stdin.readline()  # go on when told, so that the kill falls between these two steps


if __name__ == "__main__":
    main()
