"""What points of a session hold in memory: messages, layers, graphs and models, each piece counted once.

History and undo hold points that share most of what they are made of. Whoever holds points counts them here, and lets
some go when the bytes become too many.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from torch import Tensor

from mrfstudio.engine.session.document import Document
from mrfstudio.engine.session.lanes import TimelinePoint, state_tensors

Pieces = dict[int, Any]
"""Tensors, arrays and models by what is the same for all that share their memory."""
DEPTH = 5
"""How deep tensors lie in a model: in what is derived from it, by name, in groups."""


class Held:
    """Counts pieces. What several holders share counts once, with the bytes that it had when it was first held."""

    def __init__(self) -> None:
        self.bytes = 0
        self._owners: dict[int, tuple[int, int]] = {}  # how many hold a piece, and its bytes

    def add(self, pieces: Pieces) -> None:
        for key, piece in pieces.items():
            count, size = self._owners.get(key) or (0, bytes_of(piece))
            self._owners[key] = (count + 1, size)
            self.bytes += 0 if count else size

    def drop(self, pieces: Pieces) -> None:
        """The opposite of `add`."""
        for key in pieces:
            count, size = self._owners.pop(key)
            if count > 1:
                self._owners[key] = (count - 1, size)
            else:
                self.bytes -= size


def pieces_of(point: TimelinePoint) -> Pieces:
    """What a point holds."""
    pieces = document_pieces(point.document)
    for lane in point.lanes:
        if lane.state is not None:
            pieces |= {_key(tensor): tensor for _, tensor in state_tensors(lane.state)}
        if point.document.graph is not None:  # its model is made for this graph; other models stay anyway
            pieces[id(lane.model)] = lane.model
    return pieces


def document_pieces(document: Document) -> Pieces:
    """What a document holds."""
    arrays = [*document.arrays.values()]
    if document.graph is not None:
        arrays += document.graph.arrays.values()
    if document.photo is not None:
        arrays += (document.photo.content, document.photo.rgb)
    return {id(array): array for array in arrays}


def pieces_in(value: Any, depth: int = DEPTH) -> Pieces:
    """The tensors, arrays and bytes in a model or a command."""
    if isinstance(value, Tensor):
        return {_key(value): value}
    if isinstance(value, np.ndarray | bytes):
        return {id(value): value}
    inside: Iterable[Any] = ()
    if isinstance(value, Mapping):
        inside = value.values()
    elif isinstance(value, tuple | list):
        # Labels and names are many and small: what begins with one is not looked through.
        inside = () if value and isinstance(value[0], int | float | str) else value
    elif is_dataclass(value) and not isinstance(value, type):
        inside = [getattr(value, each.name) for each in fields(value)]
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        inside = vars(value).values()
    found: Pieces = {}
    for each in inside if depth else ():
        found |= pieces_in(each, depth - 1)
    return found


def bytes_of(value: Any) -> int:
    """The bytes of a tensor with all that it is a view of, of an array, or of all in a model."""
    return sum(map(_size, pieces_in(value).values()))


def _size(piece: Tensor | np.ndarray | bytes) -> int:
    """Bytes in memory of a tensor of any shape: of a view, those of the whole."""
    if isinstance(piece, bytes):
        return len(piece)
    return piece.untyped_storage().nbytes() if isinstance(piece, Tensor) else piece.nbytes


def _key(tensor: Tensor) -> int:
    """What all views of one piece of memory have in common, whatever their shape."""
    return tensor.untyped_storage().data_ptr() or id(tensor)
