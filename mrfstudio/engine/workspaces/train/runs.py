"""Runs on disk, and the one that a child process trains for this window."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mrfstudio.engine.files.atomic import atomic_path
from mrfstudio.engine.files.model_file import read_card, user_models_folder
from mrfstudio.engine.protocol.answers import ModelNote
from mrfstudio.engine.protocol.training import (
    LivePlane,
    ParameterHistory,
    RunNote,
    RunUpdate,
    RunView,
    Snapshot,
    TrainingChoices,
    TrainingPlan,
)
from mrfstudio.engine.runtime.jobs import Job
from mrfstudio.engine.training.runs import live, snapshots
from mrfstudio.engine.training.runs.choices import check_plan, training_choices
from mrfstudio.engine.training.runs.parameters import ParameterHistories
from mrfstudio.engine.training.runs.store import MODEL, RunError, RunStore, file_name

MEASURED = (
    "step",
    "epoch",
    "loss",
    "smoothed_loss",
    "gradient_norm",
    "learning_rate",
    "images",
    "seconds",
    "images_per_second",
)


class Runs:
    """One thread uses it. At most one run is trained for it at a time; others may be looked at meanwhile."""

    def __init__(
        self,
        store: RunStore | None = None,
        function: Callable[..., Any] | None = None,
        check: Callable[[TrainingPlan], None] = check_plan,
        **arguments: Any,
    ) -> None:
        """`function` is what the child runs instead of `train_run`, with `arguments` besides the folder.

        `check` refuses plans before that.
        """
        self.store, self._check = store or RunStore(), check
        self._function, self._arguments = function, arguments
        self._job: Job | None = None
        self._run = ""
        self._new = False  # whether the run was begun here, not resumed
        self._last: dict[str, Any] = {}
        self._histories = ParameterHistories()

    # Questions --------------------------------------------------------------------------------------------------------

    def choices(self) -> TrainingChoices:
        """What a plan can be made of."""
        return training_choices()

    def runs(self) -> tuple[RunNote, ...]:
        """Every run, the newest first."""
        return tuple(self._seen_from_here(note) for note in self.store.all())

    def open(self, run: str) -> RunView:
        """A run as its files tell it."""
        note = self._seen_from_here(self.store.note(run))
        return RunView(note, self.store.columns(run), snapshots.steps(self.store.path(run)))

    def snapshot(self, run: str, step: int) -> Snapshot:
        """The answers and pictures of a step."""
        return snapshots.read(self.store.path(run), run, step)

    def plane(self, run: str, after: int) -> LivePlane | None:
        """The plane of a run that goes on, if it has moved since the step `after`."""
        return live.read(self.store.path(run), after)

    def parameters(self, run: str) -> ParameterHistory:
        """How the parameters of a run have spread out; in the background, one question at a time."""
        return self._histories.of(self.store.path(run))

    def rename(self, run: str, name: str) -> RunNote:
        self.store.rename(run, name)
        return self._seen_from_here(self.store.note(run))

    def delete(self, runs: Sequence[str]) -> None:
        """Take runs away; `restore` brings them back, for an hour."""
        for run in runs:
            if run == self._run:
                raise RunError("This run is being trained: stop it before deleting it.")
            self.store.delete(run)

    def restore(self, runs: Sequence[str]) -> None:
        """Bring back runs that were deleted."""
        for run in runs:
            self.store.restore(run)

    def use(self, run: str, step: int | None = None) -> ModelNote:
        """Hand a model over by a name that every workspace and command knows: that of a step, or the best one."""
        note, folder = self.store.note(run), self.store.path(run)
        known = snapshots.steps(folder)
        if step is None and (note.active or not (folder / MODEL).exists()):
            step = known[-1] if known else None
        source = folder / MODEL if step is None else snapshots.parameter_path(folder, step)
        if not source.exists():
            raise RunError(f"The run {note.name!r} has no model yet: wait for its first step.")
        file = read_card(source)
        step = int(file.card.get("parameters_of_step", file.card["steps"])) if step is None else step
        target = user_models_folder() / f"{file_name(note.name)}-{step}{source.suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(target) as temporary:
            shutil.copyfile(source, temporary)
        return ModelNote(target.stem, file.kind, f"trained here: {note.name}, step {step}")

    # The run of this window -------------------------------------------------------------------------------------------

    def start(self, plan: TrainingPlan, name: str = "") -> RunNote:
        """Begin a new run."""
        self._refuse_second()
        self._check(plan)
        return self._begin(self.store.create(plan, name), resume=False)

    def resume(self, run: str, minutes: float = 0.0) -> RunNote:
        """Go on with a run that was stopped or interrupted, or with one that has ended, which takes more minutes."""
        self._refuse_second()
        note = self.store.note(run)
        if note.active:
            raise RunError(f"The run {note.name!r} is still running in another window: look at it there.")
        if note.extendable and minutes > 0:
            self.store.extend(run, minutes)
        elif not note.resumable:
            raise RunError(f"The run {note.name!r} is {note.state} and cannot go on: duplicate it instead.")
        return self._begin(run, resume=True)

    def steer(self, verb: str) -> None:
        """Have the running run `pause`, `resume`, `step` or `stop`."""
        self._send({"do": verb})

    def change(self, values: Mapping[str, Any]) -> None:
        """Give the running run new values of its learner's parameters."""
        self._send({"do": "change", "values": dict(values)})

    def paint(self, add: Sequence[Sequence[float]], erase: Sequence[Sequence[float]]) -> None:
        """Give the running run more points of the plane, or take some away."""
        self._send({"do": "paint", "add": [list(point) for point in add], "erase": [list(disc) for disc in erase]})

    def _send(self, message: dict[str, Any]) -> None:
        if self._job is None:
            raise RunError("No run is going on here: start one first.")
        self._job.send(message)

    def poll(self) -> RunUpdate | None:
        """Everything that has arrived from the running run; None where there is none. The last one tells its end."""
        job, run = self._job, self._run
        if job is None:
            return None
        ended = job.poll() != "running"
        messages = job.messages()
        notices = [str(message["notice"]) for message in messages if message.get("notice")]
        if messages:
            self._last = messages[-1]
        folder = self.store.path(run)
        if ended:
            notices += [job.error] if job.error and job.error not in notices else []
            self._end()
        note = self._seen_from_here(self.store.note(run))
        # Only Delete takes runs away. A plan that was refused never became one; it is in the window, to be mended.
        gone = ended and job.refused and self._new and note.step == 0
        if gone:
            self.store.delete(run)
        return RunUpdate(
            note=note,
            columns=columns_of(messages),
            snapshots=snapshots.steps(folder) if folder.exists() else (),
            images_per_second=float(self._last.get("images_per_second") or 0.0),
            seconds_left=self._last.get("seconds_left"),
            notices=tuple(notices),
            gone=gone,
        )

    def cancel(self) -> None:
        """End the process at once; what its last checkpoint kept stays, and the run can be resumed from there."""
        if self._job is not None:
            self._job.cancel()

    def close(self) -> None:
        """The window closes: nothing is left running."""
        self._end()

    # Inside -----------------------------------------------------------------------------------------------------------

    def _begin(self, run: str, resume: bool) -> RunNote:
        from mrfstudio.engine.training.runs.child import train_run  # the trainer: later than the first look

        arguments = {"folder": str(self.store.path(run)), "resume": resume, **self._arguments}
        self._job, self._run, self._last = Job(self._function or train_run, arguments), run, {}
        self._new = not resume
        return self._seen_from_here(self.store.note(run))

    def _end(self) -> None:
        job, self._job, self._run = self._job, None, ""
        if job is not None:
            job.close()

    def _refuse_second(self) -> None:
        if self._job is not None:
            name = self.store.note(self._run).name
            raise RunError(f"The run {name!r} is going on: stop it first, or wait for its end.")

    def _seen_from_here(self, note: RunNote) -> RunNote:
        """A run that this window's child trains is not elsewhere, and runs for as long as that process lives."""
        if note.run != self._run:
            return note
        return replace(note, state="paused" if note.state == "paused" else "running", elsewhere=False)


def columns_of(messages: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """The rows of curves in the records of a run; one that repeats a step with a validation is a row too."""
    rows = [m for m in messages if m["state"] == "running" or (m["state"] == "done" and m["validation"])]
    flat = [
        {**{name: row[name] for name in MEASURED}, **row["extras"]}
        | {f"validation/{name}": value for name, value in row["validation"].items()}
        for row in rows
    ]
    names = list(dict.fromkeys(name for row in flat for name in row))
    return {name: np.array([_number(row.get(name)) for row in flat]) for name in names}


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
