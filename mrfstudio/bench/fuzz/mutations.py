"""How files are damaged: bytes, words, JSON values and the parts of archives; checksums are made right again."""

from __future__ import annotations

import base64
import gzip
import io
import json
import lzma
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Rng = np.random.Generator

NUMBERS = (0, 1, -1, 2, 3, 255, 256, 65535, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**64, 10**12, 10**30, 10**400,
           0.5, -0.0, 1e-45, -1.4e-45, 1e8, 1e17, 1e300)  # fmt: skip
WORDS = ("", "a", "\x00", "../../x", "/etc/passwd", "/proc/self/environ", "<b>x</b>", "é" * 3, "\U0001f600", "x" * 5000,
         "nan", "-inf", "None", "bp", "grid", "{}", "%s%n", "\ud800")  # fmt: skip


def pick(rng: Rng, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def bytes_mutated(data: bytes, rng: Rng) -> bytes:
    """One to four changes of bytes."""
    content = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(content) + 1))
        long = int(2 ** rng.uniform(0, 10))
        kind = int(rng.integers(7))
        if kind == 0 and content:
            content[min(at, len(content) - 1)] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            content[at:at] = rng.bytes(min(long, 64))
        elif kind == 2:
            del content[at : at + long]
        elif kind == 3:
            content[at:at] = content[at : at + long] * int(rng.integers(1, 4))
        elif kind == 4:
            del content[at:]
        elif kind == 5:
            size = pick(rng, (1, 2, 4, 8))
            value = pick(rng, (0, 2 ** (8 * size) - 1, 2 ** (8 * size - 1), 1, int(rng.integers(256))))
            content[at : at + size] = value.to_bytes(size, pick(rng, ("little", "big")))
        else:
            content[at : at + long] = bytes([pick(rng, (0, 255, 32, 48, 57, 91, 123))]) * long
    return bytes(content)


_WORD = re.compile(rb"[-+.\w]+|[^\s\w]")


def text_mutated(data: bytes, rng: Rng) -> bytes:
    """Words and numbers of a text replaced, repeated, swapped or left out."""
    found = list(_WORD.finditer(data[:200_000]))
    if not found:
        return bytes_mutated(data, rng)
    for _ in range(int(rng.integers(1, 4))):
        match, other = pick(rng, found), pick(rng, found)
        number = str(pick(rng, NUMBERS)).encode()
        new = pick(rng, (number, number, other.group(), b"", match.group() * 2, match.group() + b" " + other.group()))
        data = data[: match.start()] + new + data[match.end() :]
    return data


def json_mutated(value: Any, rng: Rng) -> Any:
    """One to three places of a JSON value changed."""
    for _ in range(int(rng.integers(1, 4))):
        value = _changed(value, rng)
    return value


def _changed(value: Any, rng: Rng) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = pick(rng, list(value))
        kind = rng.random()
        if kind < 0.06:
            return {key: item for key, item in value.items() if key != name}
        if kind < 0.1:
            return {**value, str(pick(rng, WORDS)): value[name]}
        return {**value, name: _changed(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = int(rng.integers(len(value)))
        kind = rng.random()
        if kind < 0.08:
            return value[:at] + value[at + 1 :]
        if kind < 0.16:
            return value[:at] + value[at : at + 3] * int(rng.integers(2, 50)) + value[at:]
        return [*value[:at], _changed(value[at], rng), *value[at + 1 :]]
    return _other(value, rng)


def _other(value: Any, rng: Rng) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.7:
        return pick(rng, (*NUMBERS, value + 1, value - 1, -value, value * 1000))
    if isinstance(value, str) and rng.random() < 0.5:
        return pick(rng, (*WORDS, value + "x", value[: len(value) // 2]))
    deep: Any = []
    for _ in range(int(2 ** rng.uniform(0, 12))):
        deep = [deep]
    return pick(rng, (None, True, "", [], {}, 0, 1.5, -1, [value], {"array": "x"}, {"do": "Step"}, deep, [0] * 1000,
                      pick(rng, NUMBERS), pick(rng, WORDS)))  # fmt: skip


def as_text(value: Any, rng: Rng) -> bytes:
    """JSON, now and then with what JSON does not have: endless numbers and names twice."""
    try:
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    except RecursionError:
        return b"[" * 100_000
    if rng.random() < 0.05:
        text = text.replace("0", pick(rng, ("NaN", "Infinity", "1e999", "-0", "0" * 5000)), 1)
    return text.encode("utf-8", "surrogatepass")


def zip_mutated(data: bytes, rng: Rng, parts: dict[str, Callable[[bytes, Rng], bytes]]) -> bytes:
    """A member changed by what belongs to its ending, or the archive itself."""
    if rng.random() < 0.15:
        return bytes_mutated(data, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info), info.compress_type) for info in archive.infolist()]
    at = int(rng.integers(len(members)))
    name, content, packing = members[at]
    kind = rng.random()
    if kind < 0.05:
        members.pop(at)
    elif kind < 0.1:
        members.append((name, content, packing))
    elif kind < 0.15:
        members[at] = (str(pick(rng, (*WORDS[:8], name + "x"))).replace("\x00", "0") or "x", content, packing)
    elif kind < 0.2:
        members[at] = (name, content, pick(rng, (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED)))
    else:
        change = next((parts[end] for end in parts if name.endswith(end)), bytes_mutated)
        members[at] = (name, change(content, rng), packing)
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as archive:
        warnings.simplefilter("ignore", UserWarning)  # a name twice is what is wanted
        for name, content, packing in members:
            archive.writestr(zipfile.ZipInfo(name[:1000]), content, packing)
    return out.getvalue()


def npy_mutated(data: bytes, rng: Rng) -> bytes:
    """An array with another header, other values, or none of that."""
    kind = rng.random()
    if kind < 0.25 or not data.startswith(b"\x93NUMPY"):
        return bytes_mutated(data, rng)
    array = np.load(io.BytesIO(data), allow_pickle=False)
    if kind < 0.6:
        shape = list(array.shape) or [1]
        shape[int(rng.integers(len(shape)))] = pick(rng, (0, 1, -1, 2, 10**4, 10**9, 10**15, 2**63))
        descr = pick(rng, (array.dtype.str, "<f8", "|O", "|b1", "<U9", "<M8[s]", "<c16", "|V2000000000", "<f2", ">i8"))
        header = str({"descr": descr, "fortran_order": bool(rng.integers(2)), "shape": tuple(shape)}).encode() + b"\n"
        body = data[10 + struct.unpack("<H", data[8:10])[0] :]
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body
    changed = np.array(array)
    if changed.size and changed.dtype.kind in "iuf":
        limits = np.iinfo(changed.dtype) if changed.dtype.kind in "iu" else np.finfo(changed.dtype)
        values: list[Any] = [0, 1, limits.max, limits.min]
        values += [np.nan, np.inf, -np.inf] if changed.dtype.kind == "f" else []
        changed.reshape(-1)[rng.integers(changed.size, size=int(rng.integers(1, 4)))] = pick(rng, values)
    else:
        changed = changed.reshape(-1)[: changed.size // 2]
    out = io.BytesIO()
    np.save(out, changed)
    return out.getvalue()


def npz_mutated(data: bytes, rng: Rng) -> bytes:
    return zip_mutated(data, rng, {".npy": npy_mutated})


def json_text_mutated(data: bytes, rng: Rng) -> bytes:
    if rng.random() < 0.2:
        return pick(rng, (bytes_mutated, text_mutated))(data, rng)
    return as_text(json_mutated(json.loads(data), rng), rng)


def session_mutated(data: bytes, rng: Rng) -> bytes:
    """Half of the time in the log, whose edits are what a session does."""
    change = log_mutated if rng.random() < 0.5 else json_text_mutated
    return zip_mutated(data, rng, {".json": change, ".npz": npz_mutated})


def log_mutated(data: bytes, rng: Rng) -> bytes:
    described = json.loads(data)
    return as_text({**described, "log": json_mutated(described["log"], rng)}, rng)


def link_mutated(data: bytes, rng: Rng) -> bytes:
    """What a link holds changed, its checksum made right."""
    filters: list[dict[str, Any]] = [{"id": lzma.FILTER_LZMA2}]
    packed = base64.urlsafe_b64decode(data[len(b"mrfs:1") :] + b"=" * (-len(data[len(b"mrfs:1") :]) % 4))[4:]
    text = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters).decompress(packed)
    packed = lzma.compress(json_text_mutated(text, rng), lzma.FORMAT_RAW, filters=filters)
    return b"mrfs:1" + base64.urlsafe_b64encode(zlib.crc32(packed).to_bytes(4, "big") + packed)


def lesson_archive_mutated(data: bytes, rng: Rng) -> bytes:
    return zip_mutated(data, rng, {".json": json_text_mutated, ".mrfs": session_mutated})


def journal_mutated(data: bytes, rng: Rng) -> bytes:
    """A line changed and its checksum made right."""
    lines = data.rstrip(b"\n").split(b"\n")
    at = int(rng.integers(len(lines)))
    text = json_text_mutated(lines[at].partition(b" ")[2], rng).replace(b"\n", b" ")
    lines[at] = b"%08x %s" % (zlib.crc32(text), text)
    whole = b"\n".join(lines) + b"\n"
    return bytes_mutated(whole, rng) if rng.random() < 0.1 else whole


def model_mutated(data: bytes, rng: Rng) -> bytes:
    """The header of a safetensors file, its description, or its tensors."""
    if rng.random() < 0.15:
        return bytes_mutated(data, rng)
    length = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    if rng.random() < 0.7:
        described = json_mutated(json.loads(header["__metadata__"]["mrfstudio"]), rng)
        header["__metadata__"]["mrfstudio"] = as_text(described, rng).decode("utf-8", "replace")
        text = as_text(header, np.random.default_rng(0))
    else:
        text = as_text(json_mutated(header, rng), rng)
    if rng.random() < 0.2 and body:
        values = np.frombuffer(body[: len(body) // 4 * 4], np.float32).copy()
        values[int(rng.integers(len(values)))] = pick(rng, (np.nan, np.inf, -np.inf, 3e38))
        body = values.tobytes()
    return struct.pack("<Q", len(text)) + text + body


def gz_mutated(data: bytes, rng: Rng) -> bytes:
    kind = rng.random()
    if kind < 0.2:
        return bytes_mutated(data, rng)
    text = gzip.decompress(data)
    if kind < 0.25:
        text = text + pick(rng, (b" ", b"0 ", b"\x00")) * int(2 ** rng.uniform(20, 27))
    return gzip.compress(text_mutated(text, rng) if kind > 0.4 else bytes_mutated(text, rng), 1, mtime=0)
