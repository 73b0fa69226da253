"""A small model of windows that knows stripes, and a striped photograph: what repairs are tested on."""

from __future__ import annotations

import numpy as np
import torch

from mrfstudio.engine.families.patches.model import PatchMixture, put_covariance

SIDE, WAVE = 6, 4


def stripes(shape: tuple[int, int], phase: float = 0.0, down: bool = False) -> np.ndarray:
    """Colours (height, width, 3) that repeat every `WAVE` pixels to the right, or down."""
    rows, columns = np.indices(shape)
    light = 0.5 + 0.3 * np.sin(2 * np.pi * (rows if down else columns) / WAVE + phase)
    return np.repeat(light[..., None], 3, -1).astype(np.float32)


def striped_mixture() -> PatchMixture:
    """Component 0 knows upright stripes of any phase, component 1 level ones."""
    mixture = PatchMixture(SIDE, 2, 4)
    with torch.no_grad():
        for k, down in enumerate((False, True)):
            seen = [stripes((SIDE, SIDE), phase, down) for phase in np.linspace(0, 6, 40)]
            rows = torch.from_numpy(np.stack(seen))
            rows = (rows - rows.mean((1, 2), keepdim=True)).flatten(1)
            put_covariance(mixture, k, rows.T @ rows / len(rows) + 1e-5 * torch.eye(mixture.pixels))
    return mixture


def eight_bits(colours: np.ndarray) -> np.ndarray:
    return np.rint(255 * colours).astype(np.uint8)
