"""Runs on disk: one folder each, whole after any crash, shared by all windows.

    RUN/run.json               name, plan and when it was made; written by windows
    RUN/state.json             how far it is and how it ended; written by the training process
    RUN/lock                   locked for as long as a process trains it
    RUN/model.safetensors      the best model so far, with card, curves and training state beside it
    RUN/snapshots/             parameters, answers and pictures of some steps

A file is either wholly there or not at all. A run that says it is running while nobody holds its lock was interrupted.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.engine.files.atomic import write_text
from mrfstudio.engine.files.distrust import Distrusted, read_json
from mrfstudio.engine.files.lock import is_locked
from mrfstudio.engine.files.model_file import SUFFIX, beside, finite
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.training import ACTIVE, LearnerChange, RunNote, TrainingPlan
from mrfstudio.places import user_folder

FORMAT_VERSION = 1
RECORD, STATE, LOCK, MODEL = "run.json", "state.json", "lock", f"model{SUFFIX}"
GONE = ".deleted-"
UNDO_SECONDS = 3600.0
"""For so long a deleted run can be brought back; the next window that lists runs then removes it."""
LONGEST_NAME = 80
MOST_CHANGES = 1000
LARGEST_RECORD = 2**20
"""Bytes of `run.json` and `state.json`, which have a few hundred."""


class RunError(StudioError):
    """A run that cannot be read, changed or started. The message is one sentence for a person."""


class RunStore:
    """All runs of a person. Nothing is kept in memory: several windows may use the same folder."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = user_folder("runs") if folder is None else Path(folder)

    def path(self, run: str) -> Path:
        """The folder of a run that exists."""
        path = self.folder / run
        if run != path.name or not path.is_dir():
            raise RunError(f"The run {run!r} does not exist: it may have been deleted in another window.")
        return path

    def create(self, plan: TrainingPlan, name: str = "") -> str:
        """A new run; returns its identity, which is also the name of its folder."""
        name = checked_name(name) if name else self._free_name(plan)
        now = datetime.datetime.now()
        run = f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
        try:
            (self.folder / run).mkdir(parents=True)
            made = now.isoformat(timespec="seconds")
            _write(self.folder / run / RECORD, {"name": name, "made": made, "plan": plan.as_json()})
        except OSError as problem:
            raise RunError(f"{self.folder} cannot be written: {problem.strerror or problem}.") from problem
        return run

    def all(self) -> tuple[RunNote, ...]:
        """Every run, the newest first; one whose files are damaged is among them and says so."""
        if not self.folder.is_dir():
            return ()
        names = sorted((path.name for path in self.folder.iterdir() if path.is_dir()), reverse=True)
        self._finish_deleting(names)
        return tuple(self.note(name) for name in names if not name.startswith("."))

    def note(self, run: str) -> RunNote:
        """One run as it stands on disk now."""
        folder = self.path(run)
        try:
            record = _read(folder / RECORD)
            plan, name = TrainingPlan.from_json(record["plan"]), str(record["name"])
        except Exception as problem:  # it may be anything, and must not hide the other runs
            why = str(problem) if isinstance(problem, RunError) else f"{folder / RECORD} does not describe a run."
            return RunNote(run, run, TrainingPlan("", "", ""), "damaged", sentence=why)
        note = RunNote(run, name, plan, "planned", str(record.get("made", "")))
        return _with_state(note, folder)

    def plan(self, run: str) -> TrainingPlan:
        """What a run does."""
        note = self.note(run)
        if note.state == "damaged":
            raise RunError(note.sentence)
        return note.plan

    def rename(self, run: str, name: str) -> None:
        """Give a run another name; it may go on meanwhile."""
        path = self.path(run) / RECORD
        _write(path, {**_read(path), "name": checked_name(name)})

    def extend(self, run: str, minutes: float) -> None:
        """Give a run that has ended more time: its plan then ends so many minutes later, and by nothing else."""
        path, note = self.path(run) / RECORD, self.note(run)
        spent = max(note.seconds, 1.0)
        longer = spent + 60.0 * minutes
        options = dict(note.plan.options)
        if "epochs" in note.options and note.total_steps:
            done = float(note.options["epochs"]) * note.step / note.total_steps
            options["epochs"] = max(float(note.options["epochs"]), round(2.0 * done * longer / spent, 3))
        if note.state == "early":
            options["patience"] = 0
        plan = replace(note.plan, minutes=round(longer / 60.0, 2), options=options)
        _write(path, {**_read(path), "plan": plan.as_json()})

    def delete(self, run: str) -> None:
        """Take away a run that nobody trains, at once for everybody who looks; for an hour it can be restored."""
        folder = self.path(run)
        if is_locked(folder / LOCK):
            raise RunError("This run is still running in another window: stop it there before deleting it.")
        os.utime(folder)  # from now on the hour counts
        folder.rename(self.folder / f"{GONE}{run}")

    def restore(self, run: str) -> None:
        """Bring back a run that was deleted."""
        gone, folder = self.folder / f"{GONE}{run}", self.folder / run
        if run != folder.name or not gone.is_dir() or folder.exists():
            raise RunError(f"The run {run!r} cannot be brought back: it was deleted more than an hour ago.")
        gone.rename(folder)

    def columns(self, run: str) -> dict[str, np.ndarray]:
        """The curves of a run as its last checkpoint wrote them; none before the first."""
        path = beside(self.path(run) / MODEL, ".curves.json")
        if not path.exists():
            return {}
        try:
            columns = read_json(path)["columns"]
            found = {str(name): np.array(values, dtype=np.float64) for name, values in columns.items()}
            if len({column.shape for column in found.values()}) > 1 or any(c.ndim != 1 for c in found.values()):
                raise ValueError("columns of different lengths")
            return found
        except Exception as problem:  # it may be anything
            raise RunError(f"{path} is damaged: the curves of this run cannot be shown.") from problem

    def _free_name(self, plan: TrainingPlan) -> str:
        stem = f"{plan.model}-{plan.learner}"
        taken = {note.name for note in self.all()}
        return next(name for number in range(1, len(taken) + 2) if (name := f"{stem}-{number}") not in taken)

    def _finish_deleting(self, names: list[str]) -> None:
        for path in (self.folder / name for name in names if name.startswith(GONE)):
            try:
                old = time.time() - path.stat().st_mtime > UNDO_SECONDS
            except FileNotFoundError:
                continue  # another window was faster
            if old:
                shutil.rmtree(path, ignore_errors=True)


def checked_name(name: str) -> str:
    """A name without spaces at its ends, neither empty nor endless."""
    name = " ".join(name.split())
    if not 0 < len(name) <= LONGEST_NAME:
        raise RunError(f"The name has {len(name)} characters: expected 1 to {LONGEST_NAME}.")
    return name


def file_name(name: str) -> str:
    """A name as a file or a command line can have it."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"


def write_state(folder: Path, state: Mapping[str, Any]) -> None:
    """Tell how far a run is; only the process that trains it does."""
    _write(folder / STATE, state)


def read_state(folder: Path) -> dict[str, Any]:
    """What `write_state` told last; nothing where that is missing or damaged."""
    try:
        return _read(folder / STATE)
    except RunError:
        return {}


def _with_state(note: RunNote, folder: Path) -> RunNote:
    locked = is_locked(folder / LOCK)
    if not (folder / STATE).exists():
        return replace(note, state="running" if locked else "planned", elsewhere=locked)
    try:
        known = _read(folder / STATE)
        found = {name: _number(known[name]) for name in ("step", "total_steps", "seconds", "best_step")}
        scores = {str(key): float(value) for key, value in known["scores"].items() if value is not None}
        state = str(known["state"])
    except Exception:  # it may be anything
        sentence = f"{folder / STATE} is damaged: what the run had reached is read from its checkpoint when it goes on."
        return replace(note, state="running" if locked else "interrupted", sentence=sentence, elsewhere=locked)
    if state in ACTIVE and not locked:
        state = "interrupted"
    texts: dict[str, Any] = {name: str(known.get(name, "")) for name in ("sentence", "better", "loss_unit")}
    options = known.get("options")
    texts["options"] = options if isinstance(options, dict) else {}
    texts["changes"] = _changes(known.get("changes"))
    return replace(note, state=state, scores=scores, elsewhere=locked, **found, **texts)


def _changes(written: Any) -> tuple[LearnerChange, ...]:
    """What was changed while a run went on; entries that make no sense are left out."""
    entries = written if isinstance(written, list) else []
    whole = (each for each in entries[:MOST_CHANGES] if isinstance(each, list) and len(each) == 3)
    return tuple(LearnerChange(step, str(name), value) for step, name, value in whole if isinstance(step, int))


def _number(value: Any) -> Any:
    """A number as it was written; None where a step is not known."""
    if value is not None and (not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > 2**53):
        raise ValueError(f"{str(value)[:20]} is no number of steps or seconds")
    return value


def _write(path: Path, value: Mapping[str, Any]) -> None:
    plain = finite({"format_version": FORMAT_VERSION, **value})
    write_text(path, json.dumps(plain, indent=1, allow_nan=False) + "\n")


def _read(path: Path) -> dict[str, Any]:
    try:
        value = read_json(path, LARGEST_RECORD)
    except OSError as problem:
        raise RunError(f"{path} cannot be read: {problem.strerror or problem}.") from problem
    except Distrusted as problem:
        raise RunError(f"{path} is damaged: {problem}.") from problem
    except ValueError as problem:
        raise RunError(f"{path} is damaged: it is not JSON.") from problem
    if not isinstance(value, dict):
        raise RunError(f"{path} is damaged: expected a JSON object.")
    version = value.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise RunError(f"{path} has format version {str(version)[:20]}: this program reads up to {FORMAT_VERSION}.")
    return value
