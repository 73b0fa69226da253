"""TeX formulas as outlines, by matplotlib's mathtext (imported on first use: it takes a second).

A symbol is marked with what it stands for: `\\message{m_{a \\to i}}`, with the names of `protocol.words.SYMBOLS`.
Mathtext knows no colours. So a formula is laid out twice, once with a rare sign at each border of the marked places:
glyphs come in the same order both times, and those between two signs are the marked ones.
"""

from __future__ import annotations

import logging
import os
import re
from functools import lru_cache
from typing import Any

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.words import SYMBOLS, Equation, Part
from mrfstudio.places import cache_folder

LONGEST = 600
"""Letters of a formula; more would be a page, and somebody else's file may hold anything."""
EM = 100.0  # points in which mathtext lays out; results are divided by it
SIGNS = (r"\spadesuit", r"\heartsuit", r"\clubsuit", r"\diamondsuit", r"\sharp", r"\flat", r"\natural")
MARK = re.compile(r"\\(" + "|".join(SYMBOLS) + r")\s*\{")
MARGIN = 0.04  # of an em, so that no letter loses its edge


class EquationError(StudioError):
    """A formula that cannot be set. The message is one sentence for a person."""


@lru_cache(maxsize=512)
def typeset(tex: str) -> Equation:
    """A formula without its dollar signs. Raises `EquationError`."""
    if len(tex) > LONGEST:
        raise EquationError(f"The formula has {len(tex)} letters: expected at most {LONGEST}.")
    plain, marked, names, letters = _marked(tex)
    try:
        glyphs, shapes, rects = _laid_out(plain)
        unmarked = [("", "")] * len(glyphs)
        symbols = _symbols(marked, names, letters, [glyph[0] for glyph in glyphs]) if names else unmarked
        width, height, depth = _size(plain)
    except (ValueError, RuntimeError, RecursionError) as problem:
        said = str(problem).strip().splitlines()
        reason = said[-1].removeprefix("ParseSyntaxException: ").rstrip(".") if said else "its TeX is not known"
        raise EquationError(f"The formula ${tex}$ cannot be read: {reason}.") from None
    top = height - depth
    paths: dict[int, list[Any]] = {}
    group = 0
    for index, (shape, x, y, scale) in enumerate(glyphs):
        if index and symbols[index] != symbols[index - 1]:
            group += 1
        vertices, codes = shapes[shape]
        paths.setdefault(group, [symbols[index], []])[1].append((vertices * scale + (x, y), codes))
    parts = [_part(pieces, symbol, letter, top) for (symbol, letter), pieces in paths.values()]
    if len(rects):
        parts.append(_part(rects, "", "", top))
    drawn = tuple(part for part in parts if part.path)
    return Equation(tex, width + 2 * MARGIN, height + 2 * MARGIN, depth + MARGIN, drawn)


def _marked(tex: str) -> tuple[str, str, list[str], list[str]]:
    """The formula with braces in place of marks; the same with signs at their borders; the names in use.

    Last what is marked, in the order in which the marks begin.
    """
    names = list(dict.fromkeys(MARK.findall(tex)))
    sign = {name: SIGNS[index % len(SIGNS)] for index, name in enumerate(names)}
    plain, marked, open_marks = [], [], []
    letters: list[str] = []
    position = level = 0
    while position < len(tex):
        found = MARK.match(tex, position)
        if found:
            level += 1
            open_marks.append((level, found.group(1), len(letters), found.end()))
            letters.append("")
            plain.append("{")
            marked.append("{" + sign[found.group(1)] + " ")
            position = found.end()
            continue
        letter = tex[position]
        if letter == "\\":
            plain.append(tex[position : position + 2])
            marked.append(tex[position : position + 2])
            position += 2
            continue
        if letter == "{":
            level += 1
        elif letter == "}":
            if open_marks and open_marks[-1][0] == level:
                _, name, number, begin = open_marks.pop()
                letters[number] = tex[begin:position].strip()
                marked.append(sign[name] + " ")
            level -= 1
        plain.append(letter)
        marked.append(letter)
        position += 1
    return "".join(plain), "".join(marked), names, letters


def _symbols(marked: str, names: list[str], letters: list[str], plain: list[str]) -> list[tuple[str, str]]:
    """Symbol and letter of each glyph of the plain formula; empty where the layouts differ, which is never seen."""
    sign_of = {_laid_out(sign)[0][0][0]: name for sign, name in zip(SIGNS, names, strict=False)}
    inside: list[tuple[str, str]] = []
    found: list[tuple[str, tuple[str, str]]] = []
    begun = iter(letters)
    for glyph, *_ in _laid_out(marked)[0]:
        name = sign_of.get(glyph)
        if name is None:
            found.append((glyph, inside[-1] if inside else ("", "")))
        elif inside and inside[-1][0] == name:
            inside.pop()
        else:
            inside.append((name, next(begun, "")))
    return [symbol for _, symbol in found] if [glyph for glyph, _ in found] == plain else [("", "")] * len(plain)


# Mathtext -------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _mathtext() -> tuple[Any, Any]:
    # Its list of fonts is kept with what this program can make again, not in the person's home folder.
    os.environ.setdefault("MPLCONFIGDIR", str(cache_folder() / "matplotlib"))
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it says on first use that it lists fonts
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    return TextToPath(), FontProperties(size=EM, math_fontfamily="stix")


def _laid_out(tex: str) -> tuple[list[tuple[str, float, float, float]], dict[str, Any], list[Any]]:
    """Glyphs as (name, x, y, scale) in em with y up, their outlines by name, and the bars of fractions and roots."""
    setter, font = _mathtext()
    placed, shapes, rects = setter.get_glyphs_mathtext(font, f"${tex}$")
    glyphs = [(str(name), x / EM, y / EM, size / EM) for name, x, y, size in placed]
    outlines = {str(name): (vertices, codes) for name, (vertices, codes) in shapes.items()}
    return glyphs, outlines, [([(x / EM, y / EM) for x, y in corners], codes) for corners, codes in rects]


def _size(tex: str) -> tuple[float, float, float]:
    setter, font = _mathtext()
    width, height, depth = setter.get_text_width_height_descent(f"${tex}$", font, ismath=True)
    return width / EM, height / EM, depth / EM


def _part(pieces: list[Any], symbol: str, letter: str, top: float) -> Part:
    data: list[str] = []
    xs: list[float] = []
    ys: list[float] = []
    for vertices, codes in pieces:
        points = [(float(x) + MARGIN, float(top - y) + MARGIN) for x, y in vertices]
        data.append(_path(points, list(codes)))
        kept = [point for point, code in zip(points, codes, strict=True) if code != 79]
        xs += [x for x, _ in kept]
        ys += [y for _, y in kept]
    box = (min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)) if xs else (0.0, 0.0, 0.0, 0.0)
    return Part(" ".join(data), symbol, box, letter)


def _path(points: list[tuple[float, float]], codes: list[int]) -> str:
    """SVG path data from vertices with matplotlib's codes: 1 move, 2 line, 3 and 4 curves, 79 close."""
    letters = {1: ("M", 1), 2: ("L", 1), 3: ("Q", 2), 4: ("C", 3)}
    said, index = [], 0
    while index < len(codes):
        if codes[index] == 79:
            said.append("Z")
            index += 1
            continue
        letter, count = letters[int(codes[index])]
        said.append(letter + " ".join(f"{x:.4g} {y:.4g}" for x, y in points[index : index + count]))
        index += count
    return "".join(said)
