"""Layers as pictures: arrays of a frame become images through tables of 32-bit colours.

Every layer is one table look-up: an index array (h, w) into premultiplied 0xAARRGGBB colours, the format QPainter
blends fastest. Opacity and dimming are the painter's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PySide6.QtGui import QImage

from mrfstudio.engine.protocol.frames import NO_HINT
from mrfstudio.ui.canvas import photo_overlays
from mrfstudio.ui.canvas.layers import LARGEST_DEVIATION, LARGEST_ERROR
from mrfstudio.ui.style.colormaps import clone_colours, colormap
from mrfstudio.ui.style.colours import DARK, LIGHT, Colours, rgb

LEVELS = 64  # steps of certainty: finer than the eye sees
SMALLEST_RESIDUAL = 1e-6  # where the logarithmic residual map begins
DIFFERENT = 0.01  # total variation below which two beliefs count as equal on the difference map
HATCH = 4  # sub-pixels of the stripes that mark hints
MOST_CLONES = 256
SAME = 1e-6  # differences of grey levels that are rounding


@dataclass(frozen=True)
class LayerStyle:
    """What the pictures depend on besides the arrays."""

    dark: bool = False
    labels: int = 3
    direction: int | None = None
    """Which residual direction; None shows the largest of all."""
    signed: bool = False
    """Whether differences of lanes have a sign, as those of grey levels have."""
    palette: photo_overlays.Palette = ()
    """Numbers and colours of labels where a person chooses them; empty takes those of the theme."""
    hollow: bool = False
    """Whether strokes are drawn as outlines, because what lies below them is the answer."""

    @property
    def colours(self) -> Colours:
        return DARK if self.dark else LIGHT


def layer_picture(name: str, array: np.ndarray, look: LayerStyle) -> np.ndarray | None:
    """One layer as (h, w) uint32 premultiplied colours; None for a layer that is not drawn as pixels."""
    painter = PAINTERS.get(name)
    return None if painter is None else painter(array, look)


def as_image(pixels: np.ndarray) -> QImage:
    """A QImage on an array (h, w) uint32, without a copy: keep the array for as long as the image."""
    height, width = pixels.shape
    return QImage(pixels.data, width, height, pixels.strides[0], QImage.Format.Format_ARGB32_Premultiplied)


def observed(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """0 is ink, 1 shows the paper, 2 is unknown."""
    table = np.array([solid(look.colours.ink), 0, solid(look.colours.unknown)], np.uint32)
    return table[np.minimum(array, 2)]


def belief(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """(h, w, labels) probabilities: the colour of the most probable label, as opaque as it is certain."""
    labels = array.shape[2]
    # Label by label: numpy's argmax over a short last axis takes several times as long.
    top, best = array[..., 0], np.zeros(array.shape[:2], np.intp)
    for label in range(1, labels):
        better = array[..., label] > top
        top = np.where(better, array[..., label], top)
        best[better] = label * LEVELS
    certainty = (top * labels - 1) / max(labels - 1, 1)
    best += np.clip(certainty * (LEVELS - 1) + 0.5, 0, LEVELS - 1).astype(np.intp)
    known = tuple(colour for _, colour in look.palette) or look.colours.labels
    return _label_table(known, labels).take(best)


def decoded(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """(h, w) label numbers in full colour."""
    table = np.array([solid(colour) for colour in look.colours.labels], np.uint32)
    return table[np.minimum(array, len(table) - 1)]


def entropy(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """(h, w) bits from 0 to the logarithm of the number of labels."""
    return mapped("sequential", array / np.log2(max(look.labels, 2)))


def residual(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """(directions, h, w) largest change of a message, on a logarithmic scale from 1e-6 to 1."""
    if array.ndim == 3:
        chosen = look.direction
        array = array.max(axis=0) if chosen is None or chosen >= len(array) else array[chosen]
    decades = -np.log10(SMALLEST_RESIDUAL)
    return mapped("heat", 1 + np.log10(np.maximum(array, SMALLEST_RESIDUAL)) / decades)


def difference(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """(h, w) from 0 to 1: how far two lanes are apart; nothing is drawn where they agree."""
    pixels = mapped(f"diverging {look.colours.name}", 0.5 + 0.5 * array)
    pixels[array < DIFFERENT] = 0
    return pixels


def clones(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """(h, w) clone numbers by hue, -1 where no contour is."""
    table = np.zeros(MOST_CLONES + 1, np.uint32)
    table[1:] = _opaque(clone_colours(MOST_CLONES, look.dark))
    return table[np.clip(array.astype(np.intp) + 1, 0, MOST_CLONES)]


def ownership(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """(h, w) angles in radians, counter-clockwise from right; NaN where no contour is."""
    known = np.isfinite(array)
    turn = np.where(known, array, 0) / (2 * np.pi) % 1.0
    pixels = mapped("cyclic", turn)
    pixels[~known] = 0
    return pixels


def mask(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """How doubtful each pixel is, from 0 known to 1 unknown: (h, w) whole numbers or fractions."""
    table = _fading_table(look.colours.unknown)
    return table[np.clip(np.asarray(array, np.float32) * (LEVELS - 1) + 0.5, 0, LEVELS - 1).astype(np.intp)]


def deviation(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """(h, w) standard deviations in grey levels from 0 to 1; what is certain shows the picture below."""
    return _where(array > 0, mapped("sequential", array / LARGEST_DEVIATION))


def grey_difference(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """(h, w) differences of grey levels; where there is none the picture below shows."""
    return _where(np.abs(array) > SAME, mapped(f"diverging {look.colours.name}", 0.5 + 0.5 * array / LARGEST_ERROR))


def effect(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """What a hidden unit adds, (h, w): the more opaque the more it adds, on the unit's own scale."""
    share = array / (float(np.abs(array).max()) or 1.0)
    return _scaled(mapped(f"diverging {look.colours.name}", 0.5 + 0.5 * np.sign(share)), np.abs(share))


def signed_difference(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """Differences of lanes: of grey levels where they have a sign, of beliefs otherwise."""
    return grey_difference(array, look) if look.signed else difference(array, look)


def doubt(unknown: np.ndarray, strength: np.ndarray | None) -> np.ndarray:
    """How much of a pixel is unknown, (h, w) from 0 to 1: all of one in the mask, less of one that is soft."""
    soft = np.zeros(unknown.shape, np.float32) if strength is None else 1 - strength
    return np.where(unknown == 1, np.float32(1), soft)


def grey(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """(h, w) from 0 black to 1 white, or uint8."""
    value = array if array.dtype == np.uint8 else (np.clip(array, 0, 1) * 255 + 0.5).astype(np.uint8)
    return 0xFF000000 | value.astype(np.uint32) * 0x010101


def masked(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """(h, w) from 0 black to 1 white, NaN where nothing is known."""
    known = np.isfinite(array)
    return np.where(known, grey(np.where(known, array, 0), look), np.uint32(solid(look.colours.unknown)))


def signed(array: np.ndarray, look: LayerStyle) -> np.ndarray:
    """(h, w) numbers around 0, which is paper; the largest of either sign has the full colour."""
    largest = float(np.abs(array).max(initial=0.0)) or 1.0
    return mapped(f"diverging {look.colours.name}", 0.5 + 0.5 * array / largest)


def hints(array: np.ndarray, look: LayerStyle, strength: np.ndarray | None = None) -> np.ndarray:
    """Stripes in the label's colour over hinted pixels, (4h, 4w): a hint never looks like a result.

    `strength` (h, w) in [0, 1] makes soft hints paler.
    """
    table = np.zeros(NO_HINT + 1, np.uint32)
    known = look.colours.labels
    table[: len(known)] = [solid(colour) for colour in known]
    pixels = _enlarged(table[array])
    stripe = np.add.outer(np.arange(pixels.shape[0]), np.arange(pixels.shape[1])) % HATCH
    ink = np.where(pixels > 0, np.uint32(solid(look.colours.ink)), np.uint32(0))
    pixels = np.where(stripe == 0, ink, np.where(stripe < 3, pixels, np.uint32(0)))
    if strength is None:
        return pixels
    return _scaled(pixels, _enlarged(0.35 + 0.65 * np.clip(strength, 0, 1)))


def highlight(where: np.ndarray, look: LayerStyle) -> np.ndarray:
    """(h, w) booleans: the pixels of a pointed-at clone glow, the others step back."""
    table = np.array([solid(look.colours.paper, 0.55), solid(look.colours.highlight)], np.uint32)
    return table[where.astype(np.intp)]


PAINTERS: dict[str, Callable[[np.ndarray, LayerStyle], np.ndarray]] = {
    "grey": grey,
    "observed": observed,
    "truth": decoded,
    "belief": belief,
    "decoded": decoded,
    "entropy": entropy,
    "residual": residual,
    "difference": signed_difference,
    "error": difference,
    "clone": clones,
    "ownership": ownership,
    "mask": mask,
    "signed": signed,
    "picture": grey,
    "mean": grey,
    "sample": grey,
    "deviation": deviation,
    "mistake": grey_difference,
    "effect": effect,
    "masked": masked,
    "overlay": lambda array, look: photo_overlays.overlay(array, look.palette),
    "boundary": lambda array, look: photo_overlays.boundary(array),
    "cutout": lambda array, look: photo_overlays.cutout(array),
    "scores": lambda array, look: photo_overlays.scores(array, look.colours.name),
    "walls": lambda array, look: photo_overlays.walls(array),
    "strokes": lambda array, look: (photo_overlays.damage if look.hollow else photo_overlays.strokes)(
        array, look.palette
    ),
    "fresh": lambda array, look: photo_overlays.fresh_damage(array, look.palette),
    "repaired": lambda array, look: photo_overlays.coloured(array),
    "draw": lambda array, look: photo_overlays.coloured(array),
    "filler": clones,
}


def solid(colour: str, opacity: float = 1.0) -> int:
    """`#rrggbb` as premultiplied 0xAARRGGBB."""
    alpha = round(opacity * 255)
    red, green, blue = (round(channel * alpha / 255) for channel in rgb(colour))
    return alpha << 24 | red << 16 | green << 8 | blue


@lru_cache(maxsize=16)
def _fading_table(colour: str) -> np.ndarray:
    """One colour from nothing to opaque, (LEVELS,)."""
    return np.array([solid(colour, level / (LEVELS - 1)) for level in range(LEVELS)], np.uint32)


@lru_cache(maxsize=16)
def _label_table(known: tuple[str, ...], labels: int) -> np.ndarray:
    """Colours of all labels at all certainties, (labels · LEVELS,)."""
    # A certain label still lets the ink below show through: what was seen stays visible under what is believed.
    opacity = [0.82 * level / (LEVELS - 1) for level in range(LEVELS)]
    return np.array([solid(known[label % len(known)], o) for label in range(labels) for o in opacity], np.uint32)


def _where(shown: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """Colours where they are to be shown, nothing elsewhere."""
    return np.where(shown, pixels, np.uint32(0))


def _enlarged(array: np.ndarray) -> np.ndarray:
    """Every pixel as HATCH × HATCH."""
    return array.repeat(HATCH, axis=0).repeat(HATCH, axis=1)


def mapped(name: str, fraction: np.ndarray) -> np.ndarray:
    """Fractions from 0 to 1 as colours of a map."""
    index = (np.clip(np.nan_to_num(fraction), 0, 1) * 255 + 0.5).astype(np.intp)
    return _opaque(colormap(name)).take(index)


def _opaque(table: np.ndarray) -> np.ndarray:
    red, green, blue = table.astype(np.uint32).T
    return np.uint32(0xFF000000) | red << 16 | green << 8 | blue


def _scaled(pixels: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Premultiplied colours made paler."""
    channels = pixels.view(np.uint8).reshape(*pixels.shape, 4)
    return np.ascontiguousarray(np.round(channels * weight[..., None]).astype(np.uint8)).view(np.uint32)[..., 0]
