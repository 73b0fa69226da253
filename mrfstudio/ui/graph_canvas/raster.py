"""Large graphs as images: a hundred thousand lines and circles a frame would take QPainter a second.

A lattice becomes blocks of pixels, one block a node: its middle is the node, the middles of its sides are the messages
that arrive from the four neighbours. Other graphs are drawn into an image through indices that change only with the
view, so that a new frame only looks colours up.
"""

from __future__ import annotations

import numpy as np

from mrfstudio.engine.protocol.frames import GraphFrame
from mrfstudio.ui.style.colours import Colours, rgb

SAMPLES = 48  # points of the longest line that is seen only while it changes; so many cross that gaps do not matter
MOST_SAMPLES = 3000  # points of any other
MOST_POINTS = 3_000_000
DISC = 6  # pixels of radius of the largest stamped node
RIMMED = 3  # pixels of radius from which a node has a rim; smaller ones are a little darker instead
DARKER = 0.2  # part of the rim's colour in them: a node that does not know is as white as the paper
HAIR = 0.12  # of all pixels may be lines


def packed(colour: np.ndarray) -> np.ndarray:
    """(…, 3) uint8 to (…) uint32 of QImage's RGB32."""
    parts = colour.astype(np.uint32)
    return np.asarray(0xFF000000 | parts[..., 0] << 16 | parts[..., 1] << 8 | parts[..., 2], np.uint32)


def is_lattice(graph: GraphFrame) -> bool:
    """Whether nodes stand row by row and all factors join neighbours of a lattice, perhaps around a torus."""
    if graph.lattice is None or len(graph.stars):
        return False
    rows, columns = graph.lattice
    places = np.stack(np.divmod(np.arange(graph.nodes), columns)[::-1], 1) + 0.5
    if not np.array_equal(graph.positions, places.astype(graph.positions.dtype)):
        return False
    (row, column), (other_row, other_column) = (np.divmod(graph.edges[:, side], columns) for side in (0, 1))
    down, right = np.abs(other_row - row), np.abs(other_column - column)
    down, right = np.minimum(down, rows - down), np.minimum(right, columns - right)
    return bool((down + right == 1).all())


def _kept(length: np.ndarray, importance: np.ndarray | None, room: float) -> np.ndarray:
    """The most important lines whose lengths together fit into a room of pixels, (k,) bool."""
    kept = np.ones(len(length), np.bool_)
    if importance is None or length.sum() <= room:
        return kept
    # Of equally strong lines the short ones: they say who is whose neighbour, long ones only cross others.
    order = np.lexsort((length, -np.round(importance, 3)))
    kept[order] = np.cumsum(length[order]) <= room
    return kept


class LatticeRaster:
    """Rows × columns of nodes as an image of blocks, `block` 1, 3 or 5 pixels wide."""

    def __init__(self, graph: GraphFrame, block: int) -> None:
        assert graph.lattice is not None
        self.graph, self.block = graph, block
        self.rows, self.columns = graph.lattice
        first, second = graph.edges[:, 0].astype(np.int64), graph.edges[:, 1].astype(np.int64)
        # For each message the place in its receiver's block, as one index into the flat image.
        self._halves = np.stack([self._place(first, second), self._place(second, first)], 1)

    def _place(self, receiver: np.ndarray, sender: np.ndarray) -> np.ndarray:
        row, column = np.divmod(receiver, self.columns)
        other_row, other_column = np.divmod(sender, self.columns)
        down, right = other_row - row, other_column - column
        # Across the border of a torus the neighbour is on the other side.
        down = np.where(np.abs(down) > 1, -np.sign(down), down)
        right = np.where(np.abs(right) > 1, -np.sign(right), right)
        middle, reach = self.block // 2, self.block // 2
        y, x = row * self.block + middle + down * reach, column * self.block + middle + right * reach
        return y * (self.columns * self.block) + x

    def image(
        self,
        nodes: np.ndarray,
        halves: np.ndarray | None,
        evidence: np.ndarray,
        colours: Colours,
    ) -> np.ndarray:
        """(rows · block, columns · block) uint32; `nodes` (n,) and `halves` (m, 2) packed, 0 for none."""
        block, count = self.block, self.graph.nodes
        paper = int(packed(np.array(rgb(colours.paper), np.uint8)))
        padded = np.full(self.rows * self.columns, paper, np.uint32)
        padded[:count] = nodes
        cells = padded.reshape(self.rows, self.columns)
        if block == 1:
            return np.ascontiguousarray(cells)
        image = np.full((self.rows, block, self.columns, block), paper, np.uint32)
        inner = slice(1, block - 1) if block == 5 else slice(None)  # small blocks are all node, where messages rest
        image[:, inner, :, inner] = cells[:, None, :, None]
        if halves is not None:
            drawn = halves != 0
            image.reshape(-1)[self._halves[drawn]] = halves[drawn]
        if evidence.any():
            given = np.zeros(self.rows * self.columns, np.bool_)
            given[:count] = evidence
            middle = image[:, block // 2, :, block // 2]
            ink = int(packed(np.array(rgb(colours.ink), np.uint8)))
            image[:, block // 2, :, block // 2] = np.where(given.reshape(cells.shape), ink, middle)
        return image.reshape(self.rows * block, self.columns * block)


class LineRaster:
    """Lines and discs of any graph in an image of the widget's size."""

    def __init__(
        self,
        starts: np.ndarray,
        ends: np.ndarray,
        points: np.ndarray,
        radius: float,
        size: tuple[int, int],
        importance: np.ndarray | None = None,
    ) -> None:
        """`starts` and `ends` (k, 2) of lines and `points` (n, 2) of nodes in pixels; `size` (height, width).

        Where lines would cover everything, only the most important ones are drawn while they are calm, and those that
        change most while they are not.
        """
        self.size = size
        low, high = np.minimum(starts, ends), np.maximum(starts, ends)
        near = np.flatnonzero((high >= 0).all(1) & (low < (size[1], size[0])).all(1))
        """The lines in sight."""
        self._near, way = near, (ends - starts)[near]
        self._length = np.abs(way).max(1, initial=0)
        self._room = HAIR * size[0] * size[1]
        self.kept = _kept(self._length, None if importance is None else importance[near], self._room)
        """(lines in sight,) bool: those that are drawn even where nothing happens on them."""
        count = np.clip(np.ceil(self._length).astype(np.int64), 1, np.where(self.kept, MOST_SAMPLES, SAMPLES))
        others = np.where(self.kept, 0, count)
        if others.sum() > MOST_POINTS:
            count = np.where(self.kept, count, np.maximum(1, others * MOST_POINTS // others.sum()))
        owner = np.repeat(np.arange(len(near)), count)
        step = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        part = (step / np.repeat(count, count))[:, None]
        self._pixels, inside = self._flat(starts[near][owner] + part * way[owner])
        self._owner = owner[inside]
        reach = round(min(max(1.25 * radius, 1), DISC))
        self._rims = self._stamped(points, reach)[0] if reach >= RIMMED else np.zeros(0, np.int64)
        self._centres = self._stamped(points, 0)
        self._discs, self._nodes = self._stamped(points, reach - 1 if reach >= RIMMED else reach)

    def _stamped(self, points: np.ndarray, reach: int) -> tuple[np.ndarray, np.ndarray]:
        """The pixels of discs around points (n, 2), and the number of the point of each."""
        y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
        stamp = np.stack([x, y], -1)[x**2 + y**2 <= reach**2 + 0.5]
        pixels, inside = self._flat((np.rint(points)[:, None] + stamp[None]).reshape(-1, 2))
        return pixels, np.repeat(np.arange(len(points)), len(stamp))[inside]

    def _flat(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y = np.rint(points[:, 0]).astype(np.int64), np.rint(points[:, 1]).astype(np.int64)
        inside = (x >= 0) & (x < self.size[1]) & (y >= 0) & (y < self.size[0])
        return (y * self.size[1] + x)[inside], inside

    def image(
        self,
        nodes: np.ndarray,
        halves: np.ndarray,
        order: np.ndarray,
        colours: Colours,
        evidence: np.ndarray | None = None,
    ) -> np.ndarray:
        """(height, width) uint32. `halves` (k,) packed; lines whose `order` (k,) is above 0 lie on calm ones.

        A dark dot marks nodes with `evidence` (n,).
        """
        image = np.full(self.size, int(packed(np.array(rgb(colours.paper), np.uint8))), np.uint32)
        flat = image.reshape(-1)
        order, halves = order[self._near], halves[self._near]
        loud = self._loud(order)
        for lines in (self.kept & ~loud, loud):
            chosen = np.flatnonzero(lines[self._owner])
            flat[self._pixels[chosen]] = halves[self._owner[chosen]]
        flat[self._rims] = int(packed(np.array(rgb(colours.outline), np.uint8)))
        flat[self._discs] = nodes[self._nodes]
        if evidence is not None and evidence.any():
            places, owners = self._centres
            flat[places[evidence[owners]]] = int(packed(np.array(rgb(colours.ink), np.uint8)))
        return image

    def _loud(self, order: np.ndarray) -> np.ndarray:
        """The lines in sight that change and are drawn, (k,) bool: of too many, the loudest and the important ones."""
        changing = order > 0
        by_order = np.bincount(order, self._length, minlength=1)
        from_here = np.cumsum(by_order[::-1])[::-1]
        least = int(np.argmax(np.append(from_here, 0.0) <= self._room))  # the lowest order from which all fit
        return np.asarray(changing & (self.kept | (order >= least)))
