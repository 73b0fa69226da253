"""The notebooks run from top to bottom, and every cell shows something that can be shown."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_three() -> None:
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path) -> None:
    told = json.loads(path.read_text(encoding="utf-8"))
    assert told["nbformat"] == 4
    names: dict[str, Any] = {}
    shown = 0
    for cell in told["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []  # what a reader sees is computed on the reader's machine
        body = ast.parse("".join(cell["source"]))
        last = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
        exec(compile(body, path.name, "exec"), names)
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)  # noqa: S307  # our own text
            html = getattr(value, "_repr_html_", None)
            shown += html is not None and bool(html().startswith("<"))
    assert shown >= 1
