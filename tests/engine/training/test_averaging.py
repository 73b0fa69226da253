"""Averaged parameters: an exponential mean that is validated and kept instead of the newest ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mrfstudio.engine.training import optimiser
from mrfstudio.engine.training.learner import TrainingData
from mrfstudio.engine.training.trainer import Trainer
from tests.engine.helpers.toy import LogisticModel, toy_data, toy_learner, toy_trainer


def test_the_average_of_a_constant_is_that_constant_and_the_start_is_forgotten_early() -> None:
    average, parameters = {"w": torch.zeros(2)}, {"w": torch.tensor([1.0, -3.0])}
    for step in range(1, 60):
        optimiser.follow(average, parameters, 0.9, step)
    torch.testing.assert_close(average["w"], parameters["w"], rtol=0.01, atol=0)


def test_a_long_memory_is_an_exponential_mean() -> None:
    average = {"w": torch.zeros(1, dtype=torch.float64)}
    values = torch.linspace(0, 1, 5, dtype=torch.float64)
    for step, value in enumerate(values, start=1000):  # late enough for the full memory
        optimiser.follow(average, {"w": value[None]}, 0.5, step)
    expected = sum(0.5 ** (5 - index) * float(value) for index, value in enumerate(values))
    assert float(average["w"]) == pytest.approx(expected)


def test_averaging_does_not_change_the_way_the_parameters_go() -> None:
    plain, averaged = toy_trainer(), toy_trainer(learner={"averaging": 0.9})
    losses = [[record.loss for record in trainer.run()] for trainer in (plain, averaged)]
    assert losses[0] == losses[1]


def test_what_is_validated_and_kept_is_the_average() -> None:
    trainer = toy_trainer(learner={"averaging": 0.8, "learning_rate": 0.5})
    last_average: dict[int, torch.Tensor] = {}
    for record in trainer.run():
        if record.state == "running":
            last_average[record.step] = trainer.state.average["weight"].clone()
    assert trainer.outcome is not None
    kept = trainer.model.tensors()["weight"]
    assert torch.equal(kept, last_average[trainer.outcome.kept_step])
    assert trainer.learner.validate(trainer.model, trainer.data.validation)["nce_bits"] == pytest.approx(
        trainer.outcome.scores["nce_bits"]
    )


def test_without_validation_the_last_average_is_kept() -> None:
    data = TrainingData(toy_data().train, None)
    trainer = Trainer(LogisticModel(), toy_learner(averaging=0.8), data, seed=3)
    for record in trainer.run():
        if record.state == "running":
            average = trainer.state.average["weight"].clone()
    assert torch.equal(trainer.model.tensors()["weight"], average)


def test_a_resumed_run_goes_on_with_the_same_average(tmp_path: Path) -> None:
    options = {"averaging": 0.9}
    whole = toy_trainer(tmp_path / "whole.safetensors", learner=options)
    list(whole.run())
    part = toy_trainer(tmp_path / "part.safetensors", learner=options, checkpoint_seconds=1.0)
    run = part.run()
    for _ in range(12):
        next(run)
    run.close()
    resumed = toy_trainer(tmp_path / "part.safetensors", learner=options, resume=True)
    list(resumed.run())
    assert torch.equal(resumed.model.tensors()["weight"], whole.model.tensors()["weight"])
    assert torch.equal(resumed.state.average["weight"], whole.state.average["weight"])
