"""Draws docs/architecture.svg from the import graph: a box a package, an arrow where one package uses another.

    python docs/picture.py

Packages stand in layers: each uses those below it. Left out are arrows that a longer way already says, and those to
the packages that nearly everybody uses, which stand in the lowest row. A dashed arrow goes against the layers, or
stays in one.
"""

from __future__ import annotations

import ast
import textwrap
from collections import Counter
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = Path(__file__).with_name("architecture.svg")
SIDES = {"ui": "The window: PySide6, no mathematics", "engine": "The engine: torch and numpy, never Qt"}
LAYERS = {
    "ui": (
        ("workspaces", "lessons"),
        ("window", "export"),
        ("plots", "widgets", "graph_canvas"),
        ("engine", "canvas"),
        ("words",),
    ),
    "engine": (
        ("workspaces", "tasks"),
        ("session", "families", "convergence"),
        ("training", "exchange"),
        ("files", "data", "inference", "words"),
        ("graphs",),
    ),
}
"""Where each package stands: it uses those below. What is really used is read from the code."""
BARS = {"ui": ("ui.style", "engine.protocol"), "engine": ("engine.registry", "engine.runtime")}
"""Used by nearly everybody: arrows to them would only hide the others. The protocol stands between the two sides."""
EVERYBODYS = {name for names in BARS.values() for name in names}
REGISTRY = {"engine.registry": "Algorithms, models, learners, data sets and workspaces, found by name"}
"""A module and not a package, but used as one."""

Arrow = tuple[str, str]
Point = tuple[float, float]
WIDTH, BOX, TALL, GAP, LAYER, MARGIN = 1120, 258, 64, 90, 122, 20
INK, MUTED, LINE, BACK, PAPER = "#1c2733", "#5b6977", "#8b9aa8", "#c2571a", "#ffffff"
GROUND = {"ui": "#eef4fb", "engine": "#f3f7ef"}
EDGE = {"ui": "#7ea6d3", "engine": "#93b377"}


def box_of(module: str) -> str | None:
    """`mrfstudio.engine.session.undo` lies in the box `engine.session`; what is outside of both sides in none."""
    parts = module.split(".")
    return ".".join(parts[1:3]) if len(parts) > 2 and parts[1] in SIDES else None


def modules() -> dict[str, Path]:
    """Every module of the package, by name."""
    found = {}
    for file in sorted((ROOT / "mrfstudio").rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def boxes() -> dict[str, str]:
    """Each package and what it says of itself, in its first sentence."""
    found = {}
    for module, file in modules().items():
        box = box_of(module)
        if box is not None and module == f"mrfstudio.{box}":
            said = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
            found[box] = " ".join(said.split()).split(". ")[0].rstrip(".")
    return found | REGISTRY


def uses() -> Counter[Arrow]:
    """How many times each package imports from each other, wherever in a file the import stands."""
    known, counts = modules(), Counter[Arrow]()
    for module, file in known.items():
        user = box_of(module)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if user is None or not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                used = box_of(whole if whole in known else node.module)
                if used is not None and used != user:
                    counts[user, used] += 1
    return counts


def reaches(arrows: set[Arrow], start: str, end: str, without: Arrow | None = None) -> bool:
    """Whether a way leads along arrows from one box to another."""
    seen, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        for arrow in arrows:
            if arrow[0] == here and arrow != without and arrow[1] not in seen:
                if arrow[1] == end:
                    return True
                seen.add(arrow[1])
                waiting.append(arrow[1])
    return False


def drawn() -> tuple[set[Arrow], set[Arrow]]:
    """The arrows of the picture: along the layers, without those that a longer way says, and against them."""
    counts = {arrow for arrow in uses() if not set(arrow) & EVERYBODYS and same_side(arrow)}
    down = {(user, used) for user, used in counts if layer_of(user) < layer_of(used)}
    plain = {arrow for arrow in down if not reaches(down, *arrow, without=arrow)}
    return plain, counts - down


def layer_of(box: str) -> int:
    """How far from the top a box stands."""
    side, name = box.split(".")
    found = [depth for depth, row in enumerate(LAYERS[side]) if name in row]
    if not found:
        raise SystemExit(f"docs/picture.py: name a layer for {box} in LAYERS, or add it to BARS.")
    return found[0]


def same_side(arrow: Arrow) -> bool:
    """The one way between the sides is the protocol; the engine's thread alone knows what is behind it."""
    return arrow[0].split(".")[0] == arrow[1].split(".")[0]


def positions(side: str, top: float) -> dict[str, Point]:
    """The upper left corner of each box, rows centred."""
    found = {}
    for level, row in enumerate(LAYERS[side]):
        left = (WIDTH - len(row) * BOX - (len(row) - 1) * GAP) / 2
        for index, name in enumerate(row):
            found[f"{side}.{name}"] = (left + index * (BOX + GAP), top + level * LAYER)
    return found


def box_svg(name: str, said: str, corner: Point, size: Point) -> str:
    (x, y), (width, height), side = corner, size, name.split(".")[0]
    lines = textwrap.wrap(said, int((width - 20) / 5.5), max_lines=2, placeholder=" …")
    words = "".join(
        f'<text x="{x + 10:g}" y="{y + 38 + 13 * row:g}" class="said">{escape(line)}</text>'
        for row, line in enumerate(lines)
    )
    return (
        f'<g id="{name}" class="box"><rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" '
        f'fill="{PAPER}" stroke="{EDGE[side]}"/><text x="{x + 10:g}" y="{y + 21:g}" class="name">'
        f"{escape(name.replace('.', '/'))}</text>{words}</g>"
    )


def arrow_svg(arrow: Arrow, corners: dict[str, Point], ports: dict[Arrow, tuple[float, float]]) -> str:
    """A curve from the edge of the user to the edge of what is used; dashed where it goes up or stays in its layer."""
    (x0, y0), (x1, y1) = corners[arrow[0]], corners[arrow[1]]
    kind = "down" if y1 > y0 else "back"
    if y0 == y1 and abs(x1 - x0) > BOX + GAP:  # below the boxes between them
        x0, x1, y0 = x0 + BOX * (0.2 if x1 < x0 else 0.8), x1 + BOX * (0.8 if x1 < x0 else 0.2), y0 + TALL
        path = f"M{x0:.0f} {y0:.0f} C{x0:.0f} {y0 + 40:.0f} {x1:.0f} {y0 + 40:.0f} {x1:.0f} {y0:.0f}"
    elif y0 == y1:
        x0, x1 = (x0, x1 + BOX) if x1 < x0 else (x0 + BOX, x1)
        path = f"M{x0:.0f} {y0 + TALL / 2:.0f} L{x1:.0f} {y1 + TALL / 2:.0f}"
    else:
        begin, finish = ports[arrow]
        y0, y1 = (y0 + TALL, y1) if y1 > y0 else (y0, y1 + TALL)
        x0, x1, bend = x0 + begin, x1 + finish, (y1 - y0) * 0.5
        path = f"M{x0:.0f} {y0:.0f} C{x0:.0f} {y0 + bend:.0f} {x1:.0f} {y1 - bend:.0f} {x1:.0f} {y1:.0f}"
    return (
        f'<path class="arrow {kind}" data-from="{arrow[0]}" data-to="{arrow[1]}" marker-end="url(#{kind})" d="{path}"/>'
    )


def ports_of(arrows: set[Arrow], corners: dict[str, Point]) -> dict[Arrow, tuple[float, float]]:
    """Where on the edges of their boxes arrows begin and end: side by side, in the order of where they lead."""
    found: dict[Arrow, list[float]] = {arrow: [0.0, 0.0] for arrow in arrows}
    for name, (_, y) in corners.items():
        for below in (False, True):
            ends = [
                (corners[arrow[1 - own]][0], arrow, own)
                for arrow in arrows
                for own in (0, 1)
                if arrow[own] == name and (corners[arrow[1 - own]][1] > y) == below and corners[arrow[1 - own]][1] != y
            ]
            for index, (_, arrow, own) in enumerate(sorted(ends)):
                found[arrow][own] = BOX * (index + 1) / (len(ends) + 1)
    return {arrow: (begin, end) for arrow, (begin, end) in found.items()}


STYLE = f"""text {{ font-family: "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; fill: {INK}; }}
.name {{ font-size: 14px; font-weight: bold; }} .said {{ font-size: 10.5px; fill: {MUTED}; }}
.side {{ font-size: 15px; font-weight: bold; fill: {MUTED}; }}
.arrow {{ fill: none; stroke: {LINE}; stroke-width: 1.4; }} .back {{ stroke: {BACK}; stroke-dasharray: 5 4; }}"""


def head(colour: str, name: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{colour}"/></marker>'
    )


def side_svg(side: str, top: float, arrows: set[Arrow], said: dict[str, str]) -> tuple[str, float]:
    """One half of the picture from `top` on, and where it ends."""
    corners = positions(side, top + 44)
    mine = {arrow for arrow in arrows if arrow[0] in corners}
    ports = ports_of(mine, corners)
    end = top + 44 + len(LAYERS[side]) * LAYER - (LAYER - TALL) + 30
    parts = [arrow_svg(arrow, corners, ports) for arrow in sorted(mine)]
    parts += [box_svg(name, said[name], corner, (BOX, TALL)) for name, corner in corners.items()]
    wide = (WIDTH - 5 * MARGIN) / 2
    for index, name in enumerate(BARS[side]):
        parts.append(box_svg(name, said[name], (2 * MARGIN + index * (wide + MARGIN), end), (wide, TALL - 8)))
    bottom = end + TALL + 12
    ground = (
        f'<rect x="{MARGIN}" y="{top:g}" width="{WIDTH - 2 * MARGIN}" height="{bottom - top:g}" rx="10" '
        f'fill="{GROUND[side]}"/><text x="{2 * MARGIN}" y="{top + 28:g}" class="side">{escape(SIDES[side])}</text>\n'
    )
    return ground + "\n".join(parts), bottom


def picture() -> str:
    """The whole picture as SVG; its text stays text."""
    plain, back = drawn()
    said, parts, top = boxes(), [], MARGIN + 0.0
    for side in SIDES:
        body, bottom = side_svg(side, top, plain | back, said)
        parts.append(body)
        top = bottom + MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top:g}" width="{WIDTH}" height="{top:g}">\n'
        f"<title>Packages of MRF Studio and what they use</title>\n<style>{STYLE}</style>\n"
        f"<defs>{head(LINE, 'down')}{head(BACK, 'back')}</defs>\n"
        f'<rect width="{WIDTH}" height="{top:g}" fill="{PAPER}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"{PICTURE.name}: {len(boxes())} packages, {sum(map(len, drawn()))} arrows")
