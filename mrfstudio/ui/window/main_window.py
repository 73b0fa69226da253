"""The window: rail left, transport and canvas in the middle, controls right, curves below, state at the bottom."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QKeySequence,
    QPaintEvent,
    QResizeEvent,
    QShortcut,
)
from PySide6.QtWidgets import QMainWindow, QWidget

from mrfstudio.engine.protocol.answers import Loaded, ModelNote
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests import Request
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.lessons.author import Author
from mrfstudio.ui.lessons.guide import Guide
from mrfstudio.ui.lessons.tutor import Tutor
from mrfstudio.ui.style.theme import MinimumWidth, Theme, px
from mrfstudio.ui.widgets.lane_names import LETTERS
from mrfstudio.ui.widgets.pages import PageHost
from mrfstudio.ui.window.actions import (
    FIRST_STEPS,
    LESSONS,
    NEW_LESSON,
    QUIT,
    SAVE,
    SAVE_AS,
    ActionHandlers,
    Actions,
    ActionSpec,
    specs,
)
from mrfstudio.ui.window.appearance import Appearance
from mrfstudio.ui.window.dialogs.first_card import FirstCard
from mrfstudio.ui.window.dialogs.recovery_offer import RecoveryOffer
from mrfstudio.ui.window.docks import Docks, WidthWatcher
from mrfstudio.ui.window.files import Files
from mrfstudio.ui.window.help.menu import HelpMenu
from mrfstudio.ui.window.menus import Menus
from mrfstudio.ui.window.scrolling import FittingPages, HorizontalScroll, VerticalScroll
from mrfstudio.ui.window.settings import Settings
from mrfstudio.ui.window.shell import MessageBar, StackedWidgets, WorkspaceRail
from mrfstudio.ui.window.showing import Showing
from mrfstudio.ui.window.status_line import StatusLine
from mrfstudio.ui.window.tabbing import move_focus
from mrfstudio.ui.workspaces import signs, view_class
from mrfstudio.ui.workspaces.shared.view import WorkspaceView

CONTROLS_WIDTH = 318  # design pixels: labels stand beside their boxes
SESSION_ACTIONS = (SAVE, SAVE_AS)


class MainWindow(PageHost, QMainWindow):
    """Builds the places and fills them with the shown workspace. A workspace is built when it is first shown."""

    first_painted = Signal()

    def __init__(self, controller: Controller, settings: Settings, theme: Theme) -> None:
        super().__init__()
        self.controller, self.settings, self.theme = controller, settings, theme
        self.signs = signs()
        self.workspaces: dict[str, WorkspaceView] = {}
        self._curves_made: set[str] = set()
        self._handed: list[ModelNote] = []
        self._begun: set[str] = set()  # workspaces that show something of their own or from a file
        self._painted = self._ready = False
        self.setObjectName("window")
        self.setAcceptDrops(True)
        self.setDockOptions(QMainWindow.DockOption.AllowTabbedDocks | QMainWindow.DockOption.AllowNestedDocks)
        # As in the sketch: the controls go down to the status line, the curves end at them.
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        self.actions_ = Actions(self, self._does)
        self.files = Files(self, controller, settings)
        self.help = HelpMenu(self)
        self.recovery_offer = RecoveryOffer(self, controller)
        self.showing = Showing(self)
        self.appearance = Appearance(self)
        self._build_places()
        self.menus = Menus(self, self.actions_, self.files.recent_menu)
        self.status_line = StatusLine(self)
        self.badge, self.rates = self.status_line.badge, self.status_line.rates
        QShortcut(QKeySequence("Esc"), self, self.to_canvas)
        controller.frame.connect(self.on_frame)
        controller.loaded.connect(self.on_loaded)
        controller.message.connect(self.message_bar.show_message)
        # Before there is anything in it: what is made for a narrow window is never too wide for it, and Qt would
        # widen the window at once.
        self.appearance.restore_geometry()
        self.width_watcher.look()
        self.show_workspace(self.signs[0].name)
        self.appearance.first_layout = self.saveState()
        if self.settings.layout is not None:
            self.restoreState(self.settings.layout)
        self.menus.mark_theme(self.theme.mode)
        self._follow_font()

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            QUIT: self.quit,
            LESSONS: self.lessons,
            NEW_LESSON: self.new_lesson,
            FIRST_STEPS: self.card.show_card,
        }

    # Building ---------------------------------------------------------------------------------------------------------

    def _build_places(self) -> None:
        self.rail = WorkspaceRail(self)
        for sign in self.signs:
            self.rail.add(sign.name, sign.title, sign.icon, sign.help)
        self.rail.chosen.connect(self.choose_workspace)
        self.rail.add_action(self.actions_["lessons"], "Lessons", "lessons")
        self.addToolBar(Qt.ToolBarArea.LeftToolBarArea, self.rail)
        self.centre, self.controls, self.curves = FittingPages(), FittingPages(), FittingPages()
        self.tutor = Tutor(self, self.controller, Guide())
        self.author = Author(self, self.controller)
        self.setCentralWidget(StackedWidgets(self.tutor.guide, self.centre))
        self.message_bar = MessageBar(self.centre, lambda: self.workspace.canvas)
        self.card = FirstCard(self.centre)
        self.card.opened.connect(self._through_door)
        self.controller.posted.connect(self.card.send_away)
        self.docks = Docks(self, self.controls, self.curves)
        self.width_watcher = WidthWatcher(self)
        self.width_watcher.changed.connect(self._follow_room)
        self.theme.changing.connect(self.docks.text_changes)
        self.theme.changing.connect(self.width_watcher.make)
        self.theme.changed.connect(self._follow_font)

    def _follow_font(self) -> None:
        """What does not grow with the text by itself."""
        self.curves.setMinimumHeight(px(self, 86))
        self.width_watcher.look()
        self.docks.text_changed()

    def event(self, event: QEvent) -> bool:
        # The status line is the place of the run's state; what an action does stands in its tool tip.
        return event.type() == QEvent.Type.StatusTip or super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.width_watcher.look()

    def _follow_room(self) -> None:
        """Panels and buttons that take less room while the window is narrow for its text."""
        self.docks.set_tabbed(self.width_watcher.tabbed)
        self.rail.set_narrow(self.width_watcher.narrow)
        self.status_line.help_label.setHidden(self.width_watcher.narrow)
        for workspace in self.workspaces.values():
            self._fit(workspace)

    def _fit(self, workspace: WorkspaceView) -> None:
        workspace.set_narrow(self.width_watcher.narrow)
        for widget in workspace.centre.findChildren(QWidget):  # what is not shown keeps its old size hints otherwise
            widget.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            # Queued: what follows takes a moment, and this paint is to reach the screen before it.
            QTimer.singleShot(0, self.first_painted.emit)

    def after_first_paint(self, file: Path | None = None, shown: Request[str] | None = None) -> None:
        """What may take a moment and must not keep the window from appearing."""
        self._ready = True
        self._make_curves()
        if shown is not None:
            self.files.replace_by(shown)
            return
        if file is None or not self.files.replaces(file):
            self.begin()
        if file is None and not self.settings.card_seen:
            self.card.show_card()
        if file is not None:
            self.files.open(file)

    # Workspaces -------------------------------------------------------------------------------------------------------

    @property
    def workspace(self) -> WorkspaceView:
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
        self.card.send_away()
        workspace = self.workspace
        self.centre.setCurrentWidget(workspace.centre)
        self.controls.setCurrentIndex(list(self.workspaces).index(name))
        self.docks.controls.setWindowTitle(workspace.controls_title)
        self.rail.mark(name)
        self.docks.show_those_of(name)
        self._make_curves()
        self.message_bar.raise_()
        handlers = self._handlers()
        for _, spec in specs():
            known = spec in handlers
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
        workspace = view_class(name)(self.controller, self.settings, self)
        self.workspaces[name] = workspace
        self._fit(workspace)  # before the window sees it, which would make room for all of its words
        self.centre.addWidget(workspace.centre)
        MinimumWidth(workspace.controls, CONTROLS_WIDTH)
        self.controls.addWidget(VerticalScroll(workspace.controls))
        self.curves.addWidget(QWidget())
        self.actions_.bind_canvas(workspace.canvas)
        workspace.dock_toggled.connect(self.docks.toggle)
        workspace.status_changed.connect(self._show_status)
        workspace.model_ready.connect(self.hand_over)
        workspace.file_wanted.connect(self.files.open)
        workspace.elsewhere.connect(self._open_in)
        workspace.gave.connect(self.tutor.on_given)
        workspace.run_moved.connect(self.tutor.on_run)
        for extra in workspace.extra_docks():
            self.docks.add(extra, workspace)
        if workspace.pages is not None:
            workspace.pages.shown.connect(workspace.on_dock)
        self.menus.fill_panels(self.docks.all())
        if self.controller.engine is not None:
            workspace.on_loaded(self.controller.engine)
        for note in self._handed:
            if name in self._takers(note.kind):
                workspace.use_model(note)

    def open_page(self, name: str, title: str, page: QWidget) -> None:
        """Show a page beside the canvas of the shown workspace."""
        if self.workspace.pages is None:
            page.deleteLater()
        else:
            self.workspace.pages.open(name, title, page)

    def say(self, sentence: str) -> None:
        self.message_bar.show_message(sentence)

    def _open_in(self, name: str, path: Path) -> None:
        """Open a file in another workspace than the one that is shown."""
        self.choose_workspace(name)
        self.workspace.open_path(path)

    def hand_over(self, note: ModelNote) -> None:
        """Give a newly trained model to the workspaces that can use its kind, now or when they are first opened."""
        self._handed.append(note)
        takers = [sign for sign in self.signs if sign.name in self._takers(note.kind)]
        for sign in takers:
            if sign.name in self.workspaces:
                self.workspaces[sign.name].use_model(note)
        where = " and ".join(sign.title for sign in takers)
        used = f"is now the model of {where}" if where else "is kept under this name"
        self.message_bar.show_message(f"{note.name} {used}; commands know it as --model {note.name}.")

    def _takers(self, kind: str) -> tuple[str, ...]:
        return () if self.controller.engine is None else self.controller.engine.takers(kind)

    def _make_curves(self) -> None:
        name = self.controller.workspace
        index = list(self.workspaces).index(name)
        if self._ready and name not in self._curves_made:
            self._curves_made.add(name)
            empty = self.curves.widget(index)
            assert empty is not None
            self.curves.removeWidget(empty)
            empty.deleteLater()
            self.curves.insertWidget(index, HorizontalScroll(self.workspace.make_curves()))
        self.curves.setCurrentIndex(index)

    # Engine -----------------------------------------------------------------------------------------------------------

    def on_loaded(self, engine: Loaded) -> None:
        """Torch is there."""
        self.menus.show_device(engine.device)
        if engine.notice:
            self.message_bar.show_message(engine.notice)
        for workspace in self.workspaces.values():
            workspace.on_loaded(engine)

    def on_frame(self, frame: Frame) -> None:
        """Show a frame of the shown workspace."""
        self.workspace.on_frame(frame)
        lane = self.workspace.shown(frame)
        if lane is not None:
            self.badge.set_lane(lane, "" if len(frame.lanes) == 1 else LETTERS[lane.lane])
        self.menus.show_undo(frame.undo, frame.redo)
        self.files.show_title(frame)

    def _show_status(self) -> None:
        """What a workspace that has no frames says of itself."""
        self.status_line.show_words_of_workspace()
        words = self.workspace.undoable()
        if words is not None:
            self.menus.show_undo(*words)

    # Actions ----------------------------------------------------------------------------------------------------------

    def _does(self, spec: ActionSpec) -> Callable[[], None]:
        found = self._handlers().get(spec)
        assert found is not None, f"the action {spec.name!r} is enabled and nobody does it"
        return found

    def _handlers(self) -> ActionHandlers:
        """Who does each action now, without those that have no meaning in this workspace; the first owner wins."""
        owners = (self.showing, self, self.appearance, self.help, self.files, self.workspace)
        found = {spec: done for owner in owners for spec, done in owner.action_handlers().items()}
        left_out = () if self.workspace.has_session else SESSION_ACTIONS
        return {spec: done for spec, done in found.items() if spec not in left_out}

    def to_canvas(self) -> None:
        """Esc: away with the message, back to the canvas."""
        self.message_bar.hide()
        self.workspace.canvas.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def quit(self) -> None:
        self.close()

    def _through_door(self, name: str) -> None:
        """A door of the card was opened: it does not come by itself again."""
        self.settings.card_seen = True
        if name == "paint":
            self.choose_workspace(self.signs[0].name)
        elif name == "debug":
            self.choose_workspace(next(sign.name for sign in self.signs if sign.opened_by))
        elif name == "teach":
            self.lessons()

    def new_lesson(self) -> None:
        """Write a lesson about what is shown."""
        self.author.begin()

    def lessons(self) -> None:
        self.tutor.choose()

    def focusNextPrevChild(self, next: bool) -> bool:
        """Tab: message, lesson, first card, canvas and around it, panels, controls, curves, corner of the menu bar."""
        panels = (*self.docks.shown(), self.docks.controls, self.docks.curves, *self.docks.tab_bars())
        places = (self.message_bar, self.tutor.guide, self.card, self.centre, *panels, self.menus.corner)
        return move_focus(places, next)

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
        self.appearance.remember()
        self.status_line.stop()
        self.controller.stop()
        event.accept()
