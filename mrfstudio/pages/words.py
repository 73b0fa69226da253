"""Words with equations as HTML: formulas are SVG inside the page, in its colours."""

from __future__ import annotations

from html import escape

from mrfstudio.engine.protocol.words import Equation, Run, TextBlock, Words

PAGE_COLOURS = {
    "message": "#b35900",
    "belief": "#2b7cd3",
    "evidence": "#d0483f",
    "coupling": "#1c8a62",
    "control": "#d0217f",
    "energy": "#a2509b",
    "hidden": "#7b8590",
}
"""Colours of symbols that can be read on white and on black."""
EM = 19.0  # pixels


def html_of(words: Words) -> str:
    """A text as HTML; nothing in it is fetched, and nothing that was typed becomes a tag."""
    return "\n".join(_block(block) for block in words.blocks)


def _block(block: TextBlock) -> str:
    if block.equation is not None:
        return f'<p class="equation">{_svg(block.equation, EM * 1.15)}</p>'
    inside = "".join(_run(run) for run in block.runs)
    tag = {"heading": "h3", "bullet": "li", "code": "pre"}.get(block.kind, "p")
    return f"<{tag}>{inside}</{tag}>"


def _run(run: Run) -> str:
    if run.equation is not None:
        shift = run.equation.depth * EM
        return f'<span class="formula" style="vertical-align:{-shift:.1f}px">{_svg(run.equation, EM)}</span>'
    text = escape(run.text)
    if run.code:
        return f"<code>{text}</code>"
    return f"<b>{text}</b>" if run.bold else f"<i>{text}</i>" if run.italic else text


def _svg(equation: Equation, em: float) -> str:
    drawn = equation.svg({"": "currentColor", **PAGE_COLOURS}, em)
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(equation.tex, quote=True)}" ', 1)
