"""Colour maps with 256 entries, even in lightness and safe for colour-blind eyes.

Sequential maps run along blue–yellow, the axis that people with red–green blindness keep, while OKLab lightness grows
by equal steps. The diverging map is blue against orange around the paper; the cyclic one turns through blue, light,
orange and dark, so opposite directions differ for everybody.
"""

from __future__ import annotations

from functools import cache

import numpy as np

ENTRIES = 256
GREY = "grey"
# OKLab (lightness, green–red, blue–yellow); a map interpolates linearly between these.
ANCHORS: dict[str, tuple[tuple[float, float, float], ...]] = {
    # dark blue, slate, grey-green, straw, pale yellow
    "sequential": (
        (0.22, 0.00, -0.10),
        (0.41, -0.01, -0.07),
        (0.60, -0.01, 0.00),
        (0.79, -0.01, 0.10),
        (0.98, -0.03, 0.14),
    ),
    # near black, purple, magenta-orange, yellow: for heat, so it is told apart from the one above
    "heat": ((0.15, 0.02, -0.04), (0.355, 0.10, -0.09), (0.56, 0.15, 0.03), (0.765, 0.07, 0.14), (0.97, -0.02, 0.12)),
    "diverging light": (
        (0.40, -0.02, -0.16),
        (0.70, -0.03, -0.09),
        (1.00, 0.0, 0.0),
        (0.70, 0.05, 0.12),
        (0.40, 0.06, 0.08),
    ),
    "diverging dark": (
        (0.85, -0.05, -0.09),
        (0.53, -0.03, -0.13),
        (0.21, 0.0, 0.0),
        (0.53, 0.06, 0.10),
        (0.85, 0.04, 0.13),
    ),
    # right, up, left, down, right again
    "cyclic": ((0.72, 0.07, 0.14), (0.95, 0.0, 0.02), (0.55, -0.03, -0.16), (0.25, 0.02, -0.02), (0.72, 0.07, 0.14)),
}


@cache
def colormap(name: str) -> np.ndarray:
    """A map by name as (256, 3) uint8; read-only, because everybody shares it."""
    if name == GREY:  # grey levels as they are in pictures
        table = np.arange(ENTRIES, dtype=np.uint8)[:, None].repeat(3, axis=1)
        table.setflags(write=False)
        return table
    anchors = np.array(ANCHORS[name])
    where = np.linspace(0, len(anchors) - 1, ENTRIES)
    lab = np.stack([np.interp(where, np.arange(len(anchors)), anchors[:, axis]) for axis in range(3)], axis=1)
    table = oklab_to_srgb(lab)
    table.setflags(write=False)
    return table


@cache
def clone_colours(count: int, dark: bool) -> np.ndarray:
    """One colour for each clone, (count, 3) uint8: hues a golden angle apart, in three lightnesses."""
    index = np.arange(count)
    hue = index * np.pi * (3 - np.sqrt(5))  # neighbours in number are far apart in hue
    lightness = (0.62, 0.74, 0.86) if dark else (0.42, 0.54, 0.66)
    level = np.array(lightness)[index % 3]
    table = oklab_to_srgb(np.stack([level, 0.13 * np.cos(hue), 0.13 * np.sin(hue)], axis=1))
    table.setflags(write=False)
    return table


def oklab_to_srgb(lab: np.ndarray) -> np.ndarray:
    """OKLab (…, 3) to sRGB (…, 3) uint8, clipped to what a screen shows (Ottosson 2020)."""
    to_cone = np.array(
        [[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728], [1, -0.0894841775, -1.2914855480]]
    )
    to_linear = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    linear = np.clip((lab @ to_cone.T) ** 3 @ to_linear.T, 0, 1)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.round(encoded * 255).astype(np.uint8)
