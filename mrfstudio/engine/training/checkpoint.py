"""All that a run needs to go on, in one file, `NAME.train.safetensors`; its curves; and when both are written.

Batches and random draws are functions of (seed, step), so beside the tensors only counters are saved. Floats survive
JSON and float64 tensors unchanged, hence a resumed run gives the same numbers.
"""

from __future__ import annotations

import json
import math
import os
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.files.atomic import remove_leftovers, write_text
from mrfstudio.engine.files.model_file import ModelFileError, beside, load_model, save_model
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.training.learner import Learner, TrainableModel, TrainingData
from mrfstudio.engine.training.progress import Progress, TrainingError

CHANCE = ("seconds", "images_per_second")
"""Columns that differ between two runs of the same numbers."""

COLUMNS = ("step", "epoch", "loss", "smoothed_loss", "gradient_norm", "learning_rate", "images", *CHANCE)
VALIDATION = "validation/"


class Curves:
    """Columns of equal length. What was not measured in a step is NaN here, empty in CSV and null in JSON."""

    def __init__(self) -> None:
        self.columns: dict[str, array[float]] = {name: array("d") for name in COLUMNS}

    def __len__(self) -> int:
        return len(self.columns["step"])

    def append(self, record: Progress) -> None:
        """Add the record of a step."""
        for name in COLUMNS:
            self.columns[name].append(getattr(record, name))
        self._write_last(record)

    def annotate(self, record: Progress) -> None:
        """Add what was measured later to the last row."""
        self._write_last(record)

    def _write_last(self, record: Progress) -> None:
        named = dict(record.extras) | {VALIDATION + name: value for name, value in record.validation.items()}
        for name in named:
            if name not in self.columns:
                self.columns[name] = array("d")
        for name, column in self.columns.items():
            if name not in COLUMNS:
                column.extend([math.nan] * (len(self) - len(column)))
                if name in named:
                    column[-1] = named[name]

    def csv(self) -> str:
        """A header and one line a step; numbers in full, so that reading gives the same ones."""
        lines = [",".join(self.columns)]
        lines += [",".join(map(_cell, row)) for row in zip(*self.columns.values(), strict=True)]
        return "\n".join(lines) + "\n"

    def json(self, loss_unit: str) -> str:
        """One object: the unit of the loss and the columns by name."""
        columns = {name: [_number(value) for value in column] for name, column in self.columns.items()}
        return json.dumps({"loss_unit": loss_unit, "columns": columns}, allow_nan=False) + "\n"

    def write(self, model_path: str | os.PathLike[str], loss_unit: str) -> None:
        """Write `NAME.curves.csv` and `NAME.curves.json` beside a model file."""
        write_text(beside(model_path, ".curves.csv"), self.csv())
        write_text(beside(model_path, ".curves.json"), self.json(loss_unit))

    def tensor(self) -> Tensor:
        """All columns as (column, step) in float64, which keeps every bit."""
        return torch.from_numpy(np.stack([np.array(column) for column in self.columns.values()]))

    @classmethod
    def from_tensor(cls, names: Sequence[str], values: Tensor) -> Curves:
        """The inverse of `tensor`: values (column, step)."""
        curves = cls()
        rows = to_host(values.double())
        found = {name: array("d", row.tobytes()) for name, row in zip(names, rows, strict=True)}
        # A run of an older version may lack a column: nothing was measured then.
        unknown = array("d", [math.nan] * rows.shape[1])
        curves.columns = {name: found.pop(name, unknown[:]) for name in COLUMNS} | found
        return curves


def _number(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _cell(value: float) -> str:
    number = _number(value)
    return "" if number is None else repr(number)


KIND = "training-state"
COUNTERS = ("step", "items", "seconds", "running_loss", "best_score", "best_step", "best_validation", "waited")


@dataclass
class TrainingState:
    """Where a run stands after `step` steps.

    `identity` is what must be the same when it goes on; `options` are the learner's parameters as the run was started,
    `changes` those that were changed while it ran. `seconds` do not count pauses. `running_loss` belongs to the
    smoothed loss, `waited` counts the validations since the best one.
    """

    identity: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)
    step: int = 0
    items: int = 0
    seconds: float = 0.0
    running_loss: float = 0.0
    best_score: float | None = None
    best_step: int = 0
    best_validation: dict[str, float] = field(default_factory=dict)
    waited: int = 0
    parameters: dict[str, Tensor] = field(default_factory=dict)
    moments: dict[str, Tensor] = field(default_factory=dict)
    average: dict[str, Tensor] = field(default_factory=dict)
    best: dict[str, Tensor] = field(default_factory=dict)
    learner: dict[str, Tensor] = field(default_factory=dict)
    curves: Curves = field(default_factory=Curves)


GROUPS = ("parameters", "moments", "average", "best", "learner")


def training_path(model_path: str | os.PathLike[str]) -> Path:
    """Where the training state of a model file lies."""
    return beside(model_path, ".train.safetensors")


def identity(model: TrainableModel, learner: Learner, data: TrainingData, seed: int) -> dict[str, Any]:
    """What must be the same when a run goes on: with anything else the numbers so far would make no sense."""
    return {
        "model": model.kind,
        "tensors": {name: list(tensor.shape) for name, tensor in model.tensors().items()},
        "learner": learner.name,
        "optimiser": learner.optimiser,
        "seed": seed,
        "batch_size": learner.batch_size,
        "training_items": len(data.train),
    }


def save_state(path: Path, state: TrainingState) -> None:
    """Write the state atomically."""
    tensors = {f"{group}/{name}": tensor for group in GROUPS for name, tensor in getattr(state, group).items()}
    tensors["curves"] = state.curves.tensor()
    card = {name: getattr(state, name) for name in ("identity", "options", "changes")}
    card["counters"] = {name: getattr(state, name) for name in COUNTERS}
    card["curve_columns"] = list(state.curves.columns)
    save_model(path, KIND, tensors, card)


def load_state(path: Path, identity: Mapping[str, Any]) -> TrainingState:
    """Read a state and check that it belongs to this run."""
    file = load_model(path, KIND)
    try:
        state = TrainingState(
            identity=dict(file.card["identity"]),
            options=dict(file.card["options"]),
            changes=dict(file.card["changes"]),
            curves=Curves.from_tensor(file.card["curve_columns"], file.tensors["curves"]),
            **{name: file.card["counters"][name] for name in COUNTERS},
        )
    except Exception as problem:  # a card may say anything
        raise ModelFileError(f"{path} is damaged: a part of the training state is missing ({problem}).") from problem
    for name, expected in identity.items():
        found = state.identity.get(name)
        if found != expected:
            raise TrainingError(
                f"{path} cannot be resumed: its {name.replace('_', ' ')} is {found!r} and this run's is {expected!r}."
            )
    for name, tensor in file.tensors.items():
        group, _, rest = name.partition("/")
        if group in GROUPS:
            getattr(state, group)[rest] = tensor
    return state


def merged_options(given: Mapping[str, Any], state: TrainingState) -> dict[str, Any]:
    """The learner's parameters to go on with: changes made during the run hold unless the person says otherwise."""
    kept = {name: value for name, value in state.changes.items() if given.get(name) == state.options.get(name)}
    return {**given, **kept}


# Files ----------------------------------------------------------------------------------------------------------------


# Curves of a long run take a second to write as text; that may cost this part of the time and no more. The state holds
# them too, so nothing is lost by a kill.
CURVES_SHARE = 0.01


class RunFiles:
    """Keeps state and curves beside one model file; without a path, or in another process than the first, nothing."""

    def __init__(
        self, model_path: Path | None, writes: bool, every: float, clock: Callable[[], float], loss_unit: str
    ) -> None:
        self.model_path = model_path
        self._writes = writes and model_path is not None
        self._every, self._clock, self._loss_unit = every, clock, loss_unit
        # Due after the first step: a run that is killed in its first minute can be resumed too.
        self._next = -math.inf
        self._next_curves = -math.inf

    def find(self, same: Mapping[str, Any]) -> TrainingState | None:
        """The saved state of a run with the identity `same`; None if it never came to its first checkpoint."""
        if self.model_path is None:
            raise TrainingError("This run keeps no files: to resume, give the model file that it writes.")
        path = training_path(self.model_path)
        if path.exists():
            return load_state(path, same)
        if self.model_path.exists():
            raise TrainingError(
                f"{self.model_path} exists without its training state {path.name}: expected both to resume; "
                "train without resuming, or start from that model."
            )
        return None

    def tidy(self) -> None:
        """Remove what a killed run left half written."""
        if self._writes and self.model_path is not None:
            remove_leftovers(training_path(self.model_path))
            remove_leftovers(self.model_path)

    @property
    def due(self) -> bool:
        return self._clock() >= self._next

    def save(self, state: TrainingState, more: Callable[[], None] | None = None) -> str:
        """Write the state, then `more`, then the curves. A failure does not end the run: it is told in a sentence."""
        self._next = self._clock() + self._every
        if not self._writes or self.model_path is None:
            return ""
        try:
            save_state(training_path(self.model_path), state)
            if more is not None:
                more()
        except (OSError, ModelFileError) as problem:
            return f"The checkpoint of step {state.step} was not saved: {problem}"
        return self.write_curves(state) if self._clock() >= self._next_curves else ""

    def write_curves(self, state: TrainingState) -> str:
        """Write the curves alone; a failure is returned as a sentence."""
        if self._writes and self.model_path is not None and state.step:
            began = self._clock()
            try:
                state.curves.write(self.model_path, self._loss_unit)
            except OSError as problem:
                return f"The curves of step {state.step} were not saved: {problem}"
            now = self._clock()
            self._next_curves = now + (now - began) / CURVES_SHARE
        return ""
