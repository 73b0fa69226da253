"""The window's side: a button in the rail, an entry in a menu, a label that shows the answer."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QLabel, QWidget

from greetings.requests import Greet
from greetings.sign import GREET, SIGN
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.window.actions import ActionHandlers
from mrfstudio.ui.window.settings import Settings
from mrfstudio.ui.workspaces.shared.view import WorkspaceView, workspace_view


@workspace_view
class GreetingsView(WorkspaceView):
    sign = SIGN
    has_session = False

    def __init__(self, controller: Controller, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(controller, settings, parent)
        self.centre = self.canvas = self.label = QLabel("Nobody was greeted yet.")
        self.controls = QWidget()

    def make_curves(self) -> QWidget:
        return QWidget()

    def action_handlers(self) -> ActionHandlers:
        return {GREET: self.greet}

    def greet(self) -> None:
        self.controller.ask(Greet("stranger"), self.label.setText)
