"""Large graphs as images: a hundred thousand lines and circles a frame would take QPainter a second.

A lattice becomes blocks of pixels, one block a node: its middle is the node, the middles of its sides are the messages
that arrive from the four neighbours. Other graphs are drawn into an image through indices that change only with the
view, so that a new frame only looks colours up.
"""

from __future__ import annotations

import numpy as np

from mrfstudio.engine.frames import GraphFrame
from mrfstudio.ui.colours import Colours, rgb

SAMPLES = 48  # points of the longest half edge; denser ones could not be told apart where so many lines cross
MOST_POINTS = 3_000_000
DISC = 6  # pixels of radius of the largest stamped node


def packed(colour: np.ndarray) -> np.ndarray:
    """(…, 3) uint8 to (…) uint32 of QImage's RGB32."""
    parts = colour.astype(np.uint32)
    return np.asarray(0xFF000000 | parts[..., 0] << 16 | parts[..., 1] << 8 | parts[..., 2], np.uint32)


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
        self, starts: np.ndarray, ends: np.ndarray, points: np.ndarray, radius: float, size: tuple[int, int]
    ) -> None:
        """`starts` and `ends` (k, 2) of half edges and `points` (n, 2) of nodes in pixels; `size` (height, width)."""
        self.size = size
        length = np.abs(ends - starts).max(1, initial=0)
        count = np.clip(np.ceil(length).astype(np.int64), 1, SAMPLES)
        if count.sum() > MOST_POINTS:
            count = np.maximum(1, count * MOST_POINTS // count.sum())
        owner = np.repeat(np.arange(len(starts)), count)
        step = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        part = (step / np.repeat(count, count))[:, None]
        self._pixels, inside = self._flat(starts[owner] + part * (ends - starts)[owner])
        self._owner = owner[inside]
        reach = int(min(max(radius, 1), DISC))
        y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
        stamp = np.stack([x, y], -1)[x**2 + y**2 <= reach**2 + 0.5]
        spread = (points[:, None] + stamp[None]).reshape(-1, 2)
        self._discs, inside = self._flat(spread)
        self._nodes = np.repeat(np.arange(len(points)), len(stamp))[inside]

    def _flat(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y = np.rint(points[:, 0]).astype(np.int64), np.rint(points[:, 1]).astype(np.int64)
        inside = (x >= 0) & (x < self.size[1]) & (y >= 0) & (y < self.size[0])
        return (y * self.size[1] + x)[inside], inside

    def image(self, nodes: np.ndarray, halves: np.ndarray, order: np.ndarray, colours: Colours) -> np.ndarray:
        """(height, width) uint32. `halves` (k,) packed; where lines cross the one with the larger `order` (k,) wins."""
        image = np.full(self.size, int(packed(np.array(rgb(colours.paper), np.uint8))), np.uint32)
        flat = image.reshape(-1)
        loud = order[self._owner] > 0
        for chosen in (~loud, loud):
            flat[self._pixels[chosen]] = halves[self._owner[chosen]]
        flat[self._discs] = nodes[self._nodes]
        return image
