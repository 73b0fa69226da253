"""Files from strangers: how much a file may take is known before any of it is believed.

Readers raise their own error and nothing else. What is counted here is memory: JSON text can become forty times as
large when it is parsed, a compressed array a thousand times, and the header of an array can promise anything.
"""

from __future__ import annotations

import io
import json
import math
import os
import stat
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np

LARGEST_TEXT = 64 * 2**20
"""Bytes of a JSON text."""
LARGEST_PARSED = 384 * 2**20
"""Bytes that its values may take."""
LARGEST_UNPACKED = 160 * 2**20
"""Bytes that the arrays of one archive may take; messages are stored up to 64 MB."""
UNSURPRISING = 100
"""Times its own size that a compressed file may unpack to beyond that: pictures of figures come to thirty."""
KINDS = "biuf"
"""Types of arrays, as numpy's letters: truth values, whole numbers, numbers."""

_PIECE = 2**20
_OBJECT, _LIST, _ITEM = 232, 88, 60  # bytes of a small dict, of a list, of a number with its place in one


class Distrusted(ValueError):
    """Content that is not what it says, or too much. The text completes "PATH is damaged: …"."""


def regular_bytes(path: str | os.PathLike[str], most: int = LARGEST_TEXT) -> bytes:
    """All of a file. A pipe would wait for ever, a device never end. Raises `OSError` and `Distrusted`."""
    about = os.stat(path)
    if not stat.S_ISREG(about.st_mode):
        raise Distrusted("it is no file")
    if about.st_size > most:
        raise Distrusted(f"it has {about.st_size >> 20} MB, and {most >> 20} MB are the most that is read")
    return Path(path).read_bytes()


def read_json(path: str | os.PathLike[str], most: int = LARGEST_TEXT) -> Any:
    """The JSON value of a file. Raises `OSError` and `ValueError`."""
    return parsed(regular_bytes(path, most))


def parsed(text: bytes) -> Any:
    """A JSON value, none of whose numbers is infinite. Raises `ValueError` before it takes too much memory."""
    if len(text) > LARGEST_TEXT:
        raise Distrusted(f"its text has {len(text) >> 20} MB")
    # One wide character makes its whole string four times as large, beside the text as bytes and as characters.
    wide = not text.isascii() or b"\\u" in text
    size = (9 if wide else 3) * len(text)
    size += _OBJECT * text.count(b"{") + _LIST * text.count(b"[") + _ITEM * (text.count(b",") + text.count(b":"))
    if size > LARGEST_PARSED:
        raise Distrusted(f"its text would take {size >> 20} MB")
    try:
        return json.loads(text.decode("utf-8"), parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise Distrusted("its values lie too deep in each other") from None


def _no_constant(word: str) -> float:
    raise Distrusted(f"it holds the number {word}")


def _finite(word: str) -> float:
    value = float(word)
    if not math.isfinite(value):
        raise Distrusted(f"it holds the number {word[:20]}")
    return value


# Archives of arrays ---------------------------------------------------------------------------------------------------


def unpacked_arrays(
    file: str | os.PathLike[str] | IO[bytes], most: int = LARGEST_UNPACKED, kinds: str = KINDS
) -> dict[str, np.ndarray]:
    """The arrays of an npz archive; `kinds` are numpy's letters for their types.

    Raises `Distrusted`, `zipfile.BadZipFile`, `OSError` and what unpacking raises.
    """
    with zipfile.ZipFile(file) as packed:
        members = packed.infolist()
        check_members(members, most)
        found = {}
        for info in members:
            with packed.open(info) as content:
                found[info.filename.removesuffix(".npy")] = _array(content, info.file_size, info.filename[:40], kinds)
        return found


def member_bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A part of an archive, and never more than it promises: `ZipFile.read` unpacks all there is before it looks."""
    with archive.open(info) as content:
        return content.read(info.file_size)


def check_members(members: Iterable[zipfile.ZipInfo], most: int) -> None:
    """Refuse an archive whose parts would take too much memory, or are packed in a way that nobody here uses."""
    known = list(members)
    size = sum(info.file_size for info in known)
    if size > most:
        raise Distrusted(f"it would unpack to {size >> 20} MB")
    if len({info.filename for info in known}) < len(known):
        raise Distrusted("two of its parts have the same name")
    for info in known:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Distrusted(f"its part {info.filename[:40]!r} is packed in another way than these files are")


def unpacked_limit(path: str | os.PathLike[str], least: int = LARGEST_UNPACKED) -> int:
    """How much a compressed file may unpack to: `least`, or so many times its own size."""
    return max(least, UNSURPRISING * os.stat(path).st_size)


def array_of(content: bytes, name: str, kinds: str = KINDS) -> np.ndarray:
    """An array in numpy's format, after its header was compared with the bytes there are."""
    return _array(io.BytesIO(content), len(content), name, kinds)


def _array(file: IO[bytes], size: int, name: str, kinds: str) -> np.ndarray:
    """Unpacked where it stays, because a copy would take its memory twice."""
    version = np.lib.format.read_magic(file)
    if version != (1, 0):  # longer headers are those of tables, which no file here holds
        raise Distrusted(f"the array {name} has format {version}")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    left = size - file.tell()
    if dtype.kind not in kinds or dtype.hasobject or math.prod(shape) * dtype.itemsize != left:
        raise Distrusted(f"the array {name} is not what its header says")
    flat, at = np.empty(left, np.uint8), 0
    while piece := file.read(_PIECE):
        if at + len(piece) > left:
            raise Distrusted(f"the array {name} is longer than its header says")
        flat[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
        at += len(piece)
    if at < left:
        raise Distrusted(f"the array {name} is cut short")
    return flat.view(dtype).reshape(shape, order="F" if fortran else "C")
