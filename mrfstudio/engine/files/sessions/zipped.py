"""One zip of JSON texts and npz archives, read with distrust: no pickle, no surprise in size, no half-read member."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.engine.files.atomic import atomic_path
from mrfstudio.engine.files.distrust import (
    LARGEST_TEXT,
    LARGEST_UNPACKED,
    Distrusted,
    member_bytes,
    parsed,
    unpacked_arrays,
)

LARGEST_MEMBER = LARGEST_UNPACKED
"""Bytes that a member may unpack to. Messages are stored up to 64 MB; more is a mistake or an attack."""


class DamagedZip(Distrusted):
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
                save = np.savez if sum(map(_incompressible, members.values())) > 2**20 else np.savez_compressed
                save(packed, **members)  # type: ignore[arg-type]  # numpy's own names are its positional ones
                file.write(packed.getbuffer())


def _incompressible(array: np.ndarray) -> int:
    """Bytes of messages, and of the files of photographs; layers and small pictures shrink to a hundredth."""
    return array.nbytes if (array.dtype.kind == "f" and array.ndim != 2) or array.ndim == 1 else 0


class ReadZip:
    """An opened archive. Raises `DamagedZip`, `zipfile.BadZipFile`, `OSError` and what decompression may raise."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError("it is no file")  # a pipe would wait for ever
        self._archive = zipfile.ZipFile(path)
        self.names = frozenset(self._archive.namelist())

    def __enter__(self) -> ReadZip:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def text(self, name: str) -> Any:
        """The JSON value of a member."""
        info = self._info(name, LARGEST_TEXT)
        return parsed(member_bytes(self._archive, info))

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of an npz member, which is stored as it is: packed twice, a kilobyte could become anything."""
        info = self._info(name, LARGEST_MEMBER)
        if info.compress_type != zipfile.ZIP_STORED:
            raise DamagedZip(f"its part {name} is packed twice")
        try:
            with self._archive.open(info) as member:
                return unpacked_arrays(member)
        except Distrusted as problem:
            raise DamagedZip(f"of its part {name}, {problem}") from problem

    def _info(self, name: str, largest: int) -> zipfile.ZipInfo:
        try:
            info = self._archive.getinfo(name)
        except KeyError:
            raise DamagedZip(f"its part {name} is missing") from None
        if info.file_size > largest:
            raise DamagedZip(f"its part {name} would unpack to {info.file_size >> 20} MB")
        return info
