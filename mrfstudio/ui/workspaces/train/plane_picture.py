"""The plane as pixels: a hue for each component, brighter where the density is higher, and lines of equal density."""

from __future__ import annotations

import numpy as np

from mrfstudio.engine.protocol.training import PlanePicture
from mrfstudio.ui.style.colours import Colours, rgb

FINER = 6
"""Pixels for each cell in each direction: lines of equal density are drawn on these."""
LEVELS = (0.01, 0.05, 0.15, 0.35, 0.65)
"""Where lines of equal density lie, as parts of the highest."""
HUES = (2, 0, 3, 4, 6, 5, 7)
"""Colours of labels that are told apart easily, in order; the grey one is left out."""


def component_colours(count: int, colours: Colours) -> np.ndarray:
    """(count, 3) uint8; more than seven components use colours again."""
    return np.array([rgb(colours.labels[HUES[number % len(HUES)]]) for number in range(count)], np.uint8)


def mixed(responsibilities: np.ndarray, colours: Colours, count: int) -> np.ndarray:
    """(count, 3): the colours of components, mixed by how much of a point each claims; darker than the density."""
    if responsibilities.shape[1] == 0:
        return np.tile(np.array(rgb(colours.text), np.float64), (count, 1))
    hues = component_colours(responsibilities.shape[1], colours)
    text = np.array(rgb(colours.text))
    return 0.6 * (responsibilities @ hues) + 0.4 * text


def finer(cells: np.ndarray) -> np.ndarray:
    """(rows, columns) at the middles of cells → FINER times as many pixels in each direction, interpolated."""
    for axis in (0, 1):
        old = np.arange(cells.shape[axis])
        new = (np.arange(cells.shape[axis] * FINER) + 0.5) / FINER - 0.5
        low = np.clip(np.floor(new).astype(int), 0, len(old) - 1)
        high = np.minimum(low + 1, len(old) - 1)
        part = np.clip(new - low, 0, 1).astype(cells.dtype)
        part = part[:, None] if axis == 0 else part
        cells = np.take(cells, low, axis) * (1 - part) + np.take(cells, high, axis) * part
    return cells


def plane_image(picture: PlanePicture, colours: Colours) -> np.ndarray:
    """(height, width, 3) uint8, the highest row first."""
    density = finer(np.asarray(picture.density, np.float32))
    highest = max(float(density.max()), 1e-30)
    share = density / highest
    paper = np.array(rgb(colours.paper), np.float32)
    if len(picture.shares):
        hues = component_colours(len(picture.shares), colours).astype(np.float32)
        hue = np.einsum("kij,kc->ijc", picture.shares.astype(np.float32), hues)
        hue = np.stack([finer(hue[..., channel]) for channel in range(3)], -1)
    else:
        hue = np.broadcast_to(np.array(rgb(colours.accent), np.float32), (*density.shape, 3))
    strength = 0.8 * np.sqrt(share)[..., None]
    image = paper * (1 - strength) + hue * strength
    band = np.digitize(share, LEVELS)
    edge = np.zeros(band.shape, bool)
    edge[:, 1:] |= band[:, 1:] != band[:, :-1]
    edge[1:] |= band[1:] != band[:-1]
    image[edge] = 0.55 * image[edge] + 0.45 * np.array(rgb(colours.text), np.float32)
    return np.clip(image[::-1] + 0.5, 0, 255).astype(np.uint8)
