"""What a person has drawn or chosen: the graph of a document, as plain arrays.

A sketch is immutable. `edges`, `couplings` and `fields` are one seeded draw; the strengths scale it, so that a dragged
slider stays on the same graph. A graph from a file has no draw: its strengths scale the file's own tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mrfstudio.engine.protocol.catalogue import Parameters, number
from mrfstudio.engine.protocol.errors import StudioError

FILE = "file"
"""The source of a graph that came from a file or a notebook."""
GENERATED = "graph"
"""The model's name in lanes whose graph was made here."""
DRAWN = "drawn"
MOST_NODES = 100_000
MOST_EDGES = 250_000
LARGEST = 1e18
"""Of numbers whose products with a strength 32 bits still hold."""


class Strengths(Parameters):
    """How strongly nodes speak to each other and are spoken to."""

    name = "strengths"
    title = "Strengths"
    summary = "They scale one draw of couplings and fields: moving them stays on the same graph."

    coupling: float = number(
        0.5,
        "How strongly neighbours pull at each other: it multiplies every coupling.",
        low=0,
        high=1000,
        slider_high=2,
    )
    field: float = number(
        0.1, "How strongly each node prefers one state by itself: it multiplies every field.", low=0, high=1000,
        slider_high=2,
    )  # fmt: skip
    temperature: float = number(
        1.0,
        "Divides couplings and fields alike: hot graphs are nearly independent, cold ones freeze.",
        low=0.01,
        high=1000,
        slider_high=4,
    )


@dataclass(frozen=True, eq=False)
class Sketch:
    """positions (n, 2) float32, x right and y down; edges (m, 2) int64, couplings (m,) and fields (n,) float64.

    Of a graph from a file `edges`, `couplings` and `fields` are empty. `rows` and `columns` are given where the nodes
    stand in a lattice, row by row.
    """

    source: str
    parameters: Mapping[str, Any]
    strengths: Strengths
    positions: np.ndarray
    edges: np.ndarray
    couplings: np.ndarray
    fields: np.ndarray
    lattice: tuple[int, int] | None = None
    tables: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    """Tables that a person changed, by factor, as linear values before the strengths scale them."""
    pins: Mapping[tuple[int, int], tuple[float, ...]] = field(default_factory=dict)
    """Messages that are held, by factor and place of the variable in it, as probabilities."""
    forbidden: frozenset[tuple[int, int]] = frozenset()
    """States that a person rules out, as (node, state)."""

    def __post_init__(self) -> None:
        for array in self.arrays.values():
            array.setflags(write=False)

    @property
    def nodes(self) -> int:
        return len(self.positions)

    @property
    def is_file(self) -> bool:
        return self.source == FILE

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the layers that hold a value for each node; some places at the end may be empty."""
        return self.lattice or square_shape(self.nodes)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in ("positions", "edges", "couplings", "fields")}

    @property
    def scales(self) -> tuple[float, float]:
        """What couplings and fields are multiplied by."""
        return self.strengths.coupling / self.strengths.temperature, self.strengths.field / self.strengths.temperature

    def same_graph(self, other: Sketch) -> bool:
        """Whether both describe the same distribution, wherever the nodes stand."""
        same = self.tables == other.tables and self.forbidden == other.forbidden
        return same and self.strengths == other.strengths and self.same_structure(other)

    def same_structure(self, other: Sketch) -> bool:
        """Whether both have the same nodes, edges and draw; arrays that no edit has touched are shared."""
        if (self.source == FILE) != (other.source == FILE) or self.nodes != other.nodes:
            return False
        return all(
            mine is theirs or np.array_equal(mine, theirs)
            for mine, theirs in ((getattr(self, n), getattr(other, n)) for n in ("edges", "couplings", "fields"))
        )

    def same(self, other: Sketch) -> bool:
        """Equal bit for bit."""
        return self.same_graph(other) and self.described() == other.described() and np.array_equal(
            self.positions, other.positions
        )  # fmt: skip

    def at(self, positions: np.ndarray) -> Sketch:
        """The same graph with its nodes elsewhere."""
        return replace(self, positions=np.ascontiguousarray(positions, np.float32))

    # As plain values --------------------------------------------------------------------------------------------------

    def described(self) -> dict[str, Any]:
        """Everything but the arrays, ready for JSON."""
        told: dict[str, Any] = {
            "source": self.source,
            "parameters": dict(self.parameters),
            "strengths": self.strengths.values(),
            "lattice": None if self.lattice is None else list(self.lattice),
        }
        if self.tables:
            told["tables"] = [[factor, list(values)] for factor, values in sorted(self.tables.items())]
        if self.pins:
            told["pins"] = [[*place, list(values)] for place, values in sorted(self.pins.items())]
        if self.forbidden:
            told["forbidden"] = [list(place) for place in sorted(self.forbidden)]
        return told

    @classmethod
    def restored(cls, described: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Sketch:
        """The sketch that `described` and `arrays` came from. Raises `StudioError` where they do not fit together."""
        positions = np.array(arrays["positions"], np.float32).reshape(-1, 2)
        edges = np.array(arrays["edges"], np.int64).reshape(-1, 2)
        couplings, fields = np.array(arrays["couplings"], np.float64), np.array(arrays["fields"], np.float64)
        lattice = described["lattice"]
        sketch = cls(
            str(described["source"]),
            dict(described["parameters"]),
            Strengths(**described["strengths"]),
            positions,
            edges,
            couplings,
            fields,
            None if lattice is None else (int(lattice[0]), int(lattice[1])),
            {int(factor): tuple(map(float, values)) for factor, values in described.get("tables", ())},
            {(int(factor), int(axis)): tuple(map(float, values)) for factor, axis, values in described.get("pins", ())},
            frozenset((int(node), int(state)) for node, state in described.get("forbidden", ())),
        )
        return checked(sketch)


def square_shape(nodes: int) -> tuple[int, int]:
    """Rows and columns of a nearly square place for so many nodes."""
    side = max(1, math.isqrt(max(nodes - 1, 0)) + 1)
    return -(-nodes // side) or 1, side


def checked(sketch: Sketch) -> Sketch:
    """The sketch, if it is one. Raises `StudioError`."""
    nodes, edges = sketch.nodes, sketch.edges
    if not 1 <= nodes <= MOST_NODES:
        raise StudioError(f"The graph has {nodes} nodes: expected 1 to {MOST_NODES}.")
    if len(edges) > MOST_EDGES:
        raise StudioError(f"The graph has {len(edges)} edges: expected at most {MOST_EDGES}; take fewer nodes.")
    lattice = sketch.lattice
    if lattice is not None and lattice[0] * lattice[1] < nodes:
        raise StudioError(f"A lattice of {lattice[0]} × {lattice[1]} has too few places for {nodes} nodes.")
    if len(sketch.couplings) != len(edges) or len(sketch.fields) != (0 if sketch.is_file else nodes):
        raise StudioError(f"A graph has {len(edges)} edges and {nodes} nodes, but not as many couplings and fields.")
    if len(edges) and (edges.min() < 0 or edges.max() >= nodes or (edges[:, 0] == edges[:, 1]).any()):
        raise StudioError(f"An edge joins two different nodes of 0 to {nodes - 1}.")
    if not all(0 <= node < nodes and state >= 0 for node, state in sketch.forbidden):
        raise StudioError(f"A state is ruled out of a node that is not there: expected nodes 0 to {nodes - 1}.")
    if not all((np.abs(array) <= LARGEST).all() for array in sketch.arrays.values()):
        raise StudioError(f"A graph has positions, couplings or fields that are not finite, or beyond {LARGEST:g}.")
    return sketch
