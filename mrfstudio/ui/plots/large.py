"""A plot in the whole workspace, with its switches in sight."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from mrfstudio.ui.plots.menu import ask_and_save, copy_picture, smoothing_slider
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.keys import keyed
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.choice_box import ChoiceBox


class LargePlot(QWidget):
    """The plot, and above it what its menu has."""

    def __init__(self, plot: Plot, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.plot = plot
        self.bar = PlotBar(plot)
        column = QVBoxLayout(self)
        margin = px(self, 8)
        column.setContentsMargins(margin, margin, margin, margin)
        column.addWidget(self.bar)
        column.addWidget(plot, 1)


class PlotBar(QWidget):
    """Switches and buttons of a plot. Those that have no room are left to the menu, which has all of them."""

    def __init__(self, plot: Plot) -> None:
        super().__init__()
        self.plot = plot
        self.parts: list[QWidget] = [*self._switches(), *self._buttons()]
        self.menu = QPushButton("Menu…")
        self.menu.setToolTip(keyed("Everything that can be done with this plot (right click, or Shift+F10)."))
        self.menu.clicked.connect(lambda: plot.open_menu(self.menu.mapToGlobal(self.menu.rect().bottomLeft())))
        self._row = row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        for part in self.parts:
            row.addWidget(part)
        row.addStretch(1)
        row.addWidget(self.menu)

    def minimumSizeHint(self) -> QSize:
        """Of the menu alone: a bar must not make the window wider."""
        return self.menu.minimumSizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        free = self.width() - self.menu.sizeHint().width()
        for part in self.parts:
            free -= part.sizeHint().width() + max(self._row.spacing(), 0)
            part.setVisible(free >= 0)

    def _switches(self) -> list[QWidget]:
        plot, found = self.plot, list[QWidget]()
        if plot.content.lines:
            if plot.can_be_logarithmic:
                found.append(self._tick("Log heights", plot.log_y, lambda on: plot.set_logarithmic(y=on)))
            across = plot.content.across or "x"
            found.append(self._tick(f"Log {across}", plot.log_x, lambda on: plot.set_logarithmic(x=on)))
            found.append(smoothing_slider(plot))
        if len(plot.units) > 1:
            found.append(self._units())
        return found

    def _buttons(self) -> list[QWidget]:
        plot, found = self.plot, list[QWidget]()
        for words, do in (
            ("Reset zoom", plot.reset),
            ("Copy", lambda: copy_picture(plot)),
            ("Save picture…", lambda: ask_and_save(plot, "svg")),
            ("Save numbers…", lambda: ask_and_save(plot, "csv")),
        ):
            button = QPushButton(words)
            button.clicked.connect(lambda _=False, do=do: do())
            found.append(button)
        return found

    def _tick(self, words: str, on: bool, do: Callable[[bool], object]) -> QPushButton:
        button = QPushButton(words)
        button.setCheckable(True)
        button.setChecked(on)
        button.setToolTip("Powers of ten at equal distances, or not.")
        button.toggled.connect(do)
        return button

    def _units(self) -> ChoiceBox:
        box = ChoiceBox(10)
        box.setAccessibleName("What the horizontal axis counts")
        for unit in self.plot.units:
            box.addItem(f"{unit}s")
        box.setCurrentIndex(self.plot.units.index(self.plot.content.across))
        box.setToolTip("What the horizontal axis counts, here and in the plots beside this one.")
        box.activated.connect(lambda index: self.plot.crosshair.counted.emit(self.plot.units[index]))
        return box
