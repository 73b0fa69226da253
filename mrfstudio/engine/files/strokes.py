"""Strokes on a photograph, as people make them: values, colours, transparent layers, painted over, or SVG.

- Values 0, 1 … N in an indexed or grey picture: 0 is nothing, the others are labels.
- Grey levels or colours: each is a label; nothing is what is transparent, else the commonest colour.
- A copy of the photograph with strokes painted over it: nothing is what did not change.
- Half transparent strokes of a layer are soft: a pixel leans to the label.
- SVG: lines, polylines, polygons and paths; each stroke colour is a label.

Labels of colours are numbered in reading order, by the first pixel of each. Blends at the rim of a soft brush are left
away: a pixel counts where its colour is nearly that of a stroke.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mrfstudio.engine.files.images import AnyPath, ImageError, read_plain, save_picture, write_labels
from mrfstudio.engine.files.svg_strokes import read_svg
from mrfstudio.engine.protocol.commands.photographs import LEANING

MOST_LABELS = 32
MOST_VALUES = 31
"""Grey pictures with no value above this hold labels, not grey levels."""
NEAR = 24
"""Levels by which a colour may differ from that of its stroke, in each channel."""
PAINTED_OVER = 40
"""Levels by which a painted pixel differs from the photograph; less is what another program's colours do."""
LEAST_SHARE = 0.02
"""Part of all strokes that a colour needs to be a label."""
RIM, MOSTLY = 3, 0.9
"""A colour of which so large a part lies within so many pixels of another may be that one's soft rim."""

FAINTEST, HARD, SOFT = 96, 192, 144
"""Opacity of a transparent layer from which a stroke counts, from which it is hard, and of soft ones written here."""

Colour = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Strokes:
    """Labels (height, width): 0 nothing, 1 … count, soft ones + LEANING; and each label's colour where it had one."""

    values: NDArray[np.uint8]
    count: int
    colours: tuple[Colour, ...] | None = None


def read_strokes(path: AnyPath, rgb: NDArray[np.uint8], labels: int | None = None) -> Strokes:
    """Strokes for a photograph (height, width, 3); `labels` says how many there are where values alone cannot."""
    if Path(path).suffix.lower() == ".svg":
        drawn = read_svg(path, rgb.shape[1], rgb.shape[0])
        return _counted(path, *_numbered(path, *drawn, None), labels)
    image = read_plain(path)
    if _is_jpeg(path):
        raise ImageError(f"{path} is a JPEG, which blurs the colours of strokes: save them as PNG.")
    _same_size(path, image, rgb)
    if image.mode in ("P", "L", "1", "I") or image.mode.startswith("I;16"):
        values = np.asarray(image).astype(np.int64)
        most = MOST_VALUES if labels is None else labels
        if int(values.max()) <= most and image.info.get("transparency") in (None, 0):
            return _of_values(path, values, labels)
        if image.mode == "I" or image.mode.startswith("I;16"):
            raise ImageError(f"{path} has values up to {values.max()}: expected labels from 0 to {most}.")
    layers = np.asarray(image.convert("RGBA"))
    colours, seen = layers[..., :3], layers[..., 3] >= FAINTEST
    ground, soft = None, layers[..., 3] < HARD
    if bool(seen.all()):
        seen, ground = _painted(colours, rgb)
    numbered, found = _numbered(path, colours, seen, ground)
    numbered[soft & (numbered > 0)] += LEANING
    return _counted(path, numbered, found, labels)


def _is_jpeg(path: AnyPath) -> bool:
    with open(path, "rb") as file:
        return file.read(3) == b"\xff\xd8\xff"


def _same_size(path: AnyPath, image: Image.Image, rgb: NDArray[np.uint8]) -> None:
    if (image.height, image.width) != rgb.shape[:2]:
        raise ImageError(
            f"{path} is {image.width}×{image.height} pixels: the photograph is {rgb.shape[1]}×{rgb.shape[0]}, and both "
            "must be the same size."
        )


def _of_values(path: AnyPath, values: NDArray[np.int64], labels: int | None) -> Strokes:
    count = int(values.max()) if labels is None else labels
    if count < 1:
        raise ImageError(f"{path} has no strokes, only zeros: paint a stroke on at least two regions.")
    return Strokes(values.astype(np.uint8), count)


def _painted(colours: NDArray[np.uint8], rgb: NDArray[np.uint8]) -> tuple[NDArray[np.bool_], Colour | None]:
    """What was painted on an opaque picture, and its ground: the photograph (None), or the commonest colour."""
    apart = np.abs(colours.astype(np.int16) - rgb).max(-1)
    if np.median(apart) <= NEAR:
        return apart > PAINTED_OVER, None
    codes, counts = np.unique(_codes(colours), return_counts=True)
    ground = _colour(int(codes[counts.argmax()]))
    return ~_near(colours, ground), ground


def _near(colours: NDArray[np.uint8], colour: Colour) -> NDArray[np.bool_]:
    near: NDArray[np.bool_] = np.abs(colours.astype(np.int16) - np.array(colour)).max(-1) <= NEAR
    return near


def _numbered(
    path: AnyPath, colours: NDArray[np.uint8], seen: NDArray[np.bool_], ground: Colour | None
) -> tuple[NDArray[np.uint8], tuple[Colour, ...]]:
    """Labels of colours (height, width, 3) where `seen`, in reading order."""
    codes = _codes(colours)[seen]
    if not len(codes):
        raise ImageError(f"{path} has no strokes: paint a stroke on at least two regions.")
    found, counts = np.unique(codes, return_counts=True)
    masks: dict[Colour, NDArray[np.bool_]] = {}
    values = np.zeros(seen.shape, np.uint8)
    # The strongest first: a blend is nearer to the ground than what it is a blend of.
    order = np.argsort(-counts, kind="stable")
    common = [_colour(int(found[i])) for i in order if counts[i] >= LEAST_SHARE * len(codes)]
    for colour in sorted(common, key=lambda c: -_distance(c, ground)):
        mask = _near(colours, colour) & seen & (values == 0)
        if mask.any() and not any(_blend(colour, mask, other, masks[other], ground) for other in masks):
            masks[colour] = mask
            values[mask] = len(masks)
        if len(masks) > MOST_LABELS:
            raise ImageError(f"{path} has strokes in more than {MOST_LABELS} colours: expected one colour a label.")
    return _reading_order(values, list(masks))


def _distance(colour: Colour, ground: Colour | None) -> int:
    return 0 if ground is None else max(abs(a - b) for a, b in zip(colour, ground, strict=True))


def _blend(
    colour: Colour, mask: NDArray[np.bool_], other: Colour, strong: NDArray[np.bool_], ground: Colour | None
) -> bool:
    """Whether a colour is only the soft rim of another: between it and the ground, and never far from it."""
    from scipy import ndimage  # scipy: not before it is needed

    if ground is None:  # soft rims of a transparent layer have the stroke's colour; those over a photograph are many
        return False
    base = np.array(ground, np.float64)
    along, here = np.array(other) - base, np.array(colour) - base
    share = float(along @ here) / max(float(along @ along), 1.0)
    between = float(np.abs(here - share * along).max()) <= NEAR
    beside = ndimage.binary_dilation(strong, iterations=RIM)
    return between and float((mask & beside).sum()) > MOSTLY * float(mask.sum())


def _reading_order(values: NDArray[np.uint8], chosen: list[Colour]) -> tuple[NDArray[np.uint8], tuple[Colour, ...]]:
    firsts = [int((values.reshape(-1) == number).argmax()) for number in range(1, len(chosen) + 1)]
    order = np.argsort(firsts, kind="stable")
    table = np.zeros(len(chosen) + 1, np.uint8)
    table[order + 1] = np.arange(1, len(chosen) + 1)
    return table[values], tuple(chosen[i] for i in order)


def _counted(path: AnyPath, values: NDArray[np.uint8], colours: tuple[Colour, ...], labels: int | None) -> Strokes:
    if labels is not None and labels != len(colours):
        names = ", ".join("#{:02x}{:02x}{:02x}".format(*colour) for colour in colours)
        raise ImageError(f"{path} has strokes in {len(colours)} colours ({names}): --labels says {labels}.")
    return Strokes(values, len(colours), colours)


def _codes(colours: NDArray[np.uint8]) -> NDArray[np.int64]:
    wide = colours.astype(np.int64)
    return wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2]


def _colour(code: int) -> Colour:
    return code >> 16, code >> 8 & 255, code & 255


def write_strokes(path: AnyPath, values: NDArray[np.uint8], colours: Sequence[Colour]) -> None:
    """Strokes as `read_strokes` takes them: an indexed PNG, or where some are soft a layer with transparency."""
    if values.max(initial=0) <= LEANING:
        write_labels(path, values, colours)
        return
    table = np.zeros((256, 4), np.uint8)
    for number, colour in enumerate(colours[1:], 1):
        table[number], table[number + LEANING] = (*colour, 255), (*colour, SOFT)
    save_picture(Image.fromarray(table[values]), path, "PNG")


def write_cutout(path: AnyPath, rgb: NDArray[np.uint8], alpha: NDArray[np.uint8], profile: bytes | None = None) -> None:
    """The photograph with alpha (height, width) as PNG, its colour profile kept."""
    if Path(path).suffix.lower() != ".png":
        raise ImageError(f"{path} does not end in .png: a cut-out is written as PNG, which keeps transparency.")
    image = Image.fromarray(np.dstack([rgb, alpha]))
    if profile is not None:
        image.info["icc_profile"] = profile
    save_picture(image, path, "PNG")
