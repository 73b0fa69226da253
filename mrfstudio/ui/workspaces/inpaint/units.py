"""Hidden units in the Inpaint workspace: what each adds to the picture, and a way to hold it on or off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt

from mrfstudio.engine.protocol.answers import UnitGallery
from mrfstudio.engine.protocol.commands import ClampUnit
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.inpaint import ShowUnits
from mrfstudio.ui.style.theme import MinimumWidth
from mrfstudio.ui.window.actions import RELEASE_UNITS, SHOW_UNITS, ActionHandlers
from mrfstudio.ui.workspaces.inpaint.unit_gallery import FREE, UnitPanel
from mrfstudio.ui.workspaces.shared.view import ExtraDock

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.inpaint.view import InpaintView


class Units(QObject):
    """Asks for a model's receptive fields when the panel is shown, and turns clicks into evidence."""

    dock_name = "units"

    def __init__(self, workspace: InpaintView) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._controller = workspace.controller
        self._shown = False
        self._model = self._asked = ""
        self.panel = UnitPanel()
        MinimumWidth(self.panel, 236)
        self.panel.hovered.connect(self._point_at)
        self.panel.clamped.connect(self._clamp)

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            SHOW_UNITS: self.show_units,
            RELEASE_UNITS: self.release_units,
        }

    def dock(self) -> ExtraDock:
        help = "What each hidden unit has learned to add to the picture. Click one to hold it on or off."
        return ExtraDock(self.dock_name, "Hidden units", self.panel, Qt.DockWidgetArea.RightDockWidgetArea, help)

    def show_units(self) -> None:
        """The action: show the hidden units, or hide them."""
        self._workspace.dock_toggled.emit(self.dock_name)

    def release_units(self) -> None:
        """The action: let every unit of the model go."""
        held = self.panel.model.held
        for unit in (held != FREE).nonzero()[0].tolist():
            self._clamp(unit, None)

    def on_shown(self, shown: bool) -> None:
        self._shown = shown
        if shown:
            self._ask()
        else:
            self._point_at(None)
        self._workspace.send_view()

    def wanted_pictures(self) -> set[str]:
        return {"units"} if self._shown else set()

    def on_frame(self, frame: Frame) -> None:
        if not frame.lanes:
            return
        lane = frame.lanes[0]
        if lane.model != self._model:
            self._model, self._asked = lane.model, ""
            self.panel.set_gallery(None)
            if self._shown:
                self._ask()
        active, held = lane.pictures.get("units"), lane.pictures.get("held")
        if active is not None and held is not None:
            self.panel.set_activity(active, held, not frame.playing)

    def _ask(self) -> None:
        if self._model and self._model != self._asked:
            self._asked = self._model
            self._controller.ask(ShowUnits(self._model), self._show)

    def _show(self, gallery: UnitGallery) -> None:
        if gallery.model == self._model:  # else another model was chosen in the meantime
            self.panel.set_gallery(gallery)
            self._workspace.send_view(again=True)

    def _point_at(self, unit: int | None) -> None:
        gallery = self.panel.gallery
        effect = None if unit is None or gallery is None else gallery.fields[unit]
        self._workspace.canvases.first.show_effect(effect)

    def _clamp(self, unit: int, value: int | None) -> None:
        self._workspace.post(ClampUnit(self._model, unit, value))
