"""Immutable snapshots that cross from the engine thread to the window. Plain numpy; no torch.

A frame owns its arrays: nobody writes to them after it was made. Pictures may skip iterations, scalars never do: a
frame carries every scalar since the last frame that the window took, so a mailbox must `merge` frames nobody took.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from mrfstudio.engine.catalogue import Catalogue, Entry

Status = Literal["idle", "running", "paused", "converged", "iteration limit", "diverging", "stopped"]
"""`idle`: nothing done yet. `stopped` means an error ended the run; `LaneFrame.message` says which. `diverging`: the
residual has grown or oscillated for a while."""

NO_HINT = 255
"""What the layer `hints` holds where there is no hint."""


@dataclass(frozen=True)
class Scalars:
    """What one iteration of one lane measured; None where it has no meaning or was left out to save time.

    `iteration` counts for all lanes together, like `Frame.iteration`.
    """

    iteration: int
    residual: float | None
    log_partition: float | None = None
    iou: float | None = None
    nce_bits: float | None = None
    mse: float | None = None
    """Mean squared error of the hidden pixels, grey levels from 0 to 1."""


@dataclass(frozen=True, eq=False)
class GraphFrame:
    """A graph to draw, shared between frames until it changes.

    positions (n, 2) float32, x right and y down; edges (m, 2) int32, factors of two variables; stars (k, 2) int32, for
    factors of more variables the factor's number among them and a variable of it; states and degrees (n,) int32.
    """

    positions: np.ndarray
    edges: np.ndarray
    stars: np.ndarray
    states: np.ndarray
    degrees: np.ndarray
    labels: tuple[int, ...]
    """What the nodes are called; a file may number them differently."""
    couplings: np.ndarray | None
    """(m,) float32 at the present strengths, where the graph is an Ising model; positive wants equal states."""
    fields: np.ndarray | None
    lattice: tuple[int, int] | None
    """Rows and columns where nodes stand in a lattice, row by row."""
    source: str
    """A name of `Loaded.sources`, or `file`."""
    parameters: Mapping[str, Any]
    strengths: Mapping[str, float]
    editable: bool
    """Whether nodes and edges can be added and deleted."""

    @property
    def nodes(self) -> int:
        return len(self.positions)


@dataclass(frozen=True, eq=False)
class MessageTrace:
    """Both messages along an edge over the iterations that history holds, as probabilities.

    iterations (t,) int; to_first (t, states of the first node) and to_second (t, states of the second) float32.
    """

    edge: int
    iterations: np.ndarray
    to_first: np.ndarray
    to_second: np.ndarray


@dataclass(frozen=True, eq=False)
class LaneFrame:
    """One lane's newest pictures and all its scalars since the last frame.

    Pictures by layer name, arrays for `Frame.rectangle` at `Frame.stride`, such as
    `belief` (h, w, labels) float32 label probabilities, `decoded` (h, w) uint8, `entropy` (h, w) float32 in bits,
    `difference` (h, w) float32 in [0, 1]: half the sum of |this lane's beliefs - those of `SetView.apart`|, the first
    lane by default (not on that lane), `error` (h, w) float32: the same against `Frame.comparison`'s reference,
    `histogram` (labels, 20) float32: the fraction of all pixels whose probability of a label falls into each
    twentieth, `residual` (directions, h, w) float32, `clone` (h, w) int16 most probable clone or -1, `ownership` (h, w)
    float32 angle. Only the layers that the window asked for are computed.
    """

    lane: int
    model: str
    algorithm: str
    iteration: int
    status: Status
    residual: float | None
    pictures: Mapping[str, np.ndarray]
    scalars: tuple[Scalars, ...]
    oldest: int = 0
    """The first iteration that can still be returned to."""
    message: str = ""
    details: Mapping[str, object] = field(default_factory=dict)
    """Plain values that an inspector asked for, such as the clones of the chosen pixel."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The algorithm's parameters as they are now, for forms."""
    limit: int = 0
    """Iterations after which this lane stops, counted from `base`."""
    base: int = 0
    """The iteration at which the evidence or a parameter last changed."""
    strip: tuple[tuple[int, np.ndarray], ...] = ()
    """Small pictures (iteration, (h, w, labels) uint8 of 255 × belief) of the first iterations after `base`, all those
    since the last frame, if the view asks for `strip`."""
    log_partition_kind: str | None = None
    """What kind of statement the scalars' log_partition is: exact, lower_bound, upper_bound or estimate."""
    trace: MessageTrace | None = None
    """The messages of the edge that the view asks for; None where the algorithm sends none."""
    title: str = ""
    """What a person called the lane; empty where nobody did."""


@dataclass(frozen=True, eq=False)
class LaneScore:
    """How far a lane is from the reference; None where a number has no meaning.

    `l1` and `largest` are the mean and the largest |difference| of p(x_i = s) over all nodes and states but the first,
    `worst` the node of the largest; `l1_pairs` the mean over these and the joint probabilities of all factors of two
    variables, as in the papers' tables; `correlation` is Pearson's over the nodes.
    """

    lane: int
    iterations: int
    """Steps since evidence or parameters last changed."""
    seconds: float | None
    """Of one iteration, the median of the last ones."""
    l1: float | None = None
    l1_pairs: float | None = None
    correlation: float | None = None
    largest: float | None = None
    worst: int | None = None
    log_partition_error: float | None = None
    """log Z of the lane minus the exact one."""
    marginals: np.ndarray | None = None
    """(points,) float32, the same probabilities as `Comparison.marginals`."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """All lanes against one reference.

    `reference` is `exact`; `lane`; `computing` while exact marginals are on their way; or `none`. `lane` is the lane
    that is the reference, None where exact inference is none of them. `text` says it in a sentence.
    """

    reference: str
    lane: int | None
    text: str
    log_partition: float | None = None
    """The exact log Z."""
    marginals: np.ndarray | None = None
    """(points,) float32: probabilities of the reference, at most a few thousand of them."""
    scores: tuple[LaneScore, ...] = ()


@dataclass(frozen=True, eq=False)
class Frame:
    """Everything the window shows of one workspace at one moment."""

    serial: int
    workspace: str
    applied: int
    """Number of the last command whose effect this frame shows; a picture with an older number is stale."""
    shape: tuple[int, int]
    """Height and width of the whole image in pixels."""
    rectangle: tuple[int, int, int, int]
    """Top, left, height, width of the part that the pictures show."""
    layers: Mapping[str, np.ndarray]
    """What the person gave, for `rectangle` at `stride`: `observed` (h, w) uint8; `hints` (h, w) uint8, `NO_HINT` where
    there is none; `hints_strength` and `observed_strength` (h, w) float32; `truth` (h, w) uint8 where known; …"""
    lanes: tuple[LaneFrame, ...]
    undo: str = ""
    """What Undo would take back, in words; empty when nothing."""
    redo: str = ""
    playing: bool = False
    """Whether iterations are running or due. False when every lane has ended; an edit or Play makes it true again."""
    iterations_per_second: float = 0.0
    modified: bool = False
    """Whether there is work that no file holds yet."""
    message: str = ""
    """One sentence for the message bar: a refused command, a file that could not be read."""
    stride: int = 1
    """Every how many pixels pictures and layers are sampled."""
    iteration: int = 0
    """Where the session is, for all lanes together; `LaneFrame.iteration` is lower where a lane has ended before."""
    oldest: int = 0
    newest: int = 0
    """The iterations that `Scrub` can go to."""
    cut: int | None = None
    """If a number: the timeline was cut. Forget scalars and strips of iterations after it, then add this frame's."""
    seeking: int | None = None
    """The iteration that is being recomputed; until it is there, pictures show the iteration before the seek."""
    speed: float | None = None
    """Iterations a second that were asked for; None is as fast as possible."""
    name: str = ""
    """What the picture is called."""
    limits: tuple[int, float] = (0, 0.0)
    """Iterations and tolerance after which lanes stop by themselves, as they are now, for forms."""
    graph: GraphFrame | None = None
    """The graph, where the workspace has one. Pictures of its lanes then are `marginal` (n, states) float32, `residual`
    (m, 2) float32: the last change of the message to the first and to the second node of each edge, and
    `star_residual` (k,) float32: that of the messages from larger factors."""
    revision: int = 0
    """Grows with every edit, undone ones too: what was asked for at an earlier one may be outdated."""
    comparison: Comparison | None = None
    """The lanes against a reference, if the view asks for `comparison`."""


def merge(older: Frame, newer: Frame) -> Frame:
    """The newer frame with all scalars, strips and the message of an older one that nobody took."""
    before = {lane.lane: lane for lane in older.lanes}
    lanes = tuple(_merge_lane(before.get(lane.lane), lane, newer.cut) for lane in newer.lanes)
    cuts = [cut for cut in (older.cut, newer.cut) if cut is not None]
    return replace(newer, lanes=lanes, cut=min(cuts, default=None), message=newer.message or older.message)


def _merge_lane(older: LaneFrame | None, newer: LaneFrame, cut: int | None) -> LaneFrame:
    if older is None:
        return newer
    scalars = (s for s in older.scalars if cut is None or s.iteration <= cut)
    strip = (picture for picture in older.strip if cut is None or picture[0] <= cut)
    return replace(newer, scalars=(*scalars, *newer.scalars), strip=(*strip, *newer.strip))


# Answers of the engine to questions of the window
# -----------------------------------------------------------------------


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
    message does not, -1 where it swings without a period."""

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
