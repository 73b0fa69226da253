"""The regions of a lane: levels from the roots down, counting numbers, and where a child disagrees with its parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.frames import GraphFrame, LaneFrame
from mrfstudio.ui.style.colours import colours_of, faded
from mrfstudio.ui.style.theme import MinimumWidth, px
from mrfstudio.ui.widgets.lane_names import LETTERS

EMPTY = "This algorithm has no regions: choose gbp, renn or bethe-net to see them here."
WITH_REGIONS = ("gbp", "renn", "bethe-net")
ASK = "Click a region to see its belief; the arrow keys go from one to the next."
LOWEST, HIGHEST = -6.0, -1.0
"""Powers of ten of a squared disagreement from which on, and at which, a line is drawn at its strongest."""
IN_A_ROW = 40
"""Regions of a level that stand side by side; more of them stand where their variables do, a map for each level."""
LEGEND = "red: parent and child differ"
MOST_SHOWN = 8
"""Entries of a belief that are listed, the most probable first."""


class RegionPanel(QWidget):
    """The picture of the regions, and the belief of the chosen one in words."""

    lit = Signal(tuple)
    """The variables of the chosen region, for the graph to light."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.heading = QLabel(EMPTY, wordWrap=True)
        self.picture = RegionPicture()
        self.belief = QLabel(ASK, wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.belief.setProperty("role", "muted")
        self._beliefs = np.zeros((0, 1), np.float32)
        self._states = np.zeros(0, np.int32)
        self._labels: tuple[int, ...] = ()
        self.heading.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        margin = px(self, 8)
        column.setContentsMargins(margin, 0, margin, margin)
        column.addWidget(self.heading)
        column.addWidget(self.picture, 1)
        column.addWidget(self.belief)
        self.picture.chosen.connect(self._choose)
        MinimumWidth(self, 260)
        self._clear()

    def set_pictures(
        self, pictures: Mapping[str, np.ndarray], graph: GraphFrame, lanes: Sequence[LaneFrame] = ()
    ) -> None:
        """Show the arrays that the picture `regions` of a lane consists of; `lanes` are all that could be shown."""
        if "region_members" not in pictures:
            self._clear(lanes)
            return
        self._beliefs, self._states, self._labels = pictures["region_beliefs"], graph.states, graph.labels
        counting, gaps = pictures["region_counting"], pictures["region_gaps"]
        largest = float(gaps.max(initial=0.0))
        levels = int(pictures["region_levels"].max(initial=0)) + 1
        self.heading.setText(
            f"{len(counting)} regions on {levels} {'level' if levels == 1 else 'levels'}, Σ c = {int(counting.sum())}; "
            f"largest penalty of an edge {largest:.1e}"
        )
        self.picture.show()
        self.belief.show()
        self.picture.set_regions(pictures, graph)
        self._show_belief(self.picture.region)

    def _clear(self, lanes: Sequence[LaneFrame] = ()) -> None:
        """Say where regions are to be seen."""
        others = [LETTERS[lane.lane] for lane in lanes if lane.algorithm in WITH_REGIONS]
        there = f"This lane has no regions. Lane {' or '.join(others)} has: show it by its Show under Lanes."
        self.heading.setText(there if others else EMPTY)
        self.picture.hide()
        self.belief.hide()

    def light(self, variable: int | None) -> None:
        """Light the regions that hold a variable, because somebody chose it on the graph."""
        self.picture.variable = variable
        self.picture.update()

    def _choose(self, region: int | None) -> None:
        self._show_belief(region)
        self.lit.emit(() if region is None else tuple(self.picture.members_of(region)))

    def _show_belief(self, region: int | None) -> None:
        if region is None:
            self.belief.setText(ASK)
            return
        members = self.picture.members_of(region)
        title = f"{self.picture.words(region)}\n"
        values = self._beliefs[region]
        values = values[~np.isnan(values)]
        if not len(values):
            self.belief.setText(title + "Its table is too large to list.")
            return
        shape = [int(self._states[v]) for v in members]
        best = np.argsort(-values, kind="stable")[:MOST_SHOWN]
        lines = ["  ".join(str(int(d)) for d in np.unravel_index(i, shape)) + f"   {values[i]:.4f}" for i in best]
        heads = "  ".join(str(self._labels[v]) for v in members)
        more = "" if len(values) <= MOST_SHOWN else f"\n… {len(values) - MOST_SHOWN} more"
        self.belief.setText(f"{title}States of {heads}, and their probability:\n" + "\n".join(lines) + more)


class RegionPicture(QWidget):
    """Regions as boxes, a row for each level; lines to parents grow stronger with their disagreement."""

    chosen = Signal(object)
    """The number of a region, or None."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.region: int | None = None
        self.variable: int | None = None
        """A variable whose regions are lit."""
        self._members = np.zeros((0, 1), np.int32)
        self._levels = self._counting = np.zeros(0, np.int32)
        self._edges = np.zeros((0, 2), np.int32)
        self._gaps = np.zeros(0, np.float32)
        self._places = np.zeros((0, 2))
        self._rows: dict[int, int] = {}
        self._labels: tuple[int, ...] = ()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def set_regions(self, pictures: Mapping[str, np.ndarray], graph: GraphFrame) -> None:
        if pictures["region_members"] is not self._members:
            self._members, self._levels = pictures["region_members"], pictures["region_levels"]
            self._counting, self._edges = pictures["region_counting"], pictures["region_edges"]
            self._places = placed(self._levels, self._edges, self._members, graph.positions)
            self._rows = dict(enumerate(np.bincount(self._levels).tolist()))
            self.region = None
        self._gaps, self._labels = pictures["region_gaps"], graph.labels
        self.setAccessibleName(f"{len(self._counting)} regions")
        self.update()

    def members_of(self, region: int) -> list[int]:
        return [int(v) for v in self._members[region] if v >= 0]

    def words(self, region: int) -> str:
        """What a region is, in a line."""
        names = ", ".join(str(self._labels[v]) for v in self.members_of(region))
        gaps = self._gaps[self._edges[:, 1] == region]
        apart = f", penalty {gaps.sum():.1e} with {len(gaps)} parents" if len(gaps) else ", a root"
        return f"Region {{{names}}}: c = {int(self._counting[region])}{apart}"

    # Places -----------------------------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        return QSize(px(self, 320), px(self, 260))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 200), px(self, 140))

    def place(self, region: int) -> QPointF:
        """The middle of a region's box."""
        across, down = self._places[region].tolist()
        words = self.fontMetrics().height() * 1.2
        below = int(self._levels[region]) * self._band + words
        return QPointF(across * self.width(), below + down * (self._band - words))

    @property
    def _band(self) -> float:
        """The height of a level, with the words above it."""
        return (self.height() - self.fontMetrics().height() * 1.6) / max(len(self._rows), 1)

    def box(self, region: int) -> QRectF:
        """As wide as its row leaves room for; a dot where that is little."""
        middle = self.place(region)
        count = self._rows[int(self._levels[region])]
        share = self.width() / (count if count <= IN_A_ROW else 2 * count**0.5)
        width = min(max(share - px(self, 4), px(self, 4)), px(self, 96))
        height = min(self.fontMetrics().height() * 1.5, max(width, px(self, 6)))
        return QRectF(middle.x() - width / 2, middle.y() - height / 2, width, height)

    # Painting ---------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_edges(painter)
        for region in range(len(self._levels)):
            self._paint_region(painter, region)
        self._paint_words(painter)

    def _paint_words(self, painter: QPainter) -> None:
        """What each level holds, above it, and what red means, below. Lines give way to words."""
        metrics, line = self.fontMetrics(), self.fontMetrics().height() * 1.2
        colours = colours_of(self)
        lines = [(self._above(level) - line, text) for level, text in enumerate(self.captions())]
        for top, text in (*lines, (self.height() - line, LEGEND)):
            fitting = metrics.elidedText(text, Qt.TextElideMode.ElideRight, self.width())
            width = metrics.horizontalAdvance(fitting) + px(self, 8)
            place = QRectF((self.width() - width) / 2, top, width, line)
            painter.fillRect(place, QColor(colours.window))
            painter.setPen(QColor(colours.muted))
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, fitting)

    def _above(self, level: int) -> float:
        """Where the boxes of a level begin."""
        row = np.flatnonzero(self._levels == level)
        if len(row) > IN_A_ROW:
            return level * self._band + self.fontMetrics().height() * 1.2
        return self.box(int(row[0])).top() - px(self, 2)

    def captions(self) -> list[str]:
        """Each level in words: how many regions, of how many variables, with which counting numbers."""
        sizes = (self._members >= 0).sum(1)
        found = []
        for level, count in self._rows.items():
            row = self._levels == level
            noun = ("root" if level == 0 else "region") + ("s" if count > 1 else "")
            found.append(f"{count} {noun} of {_range(sizes[row])}, c = {_range(self._counting[row])}")
        return found

    def _paint_edges(self, painter: QPainter) -> None:
        colours = colours_of(self)
        strength = np.clip((np.log10(np.maximum(self._gaps, 1e-30)) - LOWEST) / (HIGHEST - LOWEST), 0, 1)
        for (parent, child), strong in zip(self._edges.tolist(), strength.tolist(), strict=True):
            own = self.region in (parent, child)
            colour = faded(colours.bad, 0.3 + 0.7 * strong) if strong > 0 else faded(colours.outline, 0.45)
            if own:
                colour = QColor(colours.bad if strong > 0 else colours.text)
            painter.setPen(QPen(colour, px(self, 1) * (1 + 2 * strong + own)))
            painter.drawLine(QLineF(self.place(parent), self.place(child)))

    def _paint_region(self, painter: QPainter, region: int) -> None:
        colours, metrics, box = colours_of(self), self.fontMetrics(), self.box(region)
        count = int(self._counting[region])
        edge = colours.accent if count > 0 else colours.warn if count < 0 else colours.outline
        chosen = region == self.region
        lit = self.variable is not None and self.variable in self._members[region].tolist()
        edge = colours.highlight if lit else edge
        painter.setPen(QPen(QColor(colours.focus if chosen else edge), px(self, 3 if chosen or lit else 1.5)))
        painter.setBrush(QColor(colours.accent_soft if chosen else colours.surface))
        if box.width() < metrics.horizontalAdvance("-88"):
            painter.setBrush(QColor(edge))
            painter.drawEllipse(box)
            return
        painter.drawRoundedRect(box, px(self, 4), px(self, 4))
        painter.setPen(QColor(colours.text))
        names = " ".join(str(self._labels[v]) for v in self.members_of(region))
        text = f"{names}: {count}"
        if metrics.horizontalAdvance(text) > box.width() - px(self, 6):
            text = str(count)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    # Hands ------------------------------------------------------------------------------------------------------------

    def nearest(self, point: QPointF) -> int | None:
        """The region under a point, or close to it."""
        if not len(self._levels):
            return None
        boxes = [self.box(region) for region in range(len(self._levels))]
        reach = px(self, 6)
        apart = [
            max(
                abs(point.x() - box.center().x()) - box.width() / 2,
                abs(point.y() - box.center().y()) - box.height() / 2,
            )
            for box in boxes
        ]
        best = int(np.argmin(apart))
        return best if apart[best] <= reach else None

    def choose(self, region: int | None) -> None:
        self.region = region
        self.chosen.emit(region)
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.choose(self.nearest(event.position()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1)}
        step = steps.get(Qt.Key(event.key()))
        if step is None or not len(self._levels):
            super().keyPressEvent(event)
            return
        self.choose(0 if self.region is None else self._beside(self.region, *step))

    def _beside(self, region: int, along: int, down: int) -> int:
        level = min(max(int(self._levels[region]) + down, 0), int(self._levels.max()))
        row = np.flatnonzero(self._levels == level)
        row = row[np.lexsort((self._places[row, 0], self._places[row, 1].round(2)))]
        if down:
            return int(row[np.argmin(np.abs(self._places[row] - self._places[region]).sum(1))])
        position = int(np.flatnonzero(row == region)[0]) + along
        return int(row[min(max(position, 0), len(row) - 1)])

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            region = self.nearest(QPointF(event.pos()))
            about = (
                "Regions from the roots down. Click one to see its belief." if region is None else self.words(region)
            )
            QToolTip.showText(event.globalPos(), about, self)
            return True
        return super().event(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self.update()


def _range(values: np.ndarray) -> str:
    """One number where all are equal, else from the least to the most."""
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low} to {high}"


def placed(levels: np.ndarray, edges: np.ndarray, members: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Where each region stands in the band of its level, (n, 2) from 0 to 1: across and down.

    Few of them in a row, children under the middle of their parents; many at the middle of their variables.
    """
    known = members >= 0
    centres = (positions[members] * known[:, :, None]).sum(1) / known.sum(1)[:, None]
    low, high = positions.min(0), positions.max(0)
    maps = 0.06 + 0.88 * (centres - low) / np.where(high > low, high - low, 1)
    found, wish = np.zeros((len(levels), 2)), maps[:, 0].copy()
    for level in range(int(levels.max(initial=0)) + 1):
        row = np.flatnonzero(levels == level)
        if level:
            wish[row] = [found[edges[edges[:, 1] == region, 0], 0].mean() for region in row]
        order = row[np.argsort(wish[row], kind="stable")]
        found[order, 0] = (np.arange(len(order)) + 0.5) / len(order)
        found[row, 1] = 0.5
        if len(row) > IN_A_ROW:
            found[row] = maps[row] * (1, 0.8) + (0, 0.1)
    return found
