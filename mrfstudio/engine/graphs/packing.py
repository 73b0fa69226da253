"""Flat layouts for ragged things: the states of all variables in one vector, the entries of all messages in another.

Variables are sorted by (number of states, degree); those with the same pair form a block (k, n) in the packed vector,
and the messages they receive are gathered as (degree, k, n) and summed over the first axis. That replaces a scatter,
which is several times slower on a CPU. Message blocks are (k, n) for each axis of each factor shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

Values = TypeVar("Values", Tensor, np.ndarray)


@dataclass(frozen=True)
class Block:
    """Variables with the same number of states and the same degree: entries `offset : offset + states * count`."""

    states: int
    degree: int
    count: int
    offset: int
    first: int  # place of its first variable in `Packing.order`

    @property
    def size(self) -> int:
        return self.states * self.count


@dataclass(frozen=True)
class MessageBlock:
    """Messages between one axis of one factor shape and its variables: entries (states, count) from `offset`."""

    group: int
    axis: int
    states: int
    count: int
    offset: int

    @property
    def stop(self) -> int:
        return self.offset + self.states * self.count


@dataclass(frozen=True, eq=False)
class Packing:
    """Indices between variables, packed states and message entries. Built once for a graph's structure."""

    order: np.ndarray  # (variables,) variable numbers in packed order
    base: np.ndarray  # (variables,) entry of state 0 of each variable
    stride: np.ndarray  # (variables,) distance between the entries of two states
    blocks: tuple[Block, ...]
    message_blocks: tuple[MessageBlock, ...]
    cavity_entries: np.ndarray  # (messages,) packed entry that each message entry speaks about
    incoming: np.ndarray  # for each block with degree > 0 in turn, (degree, states, count) message entries, flat

    @classmethod
    def without_factors(cls, cardinalities: np.ndarray) -> Packing:
        return cls.of(cardinalities, [])

    @classmethod
    def of(cls, cardinalities: np.ndarray, shapes: Sequence[tuple[tuple[int, ...], np.ndarray]]) -> Packing:
        """`shapes`: for each factor shape its (k_1, …, k_r) and its scopes (r, n)."""
        cards = np.asarray(cardinalities, dtype=np.int64)
        variables = len(cards)
        slots = [(group, axis) for group, (shape, _) in enumerate(shapes) for axis in range(len(shape))]
        heads = [shapes[group][1][axis] for group, axis in slots]  # the variable each message goes to
        flat_heads = np.concatenate(heads) if heads else np.zeros(0, dtype=np.int64)
        degree = np.bincount(flat_heads, minlength=variables)
        order = np.lexsort((np.arange(variables), degree, cards))
        blocks, base, stride = _blocks(cards, degree, order)

        message_blocks = []
        offset = 0
        for (group, axis), head in zip(slots, heads, strict=True):
            states = shapes[group][0][axis]
            message_blocks.append(MessageBlock(group, axis, states, len(head), offset))
            offset += states * len(head)
        entries = [
            (base[head][None, :] + np.arange(block.states)[:, None] * stride[head][None, :]).reshape(-1)
            for block, head in zip(message_blocks, heads, strict=True)
        ]
        cavity_entries = np.concatenate(entries) if entries else np.zeros(0, dtype=np.int64)
        incoming = _incoming(order, blocks, message_blocks, flat_heads)
        return cls(order, base, stride, blocks, tuple(message_blocks), cavity_entries, incoming)

    @property
    def size(self) -> int:
        """Entries of the packed vector: the sum of all numbers of states."""
        return self.blocks[-1].offset + self.blocks[-1].size if self.blocks else 0

    @property
    def message_size(self) -> int:
        return self.message_blocks[-1].stop if self.message_blocks else 0

    @cached_property
    def _tensors(self) -> dict[tuple[str, str], Tensor]:
        return {}

    def index(self, name: str, device: torch.device) -> Tensor:
        """`cavity_entries`, `incoming`, `base` or `stride` as a tensor on a device, made once."""
        key = (name, str(device))
        if key not in self._tensors:
            self._tensors[key] = torch.as_tensor(np.ascontiguousarray(getattr(self, name)), device=device)
        return self._tensors[key]

    def entries(self, variables: np.ndarray, states: int) -> np.ndarray:
        """Packed entries (states, n) of variables that all have `states` states."""
        return np.asarray(self.base[variables][None, :] + np.arange(states)[:, None] * self.stride[variables][None, :])

    def entry_of(self, assignment: Tensor) -> Tensor:
        """Packed entry of the chosen state of every variable; `assignment` is (…, variables) in variable order."""
        base, stride = self.index("base", assignment.device), self.index("stride", assignment.device)
        return base + assignment * stride

    def by_block(self, packed: Values) -> list[Values]:
        """Views (…, states, count), one for each block."""
        outer: tuple[int, ...] = tuple(packed.shape[:-1])
        return [
            packed[..., block.offset : block.offset + block.size].reshape((*outer, block.states, block.count))
            for block in self.blocks
        ]

    def sum_states(self, packed: Tensor) -> Tensor:
        """Sum over each variable's states: (…, size) → (…, variables) in packed order."""
        return torch.cat([block.sum(-2) for block in self.by_block(packed)], -1)

    def sum_incoming(self, messages: Tensor) -> Tensor:
        """Sum of all messages to each variable: (…, messages) → (…, size). A gather, never a scatter."""
        return self._incoming(messages, torch.sum, 0.0)

    def product_incoming(self, messages: Tensor) -> Tensor:
        """Product of all messages to each variable: (…, messages) → (…, size)."""
        return self._incoming(messages, torch.prod, 1.0)

    def _incoming(self, messages: Tensor, reduce: Callable[..., Tensor], nothing: float) -> Tensor:
        """All messages (…, messages) to each variable as one value, (…, size); `nothing` where there is none."""
        gathered = messages.index_select(-1, self.index("incoming", messages.device))
        parts, start = [], 0
        for block in self.blocks:
            if block.degree == 0:
                parts.append(messages.new_full((*messages.shape[:-1], block.size), nothing))
                continue
            stop = start + block.degree * block.size
            part = gathered[..., start:stop].unflatten(-1, (block.degree, block.size))
            parts.append(reduce(part, -2))
            start = stop
        return torch.cat(parts, -1) if parts else messages.new_zeros((*messages.shape[:-1], 0))

    def spread(self, packed: Tensor) -> Tensor:
        """Repeat each variable's entries for every message about it: (…, size) → (…, messages)."""
        return packed.index_select(-1, self.index("cavity_entries", packed.device))

    def by_message(self, messages: Values) -> list[list[Values]]:
        """Views (…, states, count), a list for each factor shape with one view for each of its axes."""
        groups: list[list[Values]] = []
        outer: tuple[int, ...] = tuple(messages.shape[:-1])
        for block in self.message_blocks:
            if block.axis == 0:
                groups.append([])
            view = messages[..., block.offset : block.stop].reshape((*outer, block.states, block.count))
            groups[block.group].append(view)
        return groups

    def owners(self, device: torch.device) -> Tensor:
        """The variable number that each packed entry belongs to, (size,)."""
        parts = [np.tile(self.order[b.first : b.first + b.count], b.states) for b in self.blocks]
        return torch.as_tensor(np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64), device=device)

    def softmax(self, packed: Tensor) -> Tensor:
        """Normalise each variable's log-values to probabilities, (…, size)."""
        return torch.cat([torch.softmax(block, -2).flatten(-2) for block in self.by_block(packed)], -1)

    def logsumexp(self, packed: Tensor) -> Tensor:
        """(…, size) → (…, variables), in packed order."""
        return torch.cat([torch.logsumexp(block, -2) for block in self.by_block(packed)], -1)

    def argmax(self, packed: Tensor) -> Tensor:
        """Most probable state of each variable, (…, variables) in variable order."""
        best = torch.cat([block.argmax(-2) for block in self.by_block(packed)], -1)
        return self.to_variable_order(best)

    def to_variable_order(self, values: Tensor) -> Tensor:
        """(…, variables) in packed order → variable order."""
        inverse = torch.as_tensor(np.argsort(self.order), device=values.device)
        return values.index_select(-1, inverse)

    def pack(self, vectors: Sequence[ArrayLike], *, dtype: torch.dtype, device: torch.device | str) -> Tensor:
        """A vector for each variable, in variable order → (size,)."""
        flat = np.zeros(self.size)
        sizes = np.array([np.size(vector) for vector in vectors], dtype=np.int64)
        if len(sizes):
            values = np.concatenate([np.asarray(vector, dtype=np.float64).reshape(-1) for vector in vectors])
            flat[self._natural_entries] = values
        return torch.as_tensor(flat, device=device, dtype=dtype)

    def unpack_numpy(self, flat: np.ndarray) -> list[np.ndarray]:
        """(size,) → a vector for each variable, in variable order."""
        values = flat[self._natural_entries]
        cards = self._cardinalities
        return np.split(values, np.cumsum(cards)[:-1]) if len(cards) else []

    @cached_property
    def _cardinalities(self) -> np.ndarray:
        cards = np.zeros(len(self.order), dtype=np.int64)
        for block in self.blocks:
            cards[self.order[block.first : block.first + block.count]] = block.states
        return cards

    @cached_property
    def _natural_entries(self) -> np.ndarray:
        """Packed entries in the order (variable, state)."""
        cards = self._cardinalities
        starts = np.cumsum(cards) - cards
        states = np.arange(int(cards.sum())) - np.repeat(starts, cards)
        return np.asarray(np.repeat(self.base, cards) + states * np.repeat(self.stride, cards))


def _blocks(
    cards: np.ndarray, degree: np.ndarray, order: np.ndarray
) -> tuple[tuple[Block, ...], np.ndarray, np.ndarray]:
    blocks: list[Block] = []
    base, stride = np.zeros(len(cards), dtype=np.int64), np.zeros(len(cards), dtype=np.int64)
    keys = np.stack([cards[order], degree[order]], axis=1)
    starts = np.flatnonzero(np.r_[True, (keys[1:] != keys[:-1]).any(axis=1)]) if len(order) else np.zeros(0, dtype=int)
    offset = 0
    for start, stop in zip(starts, np.r_[starts[1:], len(order)], strict=False):
        count, states = int(stop - start), int(keys[start, 0])
        members = order[start:stop]
        base[members] = offset + np.arange(count)
        stride[members] = count
        blocks.append(Block(states, int(keys[start, 1]), count, offset, int(start)))
        offset += states * count
    return tuple(blocks), base, stride


def _incoming(
    order: np.ndarray, blocks: Sequence[Block], message_blocks: Sequence[MessageBlock], heads: np.ndarray
) -> np.ndarray:
    """Message entries each variable receives, in the order that `Packing.sum_incoming` sums them."""
    firsts = [block.offset + np.arange(block.count) for block in message_blocks]
    strides = [np.full(block.count, block.count) for block in message_blocks]
    first = np.concatenate(firsts) if firsts else np.zeros(0, dtype=np.int64)  # entry of state 0 of each message
    step = np.concatenate(strides) if strides else np.zeros(0, dtype=np.int64)
    by_head = np.argsort(heads, kind="stable")
    ends = np.cumsum(np.bincount(heads, minlength=len(order))) if len(heads) else np.zeros(len(order), dtype=np.int64)
    parts = []
    for block in blocks:
        if block.degree == 0:
            continue
        members = order[block.first : block.first + block.count]
        slots = by_head[(ends[members] - block.degree)[None, :] + np.arange(block.degree)[:, None]]  # (degree, count)
        states = np.arange(block.states)[None, :, None]
        parts.append((first[slots][:, None, :] + states * step[slots][:, None, :]).reshape(-1))
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
