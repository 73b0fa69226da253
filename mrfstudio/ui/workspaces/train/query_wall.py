"""The fixed queries of a run: what is given, what the model answers now, what is true."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from mrfstudio.engine.protocol.training import Snapshot
from mrfstudio.ui.plots.content import Dots, Note, Paint
from mrfstudio.ui.style.colours import Colours
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.words.lighting import stands_for
from mrfstudio.ui.workspaces.train.panel_wall import Hung, PanelWall

TITLE = "Answers"


class QueryWall(PanelWall):
    """A column for each query and a row for each kind of panel. The canvas of the Train workspace: it takes keys."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(TITLE, parent)
        self.snapshot: Snapshot | None = None
        self.setAccessibleName("Queries and answers")
        stands_for(self, "belief", "evidence")
        self.setWhatsThis(
            "The same queries, answered again every few seconds by the model as it is then. Space starts and pauses, "
            "a full stop computes one batch."
        )

    def set_snapshot(self, snapshot: Snapshot | None) -> None:
        self.snapshot = snapshot
        self.labels = () if snapshot is None else tuple(snapshot.labels)
        self.content.title = TITLE if snapshot is None else f"Answers at step {snapshot.step:,}"
        self.hang_again()

    @property
    def titles(self) -> tuple[str, ...]:
        """The rows, in order."""
        queries = () if self.snapshot is None else self.snapshot.queries
        return tuple(dict.fromkeys(panel.title for query in queries for panel in query))

    def sizeHint(self) -> QSize:
        return QSize(px(self, 560), px(self, 320))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 240), px(self, 100))

    def hang(self, wide: float, high: float) -> tuple[list[Hung], list[Note], list[Dots]]:
        if self.snapshot is None or not self.snapshot.queries:
            return [], [], []
        frame, titles = self._frame(wide, high), self.titles
        hung = [
            Hung(panel, self._spot(frame, number, titles.index(panel.title)), f"query {number + 1}, {panel.title}")
            for number, query in enumerate(self.snapshot.queries)
            for panel in query
        ]
        beside = [self._spot(frame, 0, row) for row in range(len(titles))]
        gap = px(self, 6)
        notes = [
            Note(title, at.left() - gap, at.center().y(), (1.0, 0.5)) for title, at in zip(titles, beside, strict=True)
        ]
        below = beside[-1].bottom() + gap
        remark = self.fontMetrics().elidedText(self.snapshot.remark, Qt.TextElideMode.ElideRight, int(wide - 2 * gap))
        names, squares = self._legend(below + self.fontMetrics().height() + gap)
        return hung, [*notes, Note(remark, gap, below, (0.0, 0.0)), *names], squares

    def _frame(self, wide: float, high: float) -> QRectF:
        """Where the pictures are: right of the row titles, above the remark."""
        line, gap = self.fontMetrics().height(), px(self, 6)
        left = max((self.fontMetrics().horizontalAdvance(title) for title in self.titles), default=0) + 3 * gap
        return QRectF(left, gap, max(wide - left - gap, 1), max(high - 2 * line - 5 * gap, 1))

    def _spot(self, frame: QRectF, query: int, row: int) -> QRectF:
        """Where a panel hangs in a frame that holds all of them."""
        assert self.snapshot is not None
        gap, columns, rows = px(self, 6), len(self.snapshot.queries), max(len(self.titles), 1)
        height, width = self.snapshot.queries[0][0].array.shape[:2]
        room = (frame.width() + gap) / columns - gap, (frame.height() + gap) / rows - gap
        scale = max(min(room[0] / width, room[1] / height), 0.1)
        wide, tall = width * scale, height * scale
        return QRectF(frame.left() + query * (wide + gap), frame.top() + row * (tall + gap), wide, tall)

    def _legend(self, top: float) -> tuple[list[Note], list[Dots]]:
        """What the colours of labels mean, where they are seen."""
        assert self.snapshot is not None
        if not any(panel.layer == "belief" for query in self.snapshot.queries for panel in query):
            return [], []
        line, gap = self.fontMetrics().height(), px(self, 6)
        x, names, squares = float(gap), [], []
        for label, name in enumerate(self.snapshot.labels):
            middle = np.array([x + line / 2]), np.array([top + line / 2])
            squares.append(Dots(label, name, *middle, _paint(label), 9.0, symbol="s", edge=_outline, named=False))
            names.append(Note(name, x + line + gap / 2, middle[1][0], (0.0, 0.5)))
            x += line + 2 * gap + self.fontMetrics().horizontalAdvance(name)
        return names, squares


def _paint(label: int) -> Paint:
    return lambda colours: QColor(colours.labels[label % len(colours.labels)])


def _outline(colours: Colours) -> QColor:
    return QColor(colours.outline)
