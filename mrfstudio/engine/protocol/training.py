"""What crosses between the window and training: plans one way; runs, curves and snapshots the other. No torch."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mrfstudio.engine.protocol.catalogue import Entry

RESUMABLE = ("planned", "stopped", "interrupted", "failed")
ACTIVE = ("running", "paused")
EXTENDABLE = ("finished", "time", "early")
"""Ended as planned: it goes on when it is given more time."""


@dataclass(frozen=True)
class TrainingPlan:
    """What a run is to do: the same words as `mrfstudio train`."""

    model: str
    learner: str
    data: str
    """NAME or NAME:PATH."""
    seed: int = 0
    minutes: float | None = None
    """Stop after this time; None runs until the epochs are done."""
    start_from: str = ""
    """A model whose parameters are the start; empty begins with random ones."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of model, learner and data set by name, where they differ from the defaults."""

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "options": dict(self.options)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TrainingPlan:
        """The inverse of `as_json`; ValueError or TypeError for what is no plan."""
        known = {name: value[name] for name in cls.__dataclass_fields__ if name in value}
        plan = cls(**known)
        texts = (plan.model, plan.learner, plan.data, plan.start_from)
        if not all(isinstance(text, str) for text in texts) or not isinstance(plan.options, Mapping):
            raise ValueError("a plan has names and options")
        return replace(plan, seed=int(plan.seed), minutes=None if plan.minutes is None else float(plan.minutes))

    def command(self, out: str = "") -> str:
        """The line that does the same in a terminal."""
        words = ["mrfstudio", "train", self.model, "--learner", self.learner, "--data", self.data]
        for name, value in self.options.items():
            spelled = str(value).lower() if isinstance(value, bool) else f"{value:g}" if _short(value) else str(value)
            words += ["--" + name.replace("_", "-"), spelled]
        words += [] if self.minutes is None else ["--max-minutes", f"{self.minutes:g}"]
        words += ["--seed", str(self.seed)]
        words += ["--start-from", self.start_from] if self.start_from else []
        words += ["--out", out] if out else []
        return shlex.join(words)


def _short(value: Any) -> bool:
    """Whether `%g` loses nothing of a number."""
    return isinstance(value, float) and float(f"{value:g}") == value


@dataclass(frozen=True)
class ModelChoice:
    """A model that can be trained, what it is usually trained on, and what suits it of each learner's parameters."""

    entry: Entry
    data: str
    learner_defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    demonstration: TrainingPlan | None = None
    """A run that is worth watching: minutes from nothing to something that can be recognised."""


@dataclass(frozen=True)
class DataOption:
    """A data set, and whether it lies in a file: `none`, `optional` or `required`."""

    entry: Entry
    path: str
    path_text: str
    fetched: bool = False
    """A file of it was fetched, so that it needs no path."""


@dataclass(frozen=True)
class TrainingChoices:
    """Everything that a plan can be made of, from the registries."""

    models: tuple[ModelChoice, ...]
    learners: tuple[Entry, ...]
    datasets: tuple[DataOption, ...]
    fixed: tuple[str, ...]
    """Options of a learner that cannot change while a run goes on."""
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By learner, the models that it can train; a learner that is not in it says so only when it is tried."""

    @property
    def first_plan(self) -> TrainingPlan:
        """What a person finds filled in: a demonstration, one that says how long it takes first, else any model."""
        plans = [choice.demonstration for choice in self.models if choice.demonstration]
        first = self.models[0]
        usual = plans[0] if plans else TrainingPlan(first.entry.name, self.learners[0].name, first.data)
        return next((plan for plan in plans if plan.minutes is not None), usual)


@dataclass(frozen=True)
class LearnerChange:
    """A parameter of the learner that is another one from this step on."""

    step: int
    name: str
    value: Any


@dataclass(frozen=True)
class RunNote:
    """One run as a table shows it.

    `state`: planned, running, paused, finished, stopped, time, early, diverged, failed, interrupted (its process died),
    damaged (its files cannot be read). `scores` are the best validation, the metric that matters first.
    """

    run: str
    name: str
    plan: TrainingPlan
    state: str
    made: str = ""
    step: int = 0
    total_steps: int = 0
    seconds: float = 0.0
    scores: Mapping[str, float] = field(default_factory=dict)
    better: str = "lower"
    best_step: int = 0
    loss_unit: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The learner's parameters as they are now; they may have been changed while it ran."""
    changes: tuple[LearnerChange, ...] = ()
    """What was changed while it ran, in order."""
    sentence: str = ""
    """How it ended, or what is wrong with its files."""
    elsewhere: bool = False
    """Another window trains it now."""

    @property
    def active(self) -> bool:
        return self.state in ACTIVE

    @property
    def resumable(self) -> bool:
        return self.state in RESUMABLE

    @property
    def extendable(self) -> bool:
        return self.state in EXTENDABLE


@dataclass(frozen=True, eq=False)
class RunUpdate:
    """What has happened to the running run since the last update. No step is left out of `columns`."""

    note: RunNote
    columns: Mapping[str, np.ndarray]
    """The new rows of the curves: arrays of equal length by name, NaN where nothing was measured."""
    snapshots: tuple[int, ...]
    """Steps of all snapshots there are now."""
    images_per_second: float = 0.0
    seconds_left: float | None = None
    notices: tuple[str, ...] = ()
    gone: bool = False
    """It was refused or cancelled before its first step, and nothing of it is kept."""


@dataclass(frozen=True, eq=False)
class RunView:
    """A run as its files tell it: the whole curves, and which snapshots there are."""

    note: RunNote
    columns: Mapping[str, np.ndarray]
    snapshots: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TensorHistory:
    """How the numbers of one tensor of a model spread out, by the steps (n,) that have a snapshot."""

    name: str
    size: int
    """How many numbers it has."""
    steps: np.ndarray
    edges: np.ndarray
    """(bins + 1,): the same for all steps."""
    shares: np.ndarray
    """(n, bins): the share of the numbers between two edges; a row adds up to 1."""
    quantiles: np.ndarray
    """(n, 3): below which 5 %, one half and 95 % of the numbers lie."""

    @property
    def changes(self) -> bool:
        """Whether the run has moved it at all, as far as its snapshots tell."""
        seen = (self.shares, self.quantiles)
        return len(self.steps) < 2 or any(bool((each != each[:1]).any()) for each in seen)


@dataclass(frozen=True, eq=False)
class ParameterHistory:
    """Every tensor of a run, in the order in which its model names them."""

    tensors: tuple[TensorHistory, ...] = ()


@dataclass(frozen=True, eq=False)
class Panel:
    """One small picture: `layer` says how the array is coloured, as the layers of a canvas are; `signed` around 0."""

    title: str
    layer: str
    array: np.ndarray
    help: str = ""
    group: str = ""
    """Panels of a group stand together under its name."""


@dataclass(frozen=True, eq=False)
class PlanePicture:
    """A density of points in the plane, on a grid of cells; rows go up, so that the first one is the lowest.

    Arrays that a model has not are empty: `shares` where it has no components, `lines` where it moves no mass.
    """

    window: tuple[float, float, float, float]
    """Left, bottom, right and top of the grid, in the points' own units."""
    density: np.ndarray
    """(rows, columns) p(x)."""
    shares: np.ndarray
    """(components, rows, columns): which part of p(x) each component is."""
    samples: np.ndarray
    """(samples, 2), drawn from the model."""
    sample_components: np.ndarray
    """(samples,)"""
    points: np.ndarray
    """(points, 2) of the data."""
    responsibilities: np.ndarray
    """(points, components): how much of a point each component claims."""
    lines: np.ndarray = field(default_factory=lambda: np.zeros((0, 5), np.float32))
    """(lines, 5): from x, y to x, y, and how much goes there, from 0 to 1."""


@dataclass(frozen=True, eq=False)
class LivePlane:
    """The plane of a run that goes on, at its newest step."""

    step: int
    plane: PlanePicture


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A model at one step: its answers to the fixed queries and its own picture.

    `queries`: for each query its panels, such as what is given, the answer and the truth, the same titles for all.
    `histogram` (rows, 20) float32: the share of answers whose probability falls into each twentieth, a row a label.
    `calibration` (bins, 3) float32: mean predicted probability, observed frequency, share of all answers.
    """

    run: str
    step: int
    seconds: float
    queries: tuple[tuple[Panel, ...], ...]
    pictures: tuple[Panel, ...]
    labels: tuple[str, ...] = ()
    histogram: np.ndarray | None = None
    calibration: np.ndarray | None = None
    remark: str = ""
    """One sentence below the queries: what they ask and what the colours mean."""
    plane: PlanePicture | None = None
    """Of models whose data are points in the plane."""
