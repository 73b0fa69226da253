"""Words with equations, ready to be shown: the window paints them, a web page embeds them. No fonts are needed there.

`engine/words` makes these values from Markdown with TeX. Lengths are in em: 1 is the size of the letters around.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

SYMBOLS: Mapping[str, str] = {
    "message": "a message: what a neighbour says",
    "belief": "a belief: what a node thinks now",
    "evidence": "evidence: what was seen, or a node's own field",
    "coupling": "a coupling: how strongly a factor binds its nodes",
    "control": "a number that you set",
    "energy": "the free energy, or log Z",
    "hidden": "what nobody sees: hidden units, clones, states",
}
"""What a symbol of an equation stands for on screen; each has a colour, and those of a graph light up there."""

BlockKind = Literal["paragraph", "heading", "bullet", "equation", "code"]


@dataclass(frozen=True)
class Part:
    """Outlines of one colour: SVG path data, y down from the top of the equation."""

    path: str
    symbol: str = ""
    """One of `SYMBOLS`, or empty: the colour of the text."""
    box: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """Left, top, width, height."""
    letter: str = ""
    """What was marked, as it was written: which of the things of its symbol it is."""


@dataclass(frozen=True)
class Equation:
    """A typeset formula. `depth` is how far it goes below the line of the text; `height` includes it."""

    tex: str
    width: float
    height: float
    depth: float
    parts: tuple[Part, ...]

    def part_at(self, x: float, y: float) -> Part | None:
        """The symbol at a place, in em from the upper left corner; the smallest where some lie over each other."""
        found = [
            part
            for part in self.parts
            if part.symbol
            and part.box[0] <= x <= part.box[0] + part.box[2]
            and part.box[1] <= y <= part.box[1] + part.box[3]
        ]
        return min(found, key=lambda part: part.box[2] * part.box[3]) if found else None

    def svg(self, colours: Mapping[str, str], pixels: float, lit: str = "") -> str:
        """As SVG; `colours` by symbol, "" is the text's. `pixels` are those of an em. `lit` has a ground of its own."""
        width, height = self.width * pixels, self.height * pixels
        ground = "".join(
            f'<rect x="{x - 0.06:g}" y="{y - 0.06:g}" width="{w + 0.12:g}" height="{h + 0.12:g}" rx="0.12"'
            f' fill="{colours[lit]}" fill-opacity="0.22"/>'
            for x, y, w, h in (part.box for part in self.parts if lit and part.symbol == lit)
        )
        shapes = "".join(
            f'<path fill="{colours.get(part.symbol, colours[""])}" d="{part.path}"'
            + (f' data-symbol="{part.symbol}"' if part.symbol else "")
            + "/>"
            for part in self.parts
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.2f}" height="{height:.2f}"'
            f' viewBox="0 0 {self.width:.4f} {self.height:.4f}">{ground}{shapes}</svg>'
        )


@dataclass(frozen=True)
class Run:
    """A piece of a line: letters in one style, a formula, or a link."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    equation: Equation | None = None
    link: str = ""


@dataclass(frozen=True)
class TextBlock:
    """A paragraph, a heading, an entry of a list, a formula on a line of its own, or lines as they are."""

    kind: BlockKind
    runs: tuple[Run, ...] = ()
    equation: Equation | None = None


@dataclass(frozen=True)
class Words:
    """A text, in order. `source` is what was typed."""

    source: str
    blocks: tuple[TextBlock, ...]
    problems: tuple[str, ...] = ()
    """What is wrong with its formulas, a sentence each; they are shown as they were typed."""
