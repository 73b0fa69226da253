"""Clones that follow a contour: each says from where the line comes and whither it goes, with IN on its left.

A clone is a heading on arrival, one of eight, and a turn from -m to m eighths, so that there are 8 · (2m + 1) of them:
40 for turns up to a right angle. Seen along the line every pixel has one before and one behind it,
IN lies on the left and OUT on the right. Which pixels belong to a line is then found along it, as in a chain, before
anything is known about its sides; and because a closed line turns once to the left in all, the sides follow.

A rotation carries headings along. A mirror swaps left and right, so that the mirrored line is followed backwards: turns
stay what they were. Single states, as IN and OUT are, stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

HEADINGS: tuple[tuple[int, int], ...] = ((0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1))
"""(row, column) steps: east, then by eighths of a turn to the left."""
_FULL = len(HEADINGS)


def turns_of(clones: int) -> int | None:
    """The largest turn m of so many clones, in eighths; None where the number is not 8 · (2m + 1)."""
    each, rest = divmod(clones, _FULL)
    return each // 2 if not rest and each % 2 == 1 else None


def line_clones(clones: int) -> NDArray[np.int64]:
    """Headings on arrival and on leaving, (clones, 2), ordered by arrival and then by turn, rightmost first."""
    most = turns_of(clones)
    assert most is not None, clones
    arrival, turn = np.meshgrid(np.arange(_FULL), np.arange(-most, most + 1), indexing="ij")
    return np.stack([arrival, (arrival + turn) % _FULL], -1).reshape(-1, 2)


def line_permutations(clones: Sequence[int], elements: NDArray[np.int64]) -> NDArray[np.int64]:
    """permutation[h, s] = h·s, (8, S), for the matrices (8, 2, 2) of the square's symmetries."""
    lines = line_clones(clones[0])
    number = {(int(a), int(b)): index for index, (a, b) in enumerate(lines)}
    found = np.tile(np.arange(sum(clones)), (len(elements), 1))
    for h, matrix in enumerate(elements):
        moved = [HEADINGS.index((int(row), int(column))) for row, column in np.array(HEADINGS) @ matrix.T]
        for index, (arrival, leaving) in enumerate(lines):
            a, b = moved[arrival], moved[leaving]
            if round(np.linalg.det(matrix)) < 0:
                a, b = (b + _FULL // 2) % _FULL, (a + _FULL // 2) % _FULL
            found[h, index] = number[a, b]
    return found


class LineCosts(NamedTuple):
    """What first potentials are made of, in nats. The numbers did best on generated figures of 6 to 24 pixels."""

    broken: float = 7.3
    """A line that breaks off, at each end."""
    side: float = 0.55
    """IN on the right or OUT on the left of a line."""
    beside: float = 0.3
    """Another line beside it."""
    apart: tuple[float, float] = (0.95, 0.06)
    """IN beside OUT, and across a corner."""
    pixel: float = 1.3
    """A pixel of a line."""
    turn: tuple[float, ...] = (0.0, 1.4, 4.6, 7.0)
    """A turn by so many eighths."""
    left: float = 0.54
    """What a turn by one eighth to the left costs less."""
    inside: float = 0.2
    """A pixel inside."""
    joined: float = 0.8
    """What two pixels gain that follow each other."""
    bends: tuple[float, float] = (1.65, 0.2)
    """What they gain where they turn to different sides, and to the same side."""


def line_potentials(
    clones: Sequence[int], steps: Sequence[tuple[int, int]], costs: LineCosts | None = None
) -> NDArray[np.float64]:
    """First potentials (steps, S, S) for clones of CONTOUR, OUT and IN: what the words above say."""
    costs = costs or LineCosts()
    count, states = clones[0], sum(clones)
    lines, state = line_clones(count), np.arange(states)
    is_in = state >= count + clones[1]
    is_out = (state >= count) & ~is_in
    arrives, leaves = (np.concatenate([lines[:, end], np.full(states - count, -1)]) for end in (0, 1))
    turned = np.zeros(states)
    turned[:count] = (lines[:, 1] - lines[:, 0] + 4) % _FULL - 4
    own = np.where(is_in, -costs.inside, 0.0)
    own[:count] = costs.left * turned[:count] - np.array(costs.turn)[np.abs(turned[:count]).astype(int)] - costs.pixel
    product = turned[:, None] * turned[None, :]
    gain = costs.joined + costs.bends[0] * (product < 0) + costs.bends[1] * (product > 0)

    def says(heading: int) -> NDArray[np.float64]:
        """What state s of a pixel says of state t of its neighbour there, (S, S)."""
        found = np.zeros((states, states))
        for s, (a, b) in enumerate(lines):
            if heading == b:
                found[s] = np.where(arrives == b, gain[s], -costs.broken)
            elif heading == (a + 4) % _FULL:
                found[s] = np.where(leaves == a, 0.0, -costs.broken)
            else:
                on_left = (heading - b) % _FULL < (a + 4 - b) % _FULL
                wrong = is_out if on_left else is_in
                found[s] = np.where(wrong, -costs.side, np.where(state < count, -costs.beside / 2, 0.0))
        return found

    sides = (is_in[:, None] & is_out[None, :]) | (is_out[:, None] & is_in[None, :])
    whole = []
    for heading in (HEADINGS.index(step) for step in steps):
        matrix = says(heading) + says((heading + 4) % _FULL).T + (own[:, None] + own[None, :]) / _FULL
        whole.append(matrix - np.where(sides, costs.apart[heading % 2], 0.0))
    return np.stack(whole)
