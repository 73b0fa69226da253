"""The library behind the plots takes half a second: it is loaded behind the window's first picture."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pytestqt.qtbot import QtBot

from mrfstudio.ui.plots import loading

CODE = """
import os, sys
os.environ["QT_QPA_PLATFORM"] = "offscreen"
import mrfstudio.ui
from PySide6.QtWidgets import QApplication
import mrfstudio.ui.window.main_window, mrfstudio.ui.workspaces.converge.view, mrfstudio.ui.workspaces.train.view
from mrfstudio.ui.plots import loading
from mrfstudio.ui.plots.curves import CurvePlots
app = QApplication([])
loading.defer()
curves = CurvePlots()
curves.plots["residual"].show()
app.processEvents()
assert "pyqtgraph" not in sys.modules, "loaded too early"
loading.load()
loading.ready()
while loading._waiting:
    app.processEvents()
assert curves.plots["residual"]._body is not None
"""


def test_a_plot_that_is_shown_waits_until_the_library_is_there() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_waits_is_built_once_and_one_in_each_round_of_the_event_loop(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "_deferred", True)
    built: list[int] = []
    for number in (1, 2, 3):
        loading.when_loaded(lambda number=number: built.append(number))
    assert built == []
    loading.ready()
    assert built == [1]
    qtbot.waitUntil(lambda: len(built) == 3, timeout=60_000)
    loading.ready()
    assert built == [1, 2, 3]
    loading.when_loaded(lambda: built.append(4))
    assert built == [1, 2, 3, 4]
