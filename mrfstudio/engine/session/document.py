"""What a person gives to a session: painted layers over one image, a graph, a photograph, labels, held units.

A document is immutable. An edit (`painting.py`, `apply_to_graph.py`) copies the layers it changes and shares the
others, so that history can keep many documents; `inverses.py` has the commands that take edits back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mrfstudio.engine.graphs.sketch import Sketch
from mrfstudio.engine.protocol.commands import Label
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.session.photo import Photo

STRENGTH = "_strength"


@dataclass(frozen=True)
class LayerSpec:
    """A layer that can be painted on: what an empty pixel holds and which values mean something."""

    name: str
    blank: int
    values: tuple[int, ...] | range
    soft: tuple[int, ...] | None = None
    """The values that a brush may paint with less than full strength; None is all but the blank one."""
    hard: bool = False
    """Whether nothing on it is ever soft: then no strengths are kept, which take four times as much as the values."""

    def strength(self, value: int, given: float) -> float:
        """The strength that a pixel of this value gets: 1 where less has no meaning."""
        soft = not self.hard and (value != self.blank if self.soft is None else value in self.soft)
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
    photo: Photo | None = None
    """The photograph below the layers; it counts as the first document's own, not as each point's."""
    labels: tuple[Label, ...] = ()
    """What the values of a photograph's strokes are called."""

    @property
    def shape(self) -> tuple[int, int]:
        height, width = next(iter(self.layers.values())).shape
        return int(height), int(width)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays, `truth` among them where it is known."""
        return {**self.layers, **({} if self.truth is None else {"truth": self.truth})}

    def strength(self, layer: str) -> np.ndarray:
        """(h, w) float32; 1 everywhere on a layer that is always hard."""
        if layer + STRENGTH not in self.layers:
            return np.broadcast_to(np.float32(1), self.shape)
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
        if self.clamps != other.clamps or self.labels != other.labels:
            return False
        photos = [None if each.photo is None else each.photo.digest for each in (self, other)]
        if photos[0] != photos[1]:
            return False
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


def blank_document(specs: Iterable[LayerSpec], shape: tuple[int, int], name: str = "") -> Document:
    """A document on which nothing was painted."""
    layers = {}
    for spec in specs:
        layers[spec.name] = frozen(np.full(shape, spec.blank, np.uint8))
        if not spec.hard:
            layers[spec.name + STRENGTH] = frozen(np.ones(shape, np.float32))
    return Document(layers, name=name)


def frozen(array: np.ndarray) -> np.ndarray:
    """The array, never to be written again: documents and frames share it."""
    array.setflags(write=False)
    return array


MOST_LABELS, LONGEST_TITLE = 12, 40
COLOUR = re.compile("#[0-9a-fA-F]{6}")


def checked_labels(given: Iterable[Iterable[Any]]) -> tuple[Label, ...]:
    """Labels as a command has them, in order of their numbers. Raises `StudioError`."""
    made = (Label(int(number), str(title), str(colour)) for number, title, colour in given)
    labels = sorted(made, key=lambda each: each.number)
    numbers = [each.number for each in labels]
    if len(set(numbers)) < len(numbers) or not all(1 <= n <= MOST_LABELS for n in numbers):
        raise StudioError(f"The labels are numbered {numbers}: expected different numbers from 1 to {MOST_LABELS}.")
    if len(labels) < 2:
        raise StudioError("A photograph needs at least two labels: what is cut out, and the rest.")
    for each in labels:
        if not 0 < len(each.title) <= LONGEST_TITLE or not each.title.isprintable():
            raise StudioError(f"A label is called {each.title!r}: expected 1 to {LONGEST_TITLE} printable characters.")
        if not COLOUR.fullmatch(each.colour):
            raise StudioError(f"The label {each.title} has the colour {each.colour!r}: expected #rrggbb.")
    return tuple(labels)


def checked_clamps(stored: Iterable[Iterable[object]]) -> tuple[Clamp, ...]:
    """Clamps as a file has them, as a document has them. Raises `ValueError` where they are none."""
    clamps = []
    for model, unit, value in stored:
        if not (isinstance(model, str) and isinstance(unit, int) and unit >= 0 and value in (0, 1)):
            raise ValueError(f"{(model, unit, value)!r} holds no hidden unit")
        clamps.append((model, unit, 1 if value else 0))
    return tuple(sorted(clamps))
