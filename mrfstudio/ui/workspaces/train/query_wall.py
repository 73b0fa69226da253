"""The fixed queries of a run: what is given, what the model answers now, what is true."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFocusEvent, QFont, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from mrfstudio.engine.protocol.training import Panel, Snapshot
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.words.lighting import stands_for
from mrfstudio.ui.workspaces.train.model_picture import PanelPictures


class QueryWall(QWidget):
    """A column for each query and a row for each kind of panel. The canvas of the Train workspace: it takes keys."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.snapshot: Snapshot | None = None
        self.empty_text = ""
        self._pictures = PanelPictures(self)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Queries and answers")
        stands_for(self, "belief", "evidence")
        self.setWhatsThis(
            "The same queries, answered again every few seconds by the model as it is then. Space starts and pauses, "
            "a full stop computes one batch."
        )

    def set_snapshot(self, snapshot: Snapshot | None) -> None:
        self.snapshot = snapshot
        self._pictures.forget()
        self.update()

    def set_empty_text(self, text: str) -> None:
        if text != self.empty_text:  # said again with every look at a run, and painting takes milliseconds
            self.empty_text = text
            self.update()

    @property
    def titles(self) -> tuple[str, ...]:
        """The rows, in order."""
        queries = () if self.snapshot is None else self.snapshot.queries
        return tuple(dict.fromkeys(panel.title for query in queries for panel in query))

    def sizeHint(self) -> QSize:
        return QSize(px(self, 560), px(self, 320))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 240), px(self, 100))

    # Geometry ---------------------------------------------------------------------------------------------------------

    def _frame(self) -> QRectF:
        """Where the pictures are: right of the row titles, below the heading, above the remark."""
        line, gap = self.fontMetrics().height(), px(self, 6)
        widest = max((self.fontMetrics().horizontalAdvance(title) for title in self.titles), default=0)
        left, top = widest + 2 * gap, round(line * 1.5) + gap
        return QRectF(left, top, max(self.width() - left - gap, 1), max(self.height() - top - 2 * line - 4 * gap, 1))

    def place(self, query: int, row: int) -> QRectF:
        """Where a panel is drawn."""
        frame, gap = self._frame(), px(self, 6)
        assert self.snapshot is not None
        columns, rows = max(len(self.snapshot.queries), 1), max(len(self.titles), 1)
        height, width = self.snapshot.queries[0][0].array.shape[:2]
        room = (frame.width() + gap) / columns - gap, (frame.height() + gap) / rows - gap
        scale = min(room[0] / width, room[1] / height)
        wide, tall = width * scale, height * scale
        return QRectF(frame.left() + query * (wide + gap), frame.top() + row * (tall + gap), wide, tall)

    def panel_at(self, position: QPoint) -> Panel | None:
        """The panel under a position."""
        titles = self.titles
        for number, query in enumerate(() if self.snapshot is None else self.snapshot.queries):
            for panel in query:
                if self.place(number, titles.index(panel.title)).contains(position.toPointF()):
                    return panel
        return None

    # Painting ---------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = colours_of(self)
        painter.fillRect(self.rect(), QColor(colours.surface))
        self._paint_border(painter)
        if self.snapshot is None or not self.snapshot.queries:
            margin = px(self, 24)
            painter.setPen(QColor(colours.muted))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(QRectF(self.rect()).adjusted(margin, margin, -margin, -margin), flags, self.empty_text)
            return
        self._paint_heading(painter)
        titles = self.titles
        for number, query in enumerate(self.snapshot.queries):
            for panel in query:
                self._pictures.paint(painter, panel, self.place(number, titles.index(panel.title)))
        painter.setPen(QColor(colours.muted))
        for row, title in enumerate(titles):
            beside = self.place(0, row)
            words = QRectF(px(self, 6), beside.top(), beside.left() - px(self, 12), beside.height())
            painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, title)
        self._paint_remark(painter, self.place(0, len(titles)).top() + px(self, 2))

    def _paint_remark(self, painter: QPainter, top: float) -> None:
        """What is asked, and below it what the colours of labels mean."""
        assert self.snapshot is not None
        colours, metrics = colours_of(self), self.fontMetrics()
        line, gap = metrics.height(), px(self, 6)
        x, room = float(gap + px(self, 2)), self.width() - 2 * gap
        words = metrics.elidedText(self.snapshot.remark, Qt.TextElideMode.ElideRight, room)
        painter.setPen(QColor(colours.muted))
        painter.drawText(QPointF(x, top + metrics.ascent()), words)
        if not any(panel.layer == "belief" for query in self.snapshot.queries for panel in query):
            return
        top += line + gap
        for label, name in enumerate(self.snapshot.labels[: len(colours.labels)]):
            side = line * 0.7
            painter.setPen(QPen(QColor(colours.outline), 1))
            painter.setBrush(QColor(colours.labels[label]))
            painter.drawRect(QRectF(x, top + line * 0.15, side, side))
            x += side + gap
            painter.setPen(QColor(colours.text))
            painter.drawText(QPointF(x, top + metrics.ascent()), name)
            x += metrics.horizontalAdvance(name) + 2 * gap

    def _paint_heading(self, painter: QPainter) -> None:
        assert self.snapshot is not None
        bold = QFont(self.font())
        bold.setBold(True)
        painter.setFont(bold)
        painter.setPen(QColor(colours_of(self).text))
        painter.drawText(
            px(self, 8), self.fontMetrics().ascent() + px(self, 6), f"Answers at step {self.snapshot.step:,}"
        )
        painter.setFont(self.font())

    def _paint_border(self, painter: QPainter) -> None:
        colours = colours_of(self)
        focused = self.hasFocus()
        painter.setPen(QPen(QColor(colours.focus if focused else colours.border), 2 if focused else 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        inset = 1.0 if focused else 0.5
        painter.drawRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            panel = self.panel_at(event.pos())
            QToolTip.showText(event.globalPos(), "" if panel is None else panel.help, self)
            return True
        return super().event(event)
