"""Generated silhouettes of simple things: blobs, polygons, rings, stars, hearts, leaves and so on. No download."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mrfstudio.engine.data.drawn.drawing import (
    Mask,
    Points,
    Warp,
    circle_angles,
    dense,
    fill,
    place,
    polar,
    smooth,
    stroke,
)
from mrfstudio.engine.data.drawn.generated import Generated
from mrfstudio.engine.registry import DATASETS

Draw = np.random.Generator
Outlines = list[Points]


def blob(draw: Draw) -> Outlines:
    angle = circle_angles(64)
    radius = np.full_like(angle, 0.4)
    for wave in range(2, 6):
        radius += 0.17 / wave * draw.normal() * np.cos(wave * angle + draw.uniform(0, 2 * math.pi))
    return [polar(np.maximum(radius, 0.13), angle)]


def ellipse(draw: Draw) -> Outlines:
    return [0.5 + (polar(0.5, circle_angles()) - 0.5) * [1.0, draw.uniform(0.45, 1.0)]]


def polygon(draw: Draw) -> Outlines:
    sides = int(draw.integers(3, 8))
    angle = circle_angles(sides) + draw.uniform(-0.28, 0.28, sides) * 2 * math.pi / sides
    return [dense(polar(draw.uniform(0.36, 0.5, sides), angle))]


def box(draw: Draw) -> Outlines:
    half, tall, round_ = 0.5, draw.uniform(0.2, 0.5), draw.uniform(2.5, 12.0)
    angle = circle_angles(64)
    # A superellipse: the exponent rounds the corners.
    radius = (np.abs(np.cos(angle) / half) ** round_ + np.abs(np.sin(angle) / tall) ** round_) ** (-1 / round_)
    return [polar(radius, angle)]


def ring(draw: Draw) -> Outlines:
    outer = (blob, ellipse, polygon, box)[int(draw.integers(4))](draw)[0]
    middle = outer.mean(0)
    # A hole that is the outline, shrunk, is thinnest where the outline is nearest: round figures can have larger holes.
    reach = np.hypot(*(outer - middle).T)
    return [outer, middle + (outer - middle) * draw.uniform(0.3, 0.45 + 0.15 * reach.min() / reach.max())]


def star(draw: Draw) -> Outlines:
    points = int(draw.integers(4, 8))
    inner = draw.uniform(0.42, 0.58) if points > 4 else draw.uniform(0.32, 0.45)
    radius = np.where(np.arange(2 * points) % 2 == 0, 0.5, 0.5 * inner)
    return [dense(polar(radius, circle_angles(2 * points) - math.pi / 2))]


def flower(draw: Draw) -> Outlines:
    petals, depth = int(draw.integers(4, 7)), draw.uniform(0.14, 0.22)
    angle = circle_angles(96)
    outline = polar(0.5 * (1 - depth * (1 - np.cos(petals * angle))), angle)
    return [outline, polar(draw.uniform(0.1, 0.14), circle_angles(24))] if draw.random() < 0.5 else [outline]


def gear(draw: Draw) -> Outlines:
    teeth = int(draw.integers(6, 10))
    radius = np.repeat(np.tile([0.5, 0.37], teeth), 2)
    angle = (np.arange(4 * teeth) // 2 + np.tile([0.08, 0.92], 2 * teeth)) * math.pi / teeth
    return [polar(radius, angle), polar(draw.uniform(0.12, 0.2), circle_angles(32))]


def cross(draw: Draw) -> Outlines:
    arm = draw.uniform(0.12, 0.2)
    a, b = 0.5 - arm, 0.5 + arm
    return [dense([(a, 0), (b, 0), (b, a), (1, a), (1, b), (b, b), (b, 1), (a, 1), (a, b), (0, b), (0, a), (a, a)])]


def arrow(draw: Draw) -> Outlines:
    shaft, head = draw.uniform(0.08, 0.15), draw.uniform(0.3, 0.5)
    neck, top, bottom = 1 - head, 0.5 - shaft, 0.5 + shaft
    tip = [(neck, 0.5 - 0.32), (1.0, 0.5), (neck, 0.5 + 0.32)]
    return [dense([(0, top), (neck, top), *tip, (neck, bottom), (0, bottom)])]


def heart(draw: Draw) -> Outlines:
    angle = circle_angles(64)
    x = np.sin(angle) ** 3
    y = -(0.8125 * np.cos(angle) - 0.3125 * np.cos(2 * angle) - 0.125 * np.cos(3 * angle) - 0.0625 * np.cos(4 * angle))
    return [0.5 + 0.5 * np.stack([x, y * draw.uniform(0.85, 1.1)], -1)]


def moon(draw: Draw) -> Outlines:
    # Two circles that cross: the outer arc goes the long way round, the inner one comes back between the horns.
    apart, radius = draw.uniform(0.2, 0.34), draw.uniform(0.36, 0.42)
    meet = math.acos((0.25 + apart**2 - radius**2) / apart)
    outer = polar(0.5, np.linspace(meet, 2 * math.pi - meet, 48))
    x, y = outer[0] - 0.5 - [apart, 0]
    back = math.atan2(y, x)
    inner = polar(radius, np.linspace(2 * math.pi - back, back, 32)) + np.array([apart, 0.0])
    return [np.concatenate([outer, inner])]


def drop(draw: Draw) -> Outlines:
    angle = circle_angles(64)
    narrow = draw.uniform(0.32, 0.45)
    return [0.5 + np.stack([narrow * np.sin(angle) * np.sin(angle / 2) ** 1.2, -0.5 * np.cos(angle)], -1)]


def leaf(draw: Draw) -> Outlines:
    t = np.linspace(0, 1, 30)
    bulge = draw.uniform(0.17, 0.26) * np.sin(math.pi * t ** draw.uniform(0.7, 1.3))
    lean = draw.uniform(-0.2, 0.2) * np.sin(math.pi * t)
    return [np.concatenate([np.stack([t, 0.5 + lean - bulge], -1), np.stack([t, 0.5 + lean + bulge], -1)[::-1]])]


def house(draw: Draw) -> Outlines:
    eaves, wall, door = draw.uniform(0.35, 0.5), draw.uniform(0.02, 0.14), draw.uniform(0.36, 0.5)
    left, right = door - 0.11, door + 0.11
    body = [(1 - wall, eaves), (1 - wall, 1), (right, 1), (right, 0.66), (left, 0.66), (left, 1), (wall, 1)]
    return [dense([(0, eaves), (0.5, 0), (1, eaves), *body, (wall, eaves)])]


def fish(draw: Draw) -> Outlines:
    fat, tail = draw.uniform(0.22, 0.32), draw.uniform(0.18, 0.28)
    top = [(0.0, 0.5), (0.15, 0.5 - 0.7 * fat), (0.4, 0.5 - fat), (0.65, 0.5 - 0.55 * fat), (0.8, 0.46)]
    upper = smooth(top)
    lower = upper[::-1] * [1, -1] + [0, 1]
    return [np.concatenate([upper, [(1.0, 0.5 - tail), (0.93, 0.5), (1.0, 0.5 + tail)], lower])]


def tree(draw: Draw) -> Outlines:
    trunk, tiers = draw.uniform(0.06, 0.1), int(draw.integers(1, 4))
    right = []
    for tier in range(tiers):
        foot = 0.78 * (tier + 1) / tiers
        right += [(0.5 + 0.42 * (0.5 + 0.5 * (tier + 1) / tiers), foot), (0.5 + 0.16 * (tier + 1) / tiers, foot)]
    right[-1] = (0.5 + trunk, 0.78)
    right.append((0.5 + trunk, 1.0))
    left = [(1 - x, y) for x, y in reversed(right)]
    return [dense([(0.5, 0.0), *right, *left])]


OUTLINES: dict[str, Callable[[Draw], Outlines]] = {
    f.__name__: f
    for f in (
        blob, ellipse, polygon, box, ring, star, flower, gear, cross, arrow, heart, moon, drop, leaf, house, fish, tree
    )
}  # fmt: skip


def spiral(draw: Draw) -> Points:
    angle = np.linspace(0, 2 * math.pi * draw.uniform(1.3, 1.9), 60)
    return polar(0.04 + 0.46 * (angle / angle[-1]), angle)


def curve(draw: Draw) -> Points:
    x = np.linspace(0, 1, 5)
    return smooth(np.stack([x + draw.normal(0, 0.06, 5), 0.5 + draw.uniform(-0.45, 0.45, 5)], -1))


def arc(draw: Draw) -> Points:
    return polar(0.5, np.linspace(0, 2 * math.pi * draw.uniform(0.45, 0.85), 30))


def zigzag(draw: Draw) -> Points:
    corners = int(draw.integers(3, 6))
    y = np.where(np.arange(corners) % 2 == 0, 0.15, 0.85) + draw.uniform(-0.12, 0.12, corners)
    line = np.stack([np.linspace(0, 1, corners), y], -1)
    return np.concatenate([smooth(line[i : i + 2]) for i in range(corners - 1)])


STROKES: dict[str, Callable[[Draw], Points]] = {f.__name__: f for f in (spiral, curve, arc, zigzag)}


@DATASETS.register
class Shapes(Generated):
    """Filled and stroked figures, each with its own turn, stretch and bend."""

    name = "shapes"
    title = "Generated shapes"
    summary = "Silhouettes of simple things: blobs, polygons, rings, stars, hearts, leaves, houses, fish, spirals."

    classes = (*OUTLINES, *STROKES)
    upright = frozenset(
        {"heart", "house", "tree", "fish", "drop"}
    )  # turned only a little, or they are hard to recognise

    def draw(self, kind: str, generator: np.random.Generator) -> Mask:
        turn = 0.25 if kind in self.upright else math.pi
        warp = Warp(generator, turn=turn, slant=0.2, stretch=0.5, bend=0.05)
        if kind in OUTLINES:
            outlines = [warp(outline) for outline in OUTLINES[kind](generator)]
            return fill(place(outlines, generator, self.size, room=24, smallest=0.7, margin=1.5), self.size)
        line = warp(STROKES[kind](generator))
        (line,) = place([line], generator, self.size, room=20, smallest=0.8, margin=3.5)
        width = generator.uniform(2.4, 4.2) * self.size / 28
        return stroke([line], [width * np.linspace(1.0, generator.uniform(0.6, 1.0), len(line))], self.size)
