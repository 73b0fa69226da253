"""A killed or stopped run goes on with the numbers of one that was left alone."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mrfstudio.engine.files.model_file import ModelFileError, load_model
from mrfstudio.engine.training.checkpoint import training_path
from mrfstudio.engine.training.control import Control
from mrfstudio.engine.training.progress import TrainingError
from mrfstudio.engine.training.trainer import Trainer
from tests.engine.helpers.toy import LogisticModel, toy_data, toy_learner, toy_trainer
from tests.engine.helpers.training import columns, finish, weights
from tests.places import ROOT


def killed_at(path: Path, step: int) -> None:
    """Train in another process and kill it right after a step, without any chance to tidy up."""
    command = [sys.executable, "-m", "tests.engine.helpers.toy", str(path)]
    child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        for line in child.stdout:
            if int(line) == step:
                break
            print(file=child.stdin, flush=True)
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills need POSIX signals")
def test_two_kills_and_resumes_give_the_numbers_of_an_uninterrupted_run(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole.safetensors", tmp_path / "broken.safetensors"
    uninterrupted = toy_trainer(whole)
    finish(uninterrupted)
    for step in (6, 17):
        killed_at(broken, step)
        assert 1 <= load_model(training_path(broken)).card["counters"]["step"] < step  # older than the kill
    resumed = toy_trainer(broken, resume=True)
    records = finish(resumed)
    assert 1 < records[0].step < 18
    assert columns(broken) == columns(whole)
    assert columns(broken)["step"] == list(range(1, 29))
    assert weights(resumed) == weights(uninterrupted)


def test_stopping_and_resuming_gives_the_numbers_of_an_uninterrupted_run(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole.safetensors", tmp_path / "broken.safetensors"
    uninterrupted = toy_trainer(whole)
    finish(uninterrupted)
    control = Control()
    stopped = toy_trainer(broken, poll=control.poll)
    for record in stopped.run():
        if record.step == 10:
            control.stop()
    assert stopped.outcome is not None
    assert (stopped.outcome.reason, stopped.outcome.step) == ("stopped", 10)
    resumed = toy_trainer(broken, resume=True)
    assert finish(resumed)[0].step == 11
    assert columns(broken) == columns(whole)
    assert weights(resumed) == weights(uninterrupted)


def test_the_best_parameters_survive_a_resume(tmp_path: Path) -> None:
    path, control = tmp_path / "m.safetensors", Control()
    worsening = {"learning_rate": 20.0, "clip_norm": 0.0, "warm_up": 0}
    whole = toy_trainer(learner=worsening)
    finish(whole)
    assert whole.outcome is not None
    assert whole.outcome.kept_step < 28
    for record in toy_trainer(path, learner=worsening, poll=control.poll).run():
        if record.step == 27:
            control.stop()
    resumed = toy_trainer(path, learner=worsening, resume=True)
    finish(resumed)
    assert resumed.outcome is not None
    assert resumed.outcome.kept_step == whole.outcome.kept_step
    assert weights(resumed) == weights(whole)


def test_a_reader_that_goes_away_leaves_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    stream = toy_trainer(path, checkpoint_seconds=1e9).run()
    for _ in range(9):
        next(stream)
    stream.close()
    assert load_model(training_path(path)).card["counters"]["step"] == 9


def test_a_finished_run_resumed_does_nothing_more_and_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    first = toy_trainer(path)
    finish(first)
    before = columns(path)
    second = toy_trainer(path, resume=True)
    assert [record.state for record in finish(second)] == ["done"]
    assert first.outcome is not None
    assert second.outcome is not None
    assert second.outcome.scores == first.outcome.scores
    assert weights(first) == weights(second)
    assert columns(path) == before


def test_resume_without_a_checkpoint_starts_and_says_so(tmp_path: Path) -> None:
    records = finish(toy_trainer(tmp_path / "m.safetensors", resume=True))
    assert "no checkpoint" in records[0].notice


def test_a_model_without_its_training_state_is_not_resumed(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(b"someone's model")
    with pytest.raises(TrainingError, match=r"m\.train\.safetensors"):
        next(toy_trainer(path, resume=True).run())
    assert path.read_bytes() == b"someone's model"


@pytest.mark.parametrize(
    ("learner", "seed", "items", "words"),
    [
        ({"batch_size": 8}, 3, 100, "batch size is 16 and this run's is 8"),
        ({}, 4, 100, "seed is 3 and this run's is 4"),
        ({}, 3, 90, "training items is 100 and this run's is 90"),
        ({"optimiser": "sgd"}, 3, 100, "optimiser is 'adam'"),
    ],
)
def test_a_run_of_another_kind_is_not_resumed(
    tmp_path: Path, learner: dict[str, Any], seed: int, items: int, words: str
) -> None:
    path = tmp_path / "m.safetensors"
    finish(toy_trainer(path))
    other = Trainer(LogisticModel(), toy_learner(**learner), toy_data(items), seed=seed, model_path=path, resume=True)
    with pytest.raises(TrainingError, match=words):
        next(other.run())


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    finish(toy_trainer(path))
    state = training_path(path)
    state.write_bytes(state.read_bytes()[:-100])
    with pytest.raises(ModelFileError, match="cut short"):
        next(toy_trainer(path, resume=True).run())


def test_what_a_killed_writer_left_is_removed_by_the_next_run(tmp_path: Path) -> None:
    left = tmp_path / ".m.train.safetensors.0123abcd.tmp"
    left.write_bytes(b"half")
    finish(toy_trainer(tmp_path / "m.safetensors"))
    assert not left.exists()
