"""One zip of JSON texts and npz archives, read with distrust: no pickle, no surprise in size, no half-read member."""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.engine.files.atomic import atomic_path

LARGEST_MEMBER = 256 * 2**20
"""Bytes that a member may unpack to. Messages are stored up to a quarter of it; more is a mistake or an attack."""
LARGEST_TEXT = 64 * 2**20

_KINDS = "biuf"


class DamagedZip(ValueError):
    """A member that is missing, too large or not what its name says. The text completes "PATH is damaged: …"."""


def write_zip(path: Path, texts: Mapping[str, Any], arrays: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Write JSON values and npz archives by member name, atomically. Raises `OSError`."""
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in texts.items():
            archive.writestr(name, json.dumps(value, ensure_ascii=False, allow_nan=False))
        for name, members in arrays.items():
            # Stored, because npz archives are compressed already, or are messages, which do not compress.
            with archive.open(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), "w", force_zip64=True) as file:
                packed = io.BytesIO()
                save = np.savez if sum(array.nbytes for array in members.values()) > 2**20 else np.savez_compressed
                save(packed, **members)  # type: ignore[arg-type]  # numpy's own names are its positional ones
                file.write(packed.getbuffer())


class ReadZip:
    """An opened archive. Raises `DamagedZip`, `zipfile.BadZipFile`, `OSError` and what decompression may raise."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._archive = zipfile.ZipFile(path)
        self.names = frozenset(self._archive.namelist())

    def __enter__(self) -> ReadZip:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def text(self, name: str) -> Any:
        """The JSON value of a member."""
        return json.loads(_read(self._archive, name, LARGEST_TEXT).decode("utf-8"))

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of an npz member."""
        with zipfile.ZipFile(io.BytesIO(_read(self._archive, name, LARGEST_MEMBER))) as packed:
            size = sum(info.file_size for info in packed.infolist())
            if size > LARGEST_MEMBER:
                raise DamagedZip(f"its part {name} would unpack to {size >> 20} MB")
            return {member.removesuffix(".npy"): _array(packed, member) for member in packed.namelist()}


def _read(archive: zipfile.ZipFile, name: str, largest: int) -> bytes:
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise DamagedZip(f"its part {name} is missing") from None
    if info.file_size > largest:
        raise DamagedZip(f"its part {name} would unpack to {info.file_size >> 20} MB")
    # zipfile stops at the promised size and then compares the checksum.
    return archive.read(info)


def _array(packed: zipfile.ZipFile, member: str) -> np.ndarray:
    """One array, after its header was compared with the bytes that are there: numpy would take the memory first."""
    content = _read(packed, member, LARGEST_MEMBER)
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(file)
    if dtype.kind not in _KINDS or math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise DamagedZip(f"the array {member} is not what its header says")
    file.seek(0)
    array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    return array
