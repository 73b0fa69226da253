"""All that a run needs to go on, in one file: `NAME.train.safetensors`.

Batches and random draws are functions of (seed, step), so beside the tensors only counters are saved. Floats survive
JSON and float64 tensors unchanged, hence a resumed run gives the same numbers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from mrfstudio.engine.files.model_file import ModelFileError, beside, load_model, save_model
from mrfstudio.engine.learning.contract import Learner, TrainableModel, TrainingData
from mrfstudio.engine.learning.curves import Curves
from mrfstudio.engine.learning.progress import TrainingError

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
    except (KeyError, TypeError, ValueError) as problem:
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
