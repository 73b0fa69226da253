"""State in a link: `mrfs:` and a session without its curves, compressed, in letters that any mail or chat keeps.

    mrfs:1 <base64 of the xz of JSON: {"session": …, "arrays": …}, with a checksum>

A link is a stranger's file like any other: it becomes a session file again and is read as one.
"""

from __future__ import annotations

import base64
import json
import lzma
import re
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from mrfstudio.engine.files.distrust import parsed
from mrfstudio.engine.files.sessions.session_file import session_image
from mrfstudio.engine.files.sessions.zipped import write_zip
from mrfstudio.engine.graphs.sources import SOURCES, make_source
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import SERVICES
from mrfstudio.engine.session.session import Session

SCHEME = "mrfs:"
LONGEST = 2048
"""Letters of a link that is made: what mails and chats do not break."""
LARGEST = 4 * 2**20
"""Bytes that a link may unpack to."""
FILTERS: list[dict[str, Any]] = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
KINDS = {"uint8": np.uint8, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64, "bool": np.bool_,
         "float32": np.float32, "float64": np.float64}  # fmt: skip
A = TypeVar("A")


class LinkError(StudioError):
    """A link that cannot be made or read. The message is one sentence for a person."""


def link_of(session: Session) -> str:
    """The present state as a link; it is computed again where it is opened. Raises `LinkError`."""
    image = session_image(session, portable=True)
    described = {**image.described, "curves": {}, "log_partition_kinds": {}, "soon": True}
    drawn = _drawn(described)
    arrays = {
        name: _packed(array)
        for name, array in image.arrays.items()
        if not name.startswith("strip ") and not (name in drawn and np.array_equal(drawn[name], array))
    }
    text = json.dumps({"session": described, "arrays": arrays}, separators=(",", ":"), allow_nan=False).encode()
    packed = lzma.compress(text, lzma.FORMAT_RAW, filters=FILTERS)
    body = zlib.crc32(packed).to_bytes(4, "big") + packed
    link = f"{SCHEME}1{base64.urlsafe_b64encode(body).decode().rstrip('=')}"
    if len(link) > LONGEST:
        raise LinkError(
            f"This state takes {len(link):,} letters as a link, and {LONGEST:,} are the most: save it as a session."
        )
    return link


def session_file_of(link: str, folder: Path) -> Path:
    """The session file of a link, written into a folder. Raises `LinkError`."""
    text = re.sub(r"\s", "", link)
    if not text.startswith(SCHEME):
        raise LinkError(f"A link begins with {SCHEME} and this text does not.")
    body = text.removeprefix(SCHEME)
    if body[:1] != "1":
        raise LinkError("This link is of another version than this program reads: it is newer, or damaged.")
    try:
        content = base64.b64decode(body[1:] + "=" * (-len(body[1:]) % 4), altchars=b"-_", validate=True)
        check, packed = content[:4], content[4:]
        if zlib.crc32(packed).to_bytes(4, "big") != check:
            raise LinkError("This link is damaged: a part of it is missing, or letters were changed.")
        reader = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=FILTERS)
        value = parsed(reader.decompress(packed, LARGEST))
        arrays = _drawn(value["session"])
        arrays |= {str(name): _unpacked(array) for name, array in value["arrays"].items()}
        path = folder / "link.mrfs"
        write_zip(path, {"session.json": value["session"]}, {"arrays.npz": arrays})
        return path
    except LinkError:
        raise
    except StudioError as problem:  # of the graph that it names
        raise LinkError(f"This link is damaged: {problem}") from problem
    except Exception as problem:  # it may be anything
        raise LinkError("This link is damaged: a part of it is missing, or letters were changed.") from problem


def opened(link: str, read: Callable[[Path], A]) -> A:
    """Read the session of a link, from a file that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="mrfstudio-link-") as folder:
        return read(session_file_of(link, Path(folder)))


def _drawn(described: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Arrays that every copy of the program makes again: a graph that its source draws, the example of a workspace."""
    graph = described["origin"]["graph"]
    if graph is None:
        name = described["workspace"]["name"]
        return SERVICES[name].shipped_arrays(str(described["origin"]["name"])) if name in SERVICES.names() else {}
    if graph["source"] not in SOURCES:
        return {}
    sketch = make_source(graph["source"], dict(graph["parameters"])).sketch()
    return {f"graph {name}": array for name, array in sketch.arrays.items()}


def _packed(array: np.ndarray) -> list[Any]:
    return [array.dtype.name, list(array.shape), base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()]


def _unpacked(value: Any) -> np.ndarray:
    kind, shape, content = value
    flat: np.ndarray = np.frombuffer(base64.b64decode(content, validate=True), KINDS[kind])
    return flat.reshape([int(side) for side in shape]).copy()
