"""Keep the inverse: the commands that take edits back. Each holds what it puts back, compressed.

    Patch       the tiles of layers that an edit changed
    PutLabels   labels, and what was painted with those that had gone
    Restore     a whole document, where another picture took its place
    PutGraph    a graph and its evidence

`inverse_of` and `graph_inverse` choose; `undo.py` stacks them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mrfstudio.engine.graphs.sketch import DRAWN, MOST_EDGES, MOST_NODES, Sketch
from mrfstudio.engine.protocol.commands import ClampUnit, Command, Forbid, GraphCommand, MoveNode, SetPart, SetStrength
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.session.document import (
    Clamp,
    Document,
    LayerSpec,
    blank_document,
    checked_clamps,
    checked_labels,
    frozen,
)
from mrfstudio.engine.session.photo import photo_of

LARGEST_SIDE = 100_000
"""Rows or columns of any document; a graph's nodes may stand in one row."""
TILE = 32
"""Side of the tiles that undo keeps. A small brush touches a few; a tile compresses to some tens of bytes."""


def inverse_of(before: Document, after: Document, command: Command) -> Command | None:
    """What takes an edit back that left the image's size alone; None if it changed nothing."""
    if isinstance(command, ClampUnit):
        held = before.held(command.model).get(command.unit)
        return None if after.clamps == before.clamps else ClampUnit(command.model, command.unit, held)
    patch = Patch.between(after, before)
    if after.labels != before.labels:
        return PutLabels(tuple((each.number, each.title, each.colour) for each in before.labels), patch)
    return patch if patch.tiles else None


def graph_inverse(document: Document, sketch: Sketch, command: GraphCommand) -> Command:
    """What takes a command back, from the document before it."""
    if isinstance(command, SetStrength):
        return SetStrength(command.name, getattr(sketch.strengths, command.name))
    if isinstance(command, MoveNode):
        x, y = sketch.positions[command.node].tolist()
        return MoveNode(command.node, x, y)
    if isinstance(command, Forbid):
        return Forbid(command.node, command.state, not command.forbidden)
    if isinstance(command, SetPart):
        values = sketch.fields if command.part == "node" else sketch.couplings
        if sketch.source == DRAWN:
            return SetPart(command.part, command.number, float(values[command.number]))
    return PutGraph.of(document, sketch)


@dataclass(frozen=True)
class Tile:
    """A rectangle of one layer as it is to be, compressed."""

    layer: str
    row: int
    column: int
    height: int
    width: int
    content: bytes


@dataclass(frozen=True)
class Patch(Command):
    """Put tiles back: the inverse of every edit that leaves the image's size alone."""

    tiles: tuple[Tile, ...]

    @property
    def bytes(self) -> int:
        return sum(len(tile.content) for tile in self.tiles)

    @classmethod
    def between(cls, now: Document, wanted: Document) -> Patch:
        """What turns `now` into `wanted`."""
        tiles = []
        for name, after in wanted.layers.items():
            before = now.layers[name]
            if after is before:
                continue
            for row, column in _changed_tiles(before, after):
                part = after[row : row + TILE, column : column + TILE]
                tiles.append(Tile(name, row, column, len(part), part.shape[1], zlib.compress(part.tobytes(), 1)))
        return cls(tuple(tiles))

    def apply(self, document: Document, specs: Iterable[LayerSpec]) -> Document:
        """The document with the tiles; their values must be those of layers of `specs`."""
        changed: dict[str, np.ndarray] = {}
        meant = _meant(specs)
        for tile in self.tiles:
            if tile.layer not in document.layers:
                raise StudioError(f"A change of layer {tile.layer!r} does not fit: the document has no such layer.")
            if tile.layer not in changed:
                changed[tile.layer] = document.layers[tile.layer].copy()
            array = changed[tile.layer]
            window = array[tile.row : tile.row + tile.height, tile.column : tile.column + tile.width]
            content = np.frombuffer(_unpacked(tile.content, window.nbytes), array.dtype)
            if window.shape != (tile.height, tile.width) or content.size != window.size:
                raise StudioError(f"A change of layer {tile.layer!r} does not fit into an image of {document.shape}.")
            _check_values(meant, tile.layer, content)
            window[...] = content.reshape(window.shape)
        return document.with_layers(changed)

    def after(self, earlier: Patch) -> Patch:
        """One patch that undoes both edits: where both have a tile, the earlier edit's is the older content."""
        known = {(tile.layer, tile.row, tile.column) for tile in earlier.tiles}
        fresh = (tile for tile in self.tiles if (tile.layer, tile.row, tile.column) not in known)
        return Patch((*earlier.tiles, *fresh))


@dataclass(frozen=True)
class PutLabels(Command):
    """Put labels back, and what was painted with those that had gone."""

    labels: tuple[tuple[int, str, str], ...]
    patch: Patch

    def apply(self, document: Document, specs: Iterable[LayerSpec]) -> Document:
        return replace(self.patch.apply(document, specs), labels=checked_labels(self.labels))


@dataclass(frozen=True, eq=False)
class Restore(Command):
    """Put a whole document back, whatever its size: the inverse of opening another picture. All lanes restart."""

    shape: tuple[int, int]
    layers: Mapping[str, bytes]
    name: str = ""
    clamps: tuple[Clamp, ...] = ()
    photo: np.ndarray | None = None
    """(n,) uint8: the file of the photograph, where there is one."""
    labels: tuple[tuple[int, str, str], ...] = ()

    @classmethod
    def of(cls, document: Document) -> Restore:
        packed = {name: zlib.compress(array.tobytes(), 1) for name, array in document.arrays.items()}
        photo = None if document.photo is None else document.photo.content
        labels = tuple((each.number, each.title, each.colour) for each in document.labels)
        return cls(document.shape, packed, document.name, document.clamps, photo, labels)

    def document(self, specs: Iterable[LayerSpec]) -> Document:
        """The document; layers and their values must be those of `specs`."""
        specs = tuple(specs)
        blank = blank_document(specs, (1, 1), self.name)
        types = {name: array.dtype for name, array in blank.layers.items()} | {"truth": np.dtype(np.uint8)}
        if self.layers.keys() | {"truth"} != types.keys():
            raise StudioError(
                f"A document has the layers {', '.join(self.layers)}: expected {', '.join(blank.layers)}."
            )
        height, width = self.shape
        if not (0 < height <= LARGEST_SIDE and 0 < width <= LARGEST_SIDE):
            raise StudioError(f"A document of {height} × {width} pixels was to be put back: there is no such size.")
        unpacked, meant = {}, _meant(specs)
        for name, content in self.layers.items():
            size = height * width * types[name].itemsize
            raw = _unpacked(content, size)
            if len(raw) != size:
                raise StudioError(f"Layer {name!r} of a document is damaged: it does not have {self.shape} pixels.")
            unpacked[name] = np.frombuffer(raw, types[name]).reshape(self.shape)
            _check_values(meant, name, unpacked[name])
        truth = unpacked.pop("truth", None)
        layers = {name: frozen(array) for name, array in unpacked.items()}
        photo = None if self.photo is None else photo_of(self.photo, self.name)
        labels = checked_labels(self.labels) if self.labels else ()
        return Document(layers, truth, self.name, checked_clamps(self.clamps), None, photo, labels)


@dataclass(frozen=True, eq=False)
class PutGraph(GraphCommand):
    """Put a whole graph and its evidence back: the inverse of edits that change nodes or edges."""

    described: Mapping[str, Any]
    arrays: Mapping[str, bytes]
    evidence: Restore

    @property
    def merge_key(self) -> str | None:
        """Within one gesture only the graph before it counts."""
        return "put graph"

    @classmethod
    def of(cls, document: Document, sketch: Sketch) -> PutGraph:
        packed = {name: zlib.compress(array.tobytes(), 1) for name, array in sketch.arrays.items()}
        return cls(sketch.described(), packed, Restore.of(document))

    def document(self, specs: Iterable[LayerSpec]) -> Document:
        """The document with its graph."""
        types = {"positions": np.float32, "edges": np.int64, "couplings": np.float64, "fields": np.float64}
        most = 16 * max(MOST_NODES, MOST_EDGES)
        arrays = {name: np.frombuffer(_unpacked(self.arrays[name], most), types[name]) for name in types}
        sketch = Sketch.restored(self.described, arrays)
        document = self.evidence.document(specs)
        if document.shape != sketch.shape:
            raise StudioError(f"A stored graph has {sketch.nodes} nodes, but evidence of another form.")
        return replace(document, graph=sketch)


def _unpacked(content: bytes, most: int) -> bytes:
    """Decompress, but no more than can be right: a session file may be anything."""
    try:
        return zlib.decompressobj().decompress(content, most + 1)
    except zlib.error:
        raise StudioError("A stored part of the document is damaged: its compressed bytes cannot be read.") from None


def _meant(specs: Iterable[LayerSpec]) -> dict[str, np.ndarray]:
    """Which of all 256 values mean something in layers, and in the truth, which is like the first of them."""
    known = {each.name: np.isin(np.arange(256), (*each.values, each.blank)) for each in specs}
    return {**known, "truth": next(iter(known.values()))}


def _check_values(meant: Mapping[str, np.ndarray], layer: str, values: np.ndarray) -> None:
    """Raise `StudioError` where values of a layer mean nothing; those of strengths are above 0 and at most 1."""
    fine = meant[layer][values] if layer in meant else (values > 0) & (values <= 1)
    if not fine.all():
        raise StudioError(f"A stored change of the layer {layer!r} holds values that mean nothing.")


def _changed_tiles(before: np.ndarray, after: np.ndarray) -> list[tuple[int, int]]:
    """First row and column of every tile in which two layers differ."""
    found = []
    height, width = after.shape
    starts = np.arange(0, width, TILE)
    for row in range(0, height, TILE):  # whole rows of tiles are compared first: in a photograph most are the same
        one, other = before[row : row + TILE], after[row : row + TILE]
        if not np.array_equal(one, other):
            columns = np.logical_or.reduceat((one != other).any(0), starts)
            found += [(row, int(column)) for column in starts[columns]]
    return found
