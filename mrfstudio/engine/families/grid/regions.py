"""Sides of lines: walls that a coarse start leaves in empty places, taken away where the lines agree.

Copies of the canvas lose thin bays and merge near lines, so that a finer canvas may take over IN for one part of an
empty place and OUT for another. The wall between them stands where nothing is seen. Iterations move walls slowly, and
in a comb or a spiral the ends of many walls hold each other. So whole regions are turned at once.

A *piece* is a connected part of the canvas (by sides of pixels) with one of both labels. Two pieces that touch wish for
the same label, two with a line between them for different ones, each with as many votes as pixels where they do. Hints
vote by their nats for the label that a piece has, if it is theirs, and every pixel a little; the largest piece stays.
The strongest wishes, without those that contradict stronger ones, give a label to every piece (along a spanning tree,
so that nothing is searched). Where that is another label than before, connected pieces turn together if fewer votes
are lost then.

A wall in a gap stays: the line on both sides of the gap has more votes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.data.pictures.border_noise import IN, OUT

THICKEST = 4
"""Pixels from one side of a line to the other, at most."""
SIGHT = 4
"""Pixels beside a line, or a wall, that are looked at."""
NATS = 4.0
"""Nats of a hint that count as one vote: about what a pixel of a wall costs."""
KEPT = 1e-3
"""Votes of each pixel for the label that it has."""
ALWAYS = 1e9
"""Times that the largest piece has its own votes."""
LEAST = 3.0
"""Votes that must be won for pieces to turn."""

Labels = NDArray[np.int64]
Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]


def agreed(labels: Labels, hints: Numbers) -> Labels:
    """Labels (H, W) with IN and OUT as lines and walls agree on; hints (H, W) are nats for IN beside OUT."""
    from scipy import ndimage  # later than the first picture of the window

    (outside, few), (inside, more) = ndimage.label(labels == OUT), ndimage.label(labels == IN)
    pieces = np.where(inside > 0, inside + few, outside).astype(np.int64)
    first, second, votes = _between(pieces, few + more + 1)
    if not (votes < 0).any():  # no wall
        return labels
    is_in = np.arange(few + more + 1) > few
    place = pieces.ravel()
    sizes = np.bincount(place)
    own = KEPT * sizes * np.where(is_in, 1, -1)
    for held, sign in ((is_in, 1), (~is_in, -1)):
        own += sign * held * np.bincount(place, (sign * hints).clip(0).ravel()) / NATS
    own[sizes[1:].argmax() + 1] *= ALWAYS
    each = np.arange(1, len(is_in))
    pairs = np.append(first, np.zeros_like(each)), np.append(second, each)
    turned = _turned(is_in, *pairs, np.append(votes, own[1:]))
    turned[0] = False
    return np.where(turned[pieces], IN + OUT - labels, labels)


def _between(pieces: Labels, count: int) -> tuple[Labels, Labels, Numbers]:
    """Pairs of pieces that touch or have a line between them, and votes for different labels less those for the same.

    Each of the three is (pairs,). `pieces` (H, W) are below `count`, and 0 on a contour. A wall near a line is on its
    way to it: what lies beyond it is beside the line, and it has no votes.
    """
    found, votes = [], []
    for rows in (pieces, pieces.T):
        before, room_before = _sight(rows)
        behind, room_behind = (part[:, ::-1] for part in _sight(rows[:, ::-1]))
        wall = room_before[:, :-1] & room_behind[:, 1:] & (rows[:, :-1] != rows[:, 1:])
        pairs = [(rows[:, :-1][wall], rows[:, 1:][wall], -1.0)]
        for thick in range(1, min(THICKEST + 1, rows.shape[1] - 1)):
            line = (before[:, : -thick - 1] > 0) & (behind[:, thick + 1 :] > 0)
            for step in range(1, thick + 1):
                line &= rows[:, step : step - thick - 1] == 0
            pairs.append((before[:, : -thick - 1][line], behind[:, thick + 1 :][line], 1.0))
        for near, far, vote in pairs:
            low, high = np.minimum(near, far), np.maximum(near, far)
            found.append((low * count + high)[low != high])
            votes.append(np.full(len(found[-1]), vote))
    keys, place = np.unique(np.concatenate(found), return_inverse=True)
    summed: Numbers = np.zeros(len(keys))
    np.add.at(summed, place, np.concatenate(votes))
    return keys // count, keys % count, summed


def _sight(rows: Labels) -> tuple[Labels, Flags]:
    """The last of `SIGHT` pixels from each one to the left, or as far as no contour is, and whether none is there.

    Of pieces (H, W), 0 on a contour.
    """
    found, room = rows.copy(), rows > 0
    for step in range(1, min(SIGHT, rows.shape[1])):
        room[:, step:] &= rows[:, :-step] > 0
        found[:, step:] = np.where(room[:, step:], rows[:, :-step], found[:, step:])
    return found, room


def _turned(is_in: Flags, first: Labels, second: Labels, votes: Numbers) -> Flags:
    """Which pieces turn, (pieces,), by pairs and votes (pairs,). Piece 0 stands for OUT; each has a vote with it."""
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

    def graph(chosen: Flags, values: Numbers) -> csr_array:
        ends = first[chosen], second[chosen]
        return coo_array((values[chosen], ends), shape=(len(is_in), len(is_in))).tocsr()

    tree = minimum_spanning_tree(graph(votes != 0, -np.abs(votes)))
    differ = dict(zip(zip(first.tolist(), second.tolist(), strict=True), (votes > 0).tolist(), strict=True))
    order, before = breadth_first_order(tree, 0, directed=False)
    wished = is_in.copy()
    for piece, known in zip(order[1:].tolist(), before[order[1:]].tolist(), strict=True):
        wished[piece] = wished[known] ^ differ[min(piece, known), max(piece, known)]
    other = wished != is_in
    _, group = connected_components(graph(other[first] & other[second], np.ones(len(votes))), directed=False)
    edge = other[first] != other[second]  # all other pairs stay as they are to each other
    inner = np.where(other[first], first, second)[edge]
    won = np.where(is_in[first] == is_in[second], votes, -votes)[edge]
    return other & (np.bincount(group[inner], won, len(is_in))[group] >= LEAST)
