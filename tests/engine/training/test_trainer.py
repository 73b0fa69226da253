"""The trainer: same numbers for the same seed, and what it says when numbers go wrong."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from mrfstudio.engine.files.model_file import load_model
from mrfstudio.engine.training import optimiser
from mrfstudio.engine.training.checkpoint import TrainingState, training_path
from mrfstudio.engine.training.control import Control
from mrfstudio.engine.training.learner import BatchContext, BatchResult, TrainingData
from mrfstudio.engine.training.progress import TrainingError
from mrfstudio.engine.training.stepper import keep_best
from mrfstudio.engine.training.trainer import Trainer
from tests.engine.helpers.toy import LogisticModel, ToyLearner, toy_data, toy_learner, toy_trainer
from tests.engine.helpers.training import finish, weights


def test_training_lowers_the_loss_and_keeps_the_best_validation() -> None:
    trainer = toy_trainer()
    records = finish(trainer)
    assert [record.step for record in records] == [*range(1, 29), 28]  # 7 batches, 4 epochs, the last word
    assert (records[-1].state, records[-1].seconds_left) == ("done", 0.0)
    assert records[-2].smoothed_loss < 0.9 * records[0].loss
    validated = {record.step: record.validation["nce_bits"] for record in records if record.validation}
    assert list(validated) == [7, 14, 21, 28]
    best = min(validated, key=validated.__getitem__)
    assert trainer.outcome is not None
    assert trainer.outcome.kept_step == best
    assert trainer.outcome.scores["nce_bits"] == validated[best]
    again = trainer.learner.validate(trainer.model, trainer.data.validation)
    assert again["nce_bits"] == validated[best]


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others() -> None:
    runs = [toy_trainer(seed=seed) for seed in (3, 3, 4)]
    losses = [[record.loss for record in finish(run)] for run in runs]
    assert losses[0] == losses[1]
    assert weights(runs[0]) == weights(runs[1])
    assert losses[0] != losses[2]


def test_a_learner_that_draws_from_the_global_generator_is_repeatable_and_leaves_no_trace() -> None:
    class Careless(ToyLearner):
        def batch(self, *arguments: Any) -> BatchResult:
            return dataclasses.replace(super().batch(*arguments), scalars={"drawn": torch.rand(()).item()})

    torch.manual_seed(1)
    before = torch.get_rng_state()
    drawn = []
    for _ in range(2):
        records = finish(Trainer(LogisticModel(), Careless(batch_size=16, epochs=1.0), toy_data(), seed=2))
        drawn.append([record.extras["drawn"] for record in records])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 7
    assert torch.equal(torch.get_rng_state(), before)


def test_the_state_of_a_learner_goes_from_batch_to_batch() -> None:
    class Counting(ToyLearner):
        def start(self, *arguments: Any) -> dict[str, torch.Tensor]:
            return {**super().start(*arguments), "count": torch.zeros(())}

        def batch(self, model: Any, batch: Any, state: Any, context: BatchContext) -> BatchResult:
            result = super().batch(model, batch, state, context)
            count = state["count"] + 1
            return dataclasses.replace(result, scalars={"count": count.item()}, state={**result.state, "count": count})

    records = finish(Trainer(LogisticModel(), Counting(batch_size=16, epochs=1.0), toy_data()))
    assert [record.extras["count"] for record in records[:-1]] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("better", "scores"), [("lower", [1.0, 2.0, 0.5, math.nan]), ("higher", [1.0, 0.5, 2.0, -9.0])]
)
def test_the_best_is_copied_and_the_wait_counted_from_it(better: str, scores: list[float]) -> None:
    class Choosy(ToyLearner):
        pass

    Choosy.better = better  # type: ignore[assignment]
    state, tensor, waits = TrainingState(), torch.zeros(1), []
    for step, score in enumerate(scores):
        state.step = step
        tensor.fill_(step)
        keep_best(state, Choosy(), {"accuracy": 0.0, "nce_bits": score}, {"w": tensor})
        waits.append(state.waited)
    assert waits == [0, 1, 0, 1]
    assert (state.best_step, state.best_score, state.best["w"].item()) == (2, scores[2], 2.0)


def test_the_last_parameters_are_kept_where_that_is_asked() -> None:
    state, tensor = TrainingState(), torch.zeros(1)
    for step, score in enumerate([1.0, 0.5, 2.0]):
        state.step = step
        tensor.fill_(step)
        keep_best(state, toy_learner(keep="last"), {"nce_bits": score}, {"w": tensor})
    assert (state.best_step, state.best_score, state.best["w"].item()) == (2, 2.0, 2.0)


def test_every_epoch_sees_every_item_once_in_another_order() -> None:
    class Recording:
        def __init__(self) -> None:
            self.seen: list[list[int]] = []

        def __len__(self) -> int:
            return 100

        def __getitem__(self, indices: torch.Tensor) -> Any:
            self.seen.append(indices.tolist())
            return data.train[indices]

    data, source = toy_data(), Recording()
    finish(Trainer(LogisticModel(), toy_learner(epochs=2.0), TrainingData(source), seed=1))
    first, second = (list(itertools.chain(*part)) for part in (source.seen[:7], source.seen[7:]))
    assert sorted(first) == sorted(second) == list(range(100))
    assert first != second


def test_a_part_of_an_epoch_is_trained() -> None:
    assert optimiser.steps_in_all(toy_learner(epochs=0.5), 100) == 4
    trainer = Trainer(LogisticModel(), toy_learner(epochs=0.5), toy_data())
    assert len(finish(trainer)) == 4 + 1


def test_adam_and_momentum_follow_their_textbook_formulas() -> None:
    weight = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    gradients = [[0.5, -1.0, 1e-6], [0.25, 2.0, 0.0], [-1.0, 0.5, 1e3]]
    for method in ("adam", "sgd"):
        parameters = {"w": weight.detach().clone()}
        moments = optimiser.start_moments(parameters, method)
        expected, first, second = [1.0, -2.0, 3.0], [0.0] * 3, [0.0] * 3
        for step, gradient in enumerate(gradients, start=1):
            parameters["w"].grad = torch.tensor(gradient)
            optimiser.update(parameters, moments, method, step, 0.1, (0.9, 0.99))
            for i, g in enumerate(gradient):
                if method == "sgd":
                    first[i] = 0.9 * first[i] + g
                    expected[i] -= 0.1 * first[i]
                    continue
                first[i] = 0.9 * first[i] + 0.1 * g
                second[i] = 0.99 * second[i] + 0.01 * g * g
                mean, square = first[i] / (1 - 0.9**step), second[i] / (1 - 0.99**step)
                expected[i] -= 0.1 * mean / (math.sqrt(square) + 1e-8)
        assert parameters["w"].tolist() == pytest.approx(expected, rel=1e-5)


def test_clipping_limits_the_step_and_not_the_reported_norm() -> None:
    moved, norms = {}, {}
    for clip in (0.0, 1e-3):
        learner = toy_learner(optimiser="sgd", clip_norm=clip, epochs=0.1, schedule="constant", warm_up=0)
        trainer = Trainer(LogisticModel(), learner, TrainingData(toy_data().train))
        norms[clip] = finish(trainer)[0].gradient_norm
        parts = [trainer.model.tensors()[name] for name in ("weight", "bias")]
        moved[clip] = torch.cat(parts).norm().item()
    assert norms[0.0] == norms[1e-3] > 1e-3
    assert moved[1e-3] == pytest.approx(0.05 * 1e-3, rel=1e-4)
    assert moved[0.0] == pytest.approx(0.05 * norms[0.0], rel=1e-4)


def test_an_infinite_loss_takes_the_last_update_back_and_names_the_step(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    data = TrainingData(toy_data().train)
    good = Trainer(LogisticModel(), toy_learner(), data, seed=3, poll=Control().poll)
    after_four = next(weights(good) for record in good.run() if record.step == 4)
    trainer = Trainer(LogisticModel(), toy_learner(misbehave="loss"), data, seed=3, model_path=path)
    records = finish(trainer)
    assert trainer.outcome is not None
    assert (trainer.outcome.reason, trainer.outcome.kept_step) == ("diverged", 4)
    assert "loss became inf at step 6" in trainer.outcome.sentence
    assert weights(trainer) == after_four
    assert [record.step for record in records] == [1, 2, 3, 4, 5, 5]
    assert all(math.isfinite(record.loss) for record in records)


def test_a_gradient_that_is_not_a_number_is_never_used() -> None:
    trainer = Trainer(LogisticModel(), toy_learner(misbehave="gradient"), TrainingData(toy_data().train))
    finish(trainer)
    assert trainer.outcome is not None
    assert "gradient became nan at step 6" in trainer.outcome.sentence
    assert trainer.outcome.kept_step == 5
    assert all(torch.isfinite(tensor).all() for tensor in trainer.model.tensors().values())


def test_after_a_divergence_the_best_validation_is_kept() -> None:
    learner = toy_learner(misbehave="loss", validate_every=1)
    trainer = Trainer(LogisticModel(), learner, toy_data(), seed=3)
    records = finish(trainer)
    scores = {record.step: record.validation["nce_bits"] for record in records if record.validation}
    assert trainer.outcome is not None
    assert trainer.outcome.reason == "diverged"
    assert trainer.outcome.kept_step == min(scores, key=scores.__getitem__)


def test_a_full_disk_costs_a_checkpoint_but_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.safetensors"
    stream = toy_trainer(path, checkpoint_seconds=0.0).run()
    for _ in range(3):
        next(stream)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    next(stream)  # its checkpoint fails, which the next record tells
    assert "checkpoint of step 4 was not saved" in next(stream).notice
    assert load_model(training_path(path)).card["counters"]["step"] == 3
    assert not list(tmp_path.glob(".*.tmp"))
    monkeypatch.undo()
    next(stream)
    assert load_model(training_path(path)).card["counters"]["step"] == 6


def test_a_learner_refuses_what_it_cannot_train() -> None:
    model = LogisticModel()
    model.kind = "other"
    with pytest.raises(TrainingError, match="toy models only, not 'other'"):
        Trainer(model, toy_learner(), toy_data())


def test_a_model_without_trainable_tensors_is_refused() -> None:
    model = LogisticModel()
    model.weight.requires_grad_(False)
    model.bias.requires_grad_(False)
    with pytest.raises(TrainingError, match="no tensor to train"):
        Trainer(model, toy_learner(), toy_data())
