"""Figures of any size: outlines in the unit square, scaled to pixels, filled or drawn with a shaky pencil.

A *scene* is one picture: a figure (or several, or nested ones) of a given size on a canvas. It is made of outlines in
pixels; what lies inside an odd number of them is the figure, so that the hole of a ring is outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.data.drawn.drawing import Mask, Points, Warp, circle_angles, dense, fill, polar
from mrfstudio.engine.data.drawn.shapes import OUTLINES, STROKES
from mrfstudio.engine.data.drawn.sharp_figures import SHARP

Draw = np.random.Generator
Outlines = list[Points]

SMALLEST_PIECE = 4  # pixels: smaller ones are what a thin tip leaves between pixel centres
_TRIES = 12


class FigureScene(NamedTuple):
    """Where the figure is, (H, W), and the outlines (points, 2) that enclose it, in pixels."""

    figure: Mask
    outlines: Outlines


def spiky(draw: Draw) -> Outlines:
    """A star whose points and corners differ, some of them very sharp."""
    points = int(draw.integers(3, 10))
    inner = draw.uniform(0.16, 0.34, points) if points < 6 else draw.uniform(0.2, 0.38, points)
    radius = np.stack([draw.uniform(0.38, 0.5, points), inner], 1).reshape(-1)
    steps = draw.uniform(0.7, 1.3, 2 * points)
    angle = np.cumsum(steps) * 2 * math.pi / steps.sum()
    return [dense(polar(radius, angle))]


def jagged(draw: Draw) -> Outlines:
    """A closed line with many concave corners."""
    corners = int(draw.integers(7, 15))
    angle = circle_angles(corners) + draw.uniform(-0.3, 0.3, corners) * 2 * math.pi / corners
    return [dense(polar(draw.uniform(0.2, 0.5, corners), angle), 4)]


def band(draw: Draw) -> Outlines:
    """A stroke of even width as an outline: both sides of a line, joined at its ends."""
    kind = tuple(STROKES)[int(draw.integers(len(STROKES)))]
    line = _resampled(STROKES[kind](draw), 48)
    way = np.gradient(line, axis=0)
    across = np.stack([-way[:, 1], way[:, 0]], 1) / np.maximum(np.hypot(*way.T), 1e-9)[:, None]
    half = draw.uniform(0.035, 0.08)
    return [np.concatenate([line + half * across, (line - half * across)[::-1]])]


def nested(draw: Draw) -> Outlines:
    """Two to four outlines inside each other, so that figure and hole take turns."""
    outline = OUTLINES[("blob", "ellipse", "polygon", "box")[int(draw.integers(4))]](draw)[0]
    middle, found, scale = outline.mean(0), [outline], 1.0
    for _ in range(int(draw.integers(1, 4))):
        scale *= draw.uniform(0.45, 0.72)
        found.append(middle + (outline - middle) * scale)
    return found


FIGURES: dict[str, Callable[[Draw], Outlines]] = {
    **OUTLINES,
    **{maker.__name__: maker for maker in (spiky, jagged, band, nested)},
}
"""Every kind of figure by name, but those of `SHARP`."""

_OFTEN = {"blob": 3.0, "polygon": 2.0, "ellipse": 2.0, "spiky": 3.0, "star": 2.0, "jagged": 2.0, "band": 3.0}
_SHARE = np.array([_OFTEN.get(kind, 1.0) for kind in FIGURES])
_SHARE = _SHARE / _SHARE.sum()


def any_kind(draw: Draw) -> str:
    """A kind of figure at random; those that differ most among themselves more often."""
    return tuple(FIGURES)[int(draw.choice(len(_SHARE), p=_SHARE))]


def outlines_of(kind: str, draw: Draw, size: float) -> Outlines:
    """Outlines of a figure whose longer side is `size` pixels, around the origin."""
    warp = Warp(draw, turn=math.pi, slant=0.2, stretch=0.6, bend=0.05)
    parts = [warp(part) for part in (SHARP[kind] if kind in SHARP else FIGURES[kind])(draw)]
    everything = np.concatenate(parts)
    low, high = everything.min(0), everything.max(0)
    scale = size / max(float((high - low).max()), 1e-9)
    return [(part - (low + high) / 2) * scale for part in parts]


def shaken(outlines: Outlines, draw: Draw, size: float) -> Outlines:
    """The same outlines as a hand draws them: slow waves of a few hundredths of the size, and a little tremor."""
    from scipy import ndimage  # later than the first picture of the window

    slow, tremor = draw.uniform(0.0, 0.03) * size, draw.uniform(0.0, 0.6)
    found = []
    for outline in outlines:
        line = _resampled(np.concatenate([outline, outline[:1]]), max(24, int(size)))[:-1]
        turn = np.linspace(0, 2 * math.pi, len(line), endpoint=False)[:, None]
        waves = sum(
            draw.normal(0, slow / wave, 2) * np.cos(wave * turn + draw.uniform(0, 2 * math.pi, 2)) for wave in (2, 3, 5)
        )
        noise = ndimage.gaussian_filter1d(draw.normal(0, tremor, line.shape), 2, axis=0, mode="wrap")
        found.append(line + waves + noise)
    return found


def scene(kind: str, draw: Draw, size: float, canvas: int, middle: tuple[float, float] | None = None) -> FigureScene:
    """One figure of `size` pixels on a canvas of `canvas` × `canvas`, around `middle` or anywhere that it fits.

    Figures that are too fine for the pixels are drawn again; the last try is a blob.
    """
    attempt = 0
    while True:
        attempt += 1
        outlines = _put(outlines_of(kind if attempt < _TRIES else "blob", draw, size), draw, canvas, middle)
        figure = whole(fill(outlines, canvas))
        large = figure.sum() >= max(SMALLEST_PIECE, (0.03 if kind in SHARP else 0.06) * size**2)
        if middle is not None or attempt >= _TRIES or (large and _has_body(figure)):
            return FigureScene(figure, outlines)


def several(draw: Draw, size: float, canvas: int) -> FigureScene:
    """Two to five figures side by side within a square of `size` pixels; where they would touch, fewer."""
    from scipy import ndimage  # later than the first picture of the window

    origin = draw.uniform(2, max(canvas - size - 2, 2.1), 2)
    figure, outlines = np.zeros((canvas, canvas), np.bool_), []
    for _ in range(int(draw.integers(2, 6))):
        own = float(np.exp(draw.uniform(math.log(6), math.log(max(0.6 * size, 7)))))
        middle = origin + draw.uniform(own / 2, max(size - own / 2, own / 2 + 0.1), 2)
        one = scene(any_kind(draw), draw, own, canvas, (float(middle[0]), float(middle[1])))
        near = ndimage.binary_dilation(one.figure, np.ones((3, 3)), iterations=2)
        if one.figure.sum() >= SMALLEST_PIECE and not (near & figure).any():
            figure |= one.figure
            outlines += one.outlines
    return FigureScene(figure, outlines) if outlines else scene("blob", draw, size, canvas)


def whole(figure: Mask) -> Mask:
    """Without pieces of fewer than `SMALLEST_PIECE` pixels (4-connected)."""
    from scipy import ndimage  # later than the first picture of the window

    pieces, count = ndimage.label(figure)
    if not count:
        return figure
    large = np.bincount(pieces.ravel()) >= SMALLEST_PIECE
    large[0] = False
    return np.asarray(large[pieces])


def _has_body(figure: Mask) -> bool:
    """Whether most of a figure is at least two pixels wide: finer details are lost on pixels, or look like noise."""
    from scipy import ndimage  # later than the first picture of the window

    return bool(ndimage.binary_opening(figure, np.ones((2, 2))).sum() >= 0.8 * figure.sum())


def pixels_along(line: Points, canvas: int, closed: bool = True) -> Mask:
    """The pixels that a pencil of no width passes through, (canvas, canvas)."""
    points = np.concatenate([line, line[:1]]) if closed else line
    length = float(np.hypot(*np.diff(points, axis=0).T).sum())
    spot = np.floor(_resampled(points, max(2, int(length * 2.5)))).astype(np.int64)
    spot = spot[((spot >= 0) & (spot < canvas)).all(1)]
    drawn = np.zeros((canvas, canvas), np.bool_)
    drawn[spot[:, 1], spot[:, 0]] = True
    return drawn


def _put(outlines: Outlines, draw: Draw, canvas: int, middle: tuple[float, float] | None) -> Outlines:
    everything = np.concatenate(outlines)
    half = (everything.max(0) - everything.min(0)) / 2
    if middle is None:
        low, high = half + 2, canvas - half - 2
        centre = np.where(low < high, draw.uniform(np.minimum(low, high), np.maximum(low, high)), canvas / 2)
    else:
        centre = np.array(middle)
    return [outline + centre for outline in outlines]


def _resampled(line: Points, count: int) -> NDArray[np.float64]:
    """`count` points at equal distances along an open line."""
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    at = np.linspace(0, along[-1], count)
    return np.stack([np.interp(at, along, line[:, axis]) for axis in range(2)], 1)
