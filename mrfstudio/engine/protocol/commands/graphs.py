"""What a person does to a graph: evidence, nodes, edges, strengths, places."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from mrfstudio.engine.protocol.commands.base import Command


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

    Other nodes or edges restart every lane; other strengths go on from the present messages; nodes that only stand
    elsewhere change nothing that is computed.
    """


@dataclass(frozen=True)
class NewGraph(GraphCommand):
    """Another graph, from a source of `Loaded.sources`; evidence is cleared and every lane restarts."""

    source: str
    parameters: dict[str, Any] = field(default_factory=dict)
    strengths: dict[str, Any] | None = None
    """None begins with the source's own."""
    gesture: int = 0

    @property
    def title(self) -> str:
        return f"New {self.source} graph"

    @property
    def replaces(self) -> bool:
        return True

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
class SetTable(GraphCommand):
    """The whole table of one factor, numbered as in `GraphFrame`: linear values at the present strengths, 0 forbids,
    the last variable fastest. The run goes on from its messages.
    """

    factor: int
    values: tuple[float, ...]
    gesture: int = 0

    @property
    def title(self) -> str:
        return "Set table"

    @property
    def merge_key(self) -> str | None:
        return f"table {self.factor}"

    @property
    def stroke(self) -> int | None:
        return self.gesture or None


@dataclass(frozen=True)
class PinMessage(GraphCommand):
    """Hold the message of a factor to its variable number `axis` at some probabilities; none lets it go."""

    factor: int
    axis: int
    values: tuple[float, ...] = ()
    gesture: int = 0

    @property
    def title(self) -> str:
        return "Pin message" if self.values else "Let message go"

    @property
    def merge_key(self) -> str | None:
        return f"pin {self.factor} {self.axis}"

    @property
    def stroke(self) -> int | None:
        return self.gesture or None


@dataclass(frozen=True)
class Forbid(GraphCommand):
    """Rule one state of a node out, or allow it again. The run goes on from its messages."""

    node: int
    state: int
    forbidden: bool = True

    @property
    def title(self) -> str:
        return "Forbid state" if self.forbidden else "Allow state"


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
