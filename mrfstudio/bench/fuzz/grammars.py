"""Files that were never whole: made from the grammar of their format, with sizes that mean too much."""

from __future__ import annotations

import struct
import zlib
from typing import Any

from mrfstudio.bench.fuzz.mutations import NUMBERS, WORDS, Rng, as_text, pick


def count(rng: Rng) -> int:
    return int(pick(rng, (0, 1, 1, 2, 2, 3, 4, 5, 8, 30, 31, 1000, 2**20, 2**21, 2**31, 10**9, 10**12)))


def fg(rng: Rng) -> bytes:
    """A libDAI file whose counts are mostly right."""
    lines = []
    factors = int(rng.integers(1, 6))
    for _ in range(factors):
        order = int(rng.integers(0, 4))
        labels = [int(rng.integers(6)) for _ in range(order)]
        states = [count(rng) if rng.random() < 0.2 else int(rng.integers(1, 4)) for _ in range(order)]
        entries = int(rng.integers(1, 6))
        lines += [str(order), " ".join(map(str, labels)), " ".join(map(str, states)), str(entries)]
        lines += [f"{pick(rng, (i, i, i, count(rng)))} {pick(rng, (0.5, 1, 2, *NUMBERS))}" for i in range(entries)]
    return "\n".join([str(pick(rng, (factors, factors, count(rng)))), "", *lines, ""]).encode()


def uai(rng: Rng) -> bytes:
    """A UAI model whose counts are mostly right."""
    variables = int(rng.integers(1, 6))
    cards = [count(rng) if rng.random() < 0.1 else int(rng.integers(1, 4)) for _ in range(variables)]
    factors = int(rng.integers(0, 5))
    scopes = [[int(rng.integers(variables)) for _ in range(int(rng.integers(0, 4)))] for _ in range(factors)]
    words: list[Any] = [pick(rng, ("MARKOV", "BAYES", "MARKOV", "")), variables, *cards, factors]
    for scope in scopes:
        words += [len(scope), *scope]
    for scope in scopes:
        size = 1
        for variable in scope:
            size *= min(cards[variable], 6)
        words += [size, *[pick(rng, (0, 1, 0.5, *NUMBERS)) for _ in range(min(size, 50))]]
    return " ".join(str(word) for word in words).encode()


def svg(rng: Rng) -> bytes:
    """Groups in groups, and lines to anywhere."""
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {pick(rng, NUMBERS)} {pick(rng, (20, *NUMBERS))}">']
    depth = int(pick(rng, (0, 1, 3, 2000)))
    parts += [f'<g stroke="{pick(rng, ("red", "#12f", "rgb(1,2,3)", "none", "hsl(9999,1%,2%)", "x"))}">'] * depth
    for _ in range(int(rng.integers(0, 8))):
        numbers = " ".join(str(pick(rng, (1, 5, 9.5, *NUMBERS))) for _ in range(int(rng.integers(0, 9))))
        letters = "".join(pick(rng, "MLHVCSQTAZmlhvcz") + numbers for _ in range(int(rng.integers(1, 4))))
        width = pick(rng, (1, 3, *NUMBERS))
        parts.append(
            pick(
                rng,
                (
                    f'<path stroke="red" stroke-width="{width}" d="{letters}"/>',
                    f'<polyline stroke="blue" points="{numbers}"/>',
                    f'<line stroke="#0f0" x1="{width}" y2="7" transform="scale({width}) matrix({numbers})"/>',
                ),
            )
        )
    return "".join([*parts, "</g>" * depth, "</svg>"]).encode()


def json_value(rng: Rng) -> bytes:
    """Any JSON value."""

    def value(depth: int) -> Any:
        kind = int(rng.integers(7)) if depth < 4 else int(rng.integers(4))
        if kind < 4:
            return pick(rng, (pick(rng, NUMBERS), pick(rng, WORDS), None, True))
        many = int(rng.integers(0, 5))
        if kind < 6:
            keys = ("format_version", "name", "plan", "steps", "columns", "do", "format", "say", "goal", "title")
            return {pick(rng, keys): value(depth + 1) for _ in range(many)}
        return [value(depth + 1) for _ in range(many)]

    return as_text(value(0), rng)


def idx(rng: Rng) -> bytes:
    """An IDX file of pictures whose header promises anything."""
    sizes = [count(rng) % 2**32 for _ in range(3)]
    body = bytes(int(rng.integers(0, 50)))
    return bytes((0, 0, pick(rng, (8, 8, 8, 9)), pick(rng, (3, 3, 1)))) + struct.pack(">3I", *sizes) + body


def png(rng: Rng) -> bytes:
    """A PNG whose header promises anything, with right checksums."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    width, height = (max(0, count(rng)) % 2**31 for _ in range(2))
    depth, colour = pick(rng, ((8, 2), (8, 0), (1, 0), (16, 6), (8, 3), (4, 5)))
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(rng.integers(2)))
    rows = zlib.compress(bytes(int(2 ** rng.uniform(0, 22))), 9)
    profile = b"x\x00\x00" + zlib.compress(bytes(2**20))
    notes = ((b"PLTE", b"\x00\x01\x02" * 3), (b"tRNS", b"\x00\x00"), (b"eXIf", rng.bytes(40)), (b"iCCP", profile))
    more = pick(rng, (b"", *(chunk(*note) for note in notes)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + more + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
