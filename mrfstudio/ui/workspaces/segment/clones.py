"""The clone browser in the Segment workspace: gallery, inspector and canvas point at the same clone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt

from mrfstudio.engine.protocol.answers import CloneGallery
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.segment import MeasureClones
from mrfstudio.ui.style.theme import MinimumWidth
from mrfstudio.ui.window.actions import SHOW_CLONES, ActionHandlers
from mrfstudio.ui.workspaces.segment.clone_browser import CloneBrowser
from mrfstudio.ui.workspaces.shared.view import ExtraDock

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.segment.view import SegmentView

DOCK = "clones"


class Clones(QObject):
    """Asks for a model's gallery when the browser is shown, and keeps three views of a clone in step."""

    def __init__(self, workspace: SegmentView) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._controller = workspace.controller
        self.browser = CloneBrowser()
        MinimumWidth(self.browser, 250)
        self._shown = False
        self._model = ""
        self._asked = ""
        self._kept: int | None = None
        inspector = workspace.panel.inspector
        self.browser.hovered.connect(self.point_at)
        self.browser.chosen.connect(self.keep)
        inspector.clone_hovered.connect(self.point_at)
        inspector.clone_chosen.connect(self.keep)
        workspace.canvases.pixel_clicked.connect(lambda row, column: self._ask())

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            SHOW_CLONES: self.show_clones,
        }

    def dock(self) -> ExtraDock:
        """The panel of the browser."""
        help = "What each clone of CONTOUR has learned: the average surroundings of the pixels that chose it."
        return ExtraDock(DOCK, "Clones", self.browser, Qt.DockWidgetArea.RightDockWidgetArea, help)

    def show_clones(self) -> None:
        """The action: show the browser, or hide it."""
        self._workspace.dock_toggled.emit(DOCK)

    def on_shown(self, shown: bool) -> None:
        self._shown = shown
        if shown:
            self._ask()
        else:
            self.keep(None)
        self._workspace.send_view()

    def wanted_pictures(self) -> set[str]:
        """Which clone each pixel chose: needed to light them up."""
        return {"clone"} if self._shown else set()

    def on_frame(self, frame: Frame) -> None:
        model = frame.lanes[0].model if frame.lanes else ""
        if model != self._model:
            self._model = model
            self._show(None)
            if self._shown:
                self._ask()

    def point_at(self, clone: int | None) -> None:
        """A clone is under the pointer; None goes back to the one that was clicked on."""
        clone = self._kept if clone is None else clone
        self._light(clone)
        self._workspace.panel.inspector.point_at(clone)

    def keep(self, clone: int | None) -> None:
        """A clone was clicked on: it stays lit until it is clicked again."""
        self._kept = None if clone == self._kept else clone
        self.point_at(None)
        self.browser.point_at(self._kept)

    def _light(self, clone: int | None) -> None:
        for canvas in self._workspace.canvases.both()[:1]:
            canvas.light_clone(clone)

    def _ask(self) -> None:
        """Ask for the gallery of the shown model, once."""
        if not self._model or self._model == self._asked:
            return
        self._asked = self._model
        self._controller.ask(MeasureClones(self._model), self._show, progress=self._progress)

    def _progress(self, progress: tuple[int, int]) -> None:
        self.browser.set_progress(*progress)

    def _show(self, gallery: CloneGallery | None) -> None:
        if gallery is None:
            self._asked = ""
        elif gallery.model != self._model:  # another model was chosen in the meantime
            return
        self.browser.set_gallery(gallery)
        self._workspace.panel.inspector.set_gallery(gallery)
