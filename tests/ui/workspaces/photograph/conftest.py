"""The window in the Photograph workspace, on a small photograph."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from mrfstudio.engine.files.photographs import as_content
from mrfstudio.engine.protocol.commands import SetPhotograph
from mrfstudio.engine.workspaces.photograph.workspace import LABELS
from mrfstudio.ui.workspaces.photograph.view import LABELLED
from tests.engine.helpers.photographs import disc, disc_strokes
from tests.ui.helpers.studio import Studio


@pytest.fixture
def studio(shared: Studio, qtbot: QtBot) -> Iterator[Studio]:
    shared.begin(qtbot)
    shared.window.show_workspace("photograph")
    workspace = shared.photograph
    workspace.send_view(again=True)
    workspace.post(SetPhotograph(as_content(disc()), "disc", disc_strokes(), LABELS))
    shared.until(lambda: shared.frame.workspace == "photograph" and shared.frame.name == "disc")
    shared.settle()
    workspace.canvas.setFocus()
    yield shared
    workspace.panel.layers.set_visible(dict.fromkeys(LABELLED, 1.0))
    workspace.panel.cut.soft.setChecked(False)
    workspace.canvas.choose_tool("brush")
    workspace.canvas.fit()
    shared.settle()
    shared.tidy()
