"""Small parts of the window's frame: the rail, the message bar, the line of advice, the status line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup, QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QToolBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.ui.icons import icon
from mrfstudio.ui.panels.elided import Elided
from mrfstudio.ui.theme import px

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.base import Workspace

MESSAGE_SECONDS = 12
FONT_SETTLES = 500  # milliseconds in which layouts within layouts have followed another size of text


class Rail(QToolBar):
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
        action.setShortcut(f"Ctrl+{number}")
        action.setToolTip(f"{help} (Ctrl+{number})")
        action.setStatusTip(help)
        action.setWhatsThis(help)
        action.setData(name)
        action.triggered.connect(lambda: self.chosen.emit(name))
        self._group.addAction(action)
        self._icons[action] = picture
        self._follow_theme()
        return action

    def add_deed(self, does: QAction, title: str, picture: str) -> None:
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

    def require(self, workspace: Workspace) -> None:
        """Make sure that a workspace is in the rail."""
        if all(action.data() != workspace.name for action in self._icons):
            self.add(workspace.name, workspace.title, workspace.icon, workspace.help)

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


class Stacked(QWidget):
    """One widget above another, without a gap; the lower one has the room that is left."""

    def __init__(self, above: QWidget, below: QWidget) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(above)
        column.addWidget(below, 1)


class MessageBar(QFrame):
    """One sentence over the top of a widget. It lies above what is there, so nothing moves when it comes or goes."""

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self.setProperty("role", "message")
        self.text = QLabel(wordWrap=True)
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
        width = min(parent.width() - 2 * margin, px(self, 760))
        height = max(layout.heightForWidth(width), layout.minimumSize().height())
        # Over the canvas, below the transport: what one needs most stays in reach.
        self.setGeometry((parent.width() - width) // 2, px(self, 92), width, height)


class Advice(Elided):
    """The line that says what to try. It keeps its place, so nothing moves when the words change."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, "muted")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("What to try")

    def show_text(self, text: str) -> None:
        self.set_words(text)


class Rates(QLabel):
    """Iterations and frames a second, in a place wide enough for every number."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setToolTip("How many iterations the engine computes and how many pictures the window shows each second.")

    def show_rates(self, iterations: float, frames: float) -> None:
        self.show_words(f"{iterations:.0f} iterations/s · {frames:.0f} frames/s")

    def show_last(self, iterations: float) -> None:
        """Nothing runs: most runs are over before a number could be read."""
        self.show_words(f"last run: {iterations:.0f} iterations/s" if iterations else "")

    def show_words(self, words: str) -> None:
        """Any other speed."""
        self.setText(words)

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        room = self.fontMetrics().horizontalAdvance("88888 iterations/s · 888 frames/s")
        margins = self.contentsMargins()
        return QSize(room + margins.left() + margins.right(), hint.height())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


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
        self._float.clicked.connect(lambda: panel.setFloating(not panel.isFloating()))
        self._close.clicked.connect(panel.close)
        row = QHBoxLayout(self)
        row.setContentsMargins(px(self, 8), px(self, 4), px(self, 4), px(self, 2))
        row.setSpacing(px(self, 2))
        row.addWidget(self._title, 1)
        row.addWidget(self._float)
        row.addWidget(self._close)
        self._follow_theme()

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
        for button in (self._float, self._close):
            button.setIcon(icon(button.objectName(), self))
            button.setIconSize(QSize(side, side))


class Scrolled(QScrollArea):
    """A widget that scrolls up and down where there is too little room, and is never cut off at the side."""

    def __init__(self, widget: QWidget, always: bool = True) -> None:
        """`always` shows the scroll bar, so that nothing moves when the content grows by a line."""
        super().__init__()
        self.setWidget(widget)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if always:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self._always = always
        # A timer and not a clock: on a busy machine it comes after the layouts, however long they take.
        self._settling = QTimer(self, singleShot=True, interval=FONT_SETTLES)
        self._settling.timeout.connect(self._settled)
        self.verticalScrollBar().rangeChanged.connect(self._fit)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        handled = super().eventFilter(watched, event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return handled

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._settling.start()

    def sizeHint(self) -> QSize:
        # Qt's own keeps what the widget wanted when it was first asked.
        return QSize(self._needed(), super().sizeHint().height())

    def shrink(self) -> None:
        """What is inside takes less room from now on."""
        self._settling.start()
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._settling.start()  # what is hidden does not follow the size of the text

    def _settled(self) -> None:
        self.setMinimumWidth(self._needed())

    def _fit(self) -> None:
        """At the same size of text it only grows, so that nothing jumps."""
        needed = self._needed()
        if needed > self.minimumWidth() or self._settling.isActive():
            self.setMinimumWidth(needed)

    def _needed(self) -> int:
        inside = self.widget()
        assert inside is not None
        bar = self.verticalScrollBar()
        room = bar.sizeHint().width() if self._always or bar.maximum() > 0 else 0
        least = max(inside.minimumSizeHint().width(), inside.minimumWidth())
        return least + room + 2 * self.frameWidth()


class Pages(QStackedWidget):
    """One page at a time, as large as the shown one needs: hidden pages need not know the size of the text."""

    def __init__(self) -> None:
        super().__init__()
        self.currentChanged.connect(lambda _: self.updateGeometry())

    def minimumSizeHint(self) -> QSize:
        page = self.currentWidget()
        return super().minimumSizeHint() if page is None else page.minimumSizeHint().expandedTo(page.minimumSize())


class Sideways(QScrollArea):
    """A row that scrolls left and right where there is too little room, and needs all of its height."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__()
        self.setWidget(widget)
        self.setWidgetResizable(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.horizontalScrollBar().rangeChanged.connect(self.updateGeometry)

    def minimumSizeHint(self) -> QSize:
        inside, bar = self.widget(), self.horizontalScrollBar()
        assert inside is not None
        room = bar.sizeHint().height() if bar.maximum() > 0 else 0
        return QSize(px(self, 160), inside.minimumSizeHint().height() + room)


def spaced(widgets: Sequence[QWidget], spacing: int) -> QWidget:
    """Widgets side by side."""
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(spacing)
    for widget in widgets:
        row.addWidget(widget)
    return holder
