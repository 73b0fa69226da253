"""One name, one thing: no class is defined twice in the package."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.places import ROOT


def test_no_class_name_means_two_things() -> None:
    homes = defaultdict(list)
    for file in sorted((ROOT / "mrfstudio").rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(file.relative_to(ROOT).as_posix())
    assert len(homes) > 300  # or nothing was looked at
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
