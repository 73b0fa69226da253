"""The window in the Converge workspace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from tests.ui.helpers.converge import Converge
from tests.ui.helpers.studio import Studio


@pytest.fixture
def converge(shared: Studio, qtbot: QtBot) -> Iterator[Converge]:
    shared.begin(qtbot)
    made = Converge(shared)
    yield made
    made.canvas.choose_tool("evidence")
    made.canvas.choose_state(1)
    made.canvas.set_radius(0.5)
    made.workspace.controls.graph.change.setCurrentIndex(0)
    shared.tidy()
