"""Small vector drawing: smooth curves, random warps, and outlines or strokes turned into silhouettes.

Coordinates are (x, y), x to the right and y down. Figures are designed in the unit square and placed on the pixels
last, so the same figure can be drawn at any size. Only numpy: the same seed gives the same pixels wherever it runs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]  # (points, 2)
Mask = NDArray[np.bool_]  # (size, size)

Floats = NDArray[np.float32]
_CELLS = 2_000_000  # segments × pixels worked on at once, to bound the memory of large pictures

DESIGN_SIZE = 28  # lengths in pixels are meant for pictures of this size and grow with larger ones


def smooth(points: Sequence[tuple[float, float]] | Points, closed: bool = False, samples: int = 6) -> Points:
    """A Catmull–Rom curve through the points with `samples` steps between two of them; two points give a line."""
    knots = np.asarray(points, np.float64)
    return _smoothing(len(knots), closed, samples) @ knots


@functools.cache
def _smoothing(count: int, closed: bool, samples: int) -> Points:
    """The matrix (samples, knots) that makes a curve of knots: the curve is linear in them."""
    knots = np.eye(count)
    if closed:
        around = np.concatenate([knots[-1:], knots, knots[:2]])
    else:
        around = np.concatenate([2 * knots[:1] - knots[1:2], knots, 2 * knots[-1:] - knots[-2:-1]])
    before, start, end, after = (around[i : len(around) - 3 + i, None] for i in range(4))
    t = (np.arange(samples) / samples)[None, :, None]
    curve = 0.5 * (
        2 * start
        + (end - before) * t
        + (2 * before - 5 * start + 4 * end - after) * t**2
        + (3 * start - before - 3 * end + after) * t**3
    )
    last = start[:1, 0] if closed else end[-1:, 0]
    return np.concatenate([curve.reshape(-1, count), last])


def polar(radius: NDArray[np.float64] | float, angle: NDArray[np.float64]) -> Points:
    """Points at `radius` and `angle` (radians) around the middle of the unit square."""
    return 0.5 + np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)


def circle_angles(count: int = 48) -> NDArray[np.float64]:
    """Angles once around, the first not repeated."""
    return np.linspace(0.0, 2 * math.pi, count, endpoint=False)


def dense(corners: Sequence[tuple[float, float]] | Points, samples: int = 6) -> Points:
    """A closed polygon with points along its straight sides, so that a warp can bend them."""
    start = np.asarray(corners, np.float64)
    end = np.roll(start, -1, 0)
    t = (np.arange(samples) / samples)[None, :, None]
    return (start[:, None] * (1 - t) + end[:, None] * t).reshape(-1, 2)


class Warp:
    """A random affine map and a random smooth bend, the same for all parts of one figure."""

    def __init__(self, generator: np.random.Generator, turn: float, slant: float, stretch: float, bend: float) -> None:
        """Largest `turn` (radians), `slant` and `stretch` (a log ratio); `bend` is a part of the figure."""
        angle = generator.uniform(-turn, turn)
        ratio = math.exp(generator.uniform(-stretch, stretch) / 2)
        shear = generator.uniform(-slant, slant)
        cosine, sine = math.cos(angle), math.sin(angle)
        self.matrix = np.array([[cosine, -sine], [sine, cosine]]) @ np.array([[ratio, -shear], [0.0, 1 / ratio]])
        # Four slow waves: their wavelength is longer than the figure, so strokes bend but never fold.
        self.waves = generator.normal(0.0, 3.0, (4, 2))
        self.phases = generator.uniform(0, 2 * math.pi, 4)
        self.amplitudes = generator.normal(0.0, bend / 2, (4, 2))

    def __call__(self, points: Points) -> Points:
        centred = points - 0.5
        bent = centred + np.sin(centred @ self.waves.T + self.phases) @ self.amplitudes
        return np.asarray(bent @ self.matrix.T + 0.5)


def place(
    parts: Sequence[Points], generator: np.random.Generator, size: int, room: float, smallest: float, margin: float
) -> list[Points]:
    """Scale the parts together to a random part (`smallest` to 1) of a box of `room` pixels and shift them a little.

    `room` and `margin` are pixels of a picture of 28; `margin` stays free on every side.
    """
    everything = np.concatenate(parts)
    low, high = everything.min(0), everything.max(0)
    unit = size / DESIGN_SIZE
    longest = room * unit * generator.uniform(smallest, 1.0)
    scale = longest / max(float((high - low).max()), 1e-9)
    free = np.maximum((size - 2 * margin * unit - (high - low) * scale) / 2, 0.0)
    shift = generator.uniform(-1.0, 1.0, 2) * np.minimum(free, 2.5 * unit)
    return [(part - (low + high) / 2) * scale + size / 2 + shift for part in parts]


def fill(outlines: Sequence[Points], size: int) -> Mask:
    """Pixels whose centre lies inside an odd number of the closed outlines."""
    start = np.concatenate(outlines)
    end = np.concatenate([np.roll(outline, -1, 0) for outline in outlines])
    centre = np.arange(size) + 0.5
    above = (start[:, 1] <= centre[:, None]) != (end[:, 1] <= centre[:, None])  # (row, side): the row crosses the side
    rise = np.where(end[:, 1] == start[:, 1], 1.0, end[:, 1] - start[:, 1])
    crossing = start[:, 0] + (centre[:, None] - start[:, 1]) * ((end[:, 0] - start[:, 0]) / rise)
    crossing = np.where(above, crossing, np.inf)
    left = (crossing[:, None, :] <= centre[:, None]).sum(-1)  # crossings left of the pixel, (row, column)
    return left % 2 == 1


def stroke(lines: Sequence[Points], widths: Sequence[NDArray[np.float64] | float], size: int) -> Mask:
    """Pixels whose centre lies within half a width of a line; a width may change along its line, (points,)."""
    pairs = zip(lines, widths, strict=True)
    full = [np.broadcast_to(np.asarray(width, np.float64), (len(line),)) for line, width in pairs]
    start = np.concatenate([line[:-1] for line in lines]).astype(np.float32)
    step = np.concatenate([line[1:] - line[:-1] for line in lines]).astype(np.float32)
    radius = np.concatenate([(width[:-1] + width[1:]) / 4 for width in full]).astype(np.float32)
    mask = np.zeros((size, size), np.bool_)
    # Only the box around the lines: figures leave most of a picture empty.
    reach = float(radius.max()) + 1
    everything = np.concatenate(lines)
    left, top = (int(edge) for edge in np.clip(everything.min(0) - reach, 0, size))
    right, bottom = (int(edge) for edge in np.clip(np.ceil(everything.max(0) + reach), 0, size))
    rows = max(1, _CELLS // (len(start) * max(right - left, 1)))
    for first in range(top, bottom, rows):
        part = slice(first, min(first + rows, bottom)), slice(left, right)
        mask[part] = _near(start, step, radius, *part)
    return mask


def _near(start: Floats, step: Floats, radius: Floats, rows: slice, columns: slice) -> Mask:
    """A part of a stroked picture. Axes: segment, row, column, so that `any` runs along rows."""
    across = np.arange(columns.start, columns.stop, dtype=np.float32) + np.float32(0.5) - start[:, :1]
    down = np.arange(rows.start, rows.stop, dtype=np.float32) + np.float32(0.5) - start[:, 1:]
    length = np.maximum((step**2).sum(-1), np.float32(1e-12))[:, None, None]
    dot = (down * step[:, 1:])[:, :, None] + (across * step[:, :1])[:, None, :]
    along = np.clip(dot / length, 0.0, 1.0)
    # |d - t s|² = |d|² - t (2 d·s - t |s|²)
    dot *= 2
    dot -= along * length
    dot *= along
    distance = (down**2 - radius[:, None] ** 2)[:, :, None] + (across**2)[:, None, :]
    return np.asarray((distance <= dot).any(0))
