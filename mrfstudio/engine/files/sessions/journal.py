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
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.engine.files.distrust import LARGEST_UNPACKED, Distrusted, array_of, parsed, regular_bytes
from mrfstudio.engine.files.sessions.command_json import decoded, encoded
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.session.timeline import Stamped

LARGEST_ARRAY = 64 * 2**20
"""Bytes that an array in a line may unpack to."""
LARGEST_HEADER = 2**16
MOST = 10_000_000
"""Iterations or entries."""


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
        self._about = os.fstat(self._file.fileno())
        self.path, self.empty = Path(path), True
        """Empty: no change has been added."""
        try:
            self._write(header)
        except OSError:
            self.close()
            self.path.unlink(missing_ok=True)  # else a full disk gets one more with each try
            raise

    def add(self, change: Change) -> None:
        """Append a change. It is the system's when this returns, and outlives the program."""
        arrays: dict[str, np.ndarray] = {}
        log = [{"after": each.iteration, **encoded(each.command, arrays)} for each in change.added]
        packed = {name: _packed(array) for name, array in arrays.items()}
        self.empty = False  # also a part of a line is more than nothing
        self._write({"keep": change.keep, "newest": change.newest, "log": log, "arrays": packed})

    @property
    def present(self) -> bool:
        """Whether its file is still where it was: a removed one would take every line and keep none."""
        try:
            return os.path.samestat(os.stat(self.path), self._about)
        except OSError:
            return False

    def close(self) -> None:
        with suppress(OSError):  # a full disk: what was written before is there
            self._file.close()

    def _write(self, value: Mapping[str, Any]) -> None:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        self._file.write(b"%08x %s\n" % (zlib.crc32(text), text))
        self._file.flush()


class JournalError(StudioError):
    """A journal that cannot be read. The message is one sentence for a person."""


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The first line of a journal; empty where it is not whole. Raises `JournalError`."""
    try:
        with open(path, "rb") as file:
            lines = list(_whole_lines(file.read(LARGEST_HEADER).partition(b"\n")[0]))
    except Exception as problem:  # it may be anything; whoever looks through journals goes on with the next
        raise JournalError(f"{path} cannot be read ({type(problem).__name__}): it stays there.") from problem
    return lines[0] if lines else {}


def read_changes(path: str | os.PathLike[str]) -> list[Change]:
    """The changes up to the first line that is not whole. Raises `JournalError`."""
    try:
        return _changes(regular_bytes(path, LARGEST_UNPACKED))
    except Exception as problem:
        reason = getattr(problem, "strerror", None) or type(problem).__name__
        raise JournalError(f"{path} cannot be read ({reason}): it stays there.") from problem


def _changes(content: bytes) -> list[Change]:
    found, room = [], LARGEST_UNPACKED
    for number, line in enumerate(_whole_lines(content)):
        if number == 0:
            continue  # the header
        arrays = {name: _unpacked(text, room) for name, text in line["arrays"].items()}
        room -= sum(array.nbytes for array in arrays.values())
        log = [
            Stamped(_count(entry.pop("after")), decoded(entry, arrays))  # whatever is left of it is the command
            for entry in line["log"]
        ]
        found.append(Change(_count(line["keep"]), tuple(log), _count(line["newest"])))
    return found


def _whole_lines(content: bytes) -> Iterator[dict[str, Any]]:
    for line in content.split(b"\n"):
        checksum, _, text = line.partition(b" ")
        if checksum != b"%08x" % zlib.crc32(text) or not text:
            return
        value = parsed(text)
        if not isinstance(value, dict):
            raise Distrusted("a line is no object")
        yield value


def _packed(array: np.ndarray) -> str:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return base64.b64encode(zlib.compress(file.getbuffer(), 1)).decode("ascii")


def _unpacked(text: str, room: int) -> np.ndarray:
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(base64.b64decode(text, validate=True), max(1, min(LARGEST_ARRAY, room)))
    if unpacker.unconsumed_tail:
        raise Distrusted("an array of the journal is too large")
    array = array_of(content, "of a journal")
    array.setflags(write=False)
    return array


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST:
        raise ValueError(f"{str(value)[:20]} is no number of entries or iterations")
    return value
