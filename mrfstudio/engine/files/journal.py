"""Journals: what happened to a session's log, a line for each change, appended as soon as it happens.

A line is a checksum (CRC-32, eight hexadecimal digits), a space and a JSON object. A program that is killed leaves at
most one line unfinished, at the end; reading stops at the first line that is not whole.
"""

from __future__ import annotations

import base64
import io
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.engine.files.command_json import decoded, encoded
from mrfstudio.engine.timeline import Stamped

LARGEST_ARRAY = 64 * 2**20
"""Bytes that an array in a line may unpack to."""


@dataclass(frozen=True)
class Change:
    """Of the entries that a log had, `keep` stay and `added` follow; `newest` is the last iteration there was then."""

    keep: int
    added: tuple[Stamped, ...]
    newest: int

    def applied_to(self, log: list[Stamped]) -> list[Stamped]:
        if self.keep > len(log):
            raise ValueError("the journal belongs to another log")
        return [*log[: self.keep], *self.added]


class Journal:
    """A journal being written. Raises `OSError`."""

    def __init__(self, path: str | os.PathLike[str], header: Mapping[str, Any]) -> None:
        """Begin a file; `header` is its first line."""
        self._file = open(path, "xb")  # noqa: SIM115 - open while the session is worked on
        self._write(header)

    def add(self, change: Change) -> None:
        """Append a change. It is the system's when this returns, and outlives the program."""
        arrays: dict[str, np.ndarray] = {}
        log = [{"after": each.iteration, **encoded(each.command, arrays)} for each in change.added]
        packed = {name: _packed(array) for name, array in arrays.items()}
        self._write({"keep": change.keep, "newest": change.newest, "log": log, "arrays": packed})

    def close(self) -> None:
        self._file.close()

    def _write(self, value: Mapping[str, Any]) -> None:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        self._file.write(b"%08x %s\n" % (zlib.crc32(text), text))
        self._file.flush()


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The first line of a journal; empty where it is not whole."""
    lines = _whole_lines(Path(path).read_bytes())
    return lines[0] if lines else {}


def read_changes(path: str | os.PathLike[str]) -> list[Change]:
    """The changes up to the first line that is not whole."""
    found = []
    for line in _whole_lines(Path(path).read_bytes())[1:]:
        arrays = {name: _unpacked(text) for name, text in line["arrays"].items()}
        log = [
            Stamped(_count(entry.pop("after")), decoded(entry, arrays))  # whatever is left of it is the command
            for entry in line["log"]
        ]
        found.append(Change(_count(line["keep"]), tuple(log), _count(line["newest"])))
    return found


def _whole_lines(content: bytes) -> list[dict[str, Any]]:
    found = []
    for line in content.split(b"\n"):
        checksum, _, text = line.partition(b" ")
        if checksum != b"%08x" % zlib.crc32(text) or not text:
            break
        found.append(json.loads(text))
    return found


def _packed(array: np.ndarray) -> str:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return base64.b64encode(zlib.compress(file.getbuffer(), 1)).decode("ascii")


def _unpacked(text: str) -> np.ndarray:
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(base64.b64decode(text, validate=True), LARGEST_ARRAY)
    if unpacker.unconsumed_tail:
        raise ValueError("an array of the journal is too large")
    array = np.load(io.BytesIO(content), allow_pickle=False)
    array.setflags(write=False)
    return np.asarray(array)


def _count(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no number of entries or iterations")
    return value
