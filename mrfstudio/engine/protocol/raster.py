"""Which pixels a brush or a shape covers. Plain numpy: the window draws a stroke at once with the same function.

Image coordinates: x to the right, y down; pixel (row, column) covers [column, column + 1) × [row, row + 1), so its
centre is (column + ½, row + ½).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mrfstudio.engine.protocol.commands import Paint, PaintEllipse, PaintRectangle, Shape
from mrfstudio.engine.protocol.errors import StudioError

Mask = NDArray[np.bool_]
Corner = NDArray[np.float64]
"""x and y."""

_AT_ONCE = 1 << 14  # segments × pixels whose distances are computed in one array; more would leave the cache
_REACHES_OWN_PIXEL = math.sqrt(0.5)  # no point is farther than this from the centre of the pixel it lies in


def command_mask(command: Shape, shape: tuple[int, int], origin: tuple[int, int] = (0, 0)) -> tuple[int, int, Mask]:
    """The pixels that a command paints of an image of `shape`, as `(top, left, mask)`.

    `origin` (row, column) is where that image begins in the coordinates of the command.
    """
    row, column = origin
    if isinstance(command, Paint):
        return stroke_mask([(x - column, y - row) for x, y in command.points], command.radius, shape)
    if isinstance(command, PaintRectangle | PaintEllipse):
        top, left, height, width = command.rectangle
        inside = rectangle_mask if isinstance(command, PaintRectangle) else ellipse_mask
        if command.outline:
            framed = (shape[0] + 2, shape[1] + 2)
            return _outline(inside((top - row + 1, left - column + 1, height, width), framed), framed)
        found = inside((top - row, left - column, height, width), shape)
    else:
        points = [(x - column, y - row) for x, y in command.points]
        if command.outline:
            return stroke_mask([*points, *points[:1]], 0.0, shape)
        found = lasso_mask(points, shape)
    if not command.outside:
        return found
    top, left, mask = found
    rest = np.ones(shape, np.bool_)
    rest[top : top + mask.shape[0], left : left + mask.shape[1]] &= ~mask
    return 0, 0, rest


def _outline(area: tuple[int, int, Mask], framed: tuple[int, int]) -> tuple[int, int, Mask]:
    """Those pixels of an area that have a neighbour beside, above or below them which is not in it.

    The area is that of a picture `framed` by one more pixel on every side, so that the picture's border cuts an outline
    and adds nothing to it.
    """
    top, left, mask = area
    whole = np.zeros(framed, np.bool_)
    whole[top : top + mask.shape[0], left : left + mask.shape[1]] = mask
    inner = whole[:-2, 1:-1] & whole[2:, 1:-1] & whole[1:-1, :-2] & whole[1:-1, 2:]
    return 0, 0, np.asarray(whole[1:-1, 1:-1] & ~inner)


def stroke_mask(
    points: ArrayLike | Sequence[tuple[float, float]], radius: float, shape: tuple[int, int]
) -> tuple[int, int, Mask]:
    """The pixels that a brush of `radius` pixels covers on its way through `points` (n, 2), as `(top, left, mask)`.

    Covered are all pixels of an image of `shape` (height, width) whose centre is within `radius` of the polyline, and
    those under the polyline itself, so that a thin brush leaves no gaps; a radius below ½ covers only the latter.
    `mask` (h, w) begins at row `top` and column `left` and is as small as the brush allows; (0, 0) if nothing is
    covered. Painting a stroke in pieces that share their end points covers the same pixels as painting it whole.
    """
    path = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    if not (np.isfinite(path).all() and math.isfinite(radius) and radius >= 0):
        raise StudioError(f"The brush has radius {radius} and {len(path)} points: all of them must be finite numbers.")
    reach = radius if radius >= 0.5 else 0.0
    top, left, bottom, right = _box(path, reach, shape)
    if bottom <= top or right <= left:
        return 0, 0, np.zeros((0, 0), np.bool_)
    mask = np.zeros((bottom - top, right - left), np.bool_)
    if reach:
        _add_within(path, reach, mask, top, left, shape)
    if reach < _REACHES_OWN_PIXEL:
        _add_under(path, mask, top, left)
    return top, left, mask


def rectangle_mask(rectangle: tuple[int, int, int, int], shape: tuple[int, int]) -> tuple[int, int, Mask]:
    """The part of a rectangle (top, left, height, width) inside an image of `shape`, as `(top, left, mask)`."""
    top, left, height, width = rectangle
    bottom, right = min(top + height, shape[0]), min(left + width, shape[1])
    top, left = max(top, 0), max(left, 0)
    if bottom <= top or right <= left:
        return 0, 0, np.zeros((0, 0), np.bool_)
    return top, left, np.ones((bottom - top, right - left), np.bool_)


def ellipse_mask(rectangle: tuple[int, int, int, int], shape: tuple[int, int]) -> tuple[int, int, Mask]:
    """The pixels whose centre lies in the ellipse that touches a rectangle's sides, as `(top, left, mask)`."""
    top, left, mask = rectangle_mask(rectangle, shape)
    if not mask.size:
        return top, left, mask
    first, last, height, width = rectangle
    y = (np.arange(top, top + mask.shape[0]) + 0.5 - first - height / 2) / (height / 2)
    x = (np.arange(left, left + mask.shape[1]) + 0.5 - last - width / 2) / (width / 2)
    return top, left, np.asarray(y[:, None] ** 2 + x**2 <= 1.0)


def lasso_mask(points: ArrayLike | Sequence[tuple[float, float]], shape: tuple[int, int]) -> tuple[int, int, Mask]:
    """The pixels whose centre a closed line through `points` (n, 2) goes around, as `(top, left, mask)`.

    However often it goes around them: a line that crosses itself leaves no holes. Each edge adds its direction, +1
    or -1, to all pixels right of it in every row that it crosses; what is not 0 in the end is inside.
    """
    path = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    if not np.isfinite(path).all():
        raise StudioError(f"The lasso has {len(path)} points: all of them must be finite numbers.")
    top, left, bottom, right = _box(path, 0.0, shape)
    if bottom <= top or right <= left:
        return 0, 0, np.zeros((0, 0), np.bool_)
    start, end = path, np.roll(path, -1, axis=0)
    low, high = np.minimum(start[:, 1], end[:, 1]), np.maximum(start[:, 1], end[:, 1])
    first = np.clip(np.ceil(low - 0.5), top, bottom).astype(np.int64)
    after = np.clip(np.ceil(high - 0.5), first, bottom).astype(np.int64)
    count = after - first
    of = np.repeat(np.arange(len(path)), count)
    rows = first[of] + np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    along = (rows + 0.5 - start[of, 1]) / (end[of, 1] - start[of, 1])
    x = start[of, 0] + along * (end[of, 0] - start[of, 0])
    columns = np.clip(np.ceil(x - 0.5), left, right).astype(np.int64)
    turns = np.zeros((bottom - top, right - left + 1), np.int64)
    np.add.at(turns, (rows - top, columns - left), np.sign(end[of, 1] - start[of, 1]).astype(np.int64))
    return top, left, np.asarray(np.cumsum(turns, axis=1)[:, :-1] != 0)


def _box(path: NDArray[np.float64], reach: float, shape: tuple[int, int]) -> tuple[int, int, int, int]:
    """Rows and columns (top, left, bottom, right) that pixels within reach can have, kept inside the image."""
    if not len(path):
        return 0, 0, 0, 0
    low, high = np.floor(path.min(0) - reach), np.floor(path.max(0) + reach) + 1
    (left, top), (right, bottom) = np.clip(low, 0, shape[::-1]), np.clip(high, 0, shape[::-1])
    return int(top), int(left), int(bottom), int(right)


def _add_within(
    path: NDArray[np.float64], reach: float, mask: Mask, top: int, left: int, shape: tuple[int, int]
) -> None:
    """Add to `mask` the pixels whose centre is within reach of the path.

    A long path is halved until its segments and the pixels around them make a small array.
    """
    first, last, after, beyond = _box(path, reach, shape)
    height, width = after - first, beyond - last
    if height <= 0 or width <= 0 or mask[first - top : after - top, last - left : beyond - left].all():
        return
    segments = max(len(path) - 1, 1)
    if segments > 1 and segments * height * width > _AT_ONCE:
        middle = len(path) // 2
        _add_within(path[: middle + 1], reach, mask, top, left, shape)
        _add_within(path[middle:], reach, mask, top, left, shape)
        return
    start = path[: len(path) - 1] if len(path) > 1 else path
    step = np.diff(path, axis=0) if len(path) > 1 else np.zeros((1, 2))
    x = np.arange(last, beyond) + 0.5 - start[:, :1]  # (segments, width)
    y = np.arange(first, after) + 0.5 - start[:, 1:]  # (segments, height)
    length = (step**2).sum(1)
    along = (x * step[:, :1])[:, None, :] + (y * step[:, 1:])[:, :, None]
    along = np.clip(along / np.where(length > 0, length, 1.0)[:, None, None], 0.0, 1.0)
    across = (x[:, None, :] - along * step[:, 0, None, None]) ** 2 + (
        y[:, :, None] - along * step[:, 1, None, None]
    ) ** 2
    window = mask[first - top : after - top, last - left : beyond - left]
    window |= (across <= reach * reach).any(0)


def _add_under(path: NDArray[np.float64], mask: Mask, top: int, left: int) -> None:
    """Add the pixels under the path: samples so close that neighbours touch, at least at a corner."""
    box = np.array([left, top], np.float64), np.array([left + mask.shape[1], top + mask.shape[0]], np.float64)
    start, end = path[:-1], path[1:]
    step = end - start
    count = np.ceil(np.abs(step).max(axis=1, initial=0.0))
    first, last = _samples_inside(start, step, count, *box)
    many = (last - first + 1).astype(np.int64)
    of = np.repeat(np.arange(len(start)), many)
    nth = first[of] + np.arange(len(of)) - np.repeat(np.cumsum(many) - many, many)
    samples = start[of] + step[of] * (nth / np.maximum(count[of], 1.0))[:, None]
    # Rounding must not carry a sample beyond the ends of its segment: a piece of a stroke knows only its own box.
    samples = np.clip(samples, np.minimum(start, end)[of], np.maximum(start, end)[of])
    samples = np.concatenate([samples, path])
    columns, rows = np.floor(samples[((samples >= box[0]) & (samples < box[1])).all(1)]).astype(np.int64).T
    mask[rows - top, columns - left] = True


def _samples_inside(
    start: NDArray[np.float64], step: NDArray[np.float64], count: NDArray[np.float64], low: Corner, high: Corner
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first and the last of a segment's samples 0 … count that can lie in a box, (segments,) each.

    A stroke may go a hundred million pixels beyond the picture: only what is seen of it is sampled.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        at_low, at_high = (low - start) / step, (high - start) / step
    enter, leave = np.minimum(at_low, at_high), np.maximum(at_low, at_high)
    inside = (start >= low) & (start < high)
    still = step == 0
    enter = np.where(still, np.where(inside, 0.0, np.inf), enter).max(axis=1, initial=0.0)
    leave = np.where(still, np.where(inside, 1.0, -np.inf), leave).min(axis=1, initial=1.0)
    missed = enter > leave
    first = np.where(missed, 1.0, np.maximum(np.floor(np.where(missed, 0.0, enter) * count) - 1, 0.0))
    last = np.where(missed, 0.0, np.minimum(np.ceil(np.where(missed, 0.0, leave) * count) + 1, count))
    return first, np.maximum(last, first - 1)
