"""A plot in the whole workspace, with its switches in sight."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from mrfstudio.ui.plots.menu import ask_and_save, copy_picture, smoothing_slider
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.choice_box import ChoiceBox


class LargePlot(QWidget):
    """The plot, and above it what its menu has."""

    def __init__(self, plot: Plot, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.plot = plot
        column = QVBoxLayout(self)
        margin = px(self, 8)
        column.setContentsMargins(margin, margin, margin, margin)
        column.addLayout(self._bar())
        column.addWidget(plot, 1)

    def _bar(self) -> QHBoxLayout:
        plot, row = self.plot, QHBoxLayout()
        if plot.content.lines:
            across = plot.content.across or "x"
            if plot.can_be_logarithmic:
                row.addWidget(self._tick("Log heights", plot.log_y, lambda on: plot.set_logarithmic(y=on)))
            row.addWidget(self._tick(f"Log {across}", plot.log_x, lambda on: plot.set_logarithmic(x=on)))
            row.addWidget(smoothing_slider(plot))
        if len(plot.units) > 1:
            row.addWidget(self._units())
        row.addStretch(1)
        for words, do in (
            ("Reset zoom", plot.reset),
            ("Copy", lambda: copy_picture(plot)),
            ("Save picture…", lambda: ask_and_save(plot, "svg")),
            ("Save numbers…", lambda: ask_and_save(plot, "csv")),
        ):
            button = QPushButton(words)
            button.clicked.connect(lambda _=False, do=do: do())
            row.addWidget(button)
        return row

    def _tick(self, words: str, on: bool, do) -> QPushButton:  # type: ignore[no-untyped-def]
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
