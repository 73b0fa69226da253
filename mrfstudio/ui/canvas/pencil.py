"""A smooth line through the points where the hand was.

Between two points the line is a piece of a centripetal Catmull–Rom curve: it goes through every point, and neither
overshoots nor loops. It follows one point behind, because a piece's shape depends on the point after it. Where the hand
turned sharply it meant a corner, and the line has one.

A fine pencil gives the middles of pixels that touch at a side or a corner, each once: without the steps of a polygon
on a grid, where two neighbours of a diagonal touch a third pixel, the line is one pixel wide everywhere.
"""

from __future__ import annotations

import math

Point = tuple[float, float]

SAMPLES = 2.0  # of the curve, for each pixel of its chord
MOST_SAMPLES = 400  # of one piece
CORNER = math.cos(math.radians(70))  # of the angle between two steps of the hand


class Pencil:
    """One stroke: `begin`, `to` as often as the hand moves, `end`. Each gives points of a polyline to paint next."""

    def __init__(self) -> None:
        self._hand: list[Point] = []  # the last three points of the hand
        self._fine = False
        self._at: Point = (0.0, 0.0)  # where the painted line ends
        self._held: Point | None = None  # a pixel that is left out if the next one touches the one before

    def begin(self, point: Point, fine: bool) -> tuple[Point, ...]:
        """Put the pencil down. `fine`: the line is to be one pixel wide."""
        self._hand, self._fine, self._held = [point], fine, None
        self._at = _middle(point) if fine else point
        return (self._at,)

    def to(self, point: Point) -> tuple[Point, ...]:
        """Go on; empty where nothing is to be painted yet."""
        if point == self._hand[-1]:
            return ()
        self._hand.append(point)
        if len(self._hand) == 2:
            return ()
        first, *rest = self._hand[-4:]
        piece = curve(first, first, *rest) if len(rest) == 2 else curve(first, *rest)
        self._hand = self._hand[-3:]
        return self._along(piece)

    def end(self) -> tuple[Point, ...]:
        """Take the pencil off: the rest of the line."""
        rest: tuple[Point, ...] = ()
        if len(self._hand) > 1:
            before, start, last = (self._hand[0], *self._hand)[-3:]
            rest = self._along(curve(before, start, last, last))
        if self._held is not None:
            rest, self._held = (*(rest or (self._at,)), self._held), None
        return rest

    def _along(self, piece: list[Point]) -> tuple[Point, ...]:
        """What to paint for a piece of the curve, beginning where the line ended."""
        points = [self._at]
        for point in piece:
            if self._fine:
                self._add_pixel(_middle(point), points)
            else:
                points.append(point)
        self._at = points[-1]
        return tuple(points) if len(points) > 1 else ()

    def _add_pixel(self, pixel: Point, points: list[Point]) -> None:
        """The pixel waits, in `_held`, until it is known whether the next one makes it a needless corner."""
        if self._held is None:
            if pixel != points[-1]:
                self._held = pixel
        elif pixel != self._held:
            if pixel == points[-1] or not _touch(points[-1], pixel):
                points.append(self._held)
            self._held = pixel


def curve(before: Point, start: Point, end: Point, after: Point) -> list[Point]:
    """Points of the curve from `start` (not among them) to `end`, at most half a pixel apart."""
    count = min(max(math.ceil(math.dist(start, end) * SAMPLES), 1), MOST_SAMPLES)
    out, into = _tangents(before, start, end, after)
    points = []
    for nth in range(1, count + 1):
        t = nth / count
        h = (2 * t**3 - 3 * t**2 + 1, t**3 - 2 * t**2 + t, -2 * t**3 + 3 * t**2, t**3 - t**2)
        x, y = (h[0] * start[i] + h[1] * out[i] + h[2] * end[i] + h[3] * into[i] for i in (0, 1))
        points.append((x, y))
    return points


def _tangents(before: Point, start: Point, end: Point, after: Point) -> tuple[Point, Point]:
    """Hermite tangents of the piece from `start` to `end`; knots are apart by the root of the distance."""
    first, middle, last = (math.sqrt(math.dist(*pair)) for pair in ((before, start), (start, end), (end, after)))
    chord = (end[0] - start[0], end[1] - start[1])

    def tangent(near: Point, far: Point, apart: float) -> Point:
        step = (far[0] - near[0], far[1] - near[1])
        if apart == 0 or step[0] * chord[0] + step[1] * chord[1] < CORNER * math.hypot(*step) * math.hypot(*chord):
            return chord
        x, y = (middle * (step[i] / apart - (step[i] + chord[i]) / (apart + middle)) + chord[i] for i in (0, 1))
        return x, y

    return tangent(before, start, first), tangent(end, after, last)


def _middle(point: Point) -> Point:
    return math.floor(point[0]) + 0.5, math.floor(point[1]) + 0.5


def _touch(one: Point, other: Point) -> bool:
    return max(abs(one[0] - other[0]), abs(one[1] - other[1])) <= 1
