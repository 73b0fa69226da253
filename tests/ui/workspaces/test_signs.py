"""The rail and the menus know every workspace before its view is imported."""

from __future__ import annotations

import subprocess
import sys

from mrfstudio.ui.workspaces import signs, view_class

CODE = """
import os, sys
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from mrfstudio.ui.window.actions import specs
from mrfstudio.ui.window.main_window import MainWindow
from mrfstudio.ui.workspaces import signs
assert len(signs()) > 5 and any(spec.name == "export_cutout" for _, spec in specs())
loaded = [name for name in sys.modules if name.startswith("mrfstudio.ui.workspaces.") and name.endswith(".view")]
assert loaded == ["mrfstudio.ui.workspaces.shared.view"], loaded
"""


def test_signs_are_read_without_importing_a_view() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_sign_leads_to_the_view_that_bears_it() -> None:
    for sign in signs():
        assert view_class(sign.name).sign is sign
    assert [sign.name for sign in signs()] == ["segment", "photograph", "repair", "inpaint", "graph", "train"]
