"""Pages in the middle of a workspace: what a panel or a plot shows at full size, beside the canvas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.ui.style.theme import px


class PageHost:
    """A window whose workspaces have a middle where pages open."""

    def open_page(self, name: str, title: str, page: QWidget) -> None:
        """Show a page; one of the same name is replaced. The page goes when it is closed."""
        raise NotImplementedError

    def say(self, sentence: str) -> None:
        """Tell the person something."""
        raise NotImplementedError


def host_of(widget: QWidget) -> PageHost | None:
    """The window around a widget, also where its panel floats."""
    above: QWidget | None = widget
    while above is not None:
        if isinstance(above, PageHost):
            return above
        above = above.parentWidget()
    return None


@dataclass(eq=False)
class _Page:
    name: str
    widget: QWidget
    take_back: Callable[[], None] | None
    holder: PageScroll


class PageScroll(QScrollArea):
    """Holds a page, and scrolls where it needs more room than there is: a page never makes the window larger."""

    def __init__(self, page: QWidget) -> None:
        super().__init__()
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 90), px(self, 80))


class ClosingTabs(QTabBar):
    """Tabs whose current one Delete closes."""

    closed = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.closed.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)


class PageTabs(QWidget):
    """The canvas and pages beside it, with a tab each; the tabs show as soon as there is a page.

    `Split` shows the canvas and the chosen page side by side.
    """

    shown = Signal(str, bool)
    """A page of this name can be seen, or no longer."""

    def __init__(self, canvas: QWidget, title: str = "Canvas", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.canvas = canvas
        self._pages: list[_Page] = []
        self._seen = ""
        self.tabs = ClosingTabs()
        self.tabs.closed.connect(self._close_at)
        self.tabs.setAccessibleName("Pages of the workspace")
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.addTab(title)
        self.split = QToolButton()
        self.split.setText("Split")
        self.split.setProperty("role", "small")
        self.split.setCheckable(True)
        self.split.setToolTip("Show the canvas and the chosen page side by side.")
        self.stack = QStackedWidget()
        self.parts = QSplitter(Qt.Orientation.Horizontal)
        self.parts.setChildrenCollapsible(False)
        self.parts.addWidget(canvas)
        self.parts.addWidget(self.stack)
        self._head = QWidget()
        row = QHBoxLayout(self._head)
        row.setContentsMargins(0, 0, px(self, 4), 0)
        row.addWidget(self.tabs, 1)
        row.addWidget(self.split)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(px(self, 4))
        column.addWidget(self._head)
        column.addWidget(self.parts, 1)
        self.tabs.currentChanged.connect(self._choose)
        self.tabs.tabCloseRequested.connect(self._close_at)
        self.split.toggled.connect(lambda _: self._choose())
        self._choose()

    def open(
        self, name: str, title: str, page: QWidget, help: str = "", take_back: Callable[[], None] | None = None
    ) -> None:
        """Show a page. When it is closed, `take_back` is called for a widget that has another home, else it goes."""
        self.close_page(name)
        self._pages.append(_Page(name, page, take_back, PageScroll(page)))
        self.stack.addWidget(self._pages[-1].holder)
        index = self.tabs.addTab(title)
        self.tabs.setTabToolTip(index, help or title)
        button = self._closer(name, title)
        self.tabs.setTabButton(index, QTabBar.ButtonPosition.RightSide, button)
        self.tabs.setCurrentIndex(index)
        self._choose()

    def _closer(self, name: str, title: str) -> QToolButton:
        button = QToolButton()
        button.setText("×")
        button.setProperty("role", "small")
        button.setAccessibleName(f"Close {title}")
        button.setToolTip(f"Close the page {title} (Delete, while the tabs have the focus).")
        button.clicked.connect(lambda: self.close_page(name))
        return button

    def names(self) -> list[str]:
        """The pages that are open."""
        return [page.name for page in self._pages]

    def titled(self) -> list[tuple[str, QWidget]]:
        """The title of each page that is open, and what it shows."""
        return [(self.tabs.tabText(index + 1), page.widget) for index, page in enumerate(self._pages)]

    def page(self, name: str) -> QWidget | None:
        return next((page.widget for page in self._pages if page.name == name), None)

    @property
    def current(self) -> str:
        """The page that can be seen; empty where it is the canvas alone."""
        index = self.tabs.currentIndex()
        return "" if index <= 0 or index > len(self._pages) else self._pages[index - 1].name

    def choose(self, name: str) -> None:
        """Bring a page to the front; an empty name is the canvas."""
        self.tabs.setCurrentIndex(1 + self.names().index(name) if name in self.names() else 0)

    def close_page(self, name: str) -> None:
        """Close a page, if it is there."""
        for index, page in enumerate(self._pages):
            if page.name == name:
                del self._pages[index]
                self.tabs.removeTab(index + 1)
                self.stack.removeWidget(page.holder)
                self._choose()
                if page.take_back is not None:
                    page.holder.takeWidget()
                    page.widget.setParent(self.stack)  # until its home has it
                    page.take_back()
                page.holder.deleteLater()
                return

    def _close_at(self, index: int) -> None:
        if 0 < index <= len(self._pages):
            self.close_page(self._pages[index - 1].name)

    def _choose(self, _: int = 0) -> None:
        name = self.current
        self._head.setVisible(bool(self._pages))
        self.canvas.setVisible(not name or self.split.isChecked())
        self.stack.setVisible(bool(name))
        self.split.setEnabled(bool(name))
        if name:
            self.stack.setCurrentWidget(next(page.holder for page in self._pages if page.name == name))
            if self.split.isChecked() and not all(self.parts.sizes()):
                self.parts.setSizes([self.width() // 2, self.width() // 2])
        if name != self._seen:
            before, self._seen = self._seen, name
            if before:
                self.shown.emit(before, False)
            if name:
                self.shown.emit(name, True)
