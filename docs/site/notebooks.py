"""Notebooks as pages: every cell is run while the site is built, and the page has what it showed."""

from __future__ import annotations

import ast
import contextlib
import html
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Cell:
    """One cell after it was run: what it printed, and the value of its last line or None."""

    kind: str
    source: str
    printed: str
    value: Any


def cells(path: Path) -> Iterator[Cell]:
    """Run a notebook from top to bottom."""
    names: dict[str, Any] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source, printed, value = "".join(cell["source"]), io.StringIO(), None
        if cell["cell_type"] == "code":
            body = ast.parse(source)
            last = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
            with contextlib.redirect_stdout(printed):
                exec(compile(body, path.name, "exec"), names)
                if isinstance(last, ast.Expr):
                    told = compile(ast.Expression(last.value), path.name, "eval")
                    value = eval(told, names)  # noqa: S307  # our own text
        yield Cell(cell["cell_type"], source, printed.getvalue(), value)


def shown(value: Any) -> str:
    """A value as a notebook shows it: its own HTML, else its `repr`."""
    own = getattr(value, "_repr_html_", None)
    text = own() if own is not None else None
    return f"<div>{text}</div>" if text else f"<pre>{html.escape(repr(value))}</pre>"


def page(path: Path) -> str:
    """A notebook as Markdown with its results."""
    parts = []
    for cell in cells(path):
        parts.append(f"```python\n{cell.source}\n```" if cell.kind == "code" else cell.source)
        if cell.printed:
            parts.append(f"<pre>{html.escape(cell.printed)}</pre>")
        if cell.value is not None:
            parts.append("\n".join(line for line in shown(cell.value).splitlines() if line.strip()))
    return "\n\n".join([*parts, f"The notebook itself is `docs/notebooks/{path.name}`."]) + "\n"
