"""Generated scenes in colour: leaves, discs and strips over one another, with light, texture and blur.

Things that hide one another and come in all sizes give pictures whose edges, flat parts and contrasts are distributed
like those of photographs (the dead leaves of [LMH01]); a model of small pieces learns from them what nine photographs
do not show often enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scene = NDArray[np.float32]
SMALLEST, LARGEST = 3.0, 0.4
"""Radii of things: pixels, and a part of the side of the scene."""


def draw_scene(side: int, generator: np.random.Generator) -> Scene:
    """One scene (side, side, 3) of colours from 0 to 1; it depends on the generator alone."""
    picture = np.broadcast_to(_colour(generator), (side, side, 3)).astype(np.float32)
    palette = np.stack([_colour(generator) for _ in range(6)])
    radii = np.sort(_radii(40 + int(60 * generator.random()), LARGEST * side, generator))[::-1]
    for radius in radii:
        _draw_thing(picture, radius, palette[generator.integers(len(palette))], generator)
    return _photographed(picture, generator)


def _colour(generator: np.random.Generator) -> NDArray[np.float32]:
    """Mostly a grey level with a little colour, as in photographs."""
    tint = generator.normal(0, 0.12, 3)
    return np.clip(generator.random() + tint - tint.mean(), 0, 1).astype(np.float32)


def _radii(count: int, largest: float, generator: np.random.Generator) -> NDArray[np.float64]:
    """Densities that fall with the third power of the radius: the same picture at every scale."""
    even = generator.random(count)
    return 1 / np.sqrt(even / SMALLEST**2 + (1 - even) / largest**2)


def _draw_thing(picture: Scene, radius: float, colour: NDArray[np.float32], generator: np.random.Generator) -> None:
    """An ellipse, a strip or a half plane's part, smooth at its edge, with its own light and texture."""
    side = len(picture)
    middle, angle = generator.random(2) * side, generator.random() * np.pi
    stretch = generator.uniform(1, 6) if generator.random() < 0.6 else 1.0
    reach = int(np.ceil(radius * stretch)) + 2
    top, left = (max(0, int(m) - reach) for m in middle)
    rows, columns = np.mgrid[top : min(side, int(middle[0]) + reach), left : min(side, int(middle[1]) + reach)]
    down, right = rows - middle[0], columns - middle[1]
    along = (np.cos(angle) * right + np.sin(angle) * down) / stretch
    across = np.cos(angle) * down - np.sin(angle) * right
    if generator.random() < 0.3:  # a box
        outside = np.maximum(np.abs(along), np.abs(across)) - radius
    else:
        outside = np.hypot(along, across) - radius
    cover = np.clip(0.5 - outside / generator.uniform(0.8, 2.0), 0, 1)[..., None].astype(np.float32)
    slope = generator.normal(0, 0.12, 2) / max(radius, 1.0)
    light = slope[0] * along + slope[1] * across
    if generator.random() < 0.35:  # stripes, fine or coarse
        wave = generator.uniform(2.5, 16.0)
        light = light + generator.uniform(0.01, 0.12) * np.sin(2 * np.pi * across / wave + generator.random())
    if generator.random() < 0.5:
        grain = generator.normal(0, generator.uniform(0.005, 0.08), rows.shape)
        light = light + _smooth(grain, generator.uniform(0.0, 1.5))
    shade = (colour + light[..., None]).astype(np.float32)
    part = picture[top : top + rows.shape[0], left : left + rows.shape[1]]
    part += cover * (shade - part)


def _smooth(values: NDArray, width: float) -> NDArray:
    from scipy import ndimage  # later than the first picture of the window

    return values if width < 0.3 else ndimage.gaussian_filter(values, width) * (1 + 2 * width)


def _photographed(picture: Scene, generator: np.random.Generator) -> Scene:
    """The lens's blur and the sensor's noise."""
    from scipy import ndimage

    width = generator.uniform(0.3, 1.0)
    blurred = ndimage.gaussian_filter(picture, (width, width, 0))
    noisy = blurred + generator.normal(0, generator.uniform(0.001, 0.008), picture.shape)
    return np.clip(noisy, 0, 1).astype(np.float32)
