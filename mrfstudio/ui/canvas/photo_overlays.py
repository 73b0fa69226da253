"""Layers over a photograph as pictures: premultiplied colours as in `overlays`, transparent where nothing is to say."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from mrfstudio.engine.protocol.commands.photographs import LEANING
from mrfstudio.ui.style.colormaps import colormap
from mrfstudio.ui.style.colours import rgb

TINT = 0.55
"""Opacity of a label that is certain: the photograph stays to be seen."""
CHECKS = 8
"""Side of the squares of the checkerboard, in pixels of the screen."""
LIGHT_CHECK, DARK_CHECK = 0xFF, 0xCC
LARGEST_SCORE = 6.0
"""Nats at which the map of scores ends; more is drawn like this much."""
SOFT_STROKE = 130
"""Opacity of soft strokes, of 255."""
STEPS = 256
RIM, MARKED, FRESH = 110, 90, 130
"""Opacity, of 255, of the outline of damage, of what is marked inside it, and of strokes that wait for their answer."""

Palette = tuple[tuple[int, str], ...]
"""Numbers and colours of labels, in order."""


def overlay(array: np.ndarray, palette: Palette) -> np.ndarray:
    """(h, w, 2) uint8, label and certainty: the label's colour, the more opaque the more certain."""
    table = _tints(tuple(colour for _, colour in palette))
    return table[array[..., 0].astype(np.intp) * STEPS + array[..., 1]]


def boundary(array: np.ndarray) -> np.ndarray:
    """(h, w) labels: a light line on one side of every border and a dark one on the other."""
    pixels = np.zeros(array.shape, np.uint32)
    across, down = array[:, 1:] != array[:, :-1], array[1:] != array[:-1]
    dark, light = np.uint32(0xE0000000), np.uint32(0xFFFFFFFF)
    for change, one, other in (
        (across, np.s_[:, 1:], np.s_[:, :-1]),
        (down, np.s_[1:], np.s_[:-1]),
    ):
        # The lower label has the light line, so that it stays on one side all around.
        lower = array[one] < array[other]
        pixels[one] = np.where(change, np.where(lower, light, np.maximum(pixels[one], dark)), pixels[one])
        pixels[other] = np.where(change, np.where(lower, np.maximum(pixels[other], dark), light), pixels[other])
    return pixels


def cutout(array: np.ndarray) -> np.ndarray:
    """(h, w) uint8 alpha: a checkerboard where there is none of it."""
    rows, columns = (np.arange(size) // CHECKS % 2 for size in array.shape)
    grey = np.where(np.not_equal.outer(rows, columns), np.uint32(LIGHT_CHECK), np.uint32(DARK_CHECK))
    rest = 255 - array.astype(np.uint32)
    return rest << 24 | (grey * rest // 255) * 0x010101


def scores(array: np.ndarray, theme: str) -> np.ndarray:
    """(h, w) nats for a label against the others: orange for it, blue against it."""
    table = _argb(colormap(f"diverging {theme}"), np.full(STEPS, 225))
    return table[_index(0.5 + 0.5 * array / LARGEST_SCORE)]


def walls(array: np.ndarray) -> np.ndarray:
    """(h, w) from 0, nothing, to 1, a wall: dark lines get brighter and more opaque."""
    table = _argb(colormap("heat"), np.linspace(60, 255, STEPS))
    return table[_index(array)]


def strokes(array: np.ndarray, palette: Palette) -> np.ndarray:
    """(h, w) label numbers in full colour with a dark rim, soft ones half transparent; 0 is nothing."""
    table = np.zeros(256, np.uint32)
    for number, colour in palette:
        table[[number, number + LEANING]] = _argb(np.tile(np.array(rgb(colour)), (2, 1)), np.array([255, SOFT_STROKE]))
    pixels = table[array]
    painted = array != 0
    rim = painted.copy()
    rim[1:] &= painted[:-1]
    rim[:-1] &= painted[1:]
    rim[:, 1:] &= painted[:, :-1]
    rim[:, :-1] &= painted[:, 1:]
    return np.where(painted & ~rim, np.uint32(0xC0000000), pixels)


def damage(array: np.ndarray, palette: Palette) -> np.ndarray:
    """(h, w) label numbers as faint lines around them, so that what was filled in is seen; those above 1 are tinted."""
    around = np.zeros(array.shape, np.uint8)
    for one, other in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
        around[one] = np.maximum(around[one], array[other])
        around[other] = np.maximum(around[other], array[one])
    inside, outline = np.zeros(256, np.uint32), np.zeros(256, np.uint32)
    for number, colour in palette:
        outline[number] = _argb(np.array([rgb(colour)]), np.array([RIM]))[0]
        if number > 1:
            inside[number] = _argb(np.array([rgb(colour)]), np.array([MARKED]))[0]
    return np.where(array != 0, inside[array], outline[around])


def fresh_damage(array: np.ndarray, palette: Palette) -> np.ndarray:
    """(h, w) label numbers of strokes that were not answered yet: tinted."""
    table = np.zeros(256, np.uint32)
    for number, colour in palette:
        table[number] = _argb(np.array([rgb(colour)]), np.array([FRESH]))[0]
    return table[array]


def coloured(array: np.ndarray) -> np.ndarray:
    """(h, w, 4) uint8 colours and opacity."""
    alpha = array[..., 3].astype(np.uint32)
    red, green, blue = ((array[..., k].astype(np.uint32) * alpha + 127) // 255 for k in range(3))
    return np.asarray(alpha << 24 | red << 16 | green << 8 | blue, np.uint32)


@lru_cache(maxsize=8)
def _tints(colours: Sequence[str]) -> np.ndarray:
    """Premultiplied colours of all labels at all certainties, (labels · STEPS,)."""
    opacity = np.round(np.linspace(0, 255 * TINT, STEPS))
    return np.concatenate([_argb(np.tile(np.array(rgb(each)), (STEPS, 1)), opacity) for each in colours])


def _argb(table: np.ndarray, opacity: np.ndarray) -> np.ndarray:
    """Colours (n, 3) with opacities (n,) from 0 to 255, premultiplied."""
    alpha = np.round(opacity).astype(np.uint32)
    red, green, blue = (table.T.astype(np.uint32) * alpha + 127) // 255
    return np.asarray(alpha << 24 | red << 16 | green << 8 | blue, np.uint32)


def _index(fraction: np.ndarray) -> np.ndarray:
    return np.asarray((np.clip(fraction, 0, 1) * (STEPS - 1) + 0.5).astype(np.intp))
