"""Strokes from an SVG drawing: lines, polylines, polygons and paths with a stroke colour, drawn as pixels."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor, ImageDraw

from mrfstudio.engine.files.images import ImageError

AnyPath = str | os.PathLike[str]
LARGEST = 4_000_000
"""Bytes of a drawing that is read: strokes are small, and a parser must not be fed anything."""
MOST_POINTS = 200_000
LARGEST_NUMBER = 1e12
FARTHEST = 100_000
"""Pixels from the first one to any point of a stroke, and its width: drawing goes through all of them."""
CURVE = 12
"""Straight pieces that a curve is drawn with."""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_COMMAND = re.compile(r"([MmLlHhVvCcSsQqTtAaZz])([^MmLlHhVvCcSsQqTtAaZz]*)")
_TAKES = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "T": 2, "A": 7, "Z": 0}
_TRANSFORM = re.compile(r"(matrix|translate|scale)\s*\(([^)]*)\)")
Points = list[complex]


@dataclass(frozen=True)
class _Look:
    """What a shape inherits: its colour, its width, and where it is drawn: x' = a x + c y + e, y' = b x + d y + f."""

    stroke: str = "none"
    width: float = 1.0
    matrix: tuple[float, ...] = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def read_svg(path: AnyPath, width: int, height: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Colours (height, width, 3) and where a stroke is; the drawing's view box is laid over the whole photograph."""
    try:
        return _drawn(path, width, height)
    except ImageError:
        raise
    except Exception as problem:  # numbers without end, groups in groups without end
        raise ImageError(f"{path} is no SVG drawing of strokes ({type(problem).__name__}): save it again.") from problem


def _drawn(path: AnyPath, width: int, height: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    root = _root(path)
    box = _numbers(root.get("viewBox", ""))
    if len(box) != 4:
        box = [0.0, 0.0, _length(root.get("width"), width), _length(root.get("height"), height)]
    if min(box[2:]) <= 0:
        raise ImageError(f"{path} has a view box without area: expected one as large as the photograph.")
    across, down = width / box[2], height / box[3]
    first = _Look(matrix=(across, 0.0, 0.0, down, -box[0] * across, -box[1] * down))
    layer = Image.new("RGBA", (width, height))
    pen, points = ImageDraw.Draw(layer), 0
    for element, look in _shapes(root, first):
        colour = _stroke_colour(path, look.stroke)
        for line in _lines(path, element) if colour else ():
            points += len(line)
            if points > MOST_POINTS:
                raise ImageError(f"{path} has more than {MOST_POINTS:,} points: expected a few strokes.")
            placed, thick = _placed(line, look.matrix), _thickness(look)
            if not all(abs(x) <= FARTHEST and abs(y) <= FARTHEST for x, y in placed) or thick > FARTHEST:
                raise ImageError(f"{path} has a stroke that goes {FARTHEST:,} pixels beyond the photograph: cut it.")
            _draw(pen, placed, (*colour, 255) if colour else (0, 0, 0, 0), thick)
    drawn = np.asarray(layer)
    return drawn[..., :3], drawn[..., 3] > 0


def _root(path: AnyPath) -> ElementTree.Element:
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as problem:
        raise ImageError(f"{path} cannot be read ({problem.strerror}): expected a drawing.") from None
    if len(data) > LARGEST:
        raise ImageError(f"{path} is larger than {LARGEST // 1_000_000} MB: expected strokes alone, without pictures.")
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise ImageError(f"{path} declares a document type or entities, which are not read: save it as plain SVG.")
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as problem:
        raise ImageError(f"{path} is no SVG drawing ({problem}): save it again.") from None
    if _tag(root) != "svg":
        raise ImageError(f"{path} begins with <{_tag(root)}>: expected an SVG drawing.")
    return root


def _shapes(element: ElementTree.Element, look: _Look) -> Iterator[tuple[ElementTree.Element, _Look]]:
    """Every shape with what it inherits; definitions are not drawn."""
    own = _look(element, look)
    if _tag(element) in ("line", "polyline", "polygon", "path"):
        yield element, own
    if _tag(element) in ("svg", "g", "a"):
        for child in element:
            yield from _shapes(child, own)


def _look(element: ElementTree.Element, look: _Look) -> _Look:
    words = (part.partition(":") for part in element.get("style", "").split(";"))
    style = {name.strip(): value.strip() for name, colon, value in words if colon}
    stroke = style.get("stroke", element.get("stroke", look.stroke))
    width = _length(style.get("stroke-width", element.get("stroke-width")), look.width)
    matrix = look.matrix
    for name, numbers in _TRANSFORM.findall(element.get("transform", "")):
        given = _numbers(numbers)
        matrix = _product(matrix, _matrix(name, given))
    return _Look(stroke, width, matrix)


def _matrix(name: str, given: list[float]) -> tuple[float, ...]:
    if name == "matrix" and len(given) == 6:
        return tuple(given)
    if name == "translate" and given:
        return 1.0, 0.0, 0.0, 1.0, given[0], given[1] if len(given) > 1 else 0.0
    if name == "scale" and given:
        return given[0], 0.0, 0.0, given[-1], 0.0, 0.0
    return 1.0, 0.0, 0.0, 1.0, 0.0, 0.0


def _product(m: tuple[float, ...], n: tuple[float, ...]) -> tuple[float, ...]:
    """First n, then m."""
    a, b, c, d, e, f = m
    return (
        a * n[0] + c * n[1],
        b * n[0] + d * n[1],
        a * n[2] + c * n[3],
        b * n[2] + d * n[3],
        a * n[4] + c * n[5] + e,
        b * n[4] + d * n[5] + f,
    )


def _lines(path: AnyPath, element: ElementTree.Element) -> list[Points]:
    if _tag(element) == "path":
        return _path(path, element.get("d", ""))
    if _tag(element) == "line":
        at = [_length(element.get(name), 0.0) for name in ("x1", "y1", "x2", "y2")]
        return [[complex(at[0], at[1]), complex(at[2], at[3])]]
    numbers = _numbers(element.get("points", ""))
    line = [complex(x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=False)]
    return [line + line[:1] if _tag(element) == "polygon" else line]


def _path(path: AnyPath, words: str) -> list[Points]:
    """Straight pieces of a path's data; arcs are drawn as straight lines to their ends."""
    lines: list[Points] = []
    here = begin = 0j
    control: complex | None = None
    for letter, rest in _COMMAND.findall(words):
        numbers, kind = _numbers(rest), letter.upper()
        count = _TAKES[kind]
        if kind == "Z":
            if lines:
                lines[-1].append(begin)
            here, control = begin, None
            continue
        if not numbers or len(numbers) % count:
            raise ImageError(
                f"{path} has a path with {len(numbers)} numbers after {letter!r}: expected sets of {count}."
            )
        for start in range(0, len(numbers), count):
            given = numbers[start : start + count]
            base = here if letter.islower() else 0j
            if kind == "M" and start == 0:
                here = begin = base + complex(*given)
                lines.append([here])
                control = None
                continue
            piece, control = _piece(kind, given, base, here, control)
            if not lines:
                lines.append([here])
            lines[-1] += piece
            here = piece[-1]
    return lines


def _piece(
    kind: str, given: list[float], base: complex, here: complex, control: complex | None
) -> tuple[Points, complex | None]:
    """Points after `here` of one command, and the control point that a smooth curve after it goes on from."""
    if kind == "H":
        return [complex(base.real + given[0], here.imag)], None
    if kind == "V":
        return [complex(here.real, base.imag + given[0])], None
    if kind in "MLA":
        return [base + complex(*given[-2:])], None
    points = [base + complex(x, y) for x, y in zip(given[::2], given[1::2], strict=True)]
    mirrored = 2 * here - control if control is not None else here
    if kind in "ST":
        points = [mirrored, *points]
    t = np.arange(1, CURVE + 1) / CURVE
    if kind in "CS":
        a, b, end = points
        curve = (1 - t) ** 3 * here + 3 * t * (1 - t) ** 2 * a + 3 * t**2 * (1 - t) * b + t**3 * end
        return list(curve), b
    a, end = points
    return list((1 - t) ** 2 * here + 2 * t * (1 - t) * a + t**2 * end), a


def _placed(line: Points, m: tuple[float, ...]) -> list[tuple[float, float]]:
    return [(m[0] * p.real + m[2] * p.imag + m[4], m[1] * p.real + m[3] * p.imag + m[5]) for p in line]


def _thickness(look: _Look) -> int:
    a, b, c, d, _, _ = look.matrix
    return max(1, round(look.width * abs(a * d - b * c) ** 0.5))


def _draw(
    pen: ImageDraw.ImageDraw, line: list[tuple[float, float]], colour: tuple[int, int, int, int], width: int
) -> None:
    if len(line) > 1:
        pen.line(line, colour, width, joint="curve")
    radius = width / 2
    for x, y in line[:: max(1, len(line) - 1)]:  # round ends
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), colour)


def _stroke_colour(path: AnyPath, words: str) -> tuple[int, int, int] | None:
    if words in ("none", "transparent", ""):
        return None
    try:
        return ImageColor.getrgb(words)[:3]
    except ValueError:
        raise ImageError(f"{path} has a stroke of colour {words!r}: expected one such as red or #ff0000.") from None


def _length(words: str | None, otherwise: float) -> float:
    found = _NUMBER.match(words.strip()) if words else None
    if found is None or (words or "").strip().endswith("%"):
        return otherwise
    return _numbers(found.group())[0]


def _numbers(words: str) -> list[float]:
    """The numbers in a text. Raises `ValueError` for one that no drawing has: curves would leave finite numbers."""
    found = [float(n) for n in _NUMBER.findall(words)]
    if any(abs(number) > LARGEST_NUMBER for number in found):
        raise ValueError("a number is too large")
    return found


def _tag(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]
