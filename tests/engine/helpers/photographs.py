"""A small photograph: a reddish disc on green, with noise, and strokes on both."""

from __future__ import annotations

import numpy as np


def inside(height: int = 72, width: int = 96) -> np.ndarray:
    """Where the disc is, (h, w)."""
    y, x = np.mgrid[:height, :width]
    return np.asarray((y - height / 2) ** 2 + (x - width / 2) ** 2 < (0.3 * height) ** 2)


def disc(height: int = 72, width: int = 96) -> np.ndarray:
    """Its colours (h, w, 3) uint8."""
    colours = np.where(inside(height, width)[..., None], (190, 70, 60), (60, 150, 80))
    return np.clip(colours + np.random.default_rng(0).normal(0, 12, colours.shape), 0, 255).astype(np.uint8)


def disc_strokes() -> np.ndarray:
    """(72, 96): 1 on the disc, 2 around it."""
    strokes = np.zeros((72, 96), np.uint8)
    strokes[34:38, 40:56] = 1
    strokes[3:7, 4:92] = 2
    strokes[60:66, 80:92] = 2
    return strokes
