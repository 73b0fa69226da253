"""What a person gives to a session: painted layers over one image, and the commands that restore them.

A document is immutable. An edit copies the layers it changes and shares the others, so that history can keep many
documents. The inverse of an edit is a `Patch` of compressed tiles, or a `Restore` where the whole picture was replaced.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from mrfstudio.engine.commands import ClampUnit, ClearLayer, Command, Fill, Invert, Shape
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.raster import Mask, command_mask
from mrfstudio.engine.sketch import Sketch

TILE = 32
"""Side of the tiles that undo keeps. A small brush touches a few; a tile compresses to some tens of bytes."""
STRENGTH = "_strength"
ERASE = -1


@dataclass(frozen=True)
class LayerSpec:
    """A layer that can be painted on: what an empty pixel holds and which values mean something."""

    name: str
    blank: int
    values: tuple[int, ...] | range
    soft: tuple[int, ...] | None = None
    """The values that a brush may paint with less than full strength; None is all but the blank one."""

    def strength(self, value: int, given: float) -> float:
        """The strength that a pixel of this value gets: 1 where less has no meaning."""
        soft = value != self.blank if self.soft is None else value in self.soft
        return given if soft else 1.0

    @property
    def in_words(self) -> str:
        """The values, for a sentence."""
        if isinstance(self.values, range):
            return f"whole numbers from {self.values[0]} to {self.values[-1]}"
        return ", ".join(map(str, self.values))


GREY = range(256)
"""The values of a layer that holds a grey picture, from black to white."""

Clamp = tuple[str, int, int]
"""A model, one of its hidden units, and whether it is held off (0) or on (1)."""


@dataclass(frozen=True, eq=False)
class Document:
    """Layers by name, all (h, w): values uint8, and `NAME_strength` float32 in (0, 1], 1 if nothing else was said.

    Values are labels, or grey levels of a picture; `truth` has the same kind of values as the first layer.
    """

    layers: Mapping[str, np.ndarray]
    truth: np.ndarray | None = None
    name: str = ""
    clamps: tuple[Clamp, ...] = ()
    """Hidden units that are held, in order; each (model, unit) at most once."""
    graph: Sketch | None = None
    """The graph whose nodes the layers speak about, row by row, where a person can change it."""

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

    def held(self, model: str) -> dict[int, int]:
        """The hidden units of a model that are held, with their value."""
        return {unit: value for name, unit, value in self.clamps if name == model}

    def same(self, other: Document) -> bool:
        """Equal bit for bit."""
        if (self.graph is None) != (other.graph is None):
            return False
        if self.graph is not None and other.graph is not None and not self.graph.same(other.graph):
            return False
        mine, theirs = self.arrays, other.arrays
        if self.clamps != other.clamps:
            return False
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
    """The document after a shape, `Fill`, `Invert`, `ClearLayer` or `ClampUnit`; None for other commands."""
    if isinstance(command, ClampUnit):
        return _clamped(document, command)
    if isinstance(command, Invert):
        return _inverted(document, _spec(command.layer, specs))
    if isinstance(command, ClearLayer):
        spec = _spec(command.layer, specs)
        empty = blank_document([spec], document.shape)
        return document.with_layers(empty.layers)
    if not isinstance(command, Shape | Fill):
        return None
    spec = _spec(command.layer, specs)
    value = _value(command.value, spec)
    if not 0 < command.strength <= 1:
        raise StudioError(f"The brush has strength {command.strength}: expected a number above 0 and at most 1.")
    top, left, mask = _covered(document, command)
    if not mask.any():
        return document
    strength = 1.0 if command.value == ERASE else spec.strength(value, command.strength)
    changed = {}
    for name, content in ((spec.name, value), (spec.name + STRENGTH, strength)):
        array = document.layers[name].copy()
        array[top : top + mask.shape[0], left : left + mask.shape[1]][mask] = content
        changed[name] = array
    return document.with_layers(changed)


def _covered(document: Document, command: Shape | Fill) -> tuple[int, int, Mask]:
    if not isinstance(command, Fill):
        return command_mask(command, document.shape)
    height, width = document.shape
    if not (0 <= command.row < height and 0 <= command.column < width):
        place = f"(row {command.row}, column {command.column})"
        raise StudioError(f"Fill starts at {place}: the image has {height} rows and {width} columns.")
    return 0, 0, _flood(document.layers[command.layer], command.row, command.column)


def _inverted(document: Document, spec: LayerSpec) -> Document:
    if len(spec.values) != 2:
        raise StudioError(f"Layer {spec.name} has {len(spec.values)} values: only a layer with two can be inverted.")
    low, high = spec.values
    array = document.layers[spec.name]
    swapped = np.where(array == low, high, low).astype(array.dtype)
    return document.with_layers({spec.name: swapped, spec.name + STRENGTH: np.ones(array.shape, np.float32)})


def _clamped(document: Document, command: ClampUnit) -> Document:
    if command.value not in (None, 0, 1) or command.unit < 0:
        given = f"Unit {command.unit} was to be held at {command.value}"
        raise StudioError(f"{given}: expected a unit of at least 0 and 0, 1, or nothing to let it go.")
    others = [clamp for clamp in document.clamps if clamp[:2] != (command.model, command.unit)]
    if command.value is not None:
        others.append((command.model, command.unit, command.value))
    return replace(document, clamps=tuple(sorted(others)))


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
        raise StudioError(
            f"Layer {spec.name} was to be painted with {value}: expected one of {spec.in_words}, or {ERASE} to erase."
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
    clamps: tuple[Clamp, ...] = ()

    @classmethod
    def of(cls, document: Document) -> Restore:
        packed = {name: zlib.compress(array.tobytes(), 1) for name, array in document.arrays.items()}
        return cls(document.shape, packed, document.name, document.clamps)

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
        layers = {name: frozen(array) for name, array in unpacked.items()}
        return Document(layers, truth, self.name, checked_clamps(self.clamps))


def checked_clamps(stored: Iterable[Iterable[object]]) -> tuple[Clamp, ...]:
    """Clamps as a file has them, as a document has them. Raises `ValueError` where they are none."""
    clamps = []
    for model, unit, value in stored:
        if not (isinstance(model, str) and isinstance(unit, int) and unit >= 0 and value in (0, 1)):
            raise ValueError(f"{(model, unit, value)!r} holds no hidden unit")
        clamps.append((model, unit, 1 if value else 0))
    return tuple(sorted(clamps))


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
