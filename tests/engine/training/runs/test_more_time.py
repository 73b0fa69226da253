"""A run that has ended is given more time; what was changed on the way is remembered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mrfstudio.engine.protocol.training import LearnerChange, TrainingPlan
from mrfstudio.engine.training.runs.child import train_run
from mrfstudio.engine.training.runs.store import RunError, RunStore, read_state, write_state
from mrfstudio.engine.workspaces.train.runs import Runs
from tests.engine.helpers.toy import REGISTRIES

OPTIONS: dict[str, Any] = {"batch_size": 16, "epochs": 4, "validate_every": 7}
PLAN = TrainingPlan("toy", "toy", "toy", seed=3, options=OPTIONS)


@pytest.fixture(autouse=True)
def toy_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for registry, part in REGISTRIES:
        registry.load_all()
        monkeypatch.setitem(registry._entries, "toy", part)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")


def at_look(number: int, *commands: dict[str, Any]) -> Callable[[], list[dict[str, Any]]]:
    """A poll that gives commands at its look with this number; there is one before every step."""
    looks = iter(range(1, 10**6))
    return lambda: list(commands) if next(looks) == number else []


def test_a_finished_run_goes_on_where_it_ended(store: RunStore) -> None:
    run = store.create(PLAN)
    train_run(str(store.path(run)))
    note, before = store.note(run), store.columns(run)["loss"].tolist()
    assert (note.state, note.step, note.extendable, note.resumable) == ("finished", 28, True, False)
    store.extend(run, 5.0)
    train_run(str(store.path(run)), resume=True, poll=at_look(13, {"do": "stop"}))
    after = store.note(run)
    assert (after.state, after.step) == ("stopped", 40)
    assert after.total_steps > 28
    assert after.plan.minutes is not None
    assert after.plan.minutes * 60 >= note.seconds + 299
    losses = store.columns(run)["loss"].tolist()
    assert len(losses) == 40
    assert losses[:28] == before


def test_one_that_stopped_early_does_not_stop_again_at_once(store: RunStore) -> None:
    run = store.create(TrainingPlan("toy", "toy", "toy", options={**OPTIONS, "patience": 2}))
    train_run(str(store.path(run)), poll=at_look(9, {"do": "stop"}))
    write_state(store.path(run), {**read_state(store.path(run)), "state": "early"})
    store.extend(run, 1.0)
    assert store.plan(run).options["patience"] == 0


def test_only_runs_that_ended_as_planned_are_extended(store: RunStore) -> None:
    run = store.create(PLAN)
    train_run(str(store.path(run)))
    runs = Runs(store)
    with pytest.raises(RunError, match="duplicate it"):
        runs.resume(run)  # for no minutes
    write_state(store.path(run), {**read_state(store.path(run)), "state": "diverged"})
    with pytest.raises(RunError, match="duplicate it"):
        runs.resume(run, 2.0)


def test_changes_are_remembered_with_their_step_also_over_a_resume(store: RunStore) -> None:
    run = store.create(PLAN)
    change = {"do": "change", "values": {"learning_rate": 0.25}}
    train_run(str(store.path(run)), poll=at_look(6, change))
    wanted = (LearnerChange(6, "learning_rate", 0.25),)
    assert store.note(run).changes == wanted
    store.extend(run, 1.0)
    train_run(str(store.path(run)), resume=True, poll=at_look(3, {"do": "stop"}))
    assert store.note(run).changes[:1] == wanted
    assert [change.name for change in store.note(run).changes[1:]] == ["epochs"]  # that is what more time is


def test_damaged_changes_are_left_out(store: RunStore) -> None:
    run = store.create(PLAN)
    train_run(str(store.path(run)))
    written = [["x", "rate", 1], [3], 7, [4, "rate", 0.5]]
    write_state(store.path(run), {**read_state(store.path(run)), "changes": written})
    assert store.note(run).changes == (LearnerChange(4, "rate", 0.5),)
