"""The card of the first start: three doors, gone after one click, in Help for ever."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from mrfstudio.ui.style.theme import px

DOORS = {
    "paint": ("&Paint", "Draw contours and watch the inside fill."),
    "debug": ("&Debug", "See why belief propagation converges, or not."),
    "teach": ("&Teach", "Take a lesson with equations, or write one."),
}


class FirstCard(QFrame):
    """Lies over the lower right corner of a widget and takes nothing away from it."""

    opened = Signal(str)
    """The name of a door; empty: the card was sent away."""

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self.setProperty("role", "message")
        self.setAccessibleName("Three ways to begin")
        heading = QLabel("Three ways to begin")
        heading.setProperty("role", "heading")
        column = QVBoxLayout(self)
        column.addWidget(heading)
        self.doors: dict[str, QPushButton] = {}
        for name, (title, words) in DOORS.items():
            row, button, about = QHBoxLayout(), QPushButton(title), QLabel(words, wordWrap=True)
            button.setToolTip(words)
            button.clicked.connect(lambda _=False, name=name: self._open(name))
            row.addWidget(button)
            row.addWidget(about, 1)
            column.addLayout(row)
            self.doors[name] = button
        self.later = QPushButton("&Just look around")
        self.later.setToolTip("Close this card; Help shows it again.")
        self.later.clicked.connect(lambda: self._open(""))
        column.addWidget(self.later, 0, Qt.AlignmentFlag.AlignRight)
        over.installEventFilter(self)
        self.hide()

    def show_card(self) -> None:
        """Show it where it hides little."""
        self._place()
        self.show()
        self.raise_()

    def send_away(self) -> None:
        """Somebody went on without a door: painted, or chose a workspace."""
        if self.isVisible():
            self._open("")

    def _open(self, name: str) -> None:
        self.hide()
        self.opened.emit(name)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        parent = self.parentWidget()
        assert parent is not None
        margin = px(self, 14)
        width = min(px(self, 380), parent.width() - 2 * margin)
        layout = self.layout()
        assert layout is not None
        height = max(layout.totalHeightForWidth(width), layout.minimumSize().height())
        self.setGeometry(parent.width() - width - margin, parent.height() - height - px(self, 60), width, height)
