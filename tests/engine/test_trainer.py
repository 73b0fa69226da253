"""The trainer: same numbers for the same seed, over kills, pauses, several processes and full disks."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from mrfstudio.engine.files.model_file import ModelFileError, load_model
from mrfstudio.engine.learning import optimiser, schedules
from mrfstudio.engine.learning.bar import with_bar
from mrfstudio.engine.learning.checkpoint import TrainingState, training_path
from mrfstudio.engine.learning.contract import BatchContext, BatchResult, TrainingData
from mrfstudio.engine.learning.control import Control, ControlFile
from mrfstudio.engine.learning.curves import CHANCE
from mrfstudio.engine.learning.parallel import Solo
from mrfstudio.engine.learning.progress import Pace, Progress, TrainingError
from mrfstudio.engine.learning.trainer import Trainer
from mrfstudio.engine.learning.validation import keep_best
from tests.engine.toy import LogisticModel, ToyLearner, toy_data, toy_learner, toy_trainer

ROOT = Path(__file__).resolve().parents[2]


def columns(path: Path) -> dict[str, list[float | None]]:
    """The curves without what the clock decides."""
    found = json.loads(path.with_name(path.name.replace(".safetensors", ".curves.json")).read_text())["columns"]
    return {name: values for name, values in found.items() if name not in CHANCE}


def weights(trainer: Trainer) -> list[float]:
    return trainer.model.tensors()["weight"].tolist()


def finish(trainer: Trainer) -> list[Progress]:
    records = list(trainer.run())
    assert trainer.outcome is not None
    return records


# ---- numbers ----


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
    assert schedules.steps_in_all(toy_learner(epochs=0.5), 100) == 4
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


# ---- schedules and budgets ----


def test_cosine_falls_from_the_rate_to_its_end_after_the_warm_up() -> None:
    learner = toy_learner(learning_rate=1.0, warm_up=4, final_rate=0.1)
    assert schedules.learning_rate(learner, 0, 0.0) == pytest.approx(0.25)
    assert schedules.learning_rate(learner, 4, 0.0) == pytest.approx(1.0)
    assert schedules.learning_rate(learner, 50, 0.5) == pytest.approx(0.55)
    assert schedules.learning_rate(learner, 100, 1.0) == pytest.approx(0.1)
    assert schedules.learning_rate(toy_learner(schedule="constant"), 100, 1.0) == 0.05


def test_the_further_of_steps_and_time_moves_the_schedule() -> None:
    assert schedules.progress(10, 100) == 0.1
    assert schedules.progress(10, 100, seconds=30.0, budget=60.0) == 0.5
    assert schedules.progress(70, 100, seconds=30.0, budget=60.0) == 0.7
    assert schedules.progress(70, 100, seconds=90.0, budget=60.0) == 1.0


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


# ---- kills and resumes ----


def killed_at(path: Path, step: int) -> None:
    """Train in another process and kill it right after a step, without any chance to tidy up."""
    command = [sys.executable, "-m", "tests.engine.toy", str(path)]
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


# ---- what goes wrong ----


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


# ---- control ----


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


def test_another_process_may_steer_through_a_file(tmp_path: Path) -> None:
    path = tmp_path / "control.jsonl"
    reader, writer = ControlFile(path), ControlFile(path)
    stream = toy_trainer(poll=reader.poll).run()
    assert next(stream).step == 1
    writer.pause()
    assert next(stream).state == "paused"
    with open(path, "ab") as file:
        file.write(b'{"do": "res')  # a line that is still being written
    assert next(stream).state == "paused"
    with open(path, "ab") as file:
        file.write(b'ume"}\nnonsense\n')
    record = next(stream)
    assert (record.step, record.state) == (2, "running")
    assert "no command 'nonsense'" in record.notice


# ---- several processes ----


class Rank(Solo):
    """Processes played by threads that meet at a barrier."""

    def __init__(self, rank: int, shared: dict[str, Any]) -> None:
        self.rank, self.size, self.shared = rank, 2, shared

    def _all(self, value: Any) -> list[Any]:
        self.shared["values"][self.rank] = value
        self.shared["barrier"].wait(10)
        values = list(self.shared["values"])
        self.shared["barrier"].wait(10)
        return values

    def all_reduce(self, tensor: torch.Tensor) -> torch.Tensor:
        return sum(self._all(tensor.clone()), torch.zeros_like(tensor))

    def broadcast(self, value: Any) -> Any:
        return self._all(value)[0]


def test_two_ranks_give_the_curve_of_one_to_rounding(tmp_path: Path) -> None:
    alone = finish(toy_trainer())
    shared: dict[str, Any] = {"values": [None, None], "barrier": threading.Barrier(2)}
    results: list[list[Progress]] = [[], []]

    def work(rank: int) -> None:
        results[rank] = finish(toy_trainer(tmp_path / f"{rank}.safetensors", parallel=Rank(rank, shared)))

    threads = [threading.Thread(target=work, args=(rank,)) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for records in results:
        assert [record.loss for record in records] == pytest.approx([record.loss for record in alone], rel=1e-5)
        assert [record.gradient_norm for record in records] == pytest.approx(
            [record.gradient_norm for record in alone], rel=1e-4
        )
    assert (tmp_path / "0.train.safetensors").exists()
    assert not (tmp_path / "1.train.safetensors").exists()


# ---- what a run tells ----


def test_records_cannot_be_changed_and_are_ready_for_json() -> None:
    record = finish(toy_trainer())[6]
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.loss = 0.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        record.validation["nce_bits"] = 0.0  # type: ignore[index]
    told = json.loads(json.dumps(record.as_json(), allow_nan=False))
    assert told["loss"] == record.loss
    assert told["validation"] == dict(record.validation) != {}
    assert told["extras"]["mean_point"] == record.extras["mean_point"]


def test_curves_are_written_as_csv_and_json_with_one_row_a_step(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    records = finish(toy_trainer(path))
    with open(tmp_path / "m.curves.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["loss"]) for row in rows] == [record.loss for record in records[:-1]]
    assert [row["validation/nce_bits"] != "" for row in rows] == [step % 7 == 0 for step in range(1, 29)]
    told = json.loads((tmp_path / "m.curves.json").read_text())
    assert told["loss_unit"] == "bits"
    assert told["columns"]["validation/nce_bits"][0] is None
    assert told["columns"]["gradient_norm"] == [float(row["gradient_norm"]) for row in rows]


@pytest.mark.parametrize("terminal", [True, False])
def test_the_bar_shows_loss_metric_and_rate_and_passes_all_records_on(
    terminal: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=160)
    records = list(with_bar(toy_trainer().run(), "bits", console))
    assert len(records) == 29
    shown = text.getvalue()
    for words in ("loss 0.", "bits", "nce_bits 0.", "images/s", "kept the parameters of step"):
        assert words in shown
    assert capsys.readouterr().out == ""
