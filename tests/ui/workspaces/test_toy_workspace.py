"""A workspace that another package brings by an entry point, in the real window; a broken one beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ROOT / "tests" / "toy_workspace"

USE = """
from mrfstudio.ui.export.headless import headless_window, wait_until

with headless_window() as window:
    said = []
    window.controller.message.connect(said.append)
    wait_until(lambda: window.controller.engine is not None, said)
    print("views", [sign.name for sign in window.signs])
    window.choose_workspace("greetings")
    window.actions_["greet"].trigger()
    wait_until(lambda: "Hello" in window.workspace.label.text(), said)
    print("answer", window.workspace.label.text())
    print("menu", [action.text() for place, action in window.menus.every_action() if place == "Run"][-1])
    window.choose_workspace("segment")
    print("hidden", not window.actions_["greet"].isVisible())
"""


def test_a_workspace_of_another_package_is_one_folder_and_a_broken_one_is_named_and_left_out() -> None:
    path = os.pathsep.join([str(ROOT), str(PACKAGES)])
    environment = {**os.environ, "PYTHONPATH": path, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "views ['segment', 'photograph', 'repair', 'inpaint', 'graph', 'train', 'greetings']" in done.stdout
    assert "answer Hello, stranger." in done.stdout
    assert "menu Greet" in done.stdout
    assert "hidden True" in done.stdout
    assert "'absent'" in done.stderr
