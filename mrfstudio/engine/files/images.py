"""Pictures of any kind in, contour masks and label images out.

Grey levels and colours are float32 from 0 (black) to 1 (white), whatever the file stores. Label images are 8-bit
indexed PNG files whose index is the label; their colours are only for looking at.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from mrfstudio.engine.files.atomic import atomic_path, unwritable
from mrfstudio.engine.protocol.errors import StudioError

AnyPath = str | os.PathLike[str]
Ink = Literal["auto", "dark", "light"]
Grey = NDArray[np.float32]  # (height, width)

LARGEST = 200_000_000
"""Pixels of the largest picture that is opened; more is refused before any of it is unpacked."""
MAX_PIXELS = 24_000_000
"""Pixels that a picture is made smaller to where it has more: as numbers, each takes twelve bytes."""
MOST_LABELLED = 80_000_000
"""Pixels of pictures whose values are labels: those cannot be made smaller."""
PIXELS_A_BYTE = 2000
"""Pixels that a byte of a file can stand for; a page that is all white comes to some hundreds."""
Image.MAX_IMAGE_PIXELS = LARGEST  # Pillow warns from here on, and refuses what has twice as many
# Raster formats that Pillow decodes by itself; others, such as EPS, would start foreign programs.
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "TGA", "ICO", "PCX", "JPEG2000", "AVIF", "DIB", "QOI")
WRITTEN_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".bmp": "BMP", ".tif": "TIFF",
                   ".tiff": "TIFF"}  # fmt: skip

LEAST_CONTRAST = 0.08  # paper and ink differ by more than the noise of a scan or of JPEG

# Colours of Okabe and Ito, which people with any colour vision can tell apart; contours black, OUT pale, IN orange.
_SAFE = ((230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (0, 114, 178), (213, 94, 0), (204, 121, 167))
CONTOUR_PALETTE = ((0, 0, 0), (236, 236, 236), (230, 159, 0))


class ImageError(StudioError):
    """A picture that cannot be read or written. The message is one sentence that names the file."""


@dataclass(frozen=True)
class SeenContours:
    """Where a contour was seen in a picture, and how that was decided.

    seen (height, width); `ink` is the side of `threshold` (a grey level) that is contour. Both are None if the picture
    is uniform.
    """

    seen: NDArray[np.bool_]
    ink: Literal["dark", "light"] | None
    threshold: float | None


def read_grey(path: AnyPath) -> Grey:
    """A picture as grey levels (height, width): luminance, on white where it is transparent, 16 bits kept."""
    image = _open(path)
    if image.mode in ("RGB", "RGBA"):
        # ITU-R 601, in floats: Pillow's own conversion rounds to 8 bits
        return colours_of(image) @ np.array([0.299, 0.587, 0.114], np.float32)
    return levels_of(image, path)


def read_colour(path: AnyPath) -> NDArray[np.float32]:
    """A picture as colours (height, width, 3), on white where it is transparent."""
    image = _open(path)
    if image.mode in ("RGB", "RGBA"):
        return colours_of(image)
    return np.repeat(levels_of(image, path)[:, :, None], 3, axis=2)


def read_plain(path: AnyPath) -> Image.Image:
    """The picture itself, upright, its palette and transparency kept."""
    return _open(path, keep_palette=True)


Part = tuple[float, float, float, float]
"""Top, left, height and width of a part of a picture, in its pixels."""


def fitted(grey: NDArray, shape: tuple[int, int], part: Part | None = None) -> Grey:
    """A part of a grey picture (h, w), scaled to `shape` (height, width); None is the `largest_part`."""
    top, left, height, width = largest_part(grey.shape, shape) if part is None else part
    bottom, right = top + height, left + width
    inside = min(top, left) >= -1e-6 and bottom <= grey.shape[0] + 1e-6 and right <= grey.shape[1] + 1e-6
    if part is not None and not (inside and min(height, width) >= 1):
        size = f"{grey.shape[1]}×{grey.shape[0]}"
        raise ImageError(f"The part {part} does not lie in the picture of {size} pixels: expected a part inside it.")
    # A mean over each target pixel is what a coarser camera would have seen; enlarging needs something smooth.
    method = Image.Resampling.BOX if width >= shape[1] else Image.Resampling.BICUBIC
    whole = Image.fromarray(np.ascontiguousarray(grey, np.float32))
    corners = (max(left, 0.0), max(top, 0.0), min(right, grey.shape[1]), min(bottom, grey.shape[0]))
    return np.asarray(whole.resize((shape[1], shape[0]), method, box=corners), np.float32)


def largest_part(full: tuple[int, ...], shape: tuple[int, int]) -> Part:
    """The largest part of a picture of size `full` that has the proportions of `shape`, in the middle."""
    scale = min(full[0] / shape[0], full[1] / shape[1])
    height, width = shape[0] * scale, shape[1] * scale
    return (full[0] - height) / 2, (full[1] - width) / 2, height, width


def to_contours(image: NDArray, ink: Ink = "auto", threshold: float | None = None) -> SeenContours:
    """The pixels of a grey picture (height, width) in [0, 1] that are ink; a pixel at the threshold counts as dark.

    Without a threshold Otsu's is taken, and a uniform picture (all white, all black, or with so little contrast that it
    can only be noise) has no contour. `auto` takes the side with fewer pixels for ink, dark in a tie.
    """
    grey = np.asarray(image, np.float32)
    if grey.ndim != 2 or grey.size == 0 or not np.isfinite(grey).all():
        raise ImageError(f"The picture has shape {grey.shape}: expected finite grey levels of shape (height, width).")
    if ink not in ("auto", "dark", "light"):
        raise ImageError(f"The ink is {ink!r}: expected auto, dark or light.")
    if threshold is None:
        threshold = _otsu(grey)
        if threshold is None:
            return SeenContours(np.zeros(grey.shape, np.bool_), None, None)
    elif not 0 <= threshold <= 1:
        raise ImageError(f"The threshold is {threshold}: expected a grey level from 0 (black) to 1 (white).")
    dark = grey <= np.float32(threshold)
    chosen: Literal["dark", "light"]
    if ink == "auto":
        chosen = "dark" if 2 * int(dark.sum()) <= dark.size else "light"
    else:
        chosen = ink
    return SeenContours(dark if chosen == "dark" else ~dark, chosen, float(threshold))


def read_labels(path: AnyPath, labels: int = 3) -> NDArray[np.uint8]:
    """Labels (height, width) from 0 to `labels` - 1: the indices of an indexed picture or the values of a grey one."""
    image = _open(path, keep_palette=True)
    if image.mode not in ("P", "L", "1", "I", "I;16", "I;16B", "I;16L"):
        raise ImageError(
            f"{path} is a colour picture ({image.mode}): expected an indexed or grey one with labels as values."
        )
    values = np.asarray(image)
    if int(values.max()) >= labels or int(values.min()) < 0:
        found = f"{values.min()} to {values.max()}"
        raise ImageError(f"{path} has values from {found}: expected labels from 0 to {labels - 1}.")
    return values.astype(np.uint8)


def write_labels(path: AnyPath, labels: NDArray, palette: Sequence[tuple[int, int, int]] = CONTOUR_PALETTE) -> None:
    """Write labels (height, width) as an 8-bit indexed PNG; labels beyond the palette get colours of their own."""
    values = np.asarray(labels)
    if values.ndim != 2 or values.size == 0 or values.dtype.kind not in "bui" or values.min() < 0 or values.max() > 255:
        raise ImageError(
            f"The labels are {values.dtype} of shape {values.shape}: expected (height, width) of 0 to 255."
        )
    if Path(path).suffix.lower() != ".png":
        raise ImageError(f"{path} does not end in .png: label images are written as PNG, which keeps every label.")
    # 256 colours, so that Pillow stores 8 bits a pixel whatever labels occur
    colours = [*palette, *(_SAFE[i % len(_SAFE)] for i in range(256 - len(palette)))]
    height, width = values.shape
    indexed = Image.frombytes("P", (width, height), values.astype(np.uint8).tobytes())
    indexed.putpalette([channel for colour in colours[:256] for channel in colour])
    save_picture(indexed, path, "PNG")


def label_palette(labels: int) -> tuple[tuple[int, int, int], ...]:
    """Colours for the labels of a photograph: 0, unlabelled, is black, then colours that anybody can tell apart."""
    return ((0, 0, 0), *(_SAFE[i % len(_SAFE)] for i in range(max(labels - 1, 0))))


def write_image(path: AnyPath, pixels: NDArray) -> None:
    """Write grey levels (height, width) or colours (height, width, 3) in [0, 1]; the ending chooses the format."""
    kind = WRITTEN_FORMATS.get(Path(path).suffix.lower())
    if kind is None:
        raise ImageError(f"{path} ends in {Path(path).suffix!r}: expected one of {', '.join(WRITTEN_FORMATS)}.")
    values = np.asarray(pixels, np.float32)
    if (
        values.ndim not in (2, 3)
        or values.shape[2:] not in ((), (3,))
        or values.size == 0
        or not np.isfinite(values).all()
    ):
        raise ImageError(f"The picture has shape {values.shape}: expected finite values, (height, width) or (…, 3).")
    levels = np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)
    save_picture(Image.fromarray(levels), path, kind)


def _open(path: AnyPath, keep_palette: bool = False) -> Image.Image:
    """The first frame, upright, in one of the modes RGB, RGBA, L, I, I;16 or F (P with `keep_palette`), decoded."""
    with warnings.catch_warnings():
        # Pillow warns about large pictures and odd notes in them; what matters of that is an error here.
        warnings.simplefilter("ignore")
        with _identify(path) as image:
            check_size(image, os.stat(path).st_size, str(path))
            if keep_palette and image.width * image.height > MOST_LABELLED:
                most = f"{MOST_LABELLED // 1_000_000} megapixels"
                raise ImageError(f"{path} has {image.width}×{image.height} pixels: expected labels in at most {most}.")
            try:
                if keep_palette:
                    image.load()
                    return upright(image)
                return plain(upright(reduced(image, MAX_PIXELS)))
            except MemoryError:
                raise ImageError(f"{path} needs more memory than there is: use a smaller picture.") from None
            # Decoders raise almost anything on damaged files: OSError, SyntaxError, struct.error, IndexError and more.
            except Exception as problem:
                kind = type(problem).__name__
                raise ImageError(f"{path} is damaged or cut short ({kind}): save the picture again.") from None


def check_size(image: Image.Image, bytes_there: int, name: str) -> None:
    """Refuse a picture with more pixels than are opened, or than its file can hold. Raises `ImageError`."""
    width, height = image.size
    if width * height > LARGEST:
        most = f"{LARGEST // 1_000_000} megapixels"
        raise ImageError(f"{name} has {width}×{height} pixels: expected at most {most}; make it smaller first.")
    if width * height > max(MAX_PIXELS, PIXELS_A_BYTE * bytes_there):
        raise ImageError(f"{name} promises {width}×{height} pixels in {bytes_there} bytes: it is damaged.")


def reduced(image: Image.Image, most: int) -> Image.Image:
    """The picture, decoded, by a whole factor smaller where it has more pixels than `most`."""
    factor = _factor(image.size, most)
    if factor > 1 and image.format == "JPEG":  # its decoder does that by itself, and takes less memory
        image.draft(image.mode, (max(1, image.width // factor), max(1, image.height // factor)))
    image.load()
    factor = _factor(image.size, most)
    if factor == 1:
        return image
    if image.mode in ("P", "1"):
        image = plain(image)
    return image.reduce(factor)


def reduction(size: tuple[int, int], most: int, name: str) -> str:
    """What to say about a picture (width, height) that is made smaller; empty where it is not."""
    factor = _factor(size, most)
    if factor == 1:
        return ""
    return f"{name} has {size[0]}×{size[1]} pixels and was opened at 1/{factor} of that, to fit into memory."


def what_was_reduced(path: AnyPath) -> str:
    """What to say about a file that `read_grey` makes smaller; empty where it does not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with _identify(path) as image:
            return reduction(image.size, MAX_PIXELS, Path(path).name)


def _factor(size: tuple[int, int], most: int) -> int:
    factor = 1
    while -(-size[0] // factor) * -(-size[1] // factor) > most:
        factor += 1
    return factor


def _identify(path: AnyPath) -> Image.Image:
    """The picture with its size known and nothing unpacked yet."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ImageError(f"{path} is not a file: expected a picture.")  # a pipe would wait for ever
        return Image.open(path, formats=FORMATS)
    except FileNotFoundError:
        raise ImageError(f"{path} does not exist: expected a picture.") from None
    except UnidentifiedImageError:
        raise ImageError(f"{path} is no picture that can be read: expected PNG, JPEG or the like.") from None
    except Image.DecompressionBombError:
        raise ImageError(f"{path} has far too many pixels: expected at most {LARGEST // 1_000_000} million.") from None
    except ImageError:
        raise
    except Exception as problem:  # a damaged header, an unreadable file, a name with a zero in it
        reason = getattr(problem, "strerror", None) or type(problem).__name__
        raise ImageError(f"{path} cannot be read ({reason}): expected a picture.") from None


def upright(image: Image.Image) -> Image.Image:
    """Turned as the camera's EXIF note asks; a damaged note is no reason to refuse the picture."""
    try:
        return ImageOps.exif_transpose(image)
    except Exception:
        return image.copy()


def plain(image: Image.Image) -> Image.Image:
    """One of the modes L, I, I;16, F, RGB and RGBA; RGBA only where something is transparent."""
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return image
    if image.mode in ("LA", "PA", "La", "RGBa", "RGBA") or "transparency" in image.info:
        return image.convert("RGBA")
    if image.mode in ("1", "L"):
        return image.convert("L")
    return image.convert("RGB")


def colours_of(image: Image.Image) -> NDArray[np.float32]:
    """(height, width, 3) of an RGB or RGBA image, composited on white."""
    values = np.asarray(image, np.float32) / np.float32(255)
    if values.shape[2] == 3:
        return values
    alpha = values[:, :, 3:]
    return values[:, :, :3] * alpha + (1 - alpha)


def levels_of(image: Image.Image, path: AnyPath) -> Grey:
    """(height, width) of a grey image; wide formats that declare no range get the smallest usual one that fits."""
    values = np.asarray(image)
    if values.dtype == np.uint8:
        return values.astype(np.float32) / np.float32(255)
    if not np.isfinite(values).all():
        raise ImageError(f"{path} holds values that are not finite: expected grey levels.")
    low, high = float(values.min()), float(values.max())
    if image.mode.startswith("I;16"):
        levels = values / 65535
        key = image.info.get("transparency")
        return (
            np.where(values == key, 1.0, levels).astype(np.float32)
            if isinstance(key, int)
            else levels.astype(np.float32)
        )
    whole_ranges = (65535.0, 2.0**31 - 1) if image.mode == "I" else (1.0, 255.0, 65535.0)
    for top in whole_ranges:
        if low >= 0 and high <= top:
            return (values / top).astype(np.float32)
    return ((values - low) / max(high - low, 1e-30)).astype(np.float32)


def _otsu(grey: Grey) -> float | None:
    """Otsu's threshold, in the middle of its plateau; None for a picture that is uniform up to noise."""
    low, high = float(grey.min()), float(grey.max())
    if low == high:
        return None
    bins = np.clip((grey - low) * (255 / (high - low)), 0, 255).astype(np.uint8)
    counts = np.bincount(bins.ravel(), minlength=256).astype(np.float64)
    below = counts.cumsum()[:-1]
    above = grey.size - below
    moment = (counts * np.arange(256)).cumsum()
    mean_below = moment[:-1] / below
    mean_above = (moment[-1] - moment[:-1]) / np.maximum(above, 1)
    spread = below * above * (mean_above - mean_below) ** 2
    best = np.flatnonzero(spread >= spread.max() * (1 - 1e-12))
    middle = int(best[len(best) // 2])
    contrast = (mean_above[middle] - mean_below[middle]) * (high - low) / 255
    two_levels = np.count_nonzero(counts) == 2  # drawn, not scanned: any contrast is meant
    if contrast < LEAST_CONTRAST and not two_levels:
        return None
    return low + (middle + 0.5) * (high - low) / 255


def save_picture(image: Image.Image, path: AnyPath, kind: str) -> None:
    """Write a picture whole or not at all."""
    try:
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            image.save(file, format=kind)
    except OSError as problem:
        raise ImageError(unwritable(path, problem)) from None
