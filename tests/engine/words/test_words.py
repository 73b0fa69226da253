"""Markdown with TeX becomes outlines whose marked symbols are known, and whatever is typed is shown somehow."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mrfstudio.engine.protocol.words import SYMBOLS
from mrfstudio.engine.words.markdown import words_of
from mrfstudio.engine.words.typeset import MARK, EquationError, typeset

UPDATE = r"\message{m_{a\to i}} \propto \sum_{x_a} \coupling{\psi_a} \prod_j \frac{\belief{b_j}}{\message{m_j}}"


def test_marked_symbols_are_found_where_they_are_set() -> None:
    equation = typeset(UPDATE)
    names = [part.symbol for part in equation.parts if part.symbol]
    assert names == ["message", "coupling", "belief", "message"]
    first = next(part for part in equation.parts if part.symbol == "message")
    left, top, width, height = first.box
    assert left < 0.2
    under = equation.part_at(left + width / 2, top + height / 2)
    assert under is not None
    assert under.symbol == "message"
    assert equation.part_at(equation.width + 1, 0) is None
    belief, below = (next(p for p in reversed(equation.parts) if p.symbol == name) for name in ("belief", "message"))
    assert belief.box[1] + belief.box[3] < below.box[1], "the numerator is above the denominator"


def test_marks_change_nothing_of_the_layout() -> None:
    marked, plain = typeset(UPDATE), typeset(MARK.sub("{", UPDATE))
    assert (marked.width, marked.height, marked.depth) == (plain.width, plain.height, plain.depth)
    assert len(plain.parts) < len(marked.parts)


def test_svg_has_the_colours_of_the_symbols_and_lights_one() -> None:
    colours = {"": "#000001", **{name: f"#0000{number + 16:x}" for number, name in enumerate(SYMBOLS)}}
    equation = typeset(r"\belief{b} = \message{m}")
    drawn = equation.svg(colours, 20)
    assert drawn.count(f'fill="{colours["belief"]}"') == 1
    assert drawn.count('data-symbol="message"') == 1
    assert "<rect" not in drawn
    assert "<rect" in equation.svg(colours, 20, lit="message")


@pytest.mark.parametrize("tex", [r"\frac{x", r"\nosuchthing x", "x" * 700, "{", r"\message{m"])
def test_what_cannot_be_set_is_refused_in_one_sentence(tex: str) -> None:
    with pytest.raises(EquationError) as refused:
        typeset(tex)
    assert "\n" not in str(refused.value)


def test_markdown_is_read_as_lessons_are_written() -> None:
    read = words_of(
        "# Head\n\nSome *words*, **bold**, `code`, $x_i$ and 2 * 3 * 4,\ngoing on; see [here](bp.md).\n\n- one\n- two\n"
        "  goes on\n\n    as it is\n\n$$ \\belief{b} = 1 $$\n\n$$\nx\n$$\nCosts \\$5."
    )
    assert [block.kind for block in read.blocks] == [
        "heading", "paragraph", "bullet", "bullet", "code", "equation", "equation", "paragraph",
    ]  # fmt: skip
    runs = read.blocks[1].runs
    assert [run.text for run in runs if run.italic or run.bold or run.code] == ["words", "bold", "code"]
    assert next(run for run in runs if run.equation).equation.tex == "x_i"  # type: ignore[union-attr]
    assert " and 2 * 3 * 4, going on; see " in [run.text for run in runs]
    assert next(run for run in runs if run.link).link == "bp.md"
    assert read.blocks[3].runs[0].text == "two goes on"
    assert "".join(run.text for run in read.blocks[-1].runs) == "Costs $5."
    assert not read.problems


@pytest.mark.parametrize("text", ["So $$a = b$$ holds.", "So\n$$a = b$$ holds.", "So $$a = b$$\nholds."])
def test_a_displayed_formula_may_stand_within_a_paragraph(text: str) -> None:
    blocks = words_of(text).blocks
    assert [block.kind for block in blocks] == ["paragraph", "equation", "paragraph"]
    assert [block.runs[0].text for block in blocks if block.runs] == ["So", "holds."]


def test_a_wrong_formula_is_shown_as_typed_and_said() -> None:
    read = words_of(r"Good $x$ and bad $\frac{x$.")
    assert len(read.problems) == 1
    assert r"\frac{x" in read.problems[0]
    assert [run.text for run in read.blocks[0].runs if run.code] == [r"\frac{x"]


def test_the_engine_loads_without_matplotlib() -> None:
    modules = "mrfstudio.engine.workspaces.studio, mrfstudio.engine.words.markdown"
    code = f"import {modules}, sys; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
