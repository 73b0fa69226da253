"""Figures for paper: chosen plots and the canvas on white, in millimetres, as PDF, SVG or PNG; letters stay letters.

Beside the figure lies its data as CSV, and a line that says how it is made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QMarginsF, QPoint, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QPageLayout, QPageSize, QPainter, QPaintEvent, QPdfWriter, QRegion
from PySide6.QtWidgets import QWidget

from mrfstudio.ui.export.pictures import Drawing, ExportError, save_drawing, save_text
from mrfstudio.ui.plots.content import Content
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.colours import LIGHT, colours_of
from mrfstudio.ui.style.theme import palette_of

MM = 96 / 25.4
"""Units of a drawing for a millimetre."""
WIDTHS = {
    "One of two columns, 85 mm": 85.0,
    "Both columns, 178 mm": 178.0,
    "Text of one column, 140 mm": 140.0,
    "Slide, 254 mm": 254.0,
}
"""What papers of the two usual formats take, and a slide."""
PDF_RESOLUTION = 1200
ENDINGS = (".pdf", ".svg", ".png")


@dataclass(frozen=True)
class Paper:
    """How a figure is to look. `height` is that of one row; `resolution` in dots an inch matters for PNG alone."""

    width: float = 85.0
    height: float = 55.0
    columns: int = 1
    family: str = ""
    points: float = 8.0
    resolution: int = 300


class PaperPlot(Plot):
    """A plot as paper has it: the names of its lines, what its axis counts, no marks of the present."""

    def __init__(self, content: Content, paper: Paper, factor: float, like: Plot | None = None) -> None:
        super().__init__(content)
        if like is not None:
            self.look_like(like)
            self.zoom_x, self.zoom_y = like.zoom_x, like.zoom_y
        self.setPalette(palette_of(LIGHT))
        font = QFont(paper.family) if paper.family else QFont(self.font())
        # In units of the drawing, whatever the screen says.
        font.setPixelSize(max(round(paper.points / 72 * 96 * factor), 1))
        self.setFont(font)

    def reading(self) -> None:
        """No value is read anywhere: the heading names the lines."""
        return

    def margins(self) -> tuple[int, int, int, int]:
        left, top, right, bottom = super().margins()
        return left, top, right, bottom + (self.fontMetrics().height() if self.content.across else 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.content.across and self.axes[1]:
            painter, area = QPainter(self), self.area()
            painter.setPen(QColor(colours_of(self).text))
            tall = self.fontMetrics().height()
            box = QRectF(area.left(), self.height() - tall, area.width(), tall)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, self.content.across)

    def _redraw(self) -> None:
        present, self.content.present = self.content.present, None
        super()._redraw()
        self.content.present = present


Plots = Sequence[Plot | Content]


def figure_of(plots: Plots, canvas: Drawing | None, paper: Paper, factor: float = 1.0) -> Drawing:
    """All of it in rows of `paper.columns`, the canvas first, as one drawing on white.

    Widgets are made `factor` times as large instead of being magnified: lines of one pixel would stay such.
    """
    parts: list[QWidget | Drawing] = [] if canvas is None else [canvas]
    for each in plots:
        content, like = (each, None) if isinstance(each, Content) else (each.content, each)
        parts.append(PaperPlot(content, paper, factor, like))
    rows = -(-len(parts) // paper.columns)
    wide, tall = paper.width * MM * factor / paper.columns, paper.height * MM * factor
    size = QSize(round(paper.width * MM * factor), round(tall * rows))
    for part in parts:
        if isinstance(part, PaperPlot):
            part.resize(round(wide), round(tall))
            part.ensurePolished()
            part.now()

    def paint(painter: QPainter) -> None:
        for index, part in enumerate(parts):
            row, column = divmod(index, paper.columns)
            painter.save()
            painter.translate(round(column * wide), round(row * tall))
            if isinstance(part, Drawing):
                _paint_canvas(painter, part, wide, tall)
            else:
                part.render(painter, QPoint(), QRegion(), QWidget.RenderFlag.DrawChildren)
            painter.restore()

    return Drawing(size, paint, 1.0, LIGHT.surface)


def _paint_canvas(painter: QPainter, canvas: Drawing, wide: float, tall: float) -> None:
    part = min(wide / canvas.size.width(), tall / canvas.size.height())
    painter.translate((wide - part * canvas.size.width()) / 2, (tall - part * canvas.size.height()) / 2)
    painter.scale(part, part)
    canvas.paint(painter)


def save_figure(
    plots: Sequence[Plot | Content], canvas: Drawing | None, paper: Paper, path: Path, command: str
) -> None:
    """Write the figure, NAME.csv and NAME.txt. Raises `ExportError`."""
    if path.suffix.lower() not in ENDINGS:
        raise ExportError(f"{path.name} ends in none of {', '.join(ENDINGS)}: choose one of them.")
    ending = path.suffix.lower()
    if ending == ".pdf":
        _save_pdf(figure_of(plots, canvas, paper, PDF_RESOLUTION / 96), path)
    else:
        factor = paper.resolution / 96 if ending == ".png" else 1.0
        save_drawing(figure_of(plots, canvas, paper, factor), path, path.stem)
    contents = [each if isinstance(each, Content) else each.content for each in plots]
    save_text("".join(f"# {content.title}\n{content.to_csv()}\n" for content in contents), path.with_suffix(".csv"))
    if command:
        save_text(f"{command}\n", path.with_suffix(".txt"))


def _save_pdf(drawing: Drawing, path: Path) -> None:
    """A drawing whose units are dots of `PDF_RESOLUTION`."""
    writer = QPdfWriter(str(path))
    writer.setResolution(PDF_RESOLUTION)
    size = QSizeF(drawing.size.width(), drawing.size.height()) * (25.4 / PDF_RESOLUTION)
    page = QPageSize(size, QPageSize.Unit.Millimeter, "", QPageSize.SizeMatchPolicy.ExactMatch)
    writer.setPageLayout(QPageLayout(page, QPageLayout.Orientation.Portrait, QMarginsF(0, 0, 0, 0)))
    writer.setTitle(path.stem)
    painter = QPainter()
    if not painter.begin(writer):
        raise ExportError(f"{path} cannot be written: choose another place.")
    drawing.paint(painter)
    painter.end()
