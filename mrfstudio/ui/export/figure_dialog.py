"""Export figure…: which plots, how wide, which letters, which file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QSize
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFontComboBox,
    QFormLayout,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.ui.export.paper import WIDTHS, Paper, save_figure
from mrfstudio.ui.export.pictures import PNG, SVG, Drawing, ExportError, ask_path
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.window.settings import Settings

PDF = "PDF document (*.pdf)"
Command = Callable[[Path, Paper, Sequence[Plot], QSize | None], str]
"""The line that makes a figure again, of its path, its paper, its plots and the size of its canvas."""


class FigureDialog(QDialog):
    """What is ticked goes into the figure, on white whatever the window's theme."""

    def __init__(
        self,
        plots: Sequence[Plot],
        canvas: Drawing | None,
        settings: Settings,
        say: Callable[[str], None],
        parent: QWidget | None = None,
        command: Command | None = None,
        offered: Sequence[tuple[str, Plot]] = (),
    ) -> None:
        """`plots` are ticked, those `offered` by name are not; `command` makes the line that makes a file again."""
        super().__init__(parent)
        self.setWindowTitle("Export figure")
        self._plots = [*plots, *(plot for _, plot in offered)]
        self._canvas, self._settings, self._say, self._command = canvas, settings, say, command
        self.canvas = QCheckBox("Canvas")
        self.canvas.setEnabled(canvas is not None)
        self.boxes = [QCheckBox(plot.content.title or "plot") for plot in plots]
        for box in self.boxes:
            box.setChecked(True)
        self.boxes += [QCheckBox(name) for name, _ in offered]
        self.width_box, self.millimetres = QComboBox(), QDoubleSpinBox()
        for name, width in WIDTHS.items():
            self.width_box.addItem(name, width)
        self.millimetres.setRange(20, 600)
        self.millimetres.setSuffix(" mm")
        self.millimetres.setValue(85)
        self.width_box.activated.connect(lambda _: self.millimetres.setValue(self.width_box.currentData()))
        self.row = QDoubleSpinBox()
        self.row.setRange(15, 400)
        self.row.setSuffix(" mm")
        self.row.setValue(50)
        self.columns, self.points, self.dots = QSpinBox(), QDoubleSpinBox(), QSpinBox()
        self.columns.setRange(1, 6)
        self.points.setRange(4, 48)
        self.points.setValue(8)
        self.points.setSuffix(" pt")
        self.dots.setRange(72, 1200)
        self.dots.setValue(300)
        self.dots.setSuffix(" dpi")
        self.family = QFontComboBox()
        self._lay_out()

    def _lay_out(self) -> None:
        form = QFormLayout()
        for widget, name, help in (
            (self.width_box, "&Format", "Widths that papers take."),
            (self.millimetres, "&Width", "Of the whole figure."),
            (self.row, "&Height", "Of one row of plots."),
            (self.columns, "&Columns", "Plots beside each other."),
            (self.family, "&Letters", "The font; in PDF and SVG they stay letters."),
            (self.points, "&Size", "Of the letters, in points on paper."),
            (self.dots, "&Resolution", "Of a PNG; PDF and SVG need none."),
        ):
            widget.setToolTip(help)
            form.addRow(name, widget)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel)
        buttons.accepted.connect(self.ask_and_save)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        for box in (self.canvas, *self.boxes):
            column.addWidget(box)
        column.addLayout(form)
        column.addWidget(buttons)

    def paper(self) -> Paper:
        """What the form says."""
        return Paper(
            self.millimetres.value(),
            self.row.value(),
            self.columns.value(),
            self.family.currentFont().family(),
            self.points.value(),
            self.dots.value(),
        )

    def ask_and_save(self) -> None:
        path = ask_path(self, self._settings, "Export figure", "figure.pdf", [PDF, SVG, PNG])
        if path is not None and self.save(path):
            self.accept()

    def save(self, path: Path) -> bool:
        """Write what is ticked; says so where that fails."""
        chosen = [plot for plot, box in zip(self._plots, self.boxes, strict=True) if box.isChecked()]
        canvas = self._canvas if self.canvas.isChecked() else None
        try:
            paper = self.paper()
            line = "" if self._command is None else self._command(path, paper, chosen, canvas.size if canvas else None)
            save_figure(chosen, canvas, paper, path, line)
        except ExportError as error:
            self._say(str(error))
            return False
        self._say(f"Written: {path}, its numbers beside it.")
        return True
