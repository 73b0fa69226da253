"""What is believed at one pixel and why: labels, clones with probabilities, and the potentials between states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.answers import CloneGallery
from mrfstudio.ui.canvas.layers import ARROWS, ColourScale, direction_names
from mrfstudio.ui.canvas.overlays import MOST_CLONES
from mrfstudio.ui.plots.heat_map import HeatMap
from mrfstudio.ui.style.colormaps import clone_colours
from mrfstudio.ui.style.colours import Colours, colours_of
from mrfstudio.ui.style.keys import keyed
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.style.words import percent
from mrfstudio.ui.widgets.badge import short
from mrfstudio.ui.widgets.legend import ColourBar
from mrfstudio.ui.words.lighting import stands_for

EMPTY = keyed("Choose the Inspect tool (I) and click a pixel, or Alt+click with any tool.")
LABEL_STATES = ("OUT", "IN")  # the states after the clones


class Inspector(QWidget):
    """Shows the `details` of a lane; pointing at a clone lights its pixels elsewhere."""

    clone_hovered = Signal(object)
    """The clone pointed at, or None."""
    clone_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.heading = QLabel(EMPTY)
        self.heading.setWordWrap(True)
        self.labels, self.clones = ShareList("Labels"), ShareList("Clones")
        stands_for(self.clones, "hidden")
        self.clones_title = QLabel("Clones of CONTOUR")
        self.clones_title.setProperty("role", "heading")
        self.potentials_title = QLabel("Potentials")
        self.potentials_title.setProperty("role", "heading")
        self.potentials_title.setToolTip(
            "<b>Potentials</b><br>How well a state here (down) goes with a state of the neighbour (across). "
            "States are the clones in order, then OUT, then IN."
        )
        self.maps = [HeatMap(f"{ARROWS[name]} {name}") for name in direction_names(8)[:4]]
        self.scale = ColourBar("log-potential", ColourScale("diverging", "nats", ((0.0, ""), (0.5, "0"), (1.0, ""))))
        self._potentials: np.ndarray | None = None
        grid = QGridLayout()
        grid.setSpacing(px(self, 6))
        for index, heat in enumerate(self.maps):
            grid.addWidget(heat, index // 2, index % 2)
            heat.picked.connect(self._picked)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        for widget in (self.heading, self.labels, self.clones_title, self.clones, self.potentials_title):
            column.addWidget(widget)
        column.addLayout(grid)
        column.addWidget(self.scale)
        column.addStretch(1)
        self.clones.hovered.connect(self._hovered)
        self.clones.chosen.connect(self.clone_chosen)
        self.set_details({})
        self.set_gallery(None)

    def set_details(self, details: Mapping[str, object]) -> None:
        """`pixel` (row, column), `labels` {name: probability}, `clones` [(number, probability)]; {} shows nothing."""
        pixel, labels, clones = details.get("pixel"), details.get("labels"), details.get("clones")
        known = isinstance(pixel, tuple)
        if isinstance(pixel, tuple):
            self.heading.setText(f"<b>Pixel</b> row {pixel[0]}, column {pixel[1]}")
        else:
            self.heading.setText(EMPTY)
        self.heading.setProperty("role", "" if known else "muted")
        self.labels.setVisible(isinstance(labels, Mapping))
        if isinstance(labels, Mapping):
            self.labels.set_rows([(name, float(share), index) for index, (name, share) in enumerate(labels.items())])
        listed = isinstance(clones, Sequence) and bool(clones)
        self.clones.setVisible(listed)
        self.clones_title.setVisible(listed)
        if isinstance(clones, Sequence):
            self.clones.set_rows([(f"clone {number}", float(share), number) for number, share in clones], clones=True)

    def set_gallery(self, gallery: CloneGallery | None) -> None:
        """The potentials of the model that is shown, as its gallery has them."""
        self.set_potentials(None if gallery is None else gallery.potentials)

    def set_potentials(self, potentials: np.ndarray | None) -> None:
        """(2 or 4, states, states) log-potentials; None hides the maps."""
        self._potentials = potentials
        shown = potentials is not None
        self.potentials_title.setVisible(shown)
        self.scale.setVisible(shown)
        for index, heat in enumerate(self.maps):
            heat.setVisible(potentials is not None and index < len(potentials))
        if potentials is None:
            return
        # A few extreme entries must not turn the rest grey.
        largest = float(np.quantile(np.abs(potentials), 0.995)) or 1.0
        ticks = ((0.0, f"-{short(largest)}"), (0.5, "0"), (1.0, short(largest)))
        self.scale.bar = ColourScale("diverging", "nats", ticks)
        self.scale.update()
        states = potentials.shape[1]

        def describe(row: int, column: int, value: float) -> str:
            return f"{state_name(row, states)} here, {state_name(column, states)} there: {value:.2f} nats"

        for heat, matrix in zip(self.maps, potentials, strict=False):
            heat.set_matrix(matrix, (-largest, largest), "diverging", describe)

    def point_at(self, clone: int | None) -> None:
        """Mark a clone's row in all four maps."""
        for heat in self.maps:
            heat.mark_row(clone)

    def _hovered(self, clone: int | None) -> None:
        self.point_at(clone)
        self.clone_hovered.emit(clone)

    def _picked(self, row: int, column: int) -> None:
        if self._potentials is not None and row < self._potentials.shape[1] - len(LABEL_STATES):
            self.clone_chosen.emit(row)


class ShareList(QWidget):
    """Names with bars and probabilities. Rows of clones can be pointed at and chosen, with the keyboard too."""

    hovered = Signal(object)
    chosen = Signal(int)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.rows: list[tuple[str, float, int]] = []
        self.colour_of: Callable[[int, int, Colours], tuple[int, int, int]] | None = None
        """The colour of a row's number among so many; None takes the colours of labels."""
        self._clones = False
        self._current: int | None = None
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name)

    def set_rows(self, rows: Sequence[tuple[str, float, int]], clones: bool = False) -> None:
        """Name, probability, and the number of the clone or label, which decides the colour."""
        resized = len(rows) != len(self.rows)
        self.rows, self._clones = list(rows), clones
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if clones else Qt.FocusPolicy.NoFocus)
        self.setAccessibleDescription(", ".join(f"{name} {percent(share)}" for name, share, _ in rows))
        if resized:
            self._current = None
            self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(self, 180), max(len(self.rows), 1) * self._row_height)

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 120), self.sizeHint().height())

    @property
    def _row_height(self) -> int:
        return round(self.fontMetrics().height() * 1.3)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, metrics = colours_of(self), self.fontMetrics()
        names = max((metrics.horizontalAdvance(name) for name, _, _ in self.rows), default=0)
        numbers = metrics.horizontalAdvance("100.0%")
        swatch, gap = round(metrics.height() * 0.7), px(self, 6)
        for index, (name, share, number) in enumerate(self.rows):
            row = QRectF(0, index * self._row_height, self.width(), self._row_height)
            if index == self._current:
                painter.fillRect(row, QColor(colours.accent_soft))
            square = QRectF(1, row.center().y() - swatch / 2, swatch, swatch)
            painter.setPen(QPen(QColor(colours.outline), 1))
            painter.setBrush(self._colour(number))
            painter.drawRect(square)
            painter.setPen(QColor(colours.text))
            left = square.right() + gap
            painter.drawText(QRectF(left, row.top(), names, row.height()), Qt.AlignmentFlag.AlignVCenter, name)
            right = QRectF(self.width() - numbers, row.top(), numbers, row.height())
            painter.drawText(right, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, percent(share))
            room = right.left() - gap - (left + names + gap)
            track = QRectF(left + names + gap, row.center().y() - px(self, 3), max(room, 0), px(self, 6))
            painter.fillRect(track, QColor(colours.raised))
            track.setWidth(track.width() * min(max(share, 0.0), 1.0))
            painter.fillRect(track, QColor(colours.accent))
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.focus), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(self.rect()).adjusted(1, 1, -1, -1))

    def _colour(self, number: int) -> QColor:
        colours = colours_of(self)
        if self._clones:
            return QColor(*clone_colours(MOST_CLONES, colours.name == "dark")[number % MOST_CLONES].tolist())
        if self.colour_of is not None:
            return QColor(*self.colour_of(number, len(self.rows), colours))
        return QColor(colours.labels[number % len(colours.labels)])

    def _point(self, index: int | None) -> None:
        if not self._clones or index == self._current:
            return
        self._current = index
        self.hovered.emit(None if index is None else self.rows[index][2])
        self.update()

    def _index_at(self, point: QPointF) -> int | None:
        index = int(point.y() // self._row_height)
        return index if 0 <= index < len(self.rows) else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point(self._index_at(event.position()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self._index_at(event.position())
        if self._clones and index is not None:
            self.chosen.emit(self.rows[index][2])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if step is not None and self.rows:
            self._point(min(max((-1 if self._current is None else self._current) + step, 0), len(self.rows) - 1))
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._current is not None:
            self.chosen.emit(self.rows[self._current][2])
        else:
            super().keyPressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self._point(None)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._point(None)
        self.update()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.updateGeometry()


def state_name(state: int, states: int) -> str:
    """What a state of a grid model is called: the clones come first, then OUT and IN."""
    clones = states - len(LABEL_STATES)
    return f"clone {state}" if state < clones else LABEL_STATES[state - clones]
