"""What a workspace gives to the window: one widget for each place, and what to do with frames and actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.answers import Loaded, ModelNote
from mrfstudio.engine.protocol.commands import Command
from mrfstudio.engine.protocol.frames import Frame, LaneFrame, Status, merge
from mrfstudio.engine.protocol.requests import Request
from mrfstudio.ui.canvas.surface import Surface
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.export.pictures import Drawing
from mrfstudio.ui.export.recorder import Recorder
from mrfstudio.ui.widgets.pages import PageTabs
from mrfstudio.ui.window.actions import ActionHandlers
from mrfstudio.ui.window.settings import Settings
from mrfstudio.ui.words.lighting import Pointed, SymbolLight
from mrfstudio.ui.workspaces.shared.sign import WorkspaceSign

EVERY = 45
"""Milliseconds between two readers, one after the other: all at once would keep a stroke waiting."""

Reader = Callable[[Frame], None]


class FrameThrottle(QObject):
    """Hands frames to slow widgets, in turn while iterations run and to all when they end. No scalar is lost.

    They show what people read rather than watch: no eye follows numbers and curves sixty times a second.
    """

    def __init__(self, readers: Sequence[Reader], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._readers = list(readers)
        self._unread: list[Frame | None] = [None] * len(self._readers)
        self._turn = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(EVERY)
        self._timer.timeout.connect(self._next)

    def take(self, frame: Frame) -> None:
        """Keep a frame until it is its reader's turn."""
        self._unread = [frame if older is None else merge(older, frame) for older in self._unread]
        if not frame.playing:
            self._timer.stop()
            for index in range(len(self._readers)):
                self._read(index)
        elif not self._timer.isActive():
            self._timer.start()

    def _next(self) -> None:
        self._read(self._turn)
        self._turn = (self._turn + 1) % len(self._readers)
        if any(frame is not None for frame in self._unread):
            self._timer.start()

    def _read(self, index: int) -> None:
        frame, self._unread[index] = self._unread[index], None
        if frame is not None:
            self._readers[index](frame)


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


class WorkspaceView(QObject):
    """Base of all workspaces in the window."""

    sign: ClassVar[WorkspaceSign]
    """What its folder says of it."""
    has_session: ClassVar[bool] = True
    """Whether what is done here can be saved as a session."""
    controls_title: ClassVar[str] = "Model and layers"
    """The head of the panel at the right."""

    status_changed = Signal()
    """`status` or `rates` says something else."""
    file_wanted = Signal(object)
    """A file (`Path`) was chosen here that may open elsewhere."""
    elsewhere = Signal(str, object)
    """A file (`Path`) that is to be opened in the workspace of this name."""
    model_ready = Signal(object)
    """A model (`ModelNote`) that workspaces for its kind are to use."""
    dock_toggled = Signal(str)
    """Show the extra dock of this name, or hide it if it is shown."""

    gave = Signal(object)
    """A `TrainingCommand` was given here by hand, or for a lesson."""
    run_moved = Signal(object)
    """A training run that is looked at (`RunNote`) has moved on."""

    centre: QWidget
    """Transport above, canvas in the middle."""
    controls: QWidget
    """What can be changed: at the right."""
    canvas: QWidget
    """Where Esc puts the focus."""

    def __init__(self, controller: Controller, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.controller, self.settings = controller, settings
        self._light = SymbolLight(self)

    @property
    def name(self) -> str:
        return self.sign.name

    @property
    def title(self) -> str:
        return self.sign.title

    @property
    def pages(self) -> PageTabs | None:
        """Where pages open beside the canvas; None in a workspace that has no place for them."""
        return getattr(self.centre, "pages", None)

    @property
    def recorder(self) -> Recorder | None:
        """What films the canvas, where there is one."""
        return None

    @property
    def can_be_staged(self) -> bool:
        """Whether there is a canvas to show to a hall."""
        return False

    def stage_canvas(self) -> QWidget | None:
        """The canvas for a hall, new and fed by `set_frame`; the workspace asks for what it needs."""
        return None

    def leave_stage(self) -> None:
        """The hall is empty again."""

    def canvas_drawing(self) -> Drawing | None:
        """What the canvas shows, for a figure; None where there is nothing to draw."""
        return None

    def make_curves(self) -> QWidget:
        """The panel below, made after the first paint because plots take long to import."""
        raise NotImplementedError

    def action_handlers(self) -> ActionHandlers:
        """The actions that have a meaning here, and who does each."""
        return {}

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
        """Use a model of a kind that this workspace takes, whether or not this workspace is shown."""

    def shown(self, frame: Frame) -> LaneFrame | None:
        """The lane whose state the status line says."""
        return next(iter(frame.lanes), None)

    def start(self) -> None:
        """The first time it is shown and nothing was opened."""

    def open(self, request: Request[str], then: Callable[[], None], refused: Callable[[str], None]) -> None:
        """Replace what is shown by what a request of its sign's `opened_by` brings."""

        def opened(_: object) -> None:
            then()
            self.on_opened()

        self.controller.ask(request, opened, refused)

    def light_symbol(self, pointed: Pointed, canvas: QWidget | None = None, around: QWidget | None = None) -> None:
        """Light what a symbol stands for: on the canvas, else beside it. On a stage, canvas and window are others."""
        canvas = canvas or self.canvas
        if isinstance(canvas, Surface):
            pointed.seen = canvas.light_symbol(pointed.symbol) and canvas.isVisible()
        beside = pointed if not pointed.seen else Pointed("")
        pointed.seen |= self._light.show(around or canvas.window(), beside)

    def post(self, command: Command) -> None:
        """Give a command; a workspace may have to add something, such as a picture that fits a model."""
        self.controller.post(command)

    def on_opened(self) -> None:
        """Its session was replaced by one from a file."""

    def open_image(self, image: QImage) -> bool:
        """Open a picture that came without a file, such as one dragged out of a browser; False if it is of no use."""
        return False

    def open_path(self, path: Path) -> bool:
        """Open a file if it is of a kind that this workspace shows; False if not."""
        return False


VIEWS: dict[str, type[WorkspaceView]] = {}
ViewClass = TypeVar("ViewClass", bound=type[WorkspaceView])


def workspace_view(cls: ViewClass) -> ViewClass:
    """Class decorator: this is a workspace of the window."""
    VIEWS[cls.sign.name] = cls
    return cls
