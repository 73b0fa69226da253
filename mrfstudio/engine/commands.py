"""What a person can do to a session, as plain values. No torch here: the window makes them, the engine applies them.

Applying an undoable command gives the command that undoes it. Commands queue up; only those with the same `merge_key`
(a slider being dragged) may replace each other while waiting. View and transport are not undoable.

A lane is named by its number, 0 to 5, which stays with it for life; `LaneFrame.lane` says it. A command that begins
messages anew (another picture, model or algorithm, one more lane) begins every lane anew, so that lanes stay in step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np


@dataclass(frozen=True)
class Command:
    """Base. `title` is what Edit → Undo shows."""

    undoable: ClassVar[bool] = True

    @property
    def title(self) -> str:
        return type(self).__name__

    @property
    def merge_key(self) -> str | None:
        """Waiting commands with the same key are one: only the newest is applied."""
        return None

    @property
    def stroke(self) -> int | None:
        """Commands with the same number are one undo step."""
        return None


# Evidence -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Paint(Command):
    """A segment of a stroke in image coordinates (x right, y down; pixel (r, c) covers [c, c+1) × [r, r+1)).

    `layer` is what is painted on: `observed` (value 0 contour seen, 1 not seen, 2 unknown), `hints` (value: label
    number, -1 takes hints away) or `mask` (value 1 unknown, 0 known). `strength` in (0, 1]; 1 is hard evidence.
    `raster.stroke_mask` says which pixels are covered. Segments of one stroke share a `stroke_id` above 0; 0 is a
    stroke of its own.
    """

    layer: str
    value: int
    points: tuple[tuple[float, float], ...]
    radius: float
    strength: float = 1.0
    stroke_id: int = 0

    @property
    def title(self) -> str:
        return "Erase" if self.value == -1 else "Brush stroke"

    @property
    def stroke(self) -> int | None:
        return self.stroke_id or None


@dataclass(frozen=True)
class PaintRectangle(Command):
    """Fill a rectangle: top, left, height, width in pixels. `outside` fills everything but it."""

    layer: str
    value: int
    rectangle: tuple[int, int, int, int]
    strength: float = 1.0
    outside: bool = False

    @property
    def title(self) -> str:
        return "Everything but a rectangle" if self.outside else "Rectangle"


@dataclass(frozen=True)
class PaintEllipse(Command):
    """Fill the ellipse that touches the sides of a rectangle (top, left, height, width), or everything but it."""

    layer: str
    value: int
    rectangle: tuple[int, int, int, int]
    strength: float = 1.0
    outside: bool = False

    @property
    def title(self) -> str:
        return "Everything but an ellipse" if self.outside else "Ellipse"


@dataclass(frozen=True)
class PaintLasso(Command):
    """Fill what a closed line through `points` (x, y) goes around, however often, or everything but it."""

    layer: str
    value: int
    points: tuple[tuple[float, float], ...]
    strength: float = 1.0
    outside: bool = False

    @property
    def title(self) -> str:
        return "Everything but a lasso" if self.outside else "Lasso"


Shape = Paint | PaintRectangle | PaintEllipse | PaintLasso
"""Commands whose pixels follow from themselves alone; `raster.command_mask` says which."""


@dataclass(frozen=True)
class Invert(Command):
    """Swap the two values of a layer, such as known and unknown in `mask`."""

    layer: str

    @property
    def title(self) -> str:
        return f"Invert {self.layer}"


@dataclass(frozen=True)
class Fill(Command):
    """Flood-fill from a pixel over 4-connected pixels of the same value."""

    layer: str
    value: int
    row: int
    column: int
    strength: float = 1.0


@dataclass(frozen=True, eq=False)
class SetImage(Command):
    """Replace the picture: `observed` (h, w) uint8; `truth` (h, w) uint8 labels or grey levels where known.

    Hints are cleared; a mask stays if the new picture has the size of the old one. Every lane begins anew.
    """

    observed: np.ndarray
    truth: np.ndarray | None = None
    name: str = "image"
    mask: np.ndarray | None = None
    """(h, w) of 0 known and 1 unknown, for a picture that comes with one."""

    @property
    def title(self) -> str:
        return f"Open {self.name}"


@dataclass(frozen=True)
class AddNoise(Command):
    """Spurious 3-pixel edges, and contour pixels deleted at random, from a seed."""

    edges: int = 8
    deletion: float = 0.0
    seed: int = 0

    @property
    def title(self) -> str:
        return "Add noise"


@dataclass(frozen=True)
class ClearLayer(Command):
    """Empty one layer: `observed` becomes "nothing seen", `hints` and `mask` are emptied."""

    layer: str

    @property
    def title(self) -> str:
        return f"Clear {self.layer}"


@dataclass(frozen=True)
class ClampUnit(Command):
    """Hold a hidden unit of a model on (1) or off (0), or let it go (None); other models do not notice."""

    model: str
    unit: int
    value: int | None

    @property
    def title(self) -> str:
        doing = "Release" if self.value is None else "Switch on" if self.value else "Switch off"
        return f"{doing} unit {self.unit}"


# Lanes and parameters -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetParameter(Command):
    """One parameter of a lane's algorithm. Changes with the same `gesture` above 0, one drag, are one undo step."""

    lane: int
    name: str
    value: Any
    gesture: int = 0

    @property
    def title(self) -> str:
        return f"Set {self.name.replace('_', ' ')}"

    @property
    def merge_key(self) -> str | None:
        return f"parameter {self.lane} {self.name}"

    @property
    def stroke(self) -> int | None:
        return self.gesture or None


@dataclass(frozen=True)
class SetAlgorithm(Command):
    """Another algorithm for a lane; messages begin anew."""

    lane: int
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return "Change algorithm"


@dataclass(frozen=True)
class SetModel(Command):
    """Another model for a lane, by shipped name or path; messages begin anew.

    `picture` comes with a model that takes pictures of another size: a `SetImage`, or what puts a document back.
    """

    lane: int
    model: str
    picture: Command | None = None

    @property
    def title(self) -> str:
        return "Change model"


@dataclass(frozen=True)
class AddLane(Command):
    """One more lane on the same evidence, at most six. Every lane begins anew, so that they run in step."""

    model: str
    algorithm: str = "bp"
    parameters: dict[str, Any] = field(default_factory=dict)
    limit: int | None = None
    """Stop after this many iterations; None follows the session."""
    number: int | None = None
    """The lane's number; None takes the smallest free one."""
    name: str = ""
    """What a person calls it; see `RenameLane`."""

    @property
    def title(self) -> str:
        return "Add lane"


@dataclass(frozen=True)
class RemoveLane(Command):
    """Take a lane away; the last one stays."""

    lane: int

    @property
    def title(self) -> str:
        return "Remove lane"


@dataclass(frozen=True)
class RenameLane(Command):
    """Call a lane by a name of one's own; an empty one goes back to the algorithm's."""

    lane: int
    name: str

    @property
    def title(self) -> str:
        return "Rename lane"


@dataclass(frozen=True)
class SetLimits(Command):
    """When lanes stop by themselves: after so many iterations since the last edit, or below the tolerance.

    Without `lane` for the session; with it a limit of iterations for that lane alone, 0 to follow the session again
    (the tolerance is always the session's).
    """

    iterations: int
    tolerance: float
    lane: int | None = None
    gesture: int = 0

    @property
    def title(self) -> str:
        return "Set limits"

    @property
    def merge_key(self) -> str | None:
        return f"limits {self.lane}"

    @property
    def stroke(self) -> int | None:
        return self.gesture or None


# Graphs ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetEvidence(Command):
    """Say in which state some nodes of a graph are; -1 takes back what was said. Numbers as in `GraphFrame`."""

    nodes: tuple[int, ...]
    state: int
    strength: float = 1.0
    stroke_id: int = 0

    @property
    def title(self) -> str:
        return "Remove evidence" if self.state == -1 else "Give evidence"

    @property
    def stroke(self) -> int | None:
        return self.stroke_id or None


@dataclass(frozen=True)
class GraphCommand(Command):
    """Base of what changes a document's graph.

    Other nodes or edges begin every lane anew; other strengths go on from the present messages; nodes that only stand
    elsewhere change nothing that is computed.
    """


@dataclass(frozen=True)
class NewGraph(GraphCommand):
    """Another graph, from a source of `Loaded.sources`; evidence is cleared and every lane begins anew."""

    source: str
    parameters: dict[str, Any] = field(default_factory=dict)
    strengths: dict[str, Any] | None = None
    """None begins with the source's own."""
    gesture: int = 0

    @property
    def title(self) -> str:
        return f"New {self.source} graph"

    @property
    def merge_key(self) -> str | None:
        return "new graph"

    @property
    def stroke(self) -> int | None:
        return self.gesture or None


@dataclass(frozen=True)
class SetStrength(GraphCommand):
    """Coupling, field or temperature of the whole graph; see `sketch.Strengths`. One drag is one undo step."""

    name: str
    value: float
    gesture: int = 0

    @property
    def title(self) -> str:
        return f"Set {self.name}"

    @property
    def merge_key(self) -> str | None:
        return f"strength {self.name}"

    @property
    def stroke(self) -> int | None:
        return self.gesture or None


@dataclass(frozen=True)
class AddNode(GraphCommand):
    """One more node, without a field, at a place."""

    x: float
    y: float

    @property
    def title(self) -> str:
        return "Add node"


@dataclass(frozen=True)
class Connect(GraphCommand):
    """An edge between two nodes; the strength of the graph multiplies its coupling."""

    first: int
    second: int
    coupling: float = 1.0

    @property
    def title(self) -> str:
        return "Connect nodes"


@dataclass(frozen=True)
class DeleteParts(GraphCommand):
    """Take nodes away, with all their edges, and further edges."""

    nodes: tuple[int, ...] = ()
    edges: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        return "Delete node" if self.nodes else "Delete edge"


@dataclass(frozen=True)
class MoveNode(GraphCommand):
    """Put a node elsewhere; a drag is one undo step."""

    node: int
    x: float
    y: float
    gesture: int = 0

    @property
    def title(self) -> str:
        return "Move node"

    @property
    def merge_key(self) -> str | None:
        return f"move {self.node}"

    @property
    def stroke(self) -> int | None:
        return self.gesture or None


@dataclass(frozen=True)
class SetLayout(GraphCommand):
    """Place all nodes by a layout of `Loaded.layouts`."""

    layout: str

    @property
    def title(self) -> str:
        return f"Lay out: {self.layout}"


@dataclass(frozen=True)
class SetPart(GraphCommand):
    """The field of one node or the coupling of one edge, before the strengths scale it."""

    part: Literal["node", "edge"]
    number: int
    value: float
    gesture: int = 0

    @property
    def title(self) -> str:
        return "Set field" if self.part == "node" else "Set coupling"

    @property
    def merge_key(self) -> str | None:
        return f"{self.part} {self.number}"

    @property
    def stroke(self) -> int | None:
        return self.gesture or None


# Transport and view: not undoable -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transport(Command):
    undoable: ClassVar[bool] = False


@dataclass(frozen=True)
class Play(Transport):
    """Run. Where all lanes have ended, run on for as many iterations as the limit says."""


@dataclass(frozen=True)
class Pause(Transport):
    pass


@dataclass(frozen=True)
class Step(Transport):
    """`count` iterations forward, beyond the limit too, or back if negative; pauses."""

    count: int = 1


@dataclass(frozen=True)
class Scrub(Transport):
    """Go to an iteration from `Frame.oldest` to `Frame.newest`; pauses. Messages, not only beliefs, are restored.

    The evidence is shown as it was then. An edit made there starts a new branch from those messages with *all* edits
    made so far; what was computed later is forgotten.
    """

    iteration: int

    @property
    def merge_key(self) -> str | None:
        return "scrub"


@dataclass(frozen=True)
class SetSpeed(Transport):
    """Iterations a second; None is as fast as possible."""

    iterations_per_second: float | None

    @property
    def merge_key(self) -> str | None:
        return "speed"


@dataclass(frozen=True)
class Restart(Transport):
    """Begin anew with the same evidence and the same seed."""

    @property
    def merge_key(self) -> str | None:
        """One of several in a row is enough, and a slider whose every change restarts still coalesces."""
        return "restart"


@dataclass(frozen=True)
class Undo(Transport):
    pass


@dataclass(frozen=True)
class Redo(Transport):
    pass


@dataclass(frozen=True)
class SetView(Transport):
    """Which pictures to compute, for which rectangle (top, left, height, width; None is everything), at which stride.

    Of every label model: `belief`, `decoded`, `entropy`, `difference` (from the lane `apart`), `error`, `histogram` and
    `strip` (see `LaneFrame`), and `comparison` (see `Frame`); of a workspace what its `pictures` says, such as
    `residual`, `clone` and `ownership`. A name may carry a number, as in `sample:12`, the twelfth draw.
    """

    layers: tuple[str, ...]
    rectangle: tuple[int, int, int, int] | None = None
    inspect: tuple[int, int] | None = None
    """A pixel (row, column) whose details an inspector shows."""
    stride: int = 1
    """Every how many pixels the pictures are sampled, where the screen is coarser than the image."""
    edge: int | None = None
    """An edge of `GraphFrame.edges` whose messages are wanted over iterations, as `LaneFrame.trace`."""
    lane: int = 0
    """The lane that `edge` is about."""
    apart: int | None = None
    """The lane that `difference` is measured from; None is the first."""
    reference: int | None = None
    """The lane that `comparison` and `error` are measured from; None is exact inference where it can be computed."""

    @property
    def merge_key(self) -> str | None:
        return "view"
