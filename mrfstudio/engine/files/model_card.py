"""A page of Markdown beside a model file that says where it comes from and how good it is."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mrfstudio.engine.files.atomic import write_text
from mrfstudio.engine.files.model_file import ModelFile, beside, read_card

WIDEST = 120
"""Characters in a line of prose."""
SECTIONS = {"scores": "Scores", "hyperparameters": "Hyperparameters", "options": "Options of the learner"}


def write_card(model_path: str | os.PathLike[str]) -> Path:
    """Write `NAME.md` beside `NAME.safetensors`, from what the file itself says."""
    target = beside(model_path, ".md")
    write_text(target, card_markdown(target.stem, read_card(model_path)))
    return target


def card_markdown(title: str, model: ModelFile) -> str:
    """The page: how it was made first, then one table for each of scores, hyperparameters and options."""
    card = dict(model.card)
    tables = {key: card.pop(key) for key in SECTIONS if isinstance(card.get(key), Mapping)}
    lines = [f"# {title}", "", *_opening(model), "## How it was made", ""]
    lines += _table({"kind": model.kind, **card, "file format": model.version})
    for key, heading in SECTIONS.items():
        if tables.get(key):
            lines += ["", f"## {heading}", "", *_table(tables[key])]
    return "\n".join(lines) + "\n"


def _opening(model: ModelFile) -> list[str]:
    summary = model.card.get("summary")
    return [*textwrap.wrap(str(summary), WIDEST, break_long_words=False, break_on_hyphens=False), ""] if summary else []


def _table(values: Mapping[str, Any]) -> list[str]:
    rows = [f"| {_words(name)} | {_cell(name, value)} |" for name, value in _flat(values).items() if name != "summary"]
    return ["| | |", "| --- | --- |", *rows]


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name}: ")
        else:
            flat[before + name] = value
    return flat


def _words(name: str) -> str:
    return name.replace("_", " ")


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(_cell(name, item) for item in value)
    text = str(value).replace("|", "\\|").replace("\n", " ")
    return f"`{text}`" if name == "command" else text
