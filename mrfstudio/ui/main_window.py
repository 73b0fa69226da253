"""The window: rail left, transport and canvas in the middle, controls right, curves below, state at the bottom."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QByteArray, QEvent, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QDesktopServices,
    QDragEnterEvent,
    QDropEvent,
    QKeySequence,
    QPaintEvent,
    QResizeEvent,
    QShortcut,
)
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow, QStackedWidget, QWhatsThis, QWidget

from mrfstudio.engine.answers import Loaded, ModelNote
from mrfstudio.engine.frames import Frame
from mrfstudio.log import log_folder
from mrfstudio.ui.actions import Actions, specs
from mrfstudio.ui.controller import Controller
from mrfstudio.ui.dialogs.simple import TextDialog, about_text, show_dialog
from mrfstudio.ui.docks import Docks
from mrfstudio.ui.files import Files
from mrfstudio.ui.help import CommandPalette, ShortcutSheet
from mrfstudio.ui.lessons.guide import Guide
from mrfstudio.ui.lessons.tutor import Tutor
from mrfstudio.ui.menus import Menus
from mrfstudio.ui.panels.badge import Badge
from mrfstudio.ui.panels.lane_names import LETTERS
from mrfstudio.ui.recovering import Recovering
from mrfstudio.ui.room import Room
from mrfstudio.ui.settings import Settings
from mrfstudio.ui.shell import MessageBar, Pages, Rail, Rates, Scrolled, Sideways, Stacked
from mrfstudio.ui.tabbing import move_focus
from mrfstudio.ui.theme import Theme, Width, px
from mrfstudio.ui.workspaces.base import Workspace
from mrfstudio.ui.workspaces.converge import ConvergeWorkspace, GraphToShow
from mrfstudio.ui.workspaces.inpaint import InpaintWorkspace
from mrfstudio.ui.workspaces.segment import SegmentWorkspace
from mrfstudio.ui.workspaces.train import TrainWorkspace

WORKSPACES: tuple[type[Workspace], ...] = (SegmentWorkspace, InpaintWorkspace, ConvergeWorkspace, TrainWorkspace)
FIRST_SIZE = (1280, 800)
FRAME = (8, 40)  # what the system draws around a window; known only once it is shown
CONTROLS_WIDTH = 318  # design pixels: labels stand beside their boxes
TEXT_STEPS = (0.75, 0.9, 1.0, 1.15, 1.3, 1.5, 1.75, 2.0)
SESSION_ACTIONS = ("save", "save_as")
RATES_EVERY = 500  # milliseconds; faster numbers could not be read


class MainWindow(QMainWindow):
    """Builds the places and fills them with the shown workspace. A workspace is built when it is first shown."""

    first_painted = Signal()

    def __init__(self, controller: Controller, settings: Settings, theme: Theme) -> None:
        super().__init__()
        self.controller, self.settings, self.theme = controller, settings, theme
        self.workspaces: dict[str, Workspace] = {}
        self._curves_made: set[str] = set()
        self._handed: list[ModelNote] = []
        self._begun: set[str] = set()  # workspaces that show something of their own or from a file
        self._last_rates: dict[str, float] = {}  # iterations a second of the newest run in each workspace
        self._painted = self._ready = False
        self.setObjectName("window")
        self.setAcceptDrops(True)
        self.setDockOptions(QMainWindow.DockOption.AllowTabbedDocks | QMainWindow.DockOption.AllowNestedDocks)
        # As in the sketch: the controls go down to the status line, the curves end at them.
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        self.actions_ = Actions(self, self._doer)
        self.files = Files(self, controller, settings)
        self.recovering = Recovering(self, controller)
        self._build_places()
        self.menus = Menus(self, self.actions_, self.files.recent_menu)
        self._build_status()
        QShortcut(QKeySequence("Esc"), self, self.to_canvas)
        controller.frame.connect(self.on_frame)
        controller.loaded.connect(self.on_loaded)
        controller.message.connect(self.message_bar.show_message)
        # Before there is anything in it: what is made for a narrow window is never too wide for it, and Qt would
        # widen the window at once.
        self._restore_geometry()
        self.room.look()
        self.show_workspace(WORKSPACES[0].name)
        self._first_layout = self.saveState()
        if self.settings.layout is not None:
            self.restoreState(self.settings.layout)
        self.menus.mark_theme(self.theme.mode)
        self._follow_font()

    # Building ---------------------------------------------------------------------------------------------------------

    def _build_places(self) -> None:
        self.rail = Rail(self)
        for cls in WORKSPACES:
            self.rail.add(cls.name, cls.title, cls.icon, cls.help)
        self.rail.chosen.connect(self.choose_workspace)
        self.rail.add_deed(self.actions_["lessons"], "Lessons", "lessons")
        self.addToolBar(Qt.ToolBarArea.LeftToolBarArea, self.rail)
        self.centre, self.controls, self.curves = QStackedWidget(), Pages(), QStackedWidget()
        self.tutor = Tutor(self, self.controller, Guide())
        self.setCentralWidget(Stacked(self.tutor.guide, self.centre))
        self.message_bar = MessageBar(self.centre)
        self.docks = Docks(self, self.controls, self.curves)
        self.room = Room(self)
        self.room.changed.connect(self._follow_room)
        self.theme.changing.connect(self.docks.text_changes)
        self.theme.changing.connect(self.room.make)
        self.theme.changed.connect(self._follow_font)

    def _follow_font(self) -> None:
        """What does not grow with the text by itself."""
        self.curves.setMinimumHeight(px(self, 86))
        self.room.look()
        self.docks.text_changed()

    def event(self, event: QEvent) -> bool:
        # The status line is the place of the run's state; what an action does stands in its tool tip.
        return event.type() == QEvent.Type.StatusTip or super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.room.look()

    def _follow_room(self) -> None:
        """Panels and buttons that take less room while the window is narrow for its text."""
        self.docks.set_tabbed(self.room.tabbed)
        self.rail.set_narrow(self.room.narrow)
        self.help_label.setHidden(self.room.narrow)
        for workspace in self.workspaces.values():
            self._fit(workspace)

    def _fit(self, workspace: Workspace) -> None:
        workspace.set_narrow(self.room.narrow)
        for widget in workspace.centre.findChildren(QWidget):  # what is not shown keeps its old size hints otherwise
            widget.updateGeometry()

    def _build_status(self) -> None:
        status = self.statusBar()
        status.setSizeGripEnabled(False)
        self.badge, self.rates, self.help_label = Badge(), Rates(), QLabel("Help: F1")
        self.help_label.setToolTip("F1 shows every key; Shift+F1 explains what you click on.")
        margin = px(self, 8)
        self.badge.setContentsMargins(margin, 0, 0, 0)
        self.rates.setContentsMargins(0, 0, margin, 0)
        self.help_label.setContentsMargins(0, 0, margin, 0)
        status.addWidget(self.badge, 1)
        status.addPermanentWidget(self.rates)
        status.addPermanentWidget(self.help_label)
        self._rates_timer = QTimer(self, interval=RATES_EVERY)
        self._rates_timer.timeout.connect(self._show_rates)
        self._rates_timer.start()

    def _restore_geometry(self) -> None:
        if self.settings.geometry is None or not self.restoreGeometry(self.settings.geometry):
            available = self.screen().availableSize()
            room = (available.width() - FRAME[0], available.height() - FRAME[1])
            self.resize(min(FIRST_SIZE[0], room[0]), min(FIRST_SIZE[1], room[1]))

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            # Queued: what follows takes a moment, and this paint is to reach the screen before it.
            QTimer.singleShot(0, self.first_painted.emit)

    def after_first_paint(self, file: Path | None = None, graph: GraphToShow | None = None) -> None:
        """What may take a moment and must not keep the window from appearing."""
        self._ready = True
        self._make_curves()
        if graph is not None:
            self.files.open_graph(graph)
            return
        if file is None or not self.files.replaces(file):
            self.begin()
        if file is not None:
            self.files.open(file)

    # Workspaces -------------------------------------------------------------------------------------------------------

    kinds = WORKSPACES

    @property
    def workspace(self) -> Workspace:
        """The one that is shown."""
        return self.workspaces[self.controller.workspace]

    def choose_workspace(self, name: str) -> None:
        """Switch, and begin where nothing was opened yet."""
        self.show_workspace(name)
        if self._ready:
            self.begin()

    def begin(self) -> None:
        """Show something in the workspace that is shown, if nothing was there before."""
        if self.controller.workspace not in self._begun:
            self.mark_begun(self.controller.workspace)
            self.workspace.start()

    def mark_begun(self, name: str) -> None:
        """A workspace shows something."""
        self._begun.add(name)

    def show_workspace(self, name: str) -> None:
        """Switch; the one shown before pauses."""
        if name not in self.workspaces:
            self._make(name)
            self.rail.require(self.workspaces[name])
        self.controller.show(name)
        workspace = self.workspace
        self.centre.setCurrentWidget(workspace.centre)
        self.controls.setCurrentIndex(list(self.workspaces).index(name))
        self.docks.controls.setWindowTitle(workspace.controls_title)
        self.rail.mark(name)
        self.docks.show_those_of(name)
        self._make_curves()
        self.message_bar.raise_()
        for _, spec in specs():
            known = self._find(spec.name) is not None
            self.actions_[spec.name].setEnabled(known)
            self.actions_[spec.name].setVisible(known)  # what has no meaning here would only make menus long
        if self.controller.newest is not None:
            self.on_frame(self.controller.newest)
        if not workspace.has_session:
            self.setWindowModified(False)
            self.files.show_workspace_title(workspace.title)
        workspace.on_shown()
        self.tutor.on_workspace(name)
        self._show_status()
        workspace.canvas.setFocus()

    def _make(self, name: str) -> None:
        cls = next(cls for cls in WORKSPACES if cls.name == name)
        workspace = cls(self.controller, self.settings, self)
        self.workspaces[name] = workspace
        self._fit(workspace)  # before the window sees it, which would make room for all of its words
        self.centre.addWidget(workspace.centre)
        Width(workspace.controls, CONTROLS_WIDTH)
        self.controls.addWidget(Scrolled(workspace.controls))
        self.curves.addWidget(QWidget())
        self.actions_.bind_canvas(workspace.canvas)
        workspace.dock_toggled.connect(self.docks.toggle)
        workspace.status_changed.connect(self._show_status)
        workspace.model_ready.connect(self.hand_over)
        if isinstance(workspace, ConvergeWorkspace):
            workspace.graph_wanted.connect(self.files.open)
        for extra in workspace.extra_docks():
            self.docks.add(extra, workspace)
        self.menus.fill_panels(self.docks.all())
        if self.controller.engine is not None:
            workspace.on_loaded(self.controller.engine)
        for note in self._handed:
            if note.kind in workspace.model_kinds:
                workspace.use_model(note)

    def hand_over(self, note: ModelNote) -> None:
        """Give a newly trained model to the workspaces that can use its kind, now or when they are first opened."""
        self._handed.append(note)
        takers = [cls for cls in WORKSPACES if note.kind in cls.model_kinds]
        for cls in takers:
            if cls.name in self.workspaces:
                self.workspaces[cls.name].use_model(note)
        where = " and ".join(cls.title for cls in takers)
        used = f"is now the model of {where}" if where else "is kept under this name"
        self.message_bar.show_message(f"{note.name} {used}; commands know it as --model {note.name}.")

    def _make_curves(self) -> None:
        name = self.controller.workspace
        index = list(self.workspaces).index(name)
        if self._ready and name not in self._curves_made:
            self._curves_made.add(name)
            empty = self.curves.widget(index)
            assert empty is not None
            self.curves.removeWidget(empty)
            empty.deleteLater()
            self.curves.insertWidget(index, Sideways(self.workspace.make_curves()))
        self.curves.setCurrentIndex(index)

    # Engine -----------------------------------------------------------------------------------------------------------

    def on_loaded(self, engine: Loaded) -> None:
        """Torch is there."""
        self.menus.device.setText(engine.device)
        for workspace in self.workspaces.values():
            workspace.on_loaded(engine)

    def on_frame(self, frame: Frame) -> None:
        """Show a frame of the shown workspace."""
        self.workspace.on_frame(frame)
        lane = self.workspace.shown(frame)
        if lane is not None:
            self.badge.set_lane(lane, "" if len(frame.lanes) == 1 else LETTERS[lane.lane])
        self._show_undo(frame.undo, frame.redo)
        self.files.show_title(frame)

    def _show_undo(self, undo: str, redo: str) -> None:
        for name, what in (("undo", undo), ("redo", redo)):
            action = self.actions_[name]
            word = name.capitalize()
            text = f"{word} {what[0].lower()}{what[1:]}" if what else word
            if action.text() != text:
                action.setText(text)
            if action.isEnabled() != bool(what):
                action.setEnabled(bool(what))

    def _show_status(self) -> None:
        """The status line of a workspace that has no frames."""
        said = self.workspace.status()
        if said is not None:
            self.badge.set_words(*said)
            self._show_rates()
        words = self.workspace.undoable()
        if words is not None:
            self._show_undo(*words)

    def _show_rates(self) -> None:
        words = self.workspace.rates()
        if words is not None:
            self.rates.show_words(words)
            return
        newest, name = self.controller.newest, self.controller.workspace
        if newest is not None and newest.iterations_per_second > 0:
            self._last_rates[name] = newest.iterations_per_second
        if newest is not None and newest.playing:
            self.rates.show_rates(newest.iterations_per_second, self.controller.frames_per_second)
        else:
            self.rates.show_last(self._last_rates.get(name, 0.0))

    # Actions ----------------------------------------------------------------------------------------------------------

    def _doer(self, name: str) -> Callable[[], None]:
        found = self._find(name)
        assert found is not None, f"the action {name!r} is enabled and nobody does it"
        return found

    def _find(self, name: str) -> Callable[[], None] | None:
        """Who does an action now; None if it has no meaning in this workspace."""
        if name in SESSION_ACTIONS and not self.workspace.has_session:
            return None
        for owner in (*self.workspace.doers(), self.files, self):
            method = getattr(owner, name, None)
            if callable(method):
                return method
        return None

    def to_canvas(self) -> None:
        """Esc: away with the message, back to the canvas."""
        self.message_bar.hide()
        self.workspace.canvas.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def quit(self) -> None:
        self.close()

    def full_screen(self) -> None:
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    def restore_layout(self) -> None:
        self.restoreState(self._first_layout)
        self.docks.arrange()

    def larger_text(self) -> None:
        self._set_scale(next((step for step in TEXT_STEPS if step > self.theme.scale + 0.01), TEXT_STEPS[-1]))

    def smaller_text(self) -> None:
        self._set_scale(next((step for step in reversed(TEXT_STEPS) if step < self.theme.scale - 0.01), TEXT_STEPS[0]))

    def _set_scale(self, scale: float) -> None:
        self.theme.set_scale(scale)
        self.settings.font_scale = scale

    def set_theme(self, mode: str) -> None:
        """`system`, `light` or `dark`."""
        self.theme.set_mode(mode)  # type: ignore[arg-type]  # the menu offers only the three
        self.settings.theme = self.theme.mode
        self.menus.mark_theme(self.theme.mode)

    def lessons(self) -> None:
        self.tutor.choose()

    def shortcut_sheet(self) -> None:
        show_dialog(ShortcutSheet(self))

    def whats_this(self) -> None:
        for widget in self.findChildren(QWidget):
            if widget.toolTip() and not widget.whatsThis():  # what a tool tip says is what it is
                widget.setWhatsThis(widget.toolTip())
        QWhatsThis.enterWhatsThisMode()

    def command_palette(self) -> None:
        palette = CommandPalette(self.menus.every_action(), self)
        palette.finished.connect(lambda: self._run_chosen(palette.chosen))
        show_dialog(palette)

    def _run_chosen(self, action: QAction | None) -> None:
        if action is not None:
            QTimer.singleShot(0, action.trigger)

    def about(self) -> None:
        show_dialog(TextDialog("About MRF Studio", about_text(self.menus.device.text()), self))

    def open_log(self) -> None:
        folder = log_folder()
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            QApplication.clipboard().setText(str(folder))
            self.message_bar.show_message(f"The log is in {folder}; the path is in the clipboard.")

    def focusNextPrevChild(self, next: bool) -> bool:
        """Tab: canvas and what is around it, panels, controls, curves, then the corner of the menu bar."""
        panels = (*self.docks.shown(), self.docks.controls, self.docks.curves)
        return move_focus((self.centre, *panels, self.menus.corner), next)

    # Dropped files ----------------------------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self.files.can_take(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        if self.files.can_take(event.mimeData()):
            event.acceptProposedAction()
            self.files.take(event.mimeData())

    # Closing ----------------------------------------------------------------------------------------------------------

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.files.may_close():
            event.ignore()
            return
        self.settings.geometry = self.saveGeometry()
        self.settings.layout = QByteArray(self.saveState())
        self.settings.sync()
        self._rates_timer.stop()
        self.controller.stop()
        event.accept()
