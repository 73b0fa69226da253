"""The notebooks run from top to bottom, and every cell shows something that can be shown."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.places import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_three() -> None:
    assert len(NOTEBOOKS) == 3


@pytest.fixture(scope="module")
def site() -> Any:
    """What makes pages of notebooks for the site: an import would leave a cache among the documentation."""
    return SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "site" / "notebooks.py")))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path, site: Any) -> None:
    told = json.loads(path.read_text(encoding="utf-8"))
    assert told["nbformat"] == 4
    # What a reader sees is computed on the reader's machine.
    assert [cell["outputs"] for cell in told["cells"] if cell["cell_type"] == "code" and cell["outputs"]] == []
    shown = [site.shown(cell.value) for cell in site.cells(path) if cell.value is not None]
    assert any(text.startswith("<div><") for text in shown)


def test_a_page_has_words_code_and_what_it_showed(tmp_path: Path, site: Any) -> None:
    cells = [("markdown", "# Sums"), ("code", "total = 2 + 3\nprint('so <far>')\ntotal * 2"), ("code", "total += 1")]
    told = {"nbformat": 4, "cells": [{"cell_type": kind, "source": [text]} for kind, text in cells]}
    (tmp_path / "sums.ipynb").write_text(json.dumps(told), encoding="utf-8")
    page = site.page(tmp_path / "sums.ipynb")
    assert page.startswith("# Sums\n\n```python\ntotal = 2 + 3\n")
    assert "<pre>so &lt;far&gt;\n</pre>\n\n<pre>10</pre>\n\n```python\ntotal += 1\n```" in page
