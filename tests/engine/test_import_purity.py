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
    assert "mrfstudio.engine.inference.belief_propagation" in loaded, "the walk went past the algorithms"
    assert "torch" in loaded
    assert not loaded & WINDOW
    assert "mrfstudio.ui" not in loaded


@pytest.mark.parametrize("name", ["catalogue", "commands", "frames", "training_frames"])
def test_what_crosses_to_the_window_loads_neither_torch_nor_scipy(name: str):
    assert not loaded_by(f"import mrfstudio.engine.{name}") & HEAVY


def test_the_window_is_loaded_before_torch():
    loaded = loaded_by(IMPORT_ALL.replace("PACKAGE", "mrfstudio.ui"))
    assert "PySide6" in loaded
    assert not loaded & {"torch", "scipy"}


@pytest.mark.parametrize("code", ["import mrfstudio.cli", PRINT_HELP], ids=["import", "help"])
def test_the_command_line_loads_neither_torch_nor_qt(code: str):
    assert not loaded_by(code) & HEAVY
