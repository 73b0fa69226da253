"""The comparison of lanes in a workspace: its dock, what frames must carry for it, and which lanes are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mrfstudio.engine.protocol.answers import Loaded
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.ui.window.actions import SHOW_COMPARISON, ActionHandlers
from mrfstudio.ui.workspaces.shared.view import ExtraDock

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.shared.comparison import ComparisonPanel


class ComparableView(Protocol):
    """What a workspace needs to hold a comparison."""

    controller: Any
    settings: Any
    dock_toggled: Any

    @property
    def name(self) -> str: ...

    def post(self, command: Any) -> None: ...

    def send_view(self) -> None:
        """Tell the session what is looked at, `wanted_pictures` and `reference` among it."""
        ...


class ComparisonDock(QObject):
    """Makes the panel after the first paint, as the curves are; asks for scores only while it is shown."""

    def __init__(self, workspace: ComparableView, parent: QObject) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.dock_name = f"comparison {workspace.name}"  # each workspace has its own
        self.panel: ComparisonPanel | None = None
        self.reference: int | None = None
        self._shown = False
        self._place = QWidget()
        QVBoxLayout(self._place).setContentsMargins(0, 0, 0, 0)

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            SHOW_COMPARISON: self.show_comparison,
        }

    def dock(self) -> ExtraDock:
        help = "All lanes against exact inference: curves, marginals and errors, in a table that sorts and exports."
        area = Qt.DockWidgetArea.BottomDockWidgetArea
        return ExtraDock(self.dock_name, "Comparison", self._place, area, help)

    def make(self) -> None:
        """Build the panel and give it what is already known."""
        from mrfstudio.ui.workspaces.shared.comparison import ComparisonPanel

        workspace, controller = self._workspace, self._workspace.controller
        self.panel = ComparisonPanel(workspace.settings)
        self.panel.command.connect(workspace.post)
        self.panel.reference_changed.connect(self._refer)
        self.panel.message.connect(controller.message)
        layout = self._place.layout()
        assert layout is not None
        layout.addWidget(self.panel)
        if controller.engine is not None:
            self.panel.on_loaded(controller.engine)
        if controller.newest is not None and controller.newest.workspace == workspace.name:
            self.panel.set_frame(controller.newest)

    def show_comparison(self) -> None:
        """The action: show the panel, or hide it."""
        self._workspace.dock_toggled.emit(self.dock_name)

    def on_loaded(self, engine: Loaded) -> None:
        if self.panel is not None:
            self.panel.on_loaded(engine)

    def on_shown(self, shown: bool) -> None:
        self._shown = shown
        self._workspace.send_view()

    def wanted_pictures(self) -> set[str]:
        return {"comparison"} if self._shown else set()

    def set_frame(self, frame: Frame) -> None:
        if self.panel is not None:
            self.panel.set_frame(frame)

    def _refer(self, lane: int | None) -> None:
        self.reference = lane
        self._workspace.send_view()
