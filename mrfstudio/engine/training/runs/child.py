"""What the process of a run does: `train_command`, with snapshots and a state file for the windows.

This module loads no torch by itself: the lock is taken first, so that no second window can start the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrfstudio.engine.files.lock import try_lock
from mrfstudio.engine.files.model_file import finite
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training.runs.store import LOCK, MODEL, RunError, RunStore, read_state, write_state

if TYPE_CHECKING:
    from torch import Tensor

    from mrfstudio.engine.training.learner import Learner, TrainingData
    from mrfstudio.engine.training.progress import Progress
    from mrfstudio.engine.training.trainer import Trainer

LOCK_SECONDS = 2.0
"""A window that looks whether somebody holds the lock holds it for a moment itself."""
STATE_SECONDS = 1.0
SNAPSHOT_SECONDS = 3.0
SNAPSHOT_SHARE = 0.08
"""The most that answering and drawing may take of the time of training."""
LIVE_SECONDS = 0.04
"""Between two pictures of the plane: as often as a screen shows them, where steps are quick."""
LIVE_SHARE = 0.4
"""The most that the plane may take: a person paints in it, and watches every step."""
CHECKPOINT_SECONDS = 10.0
"""What a kill may cost; a checkpoint of the models here takes some hundredths of a second."""


def train_run(
    folder: str,
    resume: bool = False,
    report: Callable[[dict[str, Any]], None] | None = None,
    poll: Callable[[], list[dict[str, Any]]] = list,
    snapshot_seconds: float = SNAPSHOT_SECONDS,
) -> dict[str, Any]:
    """Train the run in this folder to its end, or go on with it."""
    path = Path(folder)
    lock = try_lock(path / LOCK, LOCK_SECONDS)
    if lock is None:
        raise RunError("This run is still running in another window: look at it there.")
    try:
        return _train(path, resume, report, poll, snapshot_seconds)
    finally:
        lock.release()


def _train(
    path: Path, resume: bool, report: Any, poll: Callable[[], list[dict[str, Any]]], snapshot_seconds: float
) -> dict[str, Any]:
    plan = RunStore(path.parent).plan(path.name)
    watcher = RunWriter(path, snapshot_seconds, read_state(path) if resume else None)
    watcher.tell("running")
    from mrfstudio.engine.training.command import train_command
    from mrfstudio.engine.training.runs import live

    live.remove(path)
    try:
        result = train_command(
            plan.model,
            plan.learner,
            plan.data,
            path / MODEL,
            resume=resume,
            max_minutes=plan.minutes,
            seed=plan.seed,
            start_from=plan.start_from or None,
            command=plan.command(),
            report=None if report is None else _without_repetitions(report),
            watch=watcher,
            poll=poll,
            checkpoint_seconds=CHECKPOINT_SECONDS,
            **plan.options,
        )
    except Exception as problem:
        sentence = str(problem) if isinstance(problem, StudioError) else f"{type(problem).__name__}: {problem}"
        watcher.tell("failed", sentence)
        raise
    live.remove(path)
    watcher.tell(result["reason"], result["sentence"])
    return result


def _without_repetitions(report: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """Pass records on; a paused trainer says so twenty times a second, and once is enough."""
    before: list[tuple[str, int]] = []

    def pass_on(record: dict[str, Any]) -> None:
        now = [(record["state"], record["step"])]
        if record["state"] != "paused" or record["notice"] or now != before:
            report(record)
        before[:] = now

    return pass_on


class RunWriter:
    """Follows a trainer: writes the state about every second and a snapshot every few."""

    def __init__(
        self, folder: Path, snapshot_seconds: float = SNAPSHOT_SECONDS, reached: Mapping[str, Any] | None = None
    ) -> None:
        """`reached` is the state of a run that goes on: what it said stays true until the next step."""
        self._folder, self._every = folder, snapshot_seconds
        self._items: Mapping[str, Tensor] | None = None
        self._data: TrainingData | None = None
        self._moving = False
        self._next_state = self._next_snapshot = self._next_live = 0.0
        self._snapped = -1
        self._state = ""
        self._known: dict[str, Any] = {"step": 0, "total_steps": 0, "seconds": 0.0, "best_step": 0, "scores": {}}
        self._known |= reached or {}
        self._options: Mapping[str, Any] | None = self._known.get("options")
        self._changes: list[list[Any]] = list(self._known.get("changes") or [])

    def __call__(self, trainer: Trainer, record: Progress | None) -> None:
        now = time.monotonic()
        state = "running" if record is None or record.state == "done" else record.state
        self._learn(trainer)
        if state != self._state or now >= self._next_state or (record is not None and record.validation):
            self.tell(state)
        ended = record is not None and record.state == "done"
        step = trainer.state.best_step if ended and trainer.state.best else trainer.state.step
        paused = state == "paused" and step != self._snapped
        if ended or paused or now >= self._next_snapshot:
            self._snap(trainer, step, ended)
            self._next_snapshot = now + max(self._every, (time.monotonic() - now) / SNAPSHOT_SHARE)
        elif self._moving and state == "running" and now >= self._next_live:
            self._draw(trainer)
            self._next_live = now + max(LIVE_SECONDS, (time.monotonic() - now) / LIVE_SHARE)

    def tell(self, state: str, sentence: str = "") -> None:
        """Write the state file."""
        self._state = state
        self._next_state = time.monotonic() + STATE_SECONDS
        write_state(self._folder, {**self._known, "state": state, "sentence": sentence})

    def _learn(self, trainer: Trainer) -> None:
        state, learner = trainer.state, trainer.learner
        self._note_changes(state.step, finite(learner.values()))
        self._known = {
            "step": state.step,
            "total_steps": trainer.total_steps,
            "seconds": state.seconds,
            "best_step": state.best_step,
            "scores": monitored_first(state.best_validation, learner),
            "better": learner.better,
            "loss_unit": learner.loss_unit,
            "options": learner.values(),
            "changes": self._changes,
        }

    def _note_changes(self, step: int, options: Mapping[str, Any]) -> None:
        """Remember what of the learner is different now, for the marks on the curves."""
        before = self._options
        if before is not None:
            different = (name for name, value in options.items() if name in before and before[name] != value)
            self._changes += [[step, name, options[name]] for name in different]
        self._options = options

    def _snap(self, trainer: Trainer, step: int, ended: bool) -> None:
        """Write what the model is now; `step` is the one whose parameters it holds."""
        if step == self._snapped:
            return
        from mrfstudio.engine.training.runs import snapshots
        from mrfstudio.engine.training.showing import show
        from mrfstudio.engine.training.stepper import exchanged

        self._snapped = step
        model, state = trainer.model, trainer.state
        card = {
            "hyperparameters": model.hyperparameters(),
            "data": trainer.data.name,
            "learner": trainer.learner.name,
            "seed": trainer.seed,
            "steps": step,
            "training_seconds": round(state.seconds, 1),
            "scores": {"validation": dict(state.best_validation)} if state.best_step == step else {},
        }
        # Averaged parameters, where a learner averages them, are what it validates and keeps.
        with exchanged(model.tensors(), {} if ended else state.average):
            shown = show(model, trainer.learner, self._asked(trainer))
            self._moving = shown.plane is not None
            snapshots.write(self._folder, step, state.seconds, shown, model.kind, model.tensors(), card)

    def _asked(self, trainer: Trainer) -> Mapping[str, Tensor]:
        """The items that every picture is about, by name; others once a person has painted."""
        from mrfstudio.engine.training.showing import fixed_items

        if self._items is None or self._data is not trainer.data:
            self._items, self._data = fixed_items(trainer.data), trainer.data
        return self._items

    def _draw(self, trainer: Trainer) -> None:
        """Show the plane as it is after this step, with the parameters that learn."""
        from mrfstudio.engine.training.runs import live
        from mrfstudio.engine.training.showing import plane_of

        plane = plane_of(trainer.model, trainer.learner, self._asked(trainer), live.SIDE)
        if plane is not None:
            live.write(self._folder, trainer.state.step, plane)


def monitored_first(scores: Mapping[str, float], learner: Learner) -> dict[str, float]:
    """The metrics with the one that selects the best parameters in front."""
    first = [name for name in (learner.monitor,) if name in scores]
    return {name: scores[name] for name in (*first, *scores)}
