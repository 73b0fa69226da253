"""Text files of numbers, as UAI and libDAI use them: read whole, checked, with line numbers for complaints.

The readers compare every size a file declares with the numbers that are really in it before they take memory for it.
"""

from __future__ import annotations

import gzip
import os
import re
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from mrfstudio.engine.files.atomic import atomic_path
from mrfstudio.engine.files.distrust import unpacked_limit
from mrfstudio.engine.protocol.errors import StudioError

AnyPath = str | os.PathLike[str]

MAX_BYTES = 256 << 20  # of text, unpacked: reading takes about ten times as much memory
UNSUSPECTED = 16 << 20  # that a small compressed file may unpack to
MAX_IMPLIED = 1 << 21  # entries a file may imply without writing them out, as sparse tables and unused variables do
MAX_WHOLE = 1 << 53  # larger whole numbers are not exact as float64

CONTROLS = bytes(c for c in range(128) if (c < 32 and c not in b"\t\n\v\f\r") or c == 127)
TEXT = bytes(c for c in range(256) if c not in CONTROLS)
NUMERIC = b"0123456789+-.eE \t\n\v\f\r"
IS_SPACE = np.isin(np.arange(256), list(b" \t\n\v\f\r"))
CHUNK = 1 << 24  # bytes tokenised at a time: the list of tokens takes several times the memory of the numbers


class GraphFileError(StudioError):
    """A file that cannot be read as a graph or as evidence. The message is one sentence that names the file."""


@dataclass(frozen=True, eq=False)
class NumberFile:
    """All numbers of one file. A *place* is a number's index in `values` (n,), all of which are finite."""

    path: AnyPath
    text: bytes  # what was no number is blanked out, so that lines and places still agree
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def error(self, message: str, place: int | None = None) -> GraphFileError:
        """The error to raise: `message` has no full stop and goes on after the file's name and the line of `place`."""
        if place is None or not 0 <= place < len(self):
            return GraphFileError(f"{self.path}: {message}.")
        return GraphFileError(f"{self.path}, line {line_of(self.text, int(self._starts[place]))}: {message}.")

    def found(self, place: int) -> str:
        """The number at a place as the file writes it, quoted."""
        start = int(self._starts[place])
        return quoted(self.text[start : start + 400].split(None, 1)[0])

    @property
    def fast(self) -> memoryview[float]:
        """The numbers for a loop: each comes as a Python number, several times faster than from an array."""
        return memoryview(self.values.data).cast("B").cast("d")

    @cached_property
    def _starts(self) -> np.ndarray:
        """Byte at which each number starts. Only complaints need it."""
        return _token_starts(self.text)

    def whole(self, place: int, what: str) -> int:
        """One whole number, at least 0."""
        if place >= len(self):
            raise self.error(f"the file ends where {what} was expected")
        return int(self.whole_at(np.array([place]), what)[0])

    def whole_at(self, places: np.ndarray, what: str) -> np.ndarray:
        """Whole numbers, at least 0, from places that exist; the same shape."""
        values = self.values[places]
        bad = (values != np.floor(values)) | (values < 0) | (values > MAX_WHOLE)
        if bad.any():
            place = int(places[bad].min())
            raise self.error(f"found {self.found(place)} where {what}, a whole number from 0, was expected", place)
        return np.asarray(values.astype(np.int64))


def read_numbers(path: AnyPath, *, keyword: dict[str, str] | None = None, comments: bool = False) -> NumberFile:
    """Read a file of numbers. `keyword`: the words one of which must come first, each with its meaning.

    With `comments`, text from `#` to the end of its line is skipped.
    """
    text = read_text(path)
    if not text.strip():
        raise GraphFileError(f"{path}: the file is empty.")
    if comments:
        text = re.sub(rb"#[^\r\n]*", b"", text)
    if not text.strip():
        raise GraphFileError(f"{path}: the file has only comments, where numbers were expected.")
    if keyword is not None:
        text = _without_keyword(path, text, keyword)
    if text.translate(None, NUMERIC):
        raise _not_a_number(path, text)
    pieces: list[np.ndarray] = []
    for _, chunk in _chunks(text):
        if (numbers := _numbers(chunk)) is None:
            raise _not_a_number(path, text)
        pieces.append(numbers)
    values = np.concatenate(pieces)
    file = NumberFile(path, text, values)
    infinite = ~np.isfinite(values)
    if infinite.any():
        place = int(infinite.argmax())
        raise file.error(f"the number {file.found(place)} is too large for double precision", place)
    return file


def is_compressed(path: AnyPath) -> bool:
    return Path(path).suffix.lower() == ".gz"


def write_text(path: AnyPath, text: str) -> None:
    """Write a file wholly or not at all, compressed where its name ends in `.gz`."""
    data = text.encode()
    if is_compressed(path):
        data = gzip.compress(data, mtime=0)  # no date, so that the same graph gives the same bytes
    try:
        with atomic_path(path) as temporary:
            temporary.write_bytes(data)
    except (OSError, ValueError) as error:
        raise GraphFileError(f"{path}: the file cannot be written ({_reason(error)}).") from error


def read_text(path: AnyPath) -> bytes:
    """A file of UTF-8 text, compressed or not. Raises `GraphFileError` for anything else."""
    data = _read_bytes(path)
    if data.startswith(b"\x1f\x8b") or len(data.translate(None, TEXT)):
        raise GraphFileError(f"{path}: this is a binary file, where text was expected.")
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = line_of(data, error.start)
            raise GraphFileError(f"{path}, line {line}: the text is not UTF-8, which was expected.") from None
    return data.removeprefix(b"\xef\xbb\xbf")  # a byte order mark, which some editors leave


def _read_bytes(path: AnyPath) -> bytes:
    try:
        about = os.stat(path)
        if stat.S_ISDIR(about.st_mode):
            raise GraphFileError(f"{path}: this is a folder, where a file was expected.")
        if not stat.S_ISREG(about.st_mode):  # a pipe or device could keep a reader waiting for ever
            raise GraphFileError(f"{path}: this is a pipe or a device, where a file was expected.")
        if about.st_size > MAX_BYTES:
            raise _too_long(path, MAX_BYTES)
        if not is_compressed(path):
            return Path(path).read_bytes()
        with gzip.open(path) as packed:
            return _unpacked(path, packed, min(MAX_BYTES, unpacked_limit(path, UNSUSPECTED)))
    except FileNotFoundError:
        raise GraphFileError(f"{path}: there is no such file.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise GraphFileError(f"{path}: the compressed file is damaged ({_reason(error)}).") from error
    except GraphFileError:
        raise
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        raise GraphFileError(f"{path}: the file cannot be read ({_reason(error)}).") from error


def _unpacked(path: AnyPath, packed: gzip.GzipFile, most: int) -> bytes:
    """Unpack piece by piece, so that a small file that unpacks to a huge one is noticed in time."""
    pieces, size = [], 0
    while piece := packed.read(CHUNK):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise _too_long(path, most)
    return b"".join(pieces)


def _too_long(path: AnyPath, most: int) -> GraphFileError:
    return GraphFileError(f"{path}: the file holds more than {most >> 20} MB of text, the most that is read of it.")


def _without_keyword(path: AnyPath, text: bytes, keyword: dict[str, str]) -> bytes:
    match = re.search(rb"\S+", text)
    word = match.group() if match else b""
    if word.decode(errors="replace").upper() not in keyword or match is None:
        known = " or ".join(f"{name} ({meaning})" for name, meaning in keyword.items())
        line = line_of(text, match.start() if match else 0)
        raise GraphFileError(f"{path}, line {line}: found {quoted(word)} where the word {known} was expected.")
    return text[: match.start()] + b" " * len(word) + text[match.end() :]


def _chunks(text: bytes, size: int = CHUNK) -> Iterator[tuple[int, bytes]]:
    """Pieces of about so many bytes that break between numbers, each with the byte at which it starts."""
    start = 0
    while start < len(text):
        space = re.compile(rb"\s").search(text, start + size)
        stop = space.start() if space else len(text)
        yield start, text[start:stop]
        start = stop


def _not_a_number(path: AnyPath, text: bytes) -> GraphFileError:
    """Name the first word with a letter that no number has; where there is none, the first that is no number."""
    start, word = _foreign(text) or _misspelt(text)
    finite = "a finite number" if re.fullmatch(rb"[+-]?(nan|inf(inity)?)", word, re.IGNORECASE) else "a number"
    return GraphFileError(f"{path}, line {line_of(text, start)}: found {quoted(word)} where {finite} was expected.")


def _foreign(text: bytes) -> tuple[int, bytes] | None:
    match = re.search(rb"(?<!\S)[0-9+\-.eE]*[^0-9+\-.eE\s]\S*", text)
    return None if match is None else (match.start(), match.group())


def _misspelt(text: bytes) -> tuple[int, bytes]:
    """Pieces are tried as a whole first: word by word a few megabytes would take seconds."""
    for start, piece in _chunks(text, 1 << 16):
        if _numbers(piece) is None:
            for match in re.finditer(rb"\S+", piece):
                if _numbers(match.group()) is None:
                    return start + match.start(), match.group()
    raise AssertionError("every word is a number")


def _numbers(text: bytes) -> np.ndarray | None:
    """All numbers of a piece of text, or None where a word is none."""
    try:
        return np.fromiter(map(float, text.split()), np.float64)
    except ValueError:
        return None


def _token_starts(text: bytes) -> np.ndarray:
    space = IS_SPACE[np.frombuffer(text, dtype=np.uint8)]
    return np.flatnonzero(~space & np.r_[True, space[:-1]])


def line_of(text: bytes, offset: int) -> int:
    """The number of the line that a byte is in."""
    before = text[:offset]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")


def quoted(word: bytes) -> str:
    """A word for a message, shortened."""
    shown = "".join(c if c.isprintable() else "\ufffd" for c in word[:200].decode(errors="replace"))
    return f'"{shown[:32]}…"' if len(shown) > 33 else f'"{shown}"'


def _reason(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:].rstrip(".")
