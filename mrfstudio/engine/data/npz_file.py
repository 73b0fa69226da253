"""Reading npz files that may be anything: no pickle, and one sentence for each way in which they can be wrong."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from mrfstudio.engine.data.contract import Array, DataError

_LARGEST = 8 << 30  # bytes that an archive may unpack to: more is a mistake or an attack

# A damaged archive can fail anywhere between the zip directory and the header of an array.
_DAMAGE = (
    OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError, MemoryError,
    SyntaxError, tokenize.TokenError, RuntimeError,
)  # fmt: skip


def read_npz(path: str | Path, wanted: str) -> dict[str, Array]:
    """All arrays of an npz file; `wanted` completes the sentence "expected ..."."""
    try:
        # opened here, because numpy leaves a damaged archive open
        with open(path, "rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise DataError(f"{path} holds a single array: expected {wanted}.")
            with archive:
                size = sum(member.file_size for member in archive.zip.infolist()) if archive.zip else 0
                if size > _LARGEST:
                    raise DataError(f"{path} would unpack to {size >> 30} GiB: expected at most {_LARGEST >> 30}.")
                return {name: _array(archive, name, path) for name in archive.files}
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: expected {wanted}.") from None
    except (IsADirectoryError, PermissionError) as problem:
        raise DataError(f"{path} cannot be read ({problem.strerror}): expected {wanted}.") from None
    except _DAMAGE as problem:
        raise DataError(f"{path} is not a readable npz file ({type(problem).__name__}): expected {wanted}.") from None


def _array(archive: np.lib.npyio.NpzFile, name: str, path: str | Path) -> Array:
    array = archive[name]
    if not isinstance(array, np.ndarray):  # numpy hands out members that are not arrays as bytes
        raise DataError(f"{path} holds {name!r}, which is not an array: expected an npz file.")
    return array


def require(arrays: Mapping[str, Array], names: tuple[str, ...], path: str | Path) -> None:
    """Check that all the names are there."""
    missing = [name for name in names if name not in arrays]
    if missing:
        found = ", ".join(arrays) or "nothing"
        raise DataError(f"{path} has no {missing[0]!r}: expected {', '.join(names)}, found {found}.")
