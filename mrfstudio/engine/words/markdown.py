"""The Markdown that lessons and pages are written in, with TeX between dollar signs.

Headings, paragraphs, lists, bold, italic, code, links, `$…$` in a line and `$$…$$` between lines. Anything else
is text. A formula that cannot be read is shown as typed, and said in `Words.problems`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mrfstudio.engine.protocol.words import BlockKind, Equation, Run, TextBlock, Words
from mrfstudio.engine.words.typeset import EquationError, typeset

LARGEST = 200_000
"""Letters of a text."""
MOST_EQUATIONS = 200
DISPLAYED = re.compile(r"\$\$([^$]+)\$\$")
INLINE = re.compile(
    r"(?P<escape>\\[$*`\[])"
    r"|\$(?P<tex>[^$\n]+)\$"
    r"|`(?P<code>[^`\n]+)`"
    r"|\*\*(?P<bold>[^*\n]+)\*\*"
    r"|(?<![\w*])\*(?P<italic>[^*\s][^*\n]*)\*(?!\w)"
    r"|\[(?P<label>[^\]\n]+)\]\((?P<link>[^)\s]+)\)"
)


def words_of(source: str) -> Words:
    """A text as it is shown. Never raises: what is wrong is among its problems."""
    reader = _Reader()
    source = source[:LARGEST]
    return Words(source, tuple(reader.blocks(source)), tuple(reader.problems))


class _Reader:
    """Goes through a text once, and keeps what is wrong with it."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._equations = 0

    def blocks(self, source: str) -> Iterator[TextBlock]:
        for kind, text in _pieces(source):
            if kind == "equation":
                yield self._displayed(text)
            elif kind == "code":
                yield TextBlock(kind, (Run(text),))
            else:
                for number, part in enumerate(DISPLAYED.split(text)):  # every second one is a formula
                    if number % 2:
                        yield self._displayed(part)
                    elif part.strip() or len(text) == len(part):
                        yield TextBlock(kind, tuple(self._runs(part.strip())))

    def _displayed(self, tex: str) -> TextBlock:
        equation = self._equation(tex)
        return TextBlock("equation", equation=equation) if equation else TextBlock("code", (Run(tex),))

    def _runs(self, text: str) -> Iterator[Run]:
        start = 0
        for found in INLINE.finditer(text):
            if found.start() > start:
                yield Run(text[start : found.start()])
            start = found.end()
            yield self._run(found)
        if start < len(text):
            yield Run(text[start:])

    def _run(self, found: re.Match[str]) -> Run:
        kind, content = str(found.lastgroup), found[str(found.lastgroup)]
        if kind == "tex":
            equation = self._equation(content)
            return Run(content, equation=equation, code=equation is None)
        if kind == "link":
            return Run(found["label"], link=content)
        if kind == "escape":
            return Run(content[1:])
        return Run(content, bold=kind == "bold", italic=kind == "italic", code=kind == "code")

    def _equation(self, tex: str) -> Equation | None:
        self._equations += 1
        if self._equations > MOST_EQUATIONS:
            self.problems.append(f"The text has more than {MOST_EQUATIONS} formulas: the others are shown as typed.")
            return None
        try:
            return typeset(" ".join(tex.split()))
        except EquationError as problem:
            self.problems.append(str(problem))
            return None


def _pieces(source: str) -> Iterator[tuple[BlockKind, str]]:
    """Blocks of lines with their kinds; lines of a paragraph are joined."""
    lines: list[str] = []
    kind: BlockKind = "paragraph"

    def taken() -> Iterator[tuple[BlockKind, str]]:
        if lines:
            yield kind, ("\n" if kind == "code" else " ").join(lines)
            lines.clear()

    inside = ""  # of a fence or of a formula
    for line in source.splitlines():
        stripped = line.strip()
        if inside:
            ends = stripped.endswith(inside)
            if content := (stripped.removesuffix(inside) if ends and inside == "$$" else "" if ends else line):
                lines.append(content)
            if ends:
                yield from taken()
                inside, kind = "", "paragraph"
            continue
        amid = "$$" in stripped[2:-2] and stripped.startswith("$$")  # a line that begins with a whole formula
        if stripped.startswith(("```", "$$")) and not amid:
            yield from taken()
            inside = "```" if stripped.startswith("```") else "$$"
            kind = "code" if inside == "```" else "equation"
            rest = stripped[2:] if inside == "$$" else ""
            if len(rest) >= 2 and rest.endswith("$$"):
                lines.append(rest[:-2])
                yield from taken()
                inside, kind = "", "paragraph"
            elif rest:
                lines.append(rest)
            continue
        begins = _kind(line, kind, bool(lines))
        if not stripped or begins != kind or (begins in ("heading", "bullet") and _is_new(line)):
            if kind == "code" and not stripped:
                lines.append("")
                continue
            while kind == "code" and lines and not lines[-1]:
                lines.pop()
            yield from taken()
        kind = begins if stripped else "paragraph"
        if stripped:
            lines.append(_content(line, kind))
    while lines and not lines[-1]:
        lines.pop()
    yield from taken()


def _kind(line: str, before: BlockKind, goes_on: bool) -> BlockKind:
    if line.startswith("#"):
        return "heading"
    if re.match(r"\s{0,3}[-*] ", line):
        return "bullet"
    if (line.startswith("    ") and (before == "code" or not goes_on)) or line.startswith("|"):
        return "code"
    return "bullet" if goes_on and before == "bullet" and line.startswith("  ") else "paragraph"


def _is_new(line: str) -> bool:
    return line.startswith("#") or bool(re.match(r"\s{0,3}[-*] ", line))


def _content(line: str, kind: BlockKind) -> str:
    if kind == "heading":
        return line.lstrip("#").strip()
    if kind == "bullet":
        return re.sub(r"^\s{0,3}[-*] ", "", line).strip()
    return line.removeprefix("    ").rstrip() if kind == "code" else line.strip()
