"""A picture to cut, the same for every peer that cuts pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

HEIGHT, WIDTH = 480, 640


def scene() -> dict[str, Any]:
    """A textured blob: `rgb` (h, w, 3) uint8 and `strokes` (h, w) uint8, 0 nothing, 1 background, 2 object."""
    draw = np.random.default_rng(7)
    row, column = np.indices((HEIGHT, WIDTH))
    y, x = (row - HEIGHT / 2) / HEIGHT, (column - WIDTH / 2) / WIDTH
    angle = np.arctan2(y, x)
    inside = np.hypot(x, y) < 0.27 + 0.05 * np.cos(3 * angle) + 0.03 * np.sin(5 * angle)
    waves = 20 * np.sin(row / 9 + column / 13)
    colours = np.where(inside[..., None], [180, 90, 60], [90, 110, 140]) + waves[..., None]
    rgb = np.clip(colours + draw.normal(0, 14, (HEIGHT, WIDTH, 3)), 0, 255).astype(np.uint8)
    strokes = np.zeros((HEIGHT, WIDTH), np.uint8)
    strokes[225:235, 250:390] = 2
    strokes[15:25, 20:620] = strokes[455:465, 20:620] = 1
    return {"rgb": rgb, "strokes": strokes}


def cut_by_the_studio(inputs: dict[str, Any]) -> tuple[np.ndarray, float]:
    """The mask (h, w) of 0 and 1 of label 2, and the seconds of the whole cut."""
    from rivals import best_seconds

    import mrfstudio

    def cut() -> np.ndarray:
        return np.asarray(mrfstudio.segment(inputs["rgb"], inputs["strokes"]).labels == 2, np.float64)

    return cut(), best_seconds(cut, repeats=3, warm=0)
