"""One canvas with a picture, and what it sends."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.commands import Command
from mrfstudio.ui.canvas import Canvas
from mrfstudio.ui.style.colours import LIGHT
from mrfstudio.ui.style.theme import palette_of
from tests.ui.helpers.pictures import beliefs, frame, lane, ring


@pytest.fixture
def canvas(qtbot: QtBot) -> Canvas:
    canvas = Canvas()
    qtbot.addWidget(canvas)
    canvas.setPalette(palette_of(LIGHT))
    canvas.resize(400, 400)
    canvas.show()
    canvas.set_frame(frame(lane(pictures={"belief": beliefs(ring())})))
    canvas.activateWindow()
    canvas.setFocus()
    qtbot.waitUntil(canvas.hasFocus)
    # The pointer rests where an earlier test left it, perhaps over this canvas.
    QApplication.sendEvent(canvas, QEvent(QEvent.Type.Leave))
    return canvas


@pytest.fixture
def sent(canvas: Canvas) -> list[Command]:
    """Every command the canvas emits."""
    commands: list[Command] = []
    canvas.command.connect(commands.append)
    return commands
