"""Training as the command line and the window run it: from names and options to a model file with its card."""

from __future__ import annotations

import datetime
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch

from mrfstudio import __version__
from mrfstudio.engine.data.dataset import DataChoice, Splits, parse_data
from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.files.model_card import write_card
from mrfstudio.engine.files.model_file import SUFFIX, ModelFileError, finite, load_model, read_card, save_model
from mrfstudio.engine.protocol.catalogue import Field, Parameters, ending
from mrfstudio.engine.registry import LEARNERS, MODELS
from mrfstudio.engine.runtime.memory import keep_freed_memory
from mrfstudio.engine.training.control import Control, Poll, no_commands
from mrfstudio.engine.training.learner import Learner, TensorSource, TrainableModel, TrainingData
from mrfstudio.engine.training.parallel import process_group, started_rank
from mrfstudio.engine.training.progress import Progress, TrainingError, with_bar
from mrfstudio.engine.training.trainer import CHECKPOINT_SECONDS, Trainer

# Where data come without a validation split, the last tenth of the training items is held out, and no more than this.
MOST_HELD_OUT = 2000
# The command's own --seed is that of the training; these are given by name, not as options of a part.
RESERVED = ("seed",)

Report = Callable[[dict[str, Any]], None]
Watch = Callable[[Trainer, Progress | None], None]
"""Called with the trainer before the first step (no record yet, and not when resuming) and after every record."""


@dataclass(frozen=True)
class Plan:
    """The chosen parts of a run, before anything is loaded."""

    model: type[ModelPlan]
    learner: type[Learner]
    data: DataChoice
    data_text: str

    @property
    def parts(self) -> tuple[type[Parameters], ...]:
        return self.model, self.learner, self.data.dataset

    def fields(self) -> dict[str, Field]:
        """Every option of model, learner and data set by name; where two parts share one, the first describes it."""
        found: dict[str, Field] = {}
        for part in self.parts:
            for field in part.fields():
                if field.name not in RESERVED:
                    found.setdefault(field.name, field)
        return found

    @property
    def learner_defaults(self) -> dict[str, Any]:
        """What the model would have the learner do where nothing else is said."""
        return dict(self.model.learner_defaults.get(self.learner.name, {}))

    @property
    def data_defaults(self) -> dict[str, Any]:
        """The same for the data set."""
        return dict(self.model.data_defaults.get(self.data.dataset.name, {}))

    def options_of(self, part: type[Parameters], options: Mapping[str, Any]) -> dict[str, Any]:
        names = {field.name for field in part.fields()} - set(RESERVED)
        return {name: value for name, value in options.items() if name in names}


def training_plan(model_name: str, learner_name: str | None = None, data: str | None = None) -> Plan:
    """Look the names up; without learner or data, those that the model names as its usual ones."""
    model = MODELS[model_name]
    learner = LEARNERS[learner_name or model.default_learner]
    if not model.trainable():
        able = ", ".join(cls.name for cls in MODELS if cls.trainable()) or "none"
        raise TrainingError(f"The model {model_name!r} cannot be trained: expected one of {able}.")
    text = data or model.default_data
    if not text:
        raise TrainingError(f"Training {model_name!r} needs data: add --data NAME[:PATH].")
    return Plan(model, cast("type[Learner]", learner), parse_data(text), text)


def train_command(
    model_name: str,
    learner_name: str | None = None,
    data: str | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    resume: bool = False,
    max_minutes: float | None = None,
    seed: int = 0,
    start_from: str | None = None,
    command: str = "",
    bar: bool = False,
    report: Report | None = None,
    watch: Watch | None = None,
    poll: Poll = no_commands,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    **options: Any,
) -> dict[str, Any]:
    """Train a model and write `out`, its card, its curves and its training state.

    Started by torchrun, every process calls this, and only the first one writes, shows and reports.

    Returns `model` (its path), `sentence`, `reason`, `step`, `epoch`, `items`, `seconds`, `kept_step` and `scores`.

    `options` are those of model, learner and data set by name, such as `clones=16, epochs=2`. `start_from` is a model
    file or shipped model whose tensors are the start. `bar` shows progress in the terminal, where Ctrl+C then means
    to stop and save; `report` gets every record as plain values, `watch` the trainer itself. `max_minutes` counts from
    this call.
    """
    began = time.monotonic()
    plan = training_plan(model_name, learner_name, data)
    path = Path(f"{model_name}-{plan.learner.name}{SUFFIX}" if out is None else out)
    first = started_rank() == 0
    if first:
        checked_out(path)
    seed = Field("seed", "integer", 0, "", low=0).check(seed)
    if max_minutes is not None:
        max_minutes = Field("max_minutes", "number", None, "", low=0.0, low_open=True).check(max_minutes)
    model, learner, loaded = assemble(plan, seed, options, start_from)
    if resume and path.exists() and hasattr(model, "continue_as"):
        model.continue_as(read_card(path).card.get("hyperparameters", {}))
    keep_freed_memory()
    # Products that underflow are not worth a tenfold time of the backward pass.
    torch.set_flush_denormal(True)
    control = Control()
    facts = _facts(plan, learner, seed, command, start_from)
    trainer = Trainer(
        model,
        learner,
        loaded,
        seed=seed,
        model_path=path,
        resume=resume,
        max_minutes=max_minutes,
        poll=lambda: [*control.poll(), *poll()],
        parallel=process_group(),
        on_save=lambda running: _save(path, running, facts),
        checkpoint_seconds=checkpoint_seconds,
        seconds_before=time.monotonic() - began,
    )
    with _polite_interrupt(control) if bar else nullcontext():
        _run(trainer, resume, bar and first, report if first else None, watch if first else None)
    if first:
        _save(path, trainer, facts)
        write_card(path)
    return _result(path, trainer)


def _run(trainer: Trainer, resume: bool, bar: bool, report: Report | None, watch: Watch | None) -> None:
    """Train to the end, and show and tell every record."""
    if watch is not None and not resume:
        watch(trainer, None)
    records = trainer.run()
    if bar:
        records = with_bar(records, trainer.learner.loss_unit)
    for record in records:
        if report is not None:
            report(record.as_json())
        if watch is not None:
            watch(trainer, record)


def assemble(
    plan: Plan, seed: int, options: Mapping[str, Any], start_from: str | None = None
) -> tuple[TrainableModel, Learner, TrainingData]:
    """Make model, learner and data of a plan; every option must belong to one of them."""
    known = plan.fields()
    for name in options:
        if name not in known:
            near = ending(name, known)
            raise TrainingError(
                f"Neither {' nor '.join(part.name for part in plan.parts)} has an option {name!r}{near}"
            )
    learner = plan.learner(**{**plan.learner_defaults, **plan.options_of(plan.learner, options)})
    model_plan = plan.model(**plan.options_of(plan.model, options))
    splits = plan.data.open(**{**plan.data_defaults, **plan.options_of(plan.data.dataset, options)})
    loaded = training_data(splits, plan.data_text)
    model = model_plan.build_for(loaded, seed)
    if start_from is not None:
        model.load_tensors(load_model(start_from, model.kind).tensors)
    return model, learner, loaded


def training_data(splits: Splits, name: str = "") -> TrainingData:
    """The training and validation parts of a data set as tensors; without a validation part, a tenth is held out."""
    arrays = {key: torch.from_numpy(value) for key, value in splits["train"].items()}
    if "val" in splits:
        held = {key: torch.from_numpy(value) for key, value in splits["val"].items()}
    else:
        count = len(next(iter(arrays.values())))
        kept = count - min(count // 10, MOST_HELD_OUT)
        held = {key: tensor[kept:] for key, tensor in arrays.items()}
        arrays = {key: tensor[:kept] for key, tensor in arrays.items()}
    validation = TensorSource(**held)
    return TrainingData(TensorSource(**arrays), validation if len(validation) else None, dict(splits.constants), name)


def checked_out(path: Path) -> Path:
    """Refuse, before hours of work, a place where the model could not or should not be written."""
    if path.is_dir():
        raise TrainingError(f"{path} is a folder: expected the name of a model file.")
    if not path.parent.is_dir():
        raise TrainingError(
            f"The folder {path.parent} does not exist: make it, or choose another place for {path.name}."
        )
    if not os.access(path.parent, os.W_OK):
        raise TrainingError(f"The folder {path.parent} cannot be written to: choose another place for {path.name}.")
    if path.exists():
        try:
            read_card(path)
        except ModelFileError:
            raise TrainingError(
                f"{path} exists and is no model file: choose another name, it is not replaced."
            ) from None
    return path


def _facts(plan: Plan, learner: Learner, seed: int, command: str, start_from: str | None) -> dict[str, Any]:
    """What the card tells that does not change while it runs."""
    facts = {
        "command": command,
        "seed": seed,
        "data": plan.data_text,
        "learner": learner.name,
        "started_from": start_from,
        "made": datetime.date.today().isoformat(),
        "program": f"mrfstudio {__version__}, torch {torch.__version__}",
        "threads": torch.get_num_threads(),
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}


def _save(path: Path, trainer: Trainer, facts: Mapping[str, Any]) -> None:
    """Write the best model so far with all that is known of it."""
    state, outcome = trainer.state, trainer.outcome
    card = {
        **facts,
        "steps": state.step,
        "epochs": state.step / trainer.steps_per_epoch,
        "images_seen": state.items,
        "training_seconds": round(outcome.seconds if outcome else state.seconds, 1),
        "ended": outcome.reason if outcome else "still running",
        "parameters_of_step": outcome.kept_step if outcome else state.best_step or state.step,
        "scores": {"validation": state.best_validation} if state.best_validation else {},
        "hyperparameters": trainer.model.hyperparameters(),
        "options": trainer.learner.values(),
    }
    save_model(path, trainer.model.kind, trainer.kept, card)


def _result(path: Path, trainer: Trainer) -> dict[str, Any]:
    assert trainer.outcome is not None
    result: dict[str, Any] = finite({"model": str(path), **asdict(trainer.outcome)})
    return result


@contextmanager
def _polite_interrupt(control: Control) -> Iterator[None]:
    """Let the first Ctrl+C, or a polite end by the system, stop after the current batch; the second is immediate."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in signals]

    def restore() -> None:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)

    def stop(*_: object) -> None:
        control.stop()
        restore()

    for number in signals:
        signal.signal(number, stop)
    try:
        yield
    finally:
        restore()
