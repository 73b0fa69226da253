"""Shared code names no family: what it needs of one, the family's folder declares."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from mrfstudio.engine.registry import MODELS
from tests.places import ROOT

PACKAGE = ROOT / "mrfstudio"
FAMILIES = PACKAGE / "engine" / "families"
INSIDE = "mrfstudio.engine.families."
FOLDERS = sorted(path.name for path in FAMILIES.iterdir() if (path / "__init__.py").exists())
SHARED = sorted(
    path
    for room in ("engine", "ui", "cli")
    for path in (PACKAGE / room).rglob("*.py")
    if FAMILIES not in path.parents or path.parent == FAMILIES
)
# Not models but graphs: a graph made from words, the data set drawn from one, and a graph itself.
OTHER_MEANINGS = {
    "grid": {"graphs/sources.py", "graphs/ising.py", "data/ising.py", "export/tour.py", "graph_canvas/picture.py"},
    "ising": {"data/__init__.py", "data/ising.py", "data/fetch.py"},
    "factor-graph": {"graphs/factor_graph.py"},
}


# A workspace is no shared code: the folder of one that shows what only one family computes may use that family.
BUILT_ON = {"photograph": "photographs"}


def allowed(path: Path, family: str) -> bool:
    return path.parent.parent.name == "workspaces" and BUILT_ON.get(path.parent.name) == family


def short(path: Path) -> str:
    return "/".join(path.parts[-2:])


def found_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for module in modules:
            family = module.removeprefix(INSIDE).split(".")[0] if module.startswith(INSIDE) else ""
            if family in FOLDERS and not allowed(path, family):
                yield f"{path}:{node.lineno} imports {module}"
        kind = node.value if isinstance(node, ast.Constant) and node.value in MODELS.names() else None
        if kind is not None and short(path) not in OTHER_MEANINGS.get(str(kind), ()):
            yield f"{path}:{node.lineno} names the kind {kind!r}"


def test_shared_code_names_no_family() -> None:
    assert [problem for path in SHARED for problem in found_in(path)] == []


def test_there_are_families_to_look_for() -> None:
    assert {"grid", "rbm", "grbm", "crbm", "graph", "ising"} <= set(FOLDERS)
    assert len(SHARED) > 150
