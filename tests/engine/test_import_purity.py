"""What importing a module brings along, seen in a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

WINDOW = {"PySide6", "shiboken6", "pyqtgraph"}
HEAVY = {"torch", "scipy", *WINDOW}

IMPORT_ALL = """
import importlib, pkgutil
package = importlib.import_module("PACKAGE")
for module in pkgutil.walk_packages(package.__path__, "PACKAGE."):
    importlib.import_module(module.name)
"""
PRINT_HELP = """
import contextlib, io, sys
from mrfstudio.cli import main
sys.argv = ["mrfstudio", "--help"]
with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
    main()
assert "infer" in shown.getvalue()
"""


def loaded_by(code: str) -> set[str]:
    """The top-level names of all modules that are loaded after `code` has run, and those of the project in full."""
    code += "\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    names = json.loads(result.stdout.splitlines()[-1])
    return {name if name.startswith("mrfstudio") else name.split(".")[0] for name in names}


def test_no_module_of_the_engine_loads_qt():
    loaded = loaded_by(IMPORT_ALL.replace("PACKAGE", "mrfstudio.engine"))
    assert "mrfstudio.engine.inference.messages.belief_propagation" in loaded, "the walk went past the algorithms"
    assert "torch" in loaded
    assert "skimage" not in loaded, "scikit-image is imported when a line is first thinned, not at the start"
    assert not loaded & WINDOW
    assert "mrfstudio.ui" not in loaded


def test_what_crosses_to_the_window_loads_neither_torch_nor_scipy():
    loaded = loaded_by(IMPORT_ALL.replace("PACKAGE", "mrfstudio.engine.protocol"))
    assert "mrfstudio.engine.protocol.commands.evidence" in loaded, "the walk went past the commands"
    assert not loaded & HEAVY


def test_the_names_of_everything_registered_are_known_without_torch():
    code = """
from mrfstudio.engine.registry import ALGORITHMS, DATASETS, LEARNERS, MODELS
names = [name for registry in (ALGORITHMS, DATASETS, LEARNERS, MODELS) for name in registry.names()]
assert {"bp", "gbp", "grid", "dbm", "query", "border"} <= set(names), names
"""
    assert not loaded_by(code) & HEAVY


def test_everything_registered_is_described_without_scipy():
    """It takes as long to load as all families together, and the window's first picture waits for the descriptions."""
    loaded = loaded_by("from mrfstudio.engine.registry import catalogue; catalogue()")
    assert "mrfstudio.engine.families.grid.query" in loaded
    assert "scipy" not in loaded


def test_the_window_is_loaded_before_torch():
    loaded = loaded_by(IMPORT_ALL.replace("PACKAGE", "mrfstudio.ui"))
    assert "PySide6" in loaded
    assert not loaded & {"torch", "scipy"}


@pytest.mark.parametrize("code", ["import mrfstudio.cli", PRINT_HELP], ids=["import", "help"])
def test_the_command_line_loads_neither_torch_nor_qt(code: str):
    assert not loaded_by(code) & HEAVY
