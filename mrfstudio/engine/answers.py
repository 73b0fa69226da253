"""Answers of the engine to questions of the window: pictures, models, galleries, guarantees. Plain numpy; no torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mrfstudio.engine.catalogue import Catalogue, Entry


@dataclass(frozen=True, eq=False)
class Picture:
    """A contour image ready to be segmented, and how it came about."""

    name: str
    observed: np.ndarray
    """(h, w) uint8: 0 contour seen, 1 not seen."""
    truth: np.ndarray | None = None
    """(h, w) uint8 labels where they are known."""
    grey: np.ndarray | None = None
    """(h, w) float32 from black to white: the picture that the contours were found in, at the same size."""
    ink: str = "dark"
    threshold: float | None = None
    full_size: tuple[int, int] = (0, 0)
    """Height and width before the picture was made smaller."""


@dataclass(frozen=True)
class FigureSource:
    """A data set that holds silhouettes, and the kinds of figures in it."""

    name: str
    title: str
    summary: str
    kinds: tuple[str, ...]
    missing: str = ""
    """What to do before it can be used; empty when it can."""


@dataclass(frozen=True)
class ModelNote:
    """A model that can be chosen by name."""

    name: str
    kind: str
    title: str
    """One line: clones, scores."""
    shape: tuple[int, int] | None = None
    """Height and width of the pictures that it takes, for models that take one size only."""


@dataclass(frozen=True)
class Loaded:
    """What the engine tells the window once torch is there."""

    catalogue: Catalogue
    models: tuple[ModelNote, ...]
    figures: tuple[FigureSource, ...]
    device: str
    """The device and the number of threads, in words."""
    fitting: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the algorithms that are worth offering, by workspace."""
    sources: tuple[Entry, ...] = ()
    """Where a graph can come from, with parameters."""
    strengths: Entry | None = None
    """The parameters that every graph has."""
    layouts: tuple[str, ...] = ()
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Kinds of models that a workspace takes; one that is not listed takes all."""


@dataclass(frozen=True, eq=False)
class CloneGallery:
    """What the clones of CONTOUR of one model have learned, measured on `images` figures.

    use (clones,) float32: part of the contour pixels that chose each clone; patches (clones, side, side, labels)
    float32: the average labels around those pixels; potentials (directions, states, states) float32: log-potentials,
    states are the clones, then OUT, then IN; ownership (clones,) float32: the angle (radians, counter-clockwise from
    right) towards the side on which the clone expects IN, NaN where it expects none.
    """

    model: str
    images: int
    use: np.ndarray
    patches: np.ndarray
    potentials: np.ndarray
    ownership: np.ndarray


@dataclass(frozen=True, eq=False)
class SigmaMap:
    """Upper bounds of σ_max over α (columns,) and coupling (rows,): sigma_max (rows, columns) float64.

    Below 1 convergence is guaranteed.
    """

    alphas: np.ndarray
    couplings: np.ndarray
    sigma_max: np.ndarray


@dataclass(frozen=True)
class Guarantee:
    """What the contraction matrix says about a lane; upper bounds, each certified within `tolerance`.

    `guaranteed` is certain. Without it the run may converge all the same. `reason` says why there is no matrix; then
    all numbers are None.
    """

    lane: int
    revision: int
    alpha: float | None = None
    sigma_max: float | None = None
    spectral_radius: float | None = None
    norm_1: float | None = None
    norm_inf: float | None = None
    guaranteed: bool = False
    tolerance: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class GuaranteedAlphas:
    """The interval of α with a guarantee, for the couplings of a revision; `high` 0 where there is none."""

    revision: int
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True)
class Tip:
    """One thing to try: an algorithm with some parameters changed, and why."""

    title: str
    reason: str
    algorithm: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Swings:
    """Which messages of a lane oscillate: `period` (m, 2) int16 to the first and second node of each edge, 0 where a
    message does not, -1 where it swings without a period. None of them, but tips: messages between regions do not
    settle."""

    lane: int
    iteration: int
    period: np.ndarray
    count: int = 0
    commonest: int = 0
    tips: tuple[Tip, ...] = ()


@dataclass(frozen=True)
class Aside:
    """An answer that takes longer than a stroke may wait: the engine's thread has it computed beside itself."""

    work: Callable[[], Any]


@dataclass(frozen=True)
class NotYet:
    """What a long answer yields while it waits for a job: go on with it after so many seconds."""

    seconds: float = 0.05


@dataclass(frozen=True, eq=False)
class GreyPicture:
    """A grey picture ready to be inpainted, and how it came about."""

    name: str
    picture: np.ndarray
    """(h, w) uint8 grey levels."""
    mask: np.ndarray | None = None
    """(h, w) uint8: 1 unknown, 0 known; None where it comes with none."""
    rectangle: tuple[float, float, float, float] | None = None
    """Top, left, height, width of the part of the source that it shows."""
    full_size: tuple[int, int] = (0, 0)
    """Height and width of the source."""


@dataclass(frozen=True)
class PictureSource:
    """A data set with grey pictures."""

    name: str
    title: str
    summary: str
    missing: str = ""
    """What to do before it can be used; empty when it can."""


@dataclass(frozen=True, eq=False)
class PictureGallery:
    """Some pictures (n, h, w) uint8 of a data set, with their numbers; `total` None: as many as one likes."""

    dataset: str
    page: int
    pictures: np.ndarray
    numbers: tuple[int, ...]
    total: int | None = None


@dataclass(frozen=True, eq=False)
class UnitGallery:
    """What turning each hidden unit of a model on adds to the picture, (hidden, h, w) float32 in `unit`."""

    model: str
    fields: np.ndarray
    unit: str = "grey levels"
    """Grey levels from 0 to 255, or log-odds of white where pixels are black or white."""


@dataclass(frozen=True)
class Unsaved:
    """Work that a program which was killed left behind."""

    window: str
    """The folder of the window that it was in."""
    folder: str
    workspace: str
    name: str
    """Of the file, picture or graph; may be empty."""
    changed: float
    """When, in seconds since 1970."""


@dataclass(frozen=True)
class Recovered:
    """What is open again: a workspace and the file that it was saved in before, empty where there is none."""

    sessions: tuple[tuple[str, str], ...]
    problems: tuple[str, ...] = ()
    """A sentence for each work that could not be read."""
