"""Learning rates over steps and time, budgets and patience."""

from __future__ import annotations

import pytest

from mrfstudio.engine.training import optimiser
from mrfstudio.engine.training.progress import Pace
from mrfstudio.engine.training.trainer import Trainer
from tests.engine.helpers.toy import LogisticModel, toy_data, toy_learner, toy_trainer
from tests.engine.helpers.training import finish


def test_cosine_falls_from_the_rate_to_its_end_after_the_warm_up() -> None:
    learner = toy_learner(learning_rate=1.0, warm_up=4, final_rate=0.1)
    assert optimiser.learning_rate(learner, 0, 0.0) == pytest.approx(0.25)
    assert optimiser.learning_rate(learner, 4, 0.0) == pytest.approx(1.0)
    assert optimiser.learning_rate(learner, 50, 0.5) == pytest.approx(0.55)
    assert optimiser.learning_rate(learner, 100, 1.0) == pytest.approx(0.1)
    assert optimiser.learning_rate(toy_learner(schedule="constant"), 100, 1.0) == 0.05


def test_the_further_of_steps_and_time_moves_the_schedule() -> None:
    assert optimiser.progress(10, 100) == 0.1
    assert optimiser.progress(10, 100, seconds=30.0, budget=60.0) == 0.5
    assert optimiser.progress(70, 100, seconds=30.0, budget=60.0) == 0.7
    assert optimiser.progress(70, 100, seconds=90.0, budget=60.0) == 1.0


def test_a_time_budget_ends_the_run_with_the_learning_rate_down() -> None:
    trainer = toy_trainer(learner={"epochs": 1000.0, "warm_up": 0}, max_minutes=1.0, seconds_before=10.0)
    records = finish(trainer)
    assert trainer.outcome is not None
    assert trainer.outcome.reason == "time"
    assert trainer.outcome.step == 49  # a second each, the sixtieth second is not begun
    assert trainer.outcome.seconds <= 60.0
    assert records[-2].learning_rate < 0.01 * 0.05


def test_the_time_left_is_that_of_steps_and_validations_or_of_the_budget() -> None:
    pace = Pace()
    assert pace.left(100, 2, None) is None
    pace.add(items=8, seconds=2.0)
    pace.validation_seconds = 5.0
    assert pace.items_per_second == 4.0
    assert pace.left(100, 2, None) == 100 * 2.0 + 2 * 5.0
    assert pace.left(100, 2, 30.0) == 30.0


def test_early_stopping_waits_for_its_patience() -> None:
    learner = toy_learner(learning_rate=50.0, clip_norm=0.0, patience=2, epochs=100.0, schedule="constant")
    trainer = Trainer(LogisticModel(), learner, toy_data())
    finish(trainer)
    assert trainer.outcome is not None
    assert trainer.outcome.reason == "early"
    assert trainer.outcome.step == trainer.outcome.kept_step + 2 * 7
