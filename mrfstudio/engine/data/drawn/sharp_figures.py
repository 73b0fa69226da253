"""Figures with sharp points, thin arms and narrow bays, which are hard to fill: outlines in the unit square."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mrfstudio.engine.data.drawn.drawing import Points, circle_angles, dense, polar, smooth

Draw = np.random.Generator
Outlines = list[Points]


def crescent(draw: Draw) -> Outlines:
    """Two arcs between two sharp horns, near each other or wide apart."""
    reach = draw.uniform(0.5, 1.35) * math.pi  # of the outer arc
    angle = np.linspace(-reach / 2, reach / 2, 48)
    outer = polar(0.5, angle)
    thick = draw.uniform(0.05, 0.28) * np.cos(angle * math.pi / reach).clip(0.0) ** draw.uniform(0.6, 1.0)
    return [np.concatenate([outer, polar(0.5 - thick, angle)[::-1]])]


def spikes(draw: Draw) -> Outlines:
    """A star with long sharp points, even ones or each of its own length."""
    points = int(draw.integers(3, 9))
    inner = draw.uniform(0.1, 0.24) if points < 7 else draw.uniform(0.16, 0.28)
    tips = np.full(points, 0.5) if draw.random() < 0.6 else draw.uniform(0.3, 0.5, points)
    radius = np.stack([tips, np.full(points, inner)], 1).reshape(-1)
    return [dense(polar(radius, circle_angles(2 * points) - math.pi / 2), 8)]


def comb(draw: Draw) -> Outlines:
    """A bar with teeth on one side."""
    teeth, back = int(draw.integers(3, 7)), draw.uniform(0.12, 0.35)
    tall, part = draw.uniform(0.45, 1.0), draw.uniform(0.35, 0.65)
    step = 1.0 / (teeth - 1 + part)
    line = [(1.0, 0.0), (0.0, 0.0)]
    for tooth in range(teeth):
        left, right = tooth * step, tooth * step + part * step
        line += [(left, tall), (right, tall)] if tooth == 0 else [(left, back), (left, tall), (right, tall)]
        line += [(right, back)] if tooth < teeth - 1 else []
    return [dense(line)]


def chevron(draw: Draw) -> Outlines:
    """A V or a W of thin arms."""
    corners, thick = int(draw.integers(3, 6)), draw.uniform(0.1, 0.3)
    line = np.stack([np.linspace(0, 1, corners), np.where(np.arange(corners) % 2 == 0, 0.0, 0.9)], -1)
    line += draw.normal(0, 0.03, line.shape)
    return [dense(np.concatenate([line, (line + np.array([0.0, thick]))[::-1]]))]


def snail(draw: Draw) -> Outlines:
    """A band wound into a spiral of up to three turns, sharp or blunt at its ends."""
    turns = draw.uniform(1.2, 2.8)
    angle = np.linspace(0, 2 * math.pi * turns, 96)
    radius = 0.08 + 0.42 * angle / angle[-1]
    half = draw.uniform(0.2, 0.34) * 0.42 / turns * np.ones_like(angle)
    if draw.random() < 0.5:
        half = half * np.sin(np.linspace(0.05, math.pi - 0.05, len(angle))) ** 0.4
    return [np.concatenate([polar(radius + half, angle), polar(radius - half, angle)[::-1]])]


_STROKES: tuple[tuple[tuple[float, float], ...], ...] = (
    ((0, 1), (0.5, 0), (1, 1)),
    ((0, 0), (0, 1), (0.8, 1)),
    ((0, 1), (0, 0), (0.9, 1), (0.9, 0)),
    ((0, 0), (0.5, 1), (1, 0)),
    ((0, 0), (0.9, 0), (0, 1), (0.9, 1)),
    ((0.9, 0.05), (0.3, 0), (0, 0.5), (0.3, 1), (0.9, 0.95)),
    ((0.8, 0), (0.1, 0.15), (0.4, 0.5), (0.8, 0.85), (0.1, 1)),
    ((0, 0), (0, 0.7), (0.4, 1), (0.8, 0.7), (0.8, 0)),
    ((0, 1), (0, 0), (0.5, 0.6), (1, 0), (1, 1)),
    ((0, 0), (0.7, 0), (0.35, 0), (0.35, 1)),
)


def sign(draw: Draw) -> Outlines:
    """A letter's stroke with a width, straight or bent."""
    knots = np.array(_STROKES[int(draw.integers(len(_STROKES)))], np.float64)
    knots += draw.normal(0, 0.04, knots.shape)
    line = smooth(knots, samples=12) if draw.random() < 0.4 else _straight(knots)
    way = np.gradient(line, axis=0)
    across = np.stack([-way[:, 1], way[:, 0]], 1) / np.maximum(np.hypot(*way.T), 1e-9)[:, None]
    half = draw.uniform(0.05, 0.12)
    return [np.concatenate([line + half * across, (line - half * across)[::-1]])]


def wedge(draw: Draw) -> Outlines:
    """A thin triangle or a kite."""
    wide, at = draw.uniform(0.1, 0.35), draw.uniform(0.0, 0.6)
    return [dense([(0.0, 0.5), (at, 0.5 - wide), (1.0, 0.5), (at, 0.5 + wide)], 12)]


def _straight(knots: Points, samples: int = 12) -> Points:
    """An open line with points along its straight parts."""
    at = np.linspace(0, len(knots) - 1, samples * (len(knots) - 1) + 1)
    return np.stack([np.interp(at, np.arange(len(knots)), knots[:, axis]) for axis in range(2)], 1)


SHARP: dict[str, Callable[[Draw], Outlines]] = {
    maker.__name__: maker for maker in (crescent, spikes, comb, chevron, snail, sign, wedge)
}
"""Every kind by name."""


def sharp_kind(draw: Draw) -> str:
    """One of them at random."""
    return tuple(SHARP)[int(draw.integers(len(SHARP)))]
