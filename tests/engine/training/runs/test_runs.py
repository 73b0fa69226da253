"""Runs on disk: they survive kills, damage and a second window, and their numbers are those of the plain command."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfstudio.engine.files.lock import is_locked, try_lock
from mrfstudio.engine.files.model_file import load_model, user_models
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.training import RunUpdate, TrainingPlan
from mrfstudio.engine.training.command import train_command
from mrfstudio.engine.training.runs import snapshots
from mrfstudio.engine.training.runs.child import train_run
from mrfstudio.engine.training.runs.store import (
    LOCK,
    MODEL,
    RECORD,
    STATE,
    UNDO_SECONDS,
    RunError,
    RunStore,
    checked_name,
    file_name,
)
from mrfstudio.engine.workspaces.train.runs import Runs, columns_of
from tests.engine.helpers.toy import REGISTRIES, train_toy_run

OPTIONS: dict[str, Any] = {"batch_size": 16, "epochs": 4, "validate_every": 7}
PLAN = TrainingPlan("toy", "toy", "toy", seed=3, options=OPTIONS)
LONG = 120.0


@pytest.fixture(autouse=True)
def toy_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for registry, part in REGISTRIES:
        registry.load_all()
        monkeypatch.setitem(registry._entries, "toy", part)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MRFSTUDIO_HOME", str(tmp_path))
    return tmp_path


def unchecked(plan: TrainingPlan) -> None:
    """Toys are in no registry of this process."""


def trained(store: RunStore, **options: Any) -> str:
    run = store.create(PLAN)
    train_run(str(store.path(run)), **options)
    return run


def until(runs: Runs, fact: Callable[[RunUpdate], bool]) -> list[RunUpdate]:
    """Poll until an update is so; gives all updates on the way.

    A child that says nothing may be waiting for a core: what counts is how long it has computed since its last word,
    and how long it has done neither.
    """
    seen: list[RunUpdate] = []
    computed, end = _computed(runs), time.monotonic() + LONG
    while not seen or not fact(seen[-1]):
        assert time.monotonic() < end, f"nothing came for {LONG:.0f} s in which the run computed nothing"
        now = _computed(runs)
        assert now - computed < LONG, f"nothing came for {LONG:.0f} s of computing"
        update = runs.poll()
        if update is not None:
            seen.append(update)
            computed = now
        if update is not None or now > computed:
            end = time.monotonic() + LONG
        time.sleep(0.01)
    return seen


def _computed(runs: Runs) -> float:
    """Seconds of the processor that the child of the active run has taken; 0 where there is none or nobody says."""
    try:
        process = int(runs._job.process_id)  # type: ignore[union-attr]
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except (AttributeError, OSError):
        return 0.0
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


# Records --------------------------------------------------------------------------------------------------------------


def test_a_run_is_trained_like_the_plain_command_and_tells_its_end(store: RunStore, tmp_path: Path) -> None:
    run = trained(store)
    train_command("toy", "toy", "toy", tmp_path / "plain.safetensors", seed=3, **OPTIONS)
    mine, plain = load_model(store.path(run) / MODEL), load_model(tmp_path / "plain.safetensors")
    assert mine.tensors["weight"].tolist() == plain.tensors["weight"].tolist()
    note = store.note(run)
    assert (note.state, note.step, note.total_steps, note.elsewhere) == ("finished", 28, 28, False)
    assert next(iter(note.scores)) == "nce_bits"
    assert note.scores == plain.card["scores"]["validation"]
    assert note.sentence.startswith("Finished after 28 steps")
    assert len(store.columns(run)["loss"]) == 28


def test_a_pause_is_told_once_and_every_step_is_told(store: RunStore) -> None:
    told: list[dict[str, Any]] = []
    asked = iter([[{"do": "step"}], [], [], [], [{"do": "resume"}]])
    run = store.create(PLAN)
    train_run(str(store.path(run)), report=told.append, poll=lambda: next(asked, []))
    assert [record["state"] for record in told[:3]] == ["running", "paused", "running"]
    assert [record["step"] for record in told if record["state"] == "running"] == list(range(1, 29))


def test_new_runs_get_names_of_their_own_and_come_first(store: RunStore) -> None:
    first, second = store.create(PLAN), store.create(PLAN)
    assert [store.note(run).name for run in (first, second)] == ["toy-toy-1", "toy-toy-2"]
    assert {note.run for note in store.all()} == {first, second}
    assert store.note(first).state == "planned"
    store.rename(first, "  my   run ")
    assert store.note(first).name == "my run"
    assert store.create(PLAN, "mine") in {note.run for note in store.all() if note.name == "mine"}


@pytest.mark.parametrize("name", ["", "   ", "x" * 81])
def test_a_name_is_neither_empty_nor_endless(store: RunStore, name: str) -> None:
    with pytest.raises(RunError, match="characters"):
        checked_name(name)


def test_names_become_file_names() -> None:
    assert file_name("my run / β=1") == "my-run-β-1"
    assert file_name("...") == "run"


def test_a_deleted_run_can_be_brought_back_for_an_hour(store: RunStore) -> None:
    run, other = trained(store), store.create(PLAN)
    before = store.note(run)
    store.delete(run)
    assert [note.run for note in store.all()] == [other]
    store.restore(run)
    assert store.note(run) == before
    with pytest.raises(RunError, match="cannot be brought back"):
        store.restore(run)
    store.delete(run)
    left = store.folder / f".deleted-{run}"
    hours_ago = time.time() - 2 * UNDO_SECONDS
    os.utime(left, (hours_ago, hours_ago))
    assert [note.run for note in store.all()] == [other]
    assert not left.exists()
    with pytest.raises(RunError, match="cannot be brought back"):
        store.restore(run)
    with pytest.raises(RunError, match="does not exist"):
        store.note(run)
    with pytest.raises(RunError, match="does not exist"):
        store.delete(f"../{other}")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format_version": 1}', '{"format_version": 9, "name": "x"}', "\0"])
def test_a_damaged_record_is_named_and_can_be_deleted(store: RunStore, text: str) -> None:
    run, good = store.create(PLAN), store.create(PLAN)
    (store.path(run) / RECORD).write_text(text)
    note = store.note(run)
    assert note.state == "damaged"
    assert RECORD in note.sentence
    assert "\n" not in note.sentence
    assert {each.run for each in store.all()} == {run, good}
    with pytest.raises(RunError):
        train_run(str(store.path(run)))
    store.delete(run)


@pytest.mark.parametrize("text", ["", "null", '{"format_version": 1, "state": 3}', '{"format_version":1,"scores":[1]}'])
def test_a_damaged_state_is_an_interrupted_run_that_goes_on(store: RunStore, text: str) -> None:
    run = trained(store)
    (store.path(run) / STATE).write_text(text)
    assert store.note(run).state == "interrupted"
    train_run(str(store.path(run)), resume=True)
    assert store.note(run).state == "finished"


def test_damaged_curves_and_snapshots_are_refused_in_a_sentence(store: RunStore) -> None:
    run = trained(store)
    (store.path(run) / "model.curves.json").write_text("[")
    with pytest.raises(RunError, match="damaged"):
        store.columns(run)
    step = snapshots.steps(store.path(run))[-1]
    path = store.path(run) / "snapshots" / f"{step:08d}.npz"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(StudioError, match="damaged"):
        snapshots.read(store.path(run), run, step)
    with pytest.raises(StudioError, match="gone"):
        snapshots.read(store.path(run), run, 12345)


def test_a_plan_survives_json_and_becomes_a_command() -> None:
    plan = TrainingPlan(
        "grid", "query", "border:a b.npz", 1, 2.5, "grid-border-16", {"clones": 16, "learning_rate": 0.1}
    )
    assert TrainingPlan.from_json(json.loads(json.dumps(plan.as_json()))) == plan
    assert plan.command("m.safetensors") == (
        "mrfstudio train grid --learner query --data 'border:a b.npz' --clones 16 --learning-rate 0.1 "
        "--max-minutes 2.5 --seed 1 --start-from grid-border-16 --out m.safetensors"
    )
    for broken in ({"model": 3}, {"options": 1}, {"seed": "x"}):
        with pytest.raises((ValueError, TypeError)):
            TrainingPlan.from_json({**plan.as_json(), **broken})


# Two windows ----------------------------------------------------------------------------------------------------------


def test_a_run_belongs_to_the_process_that_holds_its_lock(store: RunStore) -> None:
    run = trained(store)
    place = store.path(run) / LOCK
    assert not is_locked(place)
    lock = try_lock(place)
    assert lock is not None
    assert try_lock(place) is None
    (store.path(run) / STATE).write_text(
        (store.path(run) / STATE).read_text().replace('"state": "finished"', '"state": "running"')
    )
    note = store.note(run)
    assert (note.state, note.elsewhere) == ("running", True)
    with pytest.raises(RunError, match="another window"):
        store.delete(run)
    with pytest.raises(RunError, match="another window"):
        Runs(store).resume(run)
    store.rename(run, "renamed meanwhile")
    lock.release()
    note = store.note(run)
    assert (note.state, note.elsewhere, note.name) == ("interrupted", False, "renamed meanwhile")


# Snapshots ------------------------------------------------------------------------------------------------------------


def test_snapshots_begin_with_nothing_learned_and_end_with_what_is_kept(store: RunStore) -> None:
    run = trained(store, snapshot_seconds=0.0)
    folder = store.path(run)
    steps = snapshots.steps(folder)
    assert steps[0] == 0
    first = load_model(snapshots.parameter_path(folder, 0))
    assert first.tensors["weight"].tolist() == [0.0] * 5
    note = store.note(run)
    best = load_model(snapshots.parameter_path(folder, note.best_step))
    assert best.tensors["weight"].tolist() == load_model(folder / MODEL).tensors["weight"].tolist()


def test_thinning_keeps_both_ends_and_more_of_the_beginning() -> None:
    kept = snapshots.kept(range(0, 10_001, 10), 60)
    assert len(kept) == 60
    assert (kept[0], kept[-1]) == (0, 10_000)
    assert sum(step < 2500 for step in kept) >= 25
    assert snapshots.kept([5, 3], 60) == [3, 5]


# A process of its own -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (TrainingPlan("rbm", "query", "mnist:/nowhere.npz"), "does not exist"),
        (TrainingPlan("grid", "nonsense", "border"), "nonsense"),
        (TrainingPlan("grid", "query", "border", options={"clones": -1}), "clones"),
    ],
)
def test_a_plan_that_cannot_work_is_refused_before_a_process_is_started(
    store: RunStore, plan: TrainingPlan, words: str
) -> None:
    runs = Runs(store)
    with pytest.raises(StudioError, match=words):
        runs.start(plan)
    assert runs.runs() == ()
    assert runs.poll() is None


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_killed_run_is_interrupted_and_goes_on_with_the_same_numbers(store: RunStore, tmp_path: Path) -> None:
    runs = Runs(store, train_toy_run, unchecked, snapshot_seconds=0.0)
    run = runs.start(PLAN, "killed").run
    runs.steer("step")
    until(runs, lambda update: update.note.state == "paused" and update.note.step >= 1)
    with pytest.raises(RunError, match="going on"):
        runs.start(PLAN)
    with pytest.raises(RunError, match="stop it"):
        runs.delete([run])
    runs.change({"learning_rate": 0.02})
    runs.steer("step")
    until(runs, lambda update: update.note.step >= 2 and update.note.options.get("learning_rate") == 0.02)
    assert Runs(store).runs()[0].elsewhere
    assert runs._job is not None
    os.kill(runs._job.process_id, signal.SIGKILL)
    last = until(runs, lambda update: not update.note.active)[-1]
    assert last.note.state == "interrupted"
    assert any("SIGKILL" in notice for notice in last.notices)
    assert runs.poll() is None
    assert not last.gone
    train_run(str(store.path(run)), resume=True)
    assert store.note(run).state == "finished"
    assert store.note(run).options["learning_rate"] == 0.02
    steps = store.columns(run)["step"]
    assert steps.tolist() == list(range(1, 29))


def test_every_step_reaches_the_window_and_the_model_is_handed_over(store: RunStore, home: Path) -> None:
    runs = Runs(store, train_toy_run, unchecked, snapshot_seconds=0.0)
    run = runs.start(PLAN, "watched run").run
    seen = until(runs, lambda update: not update.note.active)
    steps = np.concatenate([update.columns["step"] for update in seen if "step" in update.columns])
    assert steps.tolist() == list(range(1, 29))
    losses = np.concatenate([update.columns["loss"] for update in seen if "loss" in update.columns])
    assert losses.tolist() == store.columns(run)["loss"].tolist()
    assert seen[-1].note.state == "finished"
    view = runs.open(run)
    assert view.snapshots == seen[-1].snapshots
    note = runs.use(run, 0)
    assert note.name == "watched-run-0"
    assert user_models() == ["watched-run-0"]
    assert load_model(note.name).tensors["weight"].tolist() == [0.0] * 5
    assert load_model(runs.use(run).name).tensors["weight"].tolist() != [0.0] * 5
    with pytest.raises(RunError, match="cannot go on: duplicate"):
        runs.resume(run)
    with pytest.raises(RunError, match="No run is going on"):
        runs.steer("pause")
    runs.close()


def test_a_run_that_is_ended_before_its_next_step_stays_as_it_was(store: RunStore) -> None:
    runs = Runs(store, train_toy_run, unchecked, snapshot_seconds=0.0)
    run = runs.start(PLAN, "resumed").run
    runs.steer("step")
    until(runs, lambda update: update.note.step >= 1 and update.note.state == "paused")
    runs.steer("stop")
    reached = until(runs, lambda update: not update.note.active)[-1].note.step
    runs.resume(run)
    runs.cancel()
    last = until(runs, lambda update: not update.note.active)[-1]
    assert not last.gone
    assert [note.run for note in store.all()] == [run]
    assert store.note(run).step == reached
    assert store.note(run).resumable


def test_a_run_that_is_ended_before_its_first_step_stays_until_it_is_deleted(store: RunStore) -> None:
    runs = Runs(store, train_toy_run, unchecked)
    run = runs.start(PLAN, "hasty").run
    runs.cancel()
    last = until(runs, lambda update: not update.note.active)[-1]
    assert not last.gone
    assert [note.run for note in store.all()] == [run]
    runs.delete([run])
    assert store.all() == ()
    runs.restore([run])
    assert [note.run for note in store.all()] == [run]


def test_a_plan_that_is_refused_leaves_nothing_behind(store: RunStore) -> None:
    runs = Runs(store, train_toy_run, unchecked)
    runs.start(TrainingPlan("toy", "toy", "toy", options={"learning_rate": -1}))
    last = until(runs, lambda update: not update.note.active)[-1]
    assert last.gone
    assert any("learning_rate is -1" in notice for notice in last.notices)
    assert store.all() == ()


def test_records_become_columns_with_gaps_where_nothing_was_measured() -> None:
    row = dict.fromkeys(("epoch", "loss", "smoothed_loss", "gradient_norm", "learning_rate"), 1.0)
    row |= {"seconds": 1.0, "images": 50, "images_per_second": None, "state": "running", "extras": {}, "validation": {}}
    messages = [{**row, "step": 1, "extras": {"converged": 0.5}}, {**row, "step": 2, "validation": {"iou": 0.7}}]
    messages += [{**row, "step": 2, "state": "paused"}, {**row, "step": 2, "state": "done"}]
    columns = columns_of(messages)
    assert columns["step"].tolist() == [1, 2]
    assert np.array_equal(columns["converged"], [0.5, np.nan], equal_nan=True)
    assert np.array_equal(columns["validation/iou"], [np.nan, 0.7], equal_nan=True)
    assert np.isnan(columns["images_per_second"]).all()
