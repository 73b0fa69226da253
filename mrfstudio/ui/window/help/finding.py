"""The shortcut sheet (F1) and the command palette (Ctrl+Shift+P). "What is this?" (Shift+F1) is Qt's own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QScrollArea,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.ui.style.keys import key_text, keyed
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.window.actions import menus

SCREEN_SHARE = 0.9  # of the screen, at the most
INSIDE = " → "  # between the names of a menu and of one in it
GESTURES: tuple[tuple[str, str], ...] = (
    ("Left button", "Draw with the tool"),
    ("Right button", "Erase"),
    ("Shift+click", "Straight line from the last point"),
    ("Alt+click", "Inspect a pixel"),
    ("B  E  F  I", "Brush, eraser, fill, inspect"),
    ("R  C  L", "Rectangle, ellipse, lasso"),
    ("X", "Fill everything but the area"),
    ("1  2  3  4", "Choose what to draw"),
    ("[  ]  Ctrl+wheel", "Brush size"),
    ("Wheel  +  -", "Zoom at the pointer"),
    ("Home", "Whole picture"),
    ("Space-drag, middle-drag", "Move the picture"),
    ("O held", "Show only what was observed"),
    ("Arrows, Enter, Backspace", "Draw and erase with the keyboard"),
    ("Esc", "Back to the canvas"),
    ("Tab", "Next control"),
)

GRAPH_GESTURES: tuple[tuple[str, str], ...] = (
    ("Left button", "Evidence on a node; messages of a line"),
    ("Right button", "Take evidence back; with Draw, delete"),
    ("B  V  D  I", "Evidence, move, draw, inspect"),
    ("0  1  2  …", "The state to give"),
    ("Alt+click", "Inspect a node"),
    ("Arrows, Enter, Backspace", "From node to node, give, take back"),
    ("Delete", "Delete what is chosen"),
)


class ShortcutSheet(QDialog):
    """All keys and gestures on one sheet."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Shortcuts")
        columns = QHBoxLayout()
        columns.setSpacing(px(self, 32))
        columns.addLayout(self._column([("Canvas and mouse", GESTURES), ("On graphs", GRAPH_GESTURES)]))
        columns.addLayout(self._column([("Run", rows("Run")), ("Edit", rows("Edit")), ("View", rows("View"))]))
        columns.addLayout(self._column([(menu, rows(menu)) for menu in ("File", "Model", "Help")]))
        content = QWidget()
        content.setLayout(columns)
        area = QScrollArea()
        area.setProperty("role", "page")
        area.setAccessibleName("Keys and gestures")
        area.setWidget(content)
        area.setWidgetResizable(True)
        note = QLabel("Single keys act while the canvas has the focus; Esc brings it back there.")
        note.setProperty("role", "muted")
        note.setWordWrap(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(area)
        layout.addWidget(note)
        layout.addWidget(buttons)
        hint = content.sizeHint()
        screen = self.screen().availableSize() * SCREEN_SHARE
        wanted = QSize(hint.width() + px(self, 60), min(hint.height() + px(self, 120), px(self, 760)))
        self.resize(wanted.boundedTo(screen))

    def _column(self, groups: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> QGridLayout:
        grid = QGridLayout()
        grid.setVerticalSpacing(px(self, 5))
        grid.setHorizontalSpacing(px(self, 16))
        row = 0
        for title, lines in groups:
            heading = QLabel(title)
            heading.setProperty("role", "heading")
            heading.setContentsMargins(0, px(self, 10) if row else 0, 0, 0)
            grid.addWidget(heading, row, 0, 1, 2)
            row += 1
            for keys, text in lines:
                key = QLabel(keyed(keys))
                key.setProperty("role", "key")
                grid.addWidget(key, row, 0, Qt.AlignmentFlag.AlignLeft)
                grid.addWidget(QLabel(text), row, 1)
                row += 1
        grid.setRowStretch(row, 1)
        return grid


def rows(menu: str) -> list[tuple[str, str]]:
    """The keys of a menu's actions and what they do."""
    specs = (spec for group in menus()[menu] for spec in group if spec.keys)
    return [("  ".join(key_text(key) for key in spec.keys), spec.text.rstrip("…")) for spec in specs]


class CommandPalette(QDialog):
    """Type a part of a name, press Enter."""

    def __init__(self, actions: Sequence[tuple[str, QAction]], parent: QWidget | None = None) -> None:
        """`actions` are (where it is found, action), such as ("Edit", undo)."""
        super().__init__(parent)
        self.setWindowTitle("Command palette")
        usable = [each for each in actions if each[1].isEnabled() and each[1].isVisible() and each[1].text()]
        self._entries = [(place, titled(place, action), action) for place, action in usable]
        self.search = QLineEdit()
        self.search.setPlaceholderText("Type what you want to do")
        self.search.setAccessibleName("Command")
        self.search.setToolTip("Any part of a name; arrow keys choose, Enter does it.")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._filter)
        self.search.installEventFilter(self)
        self.results = QTreeWidget()
        self.results.setAccessibleName("Commands found")
        self.results.setColumnCount(2)
        self.results.setHeaderHidden(True)
        self.results.setRootIsDecorated(False)
        self.results.setUniformRowHeights(True)
        self.results.header().setStretchLastSection(False)
        self.results.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.results.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.results.itemActivated.connect(self._run)
        self.results.itemClicked.connect(self._run)
        self._chosen: QAction | None = None
        layout = QVBoxLayout(self)
        layout.addWidget(self.search)
        layout.addWidget(self.results)
        self.nothing = QLabel("No command here is called that, or does it: try another word.")
        self.nothing.setProperty("role", "muted")
        layout.addWidget(self.nothing)
        self.resize(px(self, 520), px(self, 420))
        self._filter("")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Up, down and Enter move in the list while the typing goes on."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            key = event.key()
            if key in (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
                self.results.event(event)
                return True
            chosen = self.results.currentItem()
            if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and chosen is not None:
                self._run(chosen)
                return True
        return super().eventFilter(watched, event)

    def _filter(self, text: str) -> None:
        self.results.clear()
        ranked = [
            (rank(text, name, place, action.statusTip()), name, place, action) for place, name, action in self._entries
        ]
        for _, name, place, action in sorted((r for r in ranked if r[0] is not None), key=lambda r: (r[0], r[1])):
            keys = key_text(action.shortcut().toString())
            item = QTreeWidgetItem([name, keys])
            item.setToolTip(0, f"{place}: {escape(action.statusTip() or name)}")
            item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight)
            item.setData(0, Qt.ItemDataRole.UserRole, action)
            self.results.addTopLevelItem(item)
        first = self.results.topLevelItem(0)
        if first is not None:
            self.results.setCurrentItem(first)
        self.nothing.setHidden(first is not None)

    def _run(self, item: QTreeWidgetItem) -> None:
        self._chosen = item.data(0, Qt.ItemDataRole.UserRole)
        self.accept()

    @property
    def chosen(self) -> QAction | None:
        """What was picked; the window runs it after the palette has closed, so that dialogs do not pile up."""
        return self._chosen


def titled(place: str, action: QAction) -> str:
    """The text of an action; with the name of its menu where that lies in another one, as in "Panels: Curves"."""
    _, inside, menu = place.rpartition(INSIDE)
    return f"{menu}: {plain(action)}" if inside else plain(action)


def plain(action: QAction) -> str:
    """The text of an action without the mark of its mnemonic."""
    return action.text().replace("&&", "\0").replace("&", "").replace("\0", "&").rstrip("…")


def rank(typed: str, name: str, place: str = "", help: str = "") -> tuple[int, int] | None:
    """How well an action fits what was typed, smaller is better; None if a typed word is nowhere in it.

    Beginnings of words come first, then places inside words, then what the action does, then letters in order (`spb`
    finds "step back").
    """
    name, place, help = name.lower(), place.lower(), help.lower()
    worst = (0, 0)
    for part in typed.lower().split():
        if any(word.startswith(part) for word in name.split()):
            found = (0, name.index(part))
        elif part in name:
            found = (1, name.index(part))
        elif place.startswith(part):
            found = (2, 0)
        elif any(word.startswith(part) for word in help.split()):
            found = (3, 0)
        elif _in_order(part, name):
            found = (4, 0)
        else:
            return None
        worst = max(worst, found)
    return worst


def _in_order(letters: str, name: str) -> bool:
    rest = iter(name)
    return all(letter in rest for letter in letters)
