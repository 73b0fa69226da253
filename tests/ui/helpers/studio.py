"""The real window on the real engine, with a small random model, for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.protocol.commands import SetSpeed
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.studio import Ping
from mrfstudio.engine.session.recovery import RecoveryKeeper
from mrfstudio.engine.workspaces.studio import Studio as Engine
from mrfstudio.ui.canvas import Canvas
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.engine.engine_thread import EngineThread
from mrfstudio.ui.style.theme import Theme
from mrfstudio.ui.window.main_window import MainWindow
from mrfstudio.ui.window.settings import Settings
from mrfstudio.ui.workspaces.inpaint.view import InpaintView
from mrfstudio.ui.workspaces.photograph.view import PhotographView
from mrfstudio.ui.workspaces.segment.view import SegmentView
from mrfstudio.ui.workspaces.shared.canvas_view import CanvasView
from tests.engine.helpers.pictures import small_grbm, small_rbm
from tests.engine.helpers.windows import striped_mixture

torch.set_num_threads(1)


def small_model(seed: int = 0) -> GridMRF:
    """Four clones with random potentials: wrong, fast, different for every seed, and slow to converge."""
    model = GridMRF((4, 1, 1), emission=[0.8, 0.03, 0.001])
    model.randomise(seed, [0.15, 0.6, 0.25], 0.5)
    return model


def picture_models() -> dict[str, Any]:
    """Two models of grey pictures as large as glyphs, one of small black and white ones, one that repairs stripes."""
    grey = {"grey": small_grbm(0, (28, 28), 12), "grey b": small_grbm(1, (28, 28), 12)}
    return {**grey, "digits": small_rbm(), "stripes": striped_mixture()}


class Studio:
    """A window with what a test needs to drive it."""

    def __init__(self, qtbot: QtBot | None, theme: Theme, folder: Path, recovery: Path | None = None) -> None:
        """Settings lie in `folder`; unsaved work is kept in `recovery`, if that is given."""
        self._qtbot = qtbot
        self.settings = Settings(folder / "settings.ini")
        self.settings.card_seen = True
        models = {"small": small_model(0), "other": small_model(1), **picture_models()}
        keeper = None if recovery is None else RecoveryKeeper(recovery)
        self.thread = EngineThread(lambda: Engine(models, keeper=keeper))
        self.controller = Controller(self.thread)
        self.messages: list[str] = []
        self.controller.message.connect(self.messages.append)
        self.window = MainWindow(self.controller, self.settings, theme)
        self.window.resize(1100, 760)

    @property
    def qtbot(self) -> QtBot:
        assert self._qtbot is not None
        return self._qtbot

    @property
    def segment(self) -> SegmentView:
        workspace = self.window.workspaces["segment"]
        assert isinstance(workspace, SegmentView)
        return workspace

    @property
    def inpaint(self) -> InpaintView:
        workspace = self.window.workspaces["inpaint"]
        assert isinstance(workspace, InpaintView)
        return workspace

    @property
    def photograph(self) -> PhotographView:
        workspace = self.window.workspaces["photograph"]
        assert isinstance(workspace, PhotographView)
        return workspace

    @property
    def canvas(self) -> Canvas:
        """The one that is painted on now."""
        workspace = self.window.workspace
        assert isinstance(workspace, CanvasView)
        return workspace.canvas

    @property
    def frame(self) -> Frame:
        assert self.controller.newest is not None
        return self.controller.newest

    def start(self) -> None:
        """Show the window and wait for the first example to be segmented."""
        self.window.show()
        self._activate()
        self.window.after_first_paint()
        if not self.thread.alive:  # a shared window's thread runs before the first test
            self.thread.start()
        self.controller.post(SetSpeed(None))
        self.until(lambda: self.frame.name != "" and self.frame.iteration == 15 and not self.frame.playing)

    def _activate(self) -> None:
        """Shortcuts act only in the active window."""
        self.window.activateWindow()
        self.qtbot.waitUntil(self.window.isActiveWindow)

    def begin(self, qtbot: QtBot) -> None:
        """A new test: everything as at the first start."""
        self._qtbot = qtbot
        self.messages.clear()
        if not self.window.isVisible():
            self.start()
            return
        self._activate()  # another window may have come and gone
        self.window.files._paths.clear()  # what an earlier test saved
        self.window.show_workspace("segment")
        self.segment.start()
        self.controller.post(SetSpeed(None))
        self.settle()
        self.until(lambda: self.frame.iteration == 15)

    def tidy(self) -> None:
        """The end of a test that shares the window."""
        self.window.show_workspace("segment")
        self.segment.start()
        self.settle()
        canvas = self.segment.canvas
        canvas.choose_tool("brush")
        canvas.choose_target(0)
        canvas.set_strength(1.0)
        self.segment.panel.layers.set_visible({"observed": 1.0, "belief": 1.0, "hints": 1.0})
        self.window.message_bar.hide()

    def end(self) -> None:
        self.window.files.discard()
        self.window.close()
        assert self.thread.stop(5.0)
        self.window.deleteLater()

    def until(self, fact: Callable[[], bool]) -> None:
        """Wait until something is so."""

        def so() -> bool:
            return self.controller.newest is not None and fact()

        self.qtbot.waitUntil(so, timeout=30_000)

    def settle(self) -> None:
        """Wait until everything posted is shown and nothing runs."""
        answered: list[object] = []
        self.controller.ask(Ping(), answered.append)
        self.qtbot.waitUntil(lambda: bool(answered), timeout=30_000)
        self.until(lambda: self.controller.answered and not self.frame.playing)

    def at(self, row: int, column: int) -> QPoint:
        """The middle of a pixel, in the canvas."""
        return self.canvas.transform.to_widget(column + 0.5, row + 0.5).toPoint()

    def stroke(self, *pixels: tuple[int, int], button: Qt.MouseButton = Qt.MouseButton.LeftButton) -> None:
        """Press at the first pixel, move through the others, release."""
        canvas = self.canvas
        self.qtbot.mousePress(canvas, button, pos=self.at(*pixels[0]))
        for pixel in pixels[1:]:
            self.qtbot.mouseMove(canvas, self.at(*pixel))
        self.qtbot.mouseRelease(canvas, button, pos=self.at(*pixels[-1]))

    def key(self, key: Qt.Key, *, ctrl: bool = False, shift: bool = False) -> None:
        """Press a key on the canvas."""
        modifiers = Qt.KeyboardModifier.NoModifier
        if ctrl:
            modifiers |= Qt.KeyboardModifier.ControlModifier
        if shift:
            modifiers |= Qt.KeyboardModifier.ShiftModifier
        self.qtbot.keyClick(self.canvas, key, modifiers)

    def do(self, action: str) -> None:
        """Trigger an action, as its menu entry would."""
        self.window.actions_[action].trigger()


@contextmanager
def studio_in(qtbot: QtBot, theme: Theme, folder: Path, recovery: Path | None = None) -> Iterator[Studio]:
    """A studio that is closed without questions at the end."""
    studio = Studio(qtbot, theme, folder, recovery)
    try:
        yield studio
    finally:
        studio.end()


@contextmanager
def shared_studio(app: QApplication, folder: Path) -> Iterator[Studio]:
    """A studio for many tests; each calls `begin` and `tidy`."""
    theme = Theme(app, "light")
    studio = Studio(None, theme, folder)
    studio.thread.start()
    try:
        yield studio
    finally:
        studio.end()
        app.styleHints().colorSchemeChanged.disconnect(theme._apply)
        app.setStyleSheet("")
        theme.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
