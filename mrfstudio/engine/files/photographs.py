"""Photographs as people have them, from the bytes of their files: colours of 8 bits, upright, and what was left out."""

from __future__ import annotations

import importlib
import io
import math
import os
import stat
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from mrfstudio.engine.files.images import (
    FORMATS,
    ImageError,
    check_size,
    colours_of,
    levels_of,
    plain,
    reduced,
    reduction,
    upright,
)

LARGEST = 30_000_000
"""Pixels that a photograph is made smaller to: beside it and its levels there must be room for messages."""
LARGEST_FILE = 256 << 20
"""Bytes of its file: they are kept, so that a session holds the photograph itself."""
HEIF = (b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"heif")
"""What stands behind `ftyp` in the files of telephones."""

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class DecodedPhotograph:
    """rgb (height, width, 3) uint8; `said` is one sentence about what was left out, empty where nothing was."""

    rgb: Bytes
    said: str = ""
    profile: bytes | None = None
    """The colour profile (ICC) that the numbers belong to; None is sRGB."""


ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".heic", ".heif", ".avif", ".gif"}


def photographs_in(folder: Path) -> list[Path]:
    """The pictures of a folder, in the order of their names."""
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in ENDINGS and path.is_file())
    if not found:
        raise ImageError(f"{folder} holds no photographs: expected files that end in .jpg, .png or the like.")
    return found


def read_content(path: str | os.PathLike[str]) -> Bytes:
    """The bytes of a picture's file, (n,)."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ImageError(f"{path} is not a file: expected a photograph.")
        size = os.stat(path).st_size
        if size > LARGEST_FILE:
            raise ImageError(f"{path} has {size >> 20} MB: expected a photograph of at most {LARGEST_FILE >> 20}.")
        return np.frombuffer(Path(path).read_bytes(), np.uint8)
    except FileNotFoundError:
        raise ImageError(f"{path} does not exist: expected a photograph.") from None
    except OSError as problem:
        raise ImageError(f"{path} cannot be read ({problem.strerror}): expected a photograph.") from None
    except ValueError:
        raise ImageError(f"{str(path)!r} is no name that a file can have: expected a photograph.") from None


def as_content(rgb: Bytes) -> Bytes:
    """Colours that came without a file as the bytes of a PNG, (n,)."""
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "PNG", compress_level=1)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def decode(content: Bytes, name: str = "The picture") -> DecodedPhotograph:
    """The first picture in a file, turned as the camera says. Nothing is unpacked before its size is known."""
    data = content.tobytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what matters of Pillow's warnings is an error here
        with _identified(data, name) as image:
            check_size(image, len(data), name)
            try:
                said = " ".join(each for each in (reduction(image.size, LARGEST, name), _left_out(image, name)) if each)
                profile = image.info.get("icc_profile")
                return DecodedPhotograph(_eight_bits(plain(upright(reduced(image, LARGEST))), name), said, profile)
            except MemoryError:
                raise ImageError(f"{name} needs more memory than there is: use a smaller picture.") from None
            except ImageError:
                raise
            except Exception as problem:  # decoders raise almost anything on damaged files
                kind = type(problem).__name__
                raise ImageError(f"{name} is damaged or cut short ({kind}): save the picture again.") from None


def check_fits(content: Bytes, shape: tuple[int, ...], name: str) -> None:
    """Refuse a photograph that has far more pixels than what lies on it (height, width), before it is unpacked.

    Raises `ImageError`. A whole factor leaves at least a quarter of the pixels that may be.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with _identified(content.tobytes(), name) as image:
            expected = min(image.width * image.height, LARGEST)
    if 16 * math.prod(shape) < expected:
        raise ImageError(f"its strokes do not fit its photograph {name}.")


def colourfulness(rgb: Bytes) -> tuple[float, int]:
    """How far colours are from grey, 0 to 1 at the 95th percentile, and how many of 4096 colours occur often."""
    step = max(1, int((rgb.shape[0] * rgb.shape[1] / 100_000) ** 0.5))
    few = rgb[::step, ::step].reshape(-1, 3).astype(np.int16)
    spread = (few.max(1) - few.min(1)) / 255
    cells = np.bincount((few >> 4) @ np.array([256, 16, 1], np.int16).astype(np.int64), minlength=4096)
    return float(np.quantile(spread, 0.95)), int((cells > len(few) * 2e-4).sum())


def looks_like_a_photograph(rgb: Bytes) -> bool:
    """Many colours that run into each other; a drawing has few, and a scan of one is nearly grey."""
    spread, colours = colourfulness(rgb)
    return colours >= 60 and spread > 0.08


def _identified(data: bytes, name: str) -> Image.Image:
    """The picture with its size known."""
    heif = data[4:8] == b"ftyp" and data[8:12] in HEIF
    if heif and not _knows_heif():
        raise ImageError(f"{name} is a HEIC picture: install pillow-heif to open it, or save it as JPEG.")
    try:
        return Image.open(io.BytesIO(data), formats=(*FORMATS, "HEIF") if heif else FORMATS)
    except UnidentifiedImageError:
        raise ImageError(f"{name} is no picture that can be read: expected JPEG, PNG or the like.") from None
    except Image.DecompressionBombError:
        raise ImageError(f"{name} has far too many pixels: expected at most 200 megapixels.") from None
    except Exception as problem:  # a damaged header
        raise ImageError(f"{name} cannot be read ({type(problem).__name__}): expected a picture.") from None


@cache
def _knows_heif() -> bool:
    try:
        importlib.import_module("pillow_heif").register_heif_opener()
    except ImportError:
        return False
    return True


def _left_out(image: Image.Image, name: str) -> str:
    """One sentence about what of the file is not shown."""
    frames = getattr(image, "n_frames", 1)
    if frames > 1:
        return f"{name} holds {frames} pictures: the first one is shown."
    if _transparent(image):
        return f"{name} is transparent in places: it is shown on white."
    if image.mode == "CMYK":
        return f"{name} is made for print (CMYK): its colours on the screen are approximate."
    return ""


def _transparent(image: Image.Image) -> bool:
    """Whether any pixel is; many programs write an alpha channel that is opaque everywhere."""
    if image.mode in ("LA", "PA", "La", "RGBa", "RGBA"):
        return sum(image.getchannel(image.getbands()[-1]).histogram()[:255]) > 0
    return "transparency" in image.info


def _eight_bits(image: Image.Image, name: str) -> Bytes:
    """(height, width, 3) uint8."""
    if image.mode == "RGB":
        return np.array(image, np.uint8)
    if image.mode == "RGBA":
        return np.rint(colours_of(image) * 255).astype(np.uint8)
    grey = np.rint(levels_of(image, name) * 255).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)
