"""Potentials tied by the symmetries of the square.

The group has eight elements: four rotations, each with and without a reflection. A clone is a pair (group element g,
base clone c); h carries it to (h·g, c) and the direction d to h·d. A label whose number of clones is no multiple of
eight keeps the remaining states fixed under every h, as the single states of IN and OUT are. Tied potentials obey
    W_{h·d}[h·s, h·t] = W_d[s, t]   and   W_{-d}[t, s] = W_d[s, t],
so that a rotated or mirrored image gets the rotated or mirrored answer, and eight times fewer numbers are learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.families.grid.lines import line_permutations

ELEMENTS = 8

# Acting on (row, column): rotations by quarter turns, then the reflections.
_MATRICES = np.array(
    [
        [[1, 0], [0, 1]], [[0, 1], [-1, 0]], [[-1, 0], [0, -1]], [[0, -1], [1, 0]],
        [[1, 0], [0, -1]], [[-1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, -1], [-1, 0]],
    ]
)  # fmt: skip


def symmetries() -> NDArray[np.int64]:
    """The eight matrices (8, 2, 2) that act on (row, column)."""
    return _MATRICES.copy()


def _product_table() -> NDArray[np.int64]:
    """table[h, g] is the number of h·g."""
    products = np.einsum("hij,gjk->hgik", _MATRICES, _MATRICES)
    same = (products[:, :, None] == _MATRICES[None, None]).all((-1, -2))
    return same.argmax(-1)


def state_permutations(clones: Sequence[int]) -> NDArray[np.int64]:
    """permutation[h, s] = h·s, (8, S). Within a label states are ordered by group element, then base clone."""
    table = _product_table()
    parts, first = [], 0
    for count in clones:
        bases = count // ELEMENTS
        pairs = table[:, :, None] * bases + np.arange(bases)  # (h, g, c)
        moved = pairs.reshape(ELEMENTS, ELEMENTS * bases)
        fixed = np.broadcast_to(np.arange(ELEMENTS * bases, count), (ELEMENTS, count - ELEMENTS * bases))
        parts.append(first + np.concatenate([moved, fixed], 1))
        first += count
    return np.concatenate(parts, 1).astype(np.int64)


def direction_permutations(directions: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """permutation[h, d] = h·d, (8, directions)."""
    moved = np.einsum("hij,dj->hdi", _MATRICES, np.array(directions))
    found: NDArray[np.int64] = (moved[:, :, None] == np.array(directions)).all(-1).argmax(-1)
    return found


@lru_cache(maxsize=8)
def tied_index(
    clones: tuple[int, ...], directions: tuple[tuple[int, int], ...], tying: str = "square"
) -> tuple[NDArray[np.int64], int]:
    """Which free parameter each entry of the potentials is: index (directions / 2, S, S), and how many there are.

    With tying `lines` clones are carried along as lines are (`lines`), else as (group element, base clone).
    """
    states, count = sum(clones), len(directions)
    moved_states = line_permutations(clones, symmetries()) if tying == "lines" else state_permutations(clones)
    moved_directions = direction_permutations(directions)
    d, s, t = np.meshgrid(np.arange(count), np.arange(states), np.arange(states), indexing="ij")
    smallest = np.full(d.shape, np.iinfo(np.int64).max)
    for h in range(ELEMENTS):
        hd, hs, ht = moved_directions[h][d], moved_states[h][s], moved_states[h][t]
        there = (hd * states + hs) * states + ht
        back = ((hd + count // 2) % count * states + ht) * states + hs
        smallest = np.minimum(smallest, np.minimum(there, back))
    orbits, index = np.unique(smallest, return_inverse=True)
    return index.reshape(d.shape)[: count // 2], len(orbits)
