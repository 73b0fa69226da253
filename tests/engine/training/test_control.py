"""Pausing, stepping and steering a run while it goes on."""

from __future__ import annotations

from pathlib import Path

from mrfstudio.engine.training.control import Control
from mrfstudio.engine.training.trainer import Trainer
from tests.engine.helpers.toy import LogisticModel, toy_data, toy_learner, toy_trainer
from tests.engine.helpers.training import columns, finish


def test_pause_one_batch_and_resume() -> None:
    control = Control()
    stream = toy_trainer(poll=control.poll).run()
    assert next(stream).step == 1
    control.pause()
    paused = [next(stream) for _ in range(3)]
    assert [(record.step, record.state) for record in paused] == [(1, "paused")] * 3
    control.step()
    assert [(record.step, record.state) for record in (next(stream), next(stream))] == [(2, "running"), (2, "paused")]
    control.resume()
    assert [next(stream).step for _ in range(3)] == [3, 4, 5]


def test_a_pause_changes_no_number(tmp_path: Path) -> None:
    whole, paused = tmp_path / "whole.safetensors", tmp_path / "paused.safetensors"
    finish(toy_trainer(whole))
    control = Control()
    waited = 0
    for record in toy_trainer(paused, poll=control.poll).run():
        if record.step == 9 and record.state == "running":
            control.pause()
        if record.state == "paused":
            waited += 1
            control.resume()
    assert waited == 1
    assert columns(paused) == columns(whole)


def test_a_pause_costs_nothing_of_the_budget() -> None:
    control = Control()
    stream = toy_trainer(poll=control.poll).run()
    assert next(stream).seconds == 1.0
    control.pause()
    assert [next(stream).seconds for _ in range(4)] == [2.0] * 4
    control.resume()
    assert next(stream).seconds == 2.0
    assert next(stream).seconds == 3.0


def test_a_learning_rate_changed_while_running_holds_and_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    learner = toy_learner(schedule="constant", warm_up=0)
    control = Control()
    running = Trainer(LogisticModel(), learner, toy_data(), model_path=path, poll=control.poll)
    stream = running.run()
    assert next(stream).learning_rate == 0.05
    control.change(learning_rate=0.002)
    assert next(stream).learning_rate == 0.002
    # The stream is abandoned here as by a kill: what counts is the file of that moment.
    resumed = Trainer(LogisticModel(), learner, toy_data(), model_path=path, resume=True)
    record = next(resumed.run())
    assert (record.step, record.learning_rate) == (3, 0.002)
    other = Trainer(LogisticModel(), learner.replace(learning_rate=0.03), toy_data(), model_path=path, resume=True)
    assert next(other.run()).learning_rate == 0.03  # what the person says now counts more


def test_a_change_that_makes_no_sense_is_told_and_ignored() -> None:
    control = Control()
    stream = toy_trainer(poll=control.poll).run()
    next(stream)
    control.change(learning_rate=-1.0)
    assert "learning_rate is -1.0: expected a number in (0, 100]" in next(stream).notice
    control.change(batch_size=3)
    assert "batch_size cannot change" in next(stream).notice
    control.change(lerning_rate=0.1)
    assert "did you mean 'learning_rate'" in next(stream).notice
    control.send({"do": "dance"})
    assert "no command 'dance'" in next(stream).notice
