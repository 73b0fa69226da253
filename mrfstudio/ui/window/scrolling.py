"""What scrolls in the window's frame, and pages that take the room of the one that is shown."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QScrollArea, QStackedWidget, QWidget

from mrfstudio.ui.style.theme import px

FONT_SETTLES = 500  # milliseconds in which layouts within layouts have followed another size of text

TALLEST = 90
"""Design pixels that a tall panel below the canvas needs at most."""


class VerticalScroll(QScrollArea):
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
        self._last_needed = 0
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

    @property
    def settling(self) -> bool:
        """Whether its width is still looked for, because text or content has changed."""
        return self._settling.isActive()

    def shrink(self) -> None:
        """What is inside takes less room from now on."""
        self._settling.start()
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._settling.start()  # what is hidden does not follow the size of the text

    def _settled(self) -> None:
        """Nothing changed for a while, or once more: layouts within layouts can take longer on a busy machine."""
        needed = self._needed()
        if needed != self._last_needed:
            self._last_needed = needed
            self._settling.start()
        self.setMinimumWidth(needed)

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


class FittingPages(QStackedWidget):
    """One page at a time, as large as the shown one needs: hidden pages need not know the size of the text."""

    def __init__(self) -> None:
        super().__init__()
        self.currentChanged.connect(lambda _: self.updateGeometry())

    def minimumSizeHint(self) -> QSize:
        page = self.currentWidget()
        return super().minimumSizeHint() if page is None else page.minimumSizeHint().expandedTo(page.minimumSize())


class HorizontalScroll(QScrollArea):
    """A row that scrolls left and right where there is too little room, and needs all of its height.

    A `tall` one scrolls up and down too: with large text the window would not fit the screen.
    """

    def __init__(self, widget: QWidget, tall: bool = False) -> None:
        super().__init__()
        self._tall = tall
        if not tall:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(widget)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.horizontalScrollBar().rangeChanged.connect(self.updateGeometry)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and watched is self.widget():
            self.updateGeometry()  # what is inside may need more height than before
        return super().eventFilter(watched, event)

    def minimumSizeHint(self) -> QSize:
        inside, bar = self.widget(), self.horizontalScrollBar()
        assert inside is not None
        room = bar.sizeHint().height() if bar.maximum() > 0 else 0
        height = inside.minimumSizeHint().height()
        return QSize(px(self, 160), (min(height, px(self, TALLEST)) if self._tall else height) + room)
