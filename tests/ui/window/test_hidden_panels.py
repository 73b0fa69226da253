"""Panels of one workspace while another is shown."""

from __future__ import annotations

import pytest

from mrfstudio.engine.protocol.requests.studio import Ping
from tests.ui.helpers.studio import Studio


@pytest.mark.parametrize("workspace", ["graph", "segment"])
def test_a_comparison_that_is_open_says_nothing_to_a_workspace_without_a_session(
    studio: Studio, workspace: str
) -> None:
    studio.start()
    studio.window.choose_workspace(workspace)
    studio.settle()
    studio.do("show_comparison")
    studio.settle()
    studio.window.choose_workspace("train")
    answered: list[None] = []
    studio.controller.ask(Ping(), answered.append)  # after whatever was posted on the way
    studio.qtbot.waitUntil(lambda: bool(answered), timeout=30_000)
    assert studio.messages == []
