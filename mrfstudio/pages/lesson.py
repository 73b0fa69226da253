"""A lesson as one HTML file: words with equations, questions, and a run with slider and hover where a step has one.

Each run is a whole page of its own (`page.py`) in a frame, inside the same file: nothing is fetched.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from mrfstudio.engine.protocol.words import Words
from mrfstudio.pages.page import page_of
from mrfstudio.pages.run import PageRun
from mrfstudio.pages.words import html_of

LARGEST_RUN = 1_500_000
"""Bytes of one run at most: a lesson has several."""


@dataclass(frozen=True, eq=False)
class LessonPart:
    """One step: what it says, what is seen afterwards, answers to pick from, and the run."""

    say: Words
    praise: Words
    choices: tuple[str, ...] = ()
    right: int = 0
    exercise: bool = False
    run: PageRun | None = None


def lesson_page(title: str, about: str, parts: Sequence[LessonPart]) -> str:
    """The whole page."""
    folder = files("mrfstudio.pages")
    return Template(folder.joinpath("lesson.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        about=html.escape(about),
        style=folder.joinpath("page.css").read_text(encoding="utf-8"),
        script=folder.joinpath("lesson.js").read_text(encoding="utf-8"),
        parts="\n".join(_part(number, part) for number, part in enumerate(parts, 1)),
    )


def _part(number: int, part: LessonPart) -> str:
    kind = "exercise" if part.exercise else "question" if part.choices else "step"
    lines = [f'<section class="part {kind}" data-right="{part.right}">', f"<h2>{kind.capitalize()} {number}</h2>"]
    lines.append(html_of(part.say))
    if part.choices:
        lines.append('<div class="choices" role="group" aria-label="What do you think?">')
        lines += [
            f'<button type="button" data-choice="{index}">{html.escape(choice)}</button>'
            for index, choice in enumerate(part.choices)
        ]
        lines.append('</div><p class="verdict" aria-live="polite"></p>')
    seen = [html_of(part.praise)] if part.praise.source else []
    if part.run is not None:
        run = html.escape(page_of(part.run, LARGEST_RUN), quote=True)
        seen.append(f'<iframe title="The run of step {number}" loading="lazy" srcdoc="{run}"></iframe>')
    if seen:
        hidden = " hidden" if part.choices else ""
        lines.append(f'<div class="seen"{hidden}>' + "\n".join(seen) + "</div>")
    return "\n".join([*lines, "</section>"])


def index_page(lessons: Sequence[tuple[str, str, str, int]]) -> str:
    """A page that lists lessons: file, title, what it is about, minutes."""
    rows = "\n".join(
        f'<li><a href="{html.escape(file, quote=True)}">{html.escape(title)}</a> · {minutes} minutes'
        f"<br>{html.escape(about)}</li>"
        for file, title, about, minutes in lessons
    )
    folder = files("mrfstudio.pages")
    return Template(folder.joinpath("lesson.html").read_text(encoding="utf-8")).substitute(
        title="Lessons",
        about="Markov random fields and belief propagation, step by step.",
        style=folder.joinpath("page.css").read_text(encoding="utf-8"),
        script="",
        parts=f"<ol>{rows}</ol>",
    )
