"""Answers of the engine to questions of the window: pictures, models, galleries, guarantees. Plain numpy; no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mrfstudio.engine.protocol.catalogue import Catalogue, Entry


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
    sizes: tuple[int, int] | None = None
    """The smallest and the largest figures that it fills, in pixels, where that is known."""


@dataclass(frozen=True)
class Loaded:
    """What the engine tells the window once torch is there."""

    catalogue: Catalogue
    models: tuple[ModelNote, ...] = ()
    figures: tuple[FigureSource, ...] = ()
    device: str = ""
    """The device, the number of threads, the precision and the free memory, in words."""
    notice: str = ""
    """One sentence where it computes elsewhere than a person wished."""
    fitting: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the algorithms that are worth offering, by workspace."""
    sources: tuple[Entry, ...] = ()
    """Where a graph can come from, with parameters."""
    strengths: Entry | None = None
    """The parameters that every graph has."""
    layouts: tuple[str, ...] = ()
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Kinds of models that a workspace takes, as their families say; one that is not listed takes all."""

    def takers(self, kind: str) -> tuple[str, ...]:
        """The workspaces that say that they take models of a kind."""
        return tuple(workspace for workspace, kinds in self.kinds.items() if kind in kinds)


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
class ArenaScore:
    """One algorithm on one graph: mean Hellinger error, that of log Z where it is known, and what it said of itself."""

    graph: str
    algorithm: str
    hellinger: float
    log_z_error: float | None
    estimate: float | None
    seconds: float
    said: str


@dataclass(frozen=True)
class ArenaScores:
    """The scores so far, out of `total` runs; `file` is where they are kept."""

    scores: tuple[ArenaScore, ...]
    total: int
    file: str
    means: tuple[tuple[str, float], ...] = ()
    """Of each algorithm the mean of its errors."""


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


@dataclass(frozen=True, eq=False)
class Frustrated:
    """Factors on cycles whose wishes cannot all come true, numbered as in `GraphFrame`, (k,) int64; `text` says it."""

    factors: np.ndarray
    text: str


@dataclass(frozen=True, eq=False)
class MessageTerm:
    """What one variable says to a factor, (states,) probabilities, and its parts, each a name and (states,)."""

    axis: int
    variable: int
    values: np.ndarray
    parts: tuple[tuple[str, np.ndarray], ...]
    left_out: int = 0
    given: bool = False
    """Whether a person changed it to see what would follow."""


@dataclass(frozen=True, eq=False)
class MessageWork:
    """How the message of a factor to its variable number `axis` comes about, step by step."""

    factor: int
    axis: int
    iteration: int
    equation: str
    table: np.ndarray
    """(k_1, …, k_r) linear values, the largest 1; times e^`log_scale` they are the factor's own."""
    log_scale: float
    terms: tuple[MessageTerm, ...]
    product: np.ndarray
    """(k_1, …, k_r): table times terms, the largest 1."""
    summed: np.ndarray
    """(k_axis,): the product summed over all other variables, the largest 1."""
    fresh: np.ndarray
    """Normalised."""
    damped: np.ndarray
    old: np.ndarray
    sent: np.ndarray | None
    """What the run really sent; None where this is what would follow. A pin or a sequential schedule may differ."""

    @property
    def table_alone(self) -> bool:
        """Whether there is no message: nothing but the table is known."""
        return not self.fresh.size


@dataclass(frozen=True)
class Tip:
    """One thing to try: an algorithm with some parameters changed, and why."""

    title: str
    reason: str
    algorithm: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Trial:
    """A tip that was followed in a copy of the run: whether that settled, after how many iterations, and words."""

    tip: Tip
    converged: bool
    iterations: int
    text: str


@dataclass(frozen=True)
class Suspect:
    """A message (numbered as a link), a factor or a variable, and what speaks against it.

    `amplitude` is how far its probabilities swing, `period` that of the swing (0 none, -1 without one), `residual` its
    last change; `share` its part of the Bethe free energy, `wrong` how far its marginal is from the exact one, both
    None where they are not known.
    """

    kind: str
    number: int
    amplitude: float
    period: int
    residual: float
    share: float | None
    wrong: float | None


@dataclass(frozen=True)
class FoundLoop:
    """Factors and variables in turn; how much of a message comes back around it; sign -1: frustrated, 0: unknown."""

    factors: tuple[int, ...]
    variables: tuple[int, ...]
    strength: float
    sign: int


@dataclass(frozen=True)
class Suspects:
    """What keeps a lane from settling, and the strongest loops through the worst message that can come back."""

    lane: int
    iteration: int
    rows: tuple[Suspect, ...]
    loops: tuple[FoundLoop, ...]
    worst: int | None
    converged: bool = False


@dataclass(frozen=True, eq=False)
class Swings:
    """Which messages of a lane oscillate: `period` (links,) int16 of the message to the variable of each link of the
    graph, 0 where it does not, -1 where it swings without a period. `sharing` of them come back after `commonest`
    iterations, -1 where no period is that of most. None of them, but tips: messages between regions do not settle."""

    lane: int
    iteration: int
    period: np.ndarray
    count: int = 0
    commonest: int = 0
    tips: tuple[Tip, ...] = ()
    sharing: int = 0
    shrinks: bool = False
    """Whether the swings get smaller: they may come to rest by themselves."""


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


@dataclass(frozen=True, eq=False)
class PhotographFile:
    """A photograph as `SetPhotograph` takes it: content (n,) uint8, its file's bytes."""

    name: str
    content: np.ndarray
    shape: tuple[int, int]
    said: str = ""
    """What of the file is not shown, in one sentence."""
    strokes: np.ndarray | None = None
    """(h, w) uint8 that come with an example."""
    labels: tuple[tuple[int, str, str], ...] = ()


@dataclass(frozen=True)
class PhotographLook:
    """What a picture seems to be."""

    coloured: bool
    photograph: bool


@dataclass(frozen=True)
class TextColumns:
    """A text under which the hidden states of a model are shown: a column a letter or word, `states` rows.

    `remark`: what of the text the model does not know, in a sentence; empty where it knows everything.
    """

    model: str
    columns: tuple[str, ...]
    states: int
    remark: str = ""
