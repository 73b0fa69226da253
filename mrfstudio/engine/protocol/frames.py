"""Immutable snapshots that cross from the engine thread to the window. Plain numpy; no torch.

A frame owns its arrays: nobody writes to them after it was made. Pictures may skip iterations, scalars never do: a
frame carries every scalar since the last frame that the window took, so a mailbox must `merge` frames nobody took.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from mrfstudio.engine.protocol.commands.photographs import Label

Status = Literal["idle", "running", "paused", "converged", "settled", "iteration limit", "diverging", "stopped"]
"""`idle`: nothing done yet. `stopped` means an error ended the run; `LaneFrame.message` says which. `diverging`: the
residual has grown or oscillated for a while. `settled`: a plan of iterations is at its end and rests."""
SO_FAR = "So far"
"""How a message begins that is worth reading while a run goes on: it stays for a while."""

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
    seconds: float | None = field(default=None, compare=False)
    """How long computing it took; no two runs agree on it."""


@dataclass(frozen=True, eq=False)
class GraphFrame:
    """A graph to draw, shared between frames until it changes.

    positions (n, 2) float32, x right and y down; edges (m, 2) int32, factors of two variables; stars (k, 2) int32, for
    factors of more variables the factor's number among them and a variable of it; states and degrees (n,) int32.
    Factors are numbered from 0, edges first, then the larger ones. Links join a factor and one of its variables: edge e
    has the links 2e and 2e + 1, stars have those behind.
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
    strength: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))
    """(factors,) float32: how strongly each factor couples its variables; of an Ising edge |coupling|."""
    sign: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int8))
    """(factors,) int8: 1 favours equal states, -1 different ones, 0 where that has no meaning."""

    pins: tuple[tuple[int, int], ...] = ()
    """Messages that are held: factor, and place of the variable in it."""
    forbidden: frozenset[tuple[int, int]] = frozenset()
    """States that a person rules out, as (node, state)."""
    names: tuple[str, ...] = ()
    """What the nodes are called where the file gives names; else empty."""
    state_names: tuple[tuple[str, ...], ...] = ()

    @property
    def nodes(self) -> int:
        return len(self.positions)

    def name(self, node: int) -> str:
        """What a node is called: its name, else its number in the file."""
        return self.names[node] if self.names else str(self.labels[node])

    def state_name(self, node: int, state: int) -> str:
        return self.state_names[node][state] if self.state_names else str(state)

    @property
    def factors(self) -> int:
        return len(self.edges) + (int(self.stars[:, 0].max(initial=-1)) + 1)

    def scope(self, factor: int) -> tuple[int, ...]:
        """The nodes of a factor, in the order of its table's axes."""
        if factor < len(self.edges):
            return tuple(self.edges[factor].tolist())
        return tuple(self.stars[self.stars[:, 0] == factor - len(self.edges), 1].tolist())

    def factor_of(self, link: int) -> int:
        pairs = 2 * len(self.edges)
        return link // 2 if link < pairs else len(self.edges) + int(self.stars[link - pairs, 0])


@dataclass(frozen=True, eq=False)
class MessageTrace:
    """The messages of a factor over the iterations that history holds, as probabilities.

    iterations (t,) int; `to` its variables, one (t, states) float32 each, in the order of `GraphFrame.scope`; `back`
    from them, in the same order.
    """

    factor: int
    iterations: np.ndarray
    to: tuple[np.ndarray, ...]
    back: tuple[np.ndarray, ...]


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
    """The messages of the factor that the view asks for; None where the algorithm sends none."""
    title: str = ""
    """What a person called the lane; empty where nobody did."""


@dataclass(frozen=True, eq=False)
class LaneScore:
    """How far a lane is from the reference; None where a number has no meaning.

    `l1` and `largest` are the mean and the largest |difference| of p(x_i = s) over all nodes and states but the first,
    `worst` the node of the largest; `l1_pairs` the mean over these and the joint probabilities of all factors of two
    variables, as in the tables of [Liu20]; `correlation` is Pearson's over the nodes.
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
    file: str = ""
    """The session's file; empty where it has none, such as for a picture that was just opened."""
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
    `star_residual` (k,) float32: that of the messages from larger factors; and `said` (links, 2) float32: the likeliest
    state of each of these messages, and its probability."""
    revision: int = 0
    """Grows with every edit, undone ones too: what was asked for at an earlier one may be outdated."""
    comparison: Comparison | None = None
    """The lanes against a reference, if the view asks for `comparison`."""
    backdrop: np.ndarray | None = None
    """(H, W, 3) uint8: the whole photograph below all layers, the same object until another one is opened."""
    labels: tuple[Label, ...] = ()
    """What the labels of a photograph are called, in order."""


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
