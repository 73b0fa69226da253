"""The column beside a graph: tools, states to give, brush size and strength; it shows what the canvas holds."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSignalBlocker, QSize
from PySide6.QtGui import QColor, QIcon, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QButtonGroup, QLabel, QToolButton, QVBoxLayout, QWidget

from mrfstudio.ui.canvas.graph_input import GRAPH_TOOLS, LARGEST_RADIUS, SMALLEST_RADIUS, GraphCanvas
from mrfstudio.ui.canvas.graph_look import state_colour
from mrfstudio.ui.colours import colours_of
from mrfstudio.ui.icons import icon
from mrfstudio.ui.panels.tool_palette import STEPS, palette_button, palette_slider
from mrfstudio.ui.theme import px

LARGEST_ON_SLIDER = 12.0
MOST_STATES = 10
"""States with a button and a digit of their own."""


class GraphPalette(QWidget):
    """Buttons for everything that keys do on the canvas of graphs."""

    def __init__(self, canvas: GraphCanvas, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.canvas = canvas
        self.tools = {
            tool.name: palette_button(f" {tool.title}  {tool.key}", tool.title, tool.help, tool.key)
            for tool in GRAPH_TOOLS
        }
        self.states: list[QToolButton] = []
        self._tool_group, self._state_group = QButtonGroup(self), QButtonGroup(self)
        self.size_label, self.strength_label = QLabel(), QLabel()
        self.size_slider = palette_slider("Brush size", "How far around the pointer evidence is given. Keys [ and ].")
        self.strength = palette_slider("Strength", "100 % forces the state, less only leans towards it.")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(px(self, 8), px(self, 8), px(self, 8), px(self, 8))
        self._column.setSpacing(px(self, 2))
        for name, button in self.tools.items():
            self._tool_group.addButton(button)
            self._column.addWidget(button)
            button.clicked.connect(lambda _=False, name=name: canvas.choose_tool(name))
        self._column.addSpacing(px(self, 12))
        self._rows = QVBoxLayout()
        self._rows.setSpacing(px(self, 2))
        self._column.addLayout(self._rows)
        self._column.addSpacing(px(self, 12))
        for widget in (self.size_label, self.size_slider, self.strength_label, self.strength):
            self._column.addWidget(widget)
        self._column.addStretch(1)
        self._connect()
        self.set_states(2)

    def _connect(self) -> None:
        canvas = self.canvas
        canvas.tool_changed.connect(lambda name: self.tools[name].setChecked(True))
        canvas.state_changed.connect(self._show_state)
        canvas.radius_changed.connect(self._show_radius)
        canvas.strength_changed.connect(self._show_strength)
        self.size_slider.valueChanged.connect(lambda position: canvas.set_radius(radius_at(position)))
        self.strength.valueChanged.connect(lambda position: canvas.set_strength(max(position, 1) / STEPS))
        self.tools[canvas.tool].setChecked(True)
        self._show_radius(canvas.radius)
        self._show_strength(canvas.strength)

    def set_states(self, count: int) -> None:
        """As many states as the graph has; digits choose them."""
        if len(self.states) == min(count, MOST_STATES):
            return
        for button in self.states:
            self._rows.removeWidget(button)
            button.hide()
            button.deleteLater()
        self.states = []
        for state in range(min(count, MOST_STATES)):
            help = f"Give evidence that nodes are in state {state}."
            button = palette_button(f" State {state}  {state}", f"State {state}", help, str(state))
            button.clicked.connect(lambda _=False, state=state: self.canvas.choose_state(state))
            self._state_group.addButton(button)
            self._rows.addWidget(button)
            self.states.append(button)
        if self.canvas.state >= count:
            self.canvas.choose_state(count - 1)
        self._show_state(self.canvas.state)
        self._follow_theme()

    def _show_state(self, state: int) -> None:
        if state < len(self.states):
            self.states[state].setChecked(True)

    def _show_radius(self, radius: float) -> None:
        self.size_label.setText("Size: one node" if radius <= SMALLEST_RADIUS else f"Size {2 * radius:.3g} nodes")
        with QSignalBlocker(self.size_slider):
            self.size_slider.setValue(position_of(radius))

    def _show_strength(self, strength: float) -> None:
        self.strength_label.setText("Strength: hard" if strength >= 1 else f"Strength {strength:.0%}")
        with QSignalBlocker(self.strength):
            self.strength.setValue(round(strength * STEPS))

    def _follow_theme(self) -> None:
        side = px(self, 18)
        for tool in GRAPH_TOOLS:
            self.tools[tool.name].setIcon(icon(tool.icon, self))
            self.tools[tool.name].setIconSize(QSize(side, side))
        for state, button in enumerate(self.states):
            button.setIcon(self._swatch(state, side))
            button.setIconSize(QSize(side, side))
        self.size_label.setMinimumWidth(self.fontMetrics().horizontalAdvance("Size: one node 8"))

    def _swatch(self, state: int, side: int) -> QIcon:
        ratio, colours = self.devicePixelRatioF(), colours_of(self)
        pixmap = QPixmap(round(side * ratio), round(side * ratio))
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(QColor(0, 0, 0, 0))
        painter = QPainter(pixmap)
        painter.setBrush(QColor(*state_colour(state, max(len(self.states), 2), colours)))
        painter.setPen(QPen(QColor(colours.ink), 2))
        painter.drawRect(2, 2, side - 4, side - 4)
        painter.end()
        return QIcon(pixmap)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._follow_theme()


def radius_at(position: int) -> float:
    """Slider position to radius in units: fine steps for fine brushes."""
    return SMALLEST_RADIUS + (LARGEST_ON_SLIDER - SMALLEST_RADIUS) * (position / STEPS) ** 2


def position_of(radius: float) -> int:
    """Radius to slider position."""
    part = (min(radius, LARGEST_RADIUS) - SMALLEST_RADIUS) / (LARGEST_ON_SLIDER - SMALLEST_RADIUS)
    return round(min(max(part, 0.0), 1.0) ** 0.5 * STEPS)
