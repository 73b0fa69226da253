"""The gallery in the Inpaint workspace: pictures of data sets that have the size the model takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt

from mrfstudio.engine.protocol.answers import GreyPicture, PictureGallery, PictureSource
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.inpaint import ListPictureSources, PicturePage
from mrfstudio.ui.style.theme import MinimumWidth
from mrfstudio.ui.window.actions import NEXT_PICTURE, PREVIOUS_PICTURE, SHOW_GALLERY, ActionHandlers
from mrfstudio.ui.workspaces.inpaint.picture_gallery import GalleryPanel
from mrfstudio.ui.workspaces.shared.view import ExtraDock

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.inpaint.view import InpaintView

DOCK = "pictures"


class Gallery(QObject):
    """Asks for data sets when another model is shown, and opens what is chosen."""

    def __init__(self, workspace: InpaintView) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._controller = workspace.controller
        self._model = ""
        self._step_after: int | None = None
        self.panel = GalleryPanel()
        MinimumWidth(self.panel, 236)
        self.panel.wanted.connect(self._ask)
        self.panel.chosen.connect(self._open)

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            SHOW_GALLERY: self.show_gallery,
            NEXT_PICTURE: self.next_picture,
            PREVIOUS_PICTURE: self.previous_picture,
        }

    def dock(self) -> ExtraDock:
        help = "Pictures of data sets; click one or go through them with the arrow keys. The mask stays."
        return ExtraDock(DOCK, "Gallery", self.panel, Qt.DockWidgetArea.RightDockWidgetArea, help, shown=True)

    def show_gallery(self) -> None:
        """The action: show the gallery, or hide it."""
        self._workspace.dock_toggled.emit(DOCK)

    def next_picture(self) -> None:
        self._step(1)

    def previous_picture(self) -> None:
        self._step(-1)

    def on_frame(self, frame: Frame) -> None:
        model = frame.lanes[0].model if frame.lanes else ""
        if model and model != self._model:
            self._model = model
            self._controller.ask(ListPictureSources(model), self._show_sources)

    def _show_sources(self, sources: tuple[PictureSource, ...]) -> None:
        self.panel.set_sources(sources)

    def _step(self, by: int) -> None:
        """Go on to the next page at the end of this one."""
        row = self.panel.view.currentIndex().row() + by
        if row >= self.panel.model.rowCount() and self.panel.on.isEnabled():
            self._step_after = 0
            self.panel.turn(1)
        elif row < 0 and self.panel.gallery is not None and self.panel.gallery.page > 0:
            self._step_after = -1
            self.panel.turn(-1)
        else:
            self.panel.step(by)

    def _ask(self, dataset: str, page: int) -> None:
        self._controller.ask(PicturePage(dataset, self._model, page), self._show_page)

    def _show_page(self, gallery: PictureGallery) -> None:
        self.panel.set_gallery(gallery)
        row, self._step_after = self._step_after, None
        if row is not None and len(gallery.pictures):
            self.panel.view.setCurrentIndex(self.panel.model.index(row % len(gallery.pictures)))
        elif self._controller.newest is not None:
            names = [name_of(gallery, row) for row in range(len(gallery.pictures))]
            self.panel.mark(names.index(shown) if (shown := self._controller.newest.name) in names else None)

    def _open(self, row: int) -> None:
        gallery = self.panel.gallery
        if gallery is not None:
            self._workspace.use_picture(GreyPicture(name_of(gallery, row), gallery.pictures[row]))


def name_of(gallery: PictureGallery, row: int) -> str:
    """What a picture is called once it is shown."""
    return f"{gallery.dataset} {gallery.numbers[row]}"
