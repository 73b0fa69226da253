"""Small parts of the window's frame: the rail, the message bar, the line of advice, the status line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup, QHideEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QSizePolicy,
    QToolBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.ui.style.icons import icon
from mrfstudio.ui.style.keys import key_sequence, key_text
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.elided import Elided

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.shared.view import WorkspaceView

MESSAGE_SECONDS = 12
NARROWEST_MESSAGE = 320  # design pixels
ABOVE_STRIP = 110  # design pixels from the bottom of a workspace to its canvas: iterations and the line of advice


class WorkspaceRail(QToolBar):
    """The workspaces, at the left. Ctrl+1, Ctrl+2, … choose them."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Workspaces", parent)
        self.setObjectName("rail")
        self.setMovable(False)
        self.setFloatable(False)
        self.setOrientation(Qt.Orientation.Vertical)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        self.toggleViewAction().setVisible(False)  # without the rail there would be no way between workspaces
        self._group = QActionGroup(self)
        self._icons: dict[QAction, str] = {}

    def add(self, name: str, title: str, picture: str, help: str) -> QAction:
        """One more workspace."""
        action = self.addAction(icon(picture, self), title)
        number = len(self._icons) + 1
        action.setCheckable(True)
        keys = f"Ctrl+{number}"
        action.setShortcut(key_sequence(keys))
        action.setToolTip(f"{help} ({key_text(keys)})")
        action.setStatusTip(help)
        action.setWhatsThis(help)
        action.setData(name)
        action.triggered.connect(lambda: self.chosen.emit(name))
        self._group.addAction(action)
        self._icons[action] = picture
        self._follow_theme()
        return action

    def add_action(self, does: QAction, title: str, picture: str) -> None:
        """A button below the workspaces, for an action of the window."""
        space = QWidget()
        space.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.addWidget(space)
        button = self.addAction(icon(picture, self), title)
        button.setToolTip(does.toolTip())
        button.setStatusTip(does.statusTip())
        button.setWhatsThis(does.statusTip())
        button.triggered.connect(does.trigger)
        self._icons[button] = picture
        self._follow_theme()

    def require(self, workspace: WorkspaceView) -> None:
        """Make sure that a workspace is in the rail."""
        if all(action.data() != workspace.name for action in self._icons):
            self.add(workspace.name, workspace.title, workspace.sign.icon, workspace.sign.help)

    def mark(self, name: str) -> None:
        """Show which workspace is open."""
        for action in self._icons:
            if action.data() == name:
                action.setChecked(True)

    def set_narrow(self, narrow: bool) -> None:
        """Pictures alone; the names are in the tool tips."""
        style = Qt.ToolButtonStyle
        self.setToolButtonStyle(style.ToolButtonIconOnly if narrow else style.ToolButtonTextUnderIcon)
        self._follow_theme()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._follow_theme()

    def _follow_theme(self) -> None:
        self.setIconSize(QSize(px(self, 26), px(self, 26)))
        narrow = self.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly
        for action, picture in self._icons.items():
            action.setIcon(icon(picture, self))
            button = self.widgetForAction(action)
            button.setMinimumWidth(0 if narrow else px(self, 68))


class StackedWidgets(QWidget):
    """One widget above another, without a gap; the lower one has the room that is left."""

    def __init__(self, above: QWidget, below: QWidget) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(above)
        column.addWidget(below, 1)


class MessageBar(QFrame):
    """One sentence over a widget. It lies above what is there, so nothing moves when it comes or goes.

    `canvas` says which part of the widget it may cover: tools stand beside that.
    """

    def __init__(self, over: QWidget, canvas: Callable[[], QWidget | None] = lambda: None) -> None:
        super().__init__(over)
        self._canvas = canvas
        self.setProperty("role", "message")
        self.text = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)  # a file may be called <b>anything</b>
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.dismiss = QToolButton()
        self.dismiss.setToolTip("Dismiss (Esc)")
        self.dismiss.setAccessibleName("Dismiss")
        self.dismiss.clicked.connect(self.hide)
        row = QHBoxLayout(self)
        row.addWidget(self.text, 1)
        row.addWidget(self.dismiss, 0, Qt.AlignmentFlag.AlignTop)
        self._timer = QTimer(self, singleShot=True, interval=MESSAGE_SECONDS * 1000)
        self._timer.timeout.connect(self._leave)
        over.installEventFilter(self)
        self.hide()

    def show_message(self, sentence: str) -> None:
        """Show a sentence until it is dismissed or some seconds have passed."""
        self.text.setText(sentence)
        self.text.setAccessibleName(sentence)
        self.dismiss.setIcon(icon("cancel", self))
        self._place()
        self.show()
        self.raise_()
        self._timer.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()
        super().hideEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:  # else the cross of a light theme would vanish on a dark one
            self.dismiss.setIcon(icon("cancel", self))

    def _leave(self) -> None:
        if self.underMouse():  # somebody is reading it
            self._timer.start()
        else:
            self.hide()

    def _place(self) -> None:
        parent, layout = self.parentWidget(), self.layout()
        assert parent is not None
        assert layout is not None
        margin = px(self, 10)
        left, room = self._across(parent)
        width = min(room - 2 * margin, px(self, 760))
        height = max(layout.heightForWidth(width), layout.minimumSize().height())
        # Over the lower part of the canvas: transport and tools are at its top and side, and stay in reach.
        top = max(margin, parent.height() - height - px(self, ABOVE_STRIP))
        self.setGeometry(left + (room - width) // 2, top, width, height)

    def _across(self, parent: QWidget) -> tuple[int, int]:
        """From where and how wide the canvas is; all of the parent where that is too little for a sentence."""
        canvas = self._canvas()
        if canvas is None or not canvas.isVisible() or not parent.isAncestorOf(canvas):
            return 0, parent.width()
        if canvas.width() < min(parent.width(), px(self, NARROWEST_MESSAGE)):
            return 0, parent.width()
        return canvas.mapTo(parent, QPoint(0, 0)).x(), canvas.width()


class AdviceLine(Elided):
    """The line that says what to try. It keeps its place, so nothing moves when the words change."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, "muted")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("What to try")

    def show_text(self, text: str) -> None:
        self.set_words(text)


def dock(window: QMainWindow, name: str, title: str, widget: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
    """A panel that can be moved, hidden and restored."""
    made = QDockWidget(title, window)
    made.setObjectName(name)
    made.setWidget(widget)
    made.setTitleBarWidget(TitleBar(made))
    window.addDockWidget(area, made)
    return made


class TitleBar(QWidget):
    """The head of a panel. Qt's own keeps its small letters when the text of the window grows."""

    def __init__(self, panel: QDockWidget) -> None:
        super().__init__(panel)
        self._panel = panel
        self._title = QLabel(panel.windowTitle())
        self._title.setProperty("role", "heading")
        panel.windowTitleChanged.connect(self._title.setText)
        title = panel.windowTitle().lower()
        self._float = self._button("float", f"Take the panel “{title}” out of the window, or put it back.")
        self._close = self._button("cancel", f"Hide the panel “{title}”; View → Panels shows it again.")
        self._page = self._button("page", f"Show “{title}” as a page in the middle, beside the canvas.")
        self._page.hide()
        self._float.clicked.connect(self._take_out)
        panel.topLevelChanged.connect(self._follow_floating)
        self._close.clicked.connect(panel.close)
        row = QHBoxLayout(self)
        row.setContentsMargins(px(self, 8), px(self, 4), px(self, 4), px(self, 2))
        row.setSpacing(px(self, 2))
        row.addWidget(self._title, 1)
        row.addWidget(self._page)
        row.addWidget(self._float)
        row.addWidget(self._close)
        self._follow_theme()

    def offer_page(self, show: Callable[[], None]) -> None:
        """The panel can be a page in the middle too."""
        self._page.show()
        self._page.clicked.connect(lambda _: show())

    def _take_out(self) -> None:
        """Out of the window, as a window of its own with a place beside what it belongs to; or back."""
        panel = self._panel
        window = panel.parentWidget()
        floating = not panel.isFloating()
        panel.setFloating(floating)
        if floating and window is not None:
            size = panel.size().expandedTo(QSize(px(self, 420), px(self, 320)))
            panel.resize(size)
            panel.move(window.frameGeometry().center() - QPoint(size.width() // 2, size.height() // 2))

    def _follow_floating(self, floating: bool) -> None:
        """A panel that floats has a frame of its own: without it, it would lie on the window like a stain."""
        self._panel.setProperty("floating", floating)
        # Qt draws no frame of a panel that has a title bar of its own.
        self._panel.setAttribute(Qt.WidgetAttribute.WA_StyledBackground, floating)
        margin = px(self, 2) if floating else 0
        self._panel.setContentsMargins(margin, margin, margin, margin)
        self._panel.style().unpolish(self._panel)
        self._panel.style().polish(self._panel)
        self._float.setToolTip(
            f"Put the panel “{self._panel.windowTitle().lower()}” back into the window."
            if floating
            else f"Take the panel “{self._panel.windowTitle().lower()}” out of the window."
        )

    def _button(self, picture: str, help: str) -> QToolButton:
        button = QToolButton()
        button.setObjectName(picture)
        button.setToolTip(help)
        button.setAccessibleName(help)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._follow_theme()

    def _follow_theme(self) -> None:
        side = px(self, 14)
        for button in (self._page, self._float, self._close):
            button.setIcon(icon(button.objectName(), self))
            button.setIconSize(QSize(side, side))


def spaced(widgets: Sequence[QWidget], spacing: int) -> QWidget:
    """Widgets side by side."""
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(spacing)
    for widget in widgets:
        row.addWidget(widget)
    return holder
