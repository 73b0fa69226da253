"""Exact values beside the pointer."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QLabel, QWidget

from mrfstudio.ui.style.theme import px


class ValueTip(QLabel):
    """Stands in the window of a plot and not in the plot: a small one would cut it off."""

    def __init__(self, plot: QWidget) -> None:
        super().__init__(plot)
        self._plot = plot
        self.setProperty("role", "tip")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        plot.destroyed.connect(self.deleteLater)  # by then it may be a child of the window

    def show_words(self, words: str, point: QPointF) -> None:
        """Rich text beside a point of the plot; nothing hides it."""
        plot, window = self._plot, self._plot.window()
        if self.parentWidget() is not window:
            self.setParent(window)
        self.setVisible(bool(words))
        if not words:
            return
        self.setFont(plot.font())
        self.setText(words)
        self.adjustSize()
        here = QPointF(plot.mapTo(window, point.toPoint()))
        left = here.x() + px(plot, 14)
        if left + self.width() > window.width():
            left = max(here.x() - px(plot, 10) - self.width(), 0)
        top = min(max(here.y() - self.height() - px(plot, 6), 0), max(window.height() - self.height(), 0))
        self.move(round(left), round(top))
        self.raise_()
