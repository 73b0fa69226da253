"""The window in the Inpaint workspace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.commands import SetSpeed
from tests.ui.helpers.studio import Studio


@pytest.fixture
def studio(shared: Studio, qtbot: QtBot) -> Iterator[Studio]:
    shared.begin(qtbot)
    shared.window.show_workspace("inpaint")
    workspace = shared.inpaint
    workspace.start()
    shared.until(lambda: shared.frame.workspace == "inpaint" and shared.frame.lanes[0].model == "grey")
    shared.controller.post(SetSpeed(None))
    shared.settle()
    if workspace.gallery.panel.gallery is not None and workspace.gallery.panel.gallery.page:
        workspace.gallery.panel.turn(-workspace.gallery.panel.gallery.page)
        shared.settle()
    workspace.canvas.setFocus()
    yield shared
    workspace.panel.layers.set_visible({"picture": 1.0, "mask": 1.0, "mean": 1.0})
    workspace.set_wipe(0.0)
    workspace.canvas.set_outside(False)
    workspace.canvas.choose_tool("brush")
    workspace.canvas.choose_target(0)
    workspace.canvas.set_strength(1.0)
    if workspace.units.panel.isVisible():
        workspace.units.show_units()
    shared.settle()
    shared.tidy()
