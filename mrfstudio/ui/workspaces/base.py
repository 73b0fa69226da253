"""What a workspace gives to the window: one widget for each place, and what to do with frames and actions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.answers import Loaded, ModelNote
from mrfstudio.engine.frames import Frame, LaneFrame, Status
from mrfstudio.ui.controller import Controller
from mrfstudio.ui.settings import Settings


@dataclass(frozen=True)
class ExtraDock:
    """A panel of one workspace, besides the places that every workspace has."""

    name: str
    title: str
    widget: QWidget
    area: Qt.DockWidgetArea
    help: str
    shown: bool = False
    """Whether it is there from the beginning."""


class Workspace(QObject):
    """Base. Methods named like an action of `actions.py` do that action while the workspace is shown."""

    name: ClassVar[str]
    title: ClassVar[str]
    icon: ClassVar[str]
    help: ClassVar[str]
    has_session: ClassVar[bool] = True
    """Whether what is done here can be saved as a session."""
    controls_title: ClassVar[str] = "Model and layers"
    """The head of the panel at the right."""
    model_kinds: ClassVar[tuple[str, ...]] = ()
    """Kinds of models that can be used here."""

    status_changed = Signal()
    """`status` or `rates` says something else."""
    model_ready = Signal(object)
    """A model (`ModelNote`) that workspaces for its kind are to use."""
    dock_toggled = Signal(str)
    """Show the extra dock of this name, or hide it if it is shown."""

    centre: QWidget
    """Transport above, canvas in the middle."""
    controls: QWidget
    """What can be changed: at the right."""
    canvas: QWidget
    """Where Esc puts the focus."""

    def __init__(self, controller: Controller, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.controller, self.settings = controller, settings

    def make_curves(self) -> QWidget:
        """The panel below, made after the first paint because plots take long to import."""
        raise NotImplementedError

    def doers(self) -> tuple[QObject, ...]:
        """Who does the actions: the first one with a method of the action's name."""
        return (self,)

    def extra_docks(self) -> list[ExtraDock]:
        """Panels of this workspace alone."""
        return []

    def on_dock(self, name: str, shown: bool) -> None:
        """An extra dock was shown or hidden, by whatever means."""

    def on_shown(self) -> None:
        """Another workspace was shown before; now it is this one."""

    def set_narrow(self, narrow: bool) -> None:
        """The window is narrow for the size of its text, or has room enough: see `room.py`."""

    def on_loaded(self, engine: Loaded) -> None:
        """The engine is there."""

    def on_frame(self, frame: Frame) -> None:
        """Show the newest frame."""

    def status(self) -> tuple[Status, str, str] | None:
        """For the status line where no frame fills it: a mark, words, and what they mean."""
        return None

    def undoable(self) -> tuple[str, str] | None:
        """What Undo and Redo would do, where no frame says it: words, empty where there is nothing."""
        return None

    def rates(self) -> str | None:
        """For the right end of the status line; None leaves it to iterations and frames."""
        return None

    def use_model(self, note: ModelNote) -> None:
        """Use a model of one of `model_kinds`, whether or not this workspace is shown."""

    def shown(self, frame: Frame) -> LaneFrame | None:
        """The lane whose state the status line says."""
        return next(iter(frame.lanes), None)

    def start(self) -> None:
        """The first time it is shown and nothing was opened."""

    def on_opened(self) -> None:
        """Its session was replaced by one from a file."""

    def open_image(self, image: QImage) -> bool:
        """Open a picture that came without a file, such as one dragged out of a browser; False if it is of no use."""
        return False

    def open_path(self, path: Path) -> bool:
        """Open a file if it is of a kind that this workspace shows; False if not."""
        return False
