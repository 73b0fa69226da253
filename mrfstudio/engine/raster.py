"""Which pixels a brush or a shape covers. Plain numpy: the window draws a stroke at once with the same function.

Image coordinates: x to the right, y down; pixel (row, column) covers [column, column + 1) × [row, row + 1), so its
centre is (column + ½, row + ½).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mrfstudio.engine.commands import Paint, PaintEllipse, PaintRectangle, Shape
from mrfstudio.engine.errors import StudioError

Mask = NDArray[np.bool_]

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
        found = inside((top - row, left - column, height, width), shape)
    else:
        found = lasso_mask([(x - column, y - row) for x, y in command.points], shape)
    if not command.outside:
        return found
    top, left, mask = found
    rest = np.ones(shape, np.bool_)
    rest[top : top + mask.shape[0], left : left + mask.shape[1]] &= ~mask
    return 0, 0, rest


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
    if height <= 0 or width <= 0:
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
    start, step = path[:-1], np.diff(path, axis=0)
    count = np.ceil(np.abs(step).max(axis=1, initial=0.0)).astype(np.int64)
    of = np.repeat(np.arange(len(start)), count + 1)
    nth = np.arange(len(of)) - np.repeat(np.cumsum(count + 1) - count - 1, count + 1)
    samples = start[of] + step[of] * (nth / np.maximum(count[of], 1))[:, None]
    columns, rows = np.floor(np.concatenate([samples, path[-1:]])).astype(np.int64).T
    rows, columns = rows - top, columns - left
    inside = (rows >= 0) & (rows < mask.shape[0]) & (columns >= 0) & (columns < mask.shape[1])
    mask[rows[inside], columns[inside]] = True
