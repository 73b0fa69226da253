"""Reading npz files that may be anything: no pickle, and one sentence for each way in which they can be wrong."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from mrfstudio.engine.data.dataset import Array, DataError
from mrfstudio.engine.files.distrust import KINDS, Distrusted, unpacked_arrays, unpacked_limit

_LARGEST = 8 << 30  # bytes that an archive may unpack to: more is a mistake or an attack
_UNSUSPECTED = 256 << 20  # bytes that a small file may unpack to


def read_npz(path: str | Path, wanted: str) -> dict[str, Array]:
    """All arrays of an npz file; `wanted` completes the sentence "expected ..."."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise DataError(f"{path} is no file: expected {wanted}.")
        with open(path, "rb") as file:
            if file.read(6) == b"\x93NUMPY":
                raise DataError(f"{path} holds a single array: expected {wanted}.")
            file.seek(0)
            most = min(_LARGEST, unpacked_limit(path, _UNSUSPECTED))
            return unpacked_arrays(file, most, KINDS + "US")  # numbers, and names of classes
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: expected {wanted}.") from None
    except PermissionError as problem:
        raise DataError(f"{path} cannot be read ({problem.strerror}): expected {wanted}.") from None
    except Distrusted as problem:
        raise DataError(f"{path} is not a readable npz file: {problem}; expected {wanted}.") from None
    except Exception as problem:  # anything between the zip directory and the header of an array
        raise DataError(f"{path} is not a readable npz file ({type(problem).__name__}): expected {wanted}.") from None


def require(arrays: Mapping[str, Array], names: tuple[str, ...], path: str | Path) -> None:
    """Check that all the names are there."""
    missing = [name for name in names if name not in arrays]
    if missing:
        found = ", ".join(arrays) or "nothing"
        raise DataError(f"{path} has no {missing[0]!r}: expected {', '.join(names)}, found {found}.")
