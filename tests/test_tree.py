"""Tests are found where their module is, and stay short enough to read."""

from __future__ import annotations

import ast

from tests.places import ROOT

TESTS, PACKAGE = ROOT / "tests", ROOT / "mrfstudio"
LONGEST = 400
HELPERS = {"helpers", "references"}


def test_folders_of_tests_are_folders_of_the_package() -> None:
    files = sorted(TESTS.rglob("test_*.py"))
    assert len(files) > 100
    folders = {file.parent.relative_to(TESTS) for file in files} - {TESTS.relative_to(TESTS)}
    strange = {folder for folder in folders if not (PACKAGE / folder).is_dir() and not (ROOT / folder).is_dir()}
    assert strange == set()


def test_helpers_hold_no_tests() -> None:
    assert [file for folder in HELPERS for file in TESTS.rglob(f"{folder}/**/test_*.py")] == []


def test_no_file_of_tests_is_too_long() -> None:
    lines = {
        file.relative_to(ROOT).as_posix(): len(file.read_text("utf-8").splitlines()) for file in TESTS.rglob("*.py")
    }
    assert {name: count for name, count in lines.items() if count > LONGEST} == {}


def test_every_test_asserts_something() -> None:
    silent = []
    for file in sorted(TESTS.rglob("*.py")):
        functions = [node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)]
        helpers = {function.name for function in functions if _asserts(function, set())}
        silent += [
            f"{file.relative_to(ROOT)}:{function.lineno} {function.name}"
            for function in functions
            if function.name.startswith("test_") and not _asserts(function, helpers)
        ]
    assert silent == []


def _asserts(function: ast.FunctionDef, helpers: set[str]) -> bool:
    """Whether a function asserts, expects an error, or calls one of the helpers, which do. Waiting is no assertion."""
    if any(isinstance(node, ast.Assert) for node in ast.walk(function)):
        return True
    called = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    names = [each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in called]
    return any(name in helpers or name in ("raises", "warns", "fail") or name.startswith("assert") for name in names)
