"""What a person gives to a session: painted layers over one image, and the commands that restore them.

A document is immutable. An edit copies the layers it changes and shares the others, so that history can keep many
documents. The inverse of an edit is a `Patch` of compressed tiles, or a `Restore` where the whole picture was replaced.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from mrfstudio.engine.commands import ClearLayer, Command, Fill, Paint, PaintRectangle
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.raster import Mask, rectangle_mask, stroke_mask

TILE = 32
"""Side of the tiles that undo keeps. A small brush touches a few; a tile compresses to some tens of bytes."""
STRENGTH = "_strength"
ERASE = -1


@dataclass(frozen=True)
class LayerSpec:
    """A layer that can be painted on: what an empty pixel holds and which values mean something."""

    name: str
    blank: int
    values: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Document:
    """Layers by name, all (h, w): values uint8, and `NAME_strength` float32 in (0, 1], 1 if nothing else was said."""

    layers: Mapping[str, np.ndarray]
    truth: np.ndarray | None = None
    name: str = ""

    @property
    def shape(self) -> tuple[int, int]:
        height, width = next(iter(self.layers.values())).shape
        return int(height), int(width)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays, `truth` among them where it is known."""
        return {**self.layers, **({} if self.truth is None else {"truth": self.truth})}

    def strength(self, layer: str) -> np.ndarray:
        return self.layers[layer + STRENGTH]

    def with_layers(self, changed: Mapping[str, np.ndarray]) -> Document:
        return replace(self, layers={**self.layers, **{name: frozen(array) for name, array in changed.items()}})

    def same(self, other: Document) -> bool:
        """Equal bit for bit."""
        mine, theirs = self.arrays, other.arrays
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


def blank_document(specs: Iterable[LayerSpec], shape: tuple[int, int], name: str = "") -> Document:
    """A document on which nothing was painted."""
    layers = {}
    for spec in specs:
        layers[spec.name] = frozen(np.full(shape, spec.blank, np.uint8))
        layers[spec.name + STRENGTH] = frozen(np.ones(shape, np.float32))
    return Document(layers, name=name)


def frozen(array: np.ndarray) -> np.ndarray:
    """The array, never to be written again: documents and frames share it."""
    array.setflags(write=False)
    return array


# Painting -------------------------------------------------------------------------------------------------------------


def painted(document: Document, command: Command, specs: Mapping[str, LayerSpec]) -> Document | None:
    """The document after `Paint`, `PaintRectangle`, `Fill` or `ClearLayer`; None for other commands."""
    if isinstance(command, ClearLayer):
        spec = _spec(command.layer, specs)
        empty = blank_document([spec], document.shape)
        return document.with_layers(empty.layers)
    if not isinstance(command, Paint | PaintRectangle | Fill):
        return None
    spec = _spec(command.layer, specs)
    value = _value(command.value, spec)
    if not 0 < command.strength <= 1:
        raise StudioError(f"The brush has strength {command.strength}: expected a number above 0 and at most 1.")
    top, left, mask = _covered(document, command)
    if not mask.any():
        return document
    strength = 1.0 if value == spec.blank else command.strength
    changed = {}
    for name, content in ((spec.name, value), (spec.name + STRENGTH, strength)):
        array = document.layers[name].copy()
        array[top : top + mask.shape[0], left : left + mask.shape[1]][mask] = content
        changed[name] = array
    return document.with_layers(changed)


def _covered(document: Document, command: Paint | PaintRectangle | Fill) -> tuple[int, int, Mask]:
    if isinstance(command, Paint):
        return stroke_mask(command.points, command.radius, document.shape)
    if isinstance(command, PaintRectangle):
        return rectangle_mask(command.rectangle, document.shape)
    height, width = document.shape
    if not (0 <= command.row < height and 0 <= command.column < width):
        place = f"(row {command.row}, column {command.column})"
        raise StudioError(f"Fill starts at {place}: the image has {height} rows and {width} columns.")
    return 0, 0, _flood(document.layers[command.layer], command.row, command.column)


def _flood(array: np.ndarray, row: int, column: int) -> Mask:
    """Pixels of the same value that are 4-connected with one pixel, (h, w)."""
    from scipy import ndimage  # a fifth of a second that only the first fill pays

    regions, _ = ndimage.label(array == array[row, column])
    return np.asarray(regions == regions[row, column])


def _spec(layer: str, specs: Mapping[str, LayerSpec]) -> LayerSpec:
    if layer not in specs:
        raise StudioError(f"There is no layer {layer!r} to paint on: expected one of {', '.join(specs)}.")
    return specs[layer]


def _value(value: int, spec: LayerSpec) -> int:
    if value == ERASE:
        return spec.blank
    if value not in spec.values:
        known = ", ".join(map(str, spec.values))
        raise StudioError(
            f"Layer {spec.name} was to be painted with {value}: expected one of {known}, or {ERASE} to erase."
        )
    return value


# Inverses -------------------------------------------------------------------------------------------------------------


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
            rows, columns = np.nonzero(_by_tile(after != before))
            for row, column in zip((rows * TILE).tolist(), (columns * TILE).tolist(), strict=True):
                part = after[row : row + TILE, column : column + TILE]
                tiles.append(Tile(name, row, column, len(part), part.shape[1], zlib.compress(part.tobytes(), 1)))
        return cls(tuple(tiles))

    def apply(self, document: Document) -> Document:
        changed: dict[str, np.ndarray] = {}
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
            window[...] = content.reshape(window.shape)
        return document.with_layers(changed)

    def after(self, earlier: Patch) -> Patch:
        """One patch that undoes both edits: where both have a tile, the earlier edit's is the older content."""
        known = {(tile.layer, tile.row, tile.column) for tile in earlier.tiles}
        fresh = (tile for tile in self.tiles if (tile.layer, tile.row, tile.column) not in known)
        return Patch((*earlier.tiles, *fresh))


@dataclass(frozen=True, eq=False)
class Restore(Command):
    """Put a whole document back, whatever its size: the inverse of opening another picture. All lanes begin anew."""

    shape: tuple[int, int]
    layers: Mapping[str, bytes]
    name: str = ""

    @classmethod
    def of(cls, document: Document) -> Restore:
        packed = {name: zlib.compress(array.tobytes(), 1) for name, array in document.arrays.items()}
        return cls(document.shape, packed, document.name)

    def document(self, specs: Iterable[LayerSpec]) -> Document:
        """The document; layers must be those of `specs`."""
        blank = blank_document(specs, self.shape, self.name)
        arrays = {**blank.arrays, "truth": np.empty(self.shape, np.uint8)}
        if self.layers.keys() | {"truth"} != arrays.keys():
            raise StudioError(
                f"A document has the layers {', '.join(self.layers)}: expected {', '.join(blank.layers)}."
            )
        unpacked = {}
        for name, content in self.layers.items():
            raw = _unpacked(content, arrays[name].nbytes)
            if len(raw) != arrays[name].nbytes:
                raise StudioError(f"Layer {name!r} of a document is damaged: it does not have {self.shape} pixels.")
            unpacked[name] = np.frombuffer(raw, arrays[name].dtype).reshape(self.shape)
        truth = unpacked.pop("truth", None)
        return Document({name: frozen(array) for name, array in unpacked.items()}, truth, self.name)


def _unpacked(content: bytes, most: int) -> bytes:
    """Decompress, but no more than can be right: a session file may be anything."""
    try:
        return zlib.decompressobj().decompress(content, most + 1)
    except zlib.error:
        raise StudioError("A stored part of the document is damaged: its compressed bytes cannot be read.") from None


def _by_tile(changed: Mask) -> Mask:
    """Whether anything is true in each tile, (tile rows, tile columns)."""
    height, width = changed.shape
    rows = np.logical_or.reduceat(changed, np.arange(0, height, TILE), axis=0)
    return np.asarray(np.logical_or.reduceat(rows, np.arange(0, width, TILE), axis=1))
