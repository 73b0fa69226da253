"""The column beside a graph: tools, states to give, brush size and strength; it shows what the canvas holds."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, QSize
from PySide6.QtGui import QColor, QIcon, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from mrfstudio.ui.graph_canvas.input import GRAPH_TOOLS, LARGEST_RADIUS, SMALLEST_RADIUS, GraphCanvas
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.graph_colours import state_colour
from mrfstudio.ui.style.icons import icon
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.palette import STEPS, Palette, PaletteButton

LARGEST_ON_SLIDER = 12.0
MOST_STATES = 10
"""States with a button and a digit of their own."""


class GraphPalette(Palette):
    """Buttons for everything that keys do on the canvas of graphs."""

    longest = "Size: one node 8"

    def __init__(self, canvas: GraphCanvas, parent: QWidget | None = None) -> None:
        super().__init__(
            "How far around the pointer evidence is given. Keys [ and ].",
            "100 % forces the state, less only leans towards it.",
            parent,
        )
        self.canvas = canvas
        self.tools = {tool.name: PaletteButton(tool.title, tool.help, tool.key) for tool in GRAPH_TOOLS}
        self.states: list[PaletteButton] = []
        self._titles: tuple[str, ...] = ()
        for name, button in self.tools.items():
            button.clicked.connect(lambda _=False, name=name: canvas.choose_tool(name))
        self._tools.set_buttons([*self.tools.values()])
        self._connect()
        self.set_states(2)

    def _connect(self) -> None:
        canvas = self.canvas
        canvas.tool_changed.connect(lambda name: self.tools[name].setChecked(True))
        canvas.state_changed.connect(self._show_state)
        canvas.radius_changed.connect(self._show_radius)
        canvas.strength_changed.connect(self._show_strength)
        self.brush_size.valueChanged.connect(lambda position: canvas.set_radius(radius_at(position)))
        self.strength.valueChanged.connect(lambda position: canvas.set_strength(max(position, 1) / STEPS))
        self.tools[canvas.tool].setChecked(True)
        self._show_numbers()

    def _show_numbers(self) -> None:
        self._show_radius(self.canvas.radius)
        self._show_strength(self.canvas.strength)

    def set_states(self, count: int, names: tuple[str, ...] = ()) -> None:
        """As many states as the graph has; digits choose them. `names` where all variables call them the same."""
        titles = tuple(names[state] if names else f"State {state}" for state in range(min(count, MOST_STATES)))
        if titles == self._titles:
            return
        self.states, self._titles = [], titles
        for state, title in enumerate(titles):
            help = f"Give evidence that nodes are in state {state}."
            button = PaletteButton(title, help, str(state))
            button.clicked.connect(lambda _=False, state=state: self.canvas.choose_state(state))
            self.states.append(button)
        self._labels.set_buttons(self.states)
        if self.canvas.state >= count:
            self.canvas.choose_state(count - 1)
        self._show_state(self.canvas.state)
        self._follow_theme()

    def _show_state(self, state: int) -> None:
        if state < len(self.states):
            self.states[state].setChecked(True)

    def _show_radius(self, radius: float) -> None:
        one = radius <= SMALLEST_RADIUS
        words = self.worded("Size:", "one node") if one else self.worded("Size", f"{2 * radius:.3g} nodes")
        self.size_label.setText(words)
        with QSignalBlocker(self.brush_size):
            self.brush_size.setValue(position_of(radius))

    def _show_strength(self, strength: float) -> None:
        self.strength_label.setText(self.strength_words(strength))
        with QSignalBlocker(self.strength):
            self.strength.setValue(round(strength * STEPS))

    def _follow_theme(self) -> None:
        super()._follow_theme()
        side = px(self, 18)
        for tool in GRAPH_TOOLS:
            self.tools[tool.name].setIcon(icon(tool.icon, self))
            self.tools[tool.name].setIconSize(QSize(side, side))
        for state, button in enumerate(self.states):
            button.setIcon(self._swatch(state, side))
            button.setIconSize(QSize(side, side))

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


def radius_at(position: int) -> float:
    """Slider position to radius in units: fine steps for fine brushes."""
    return SMALLEST_RADIUS + (LARGEST_ON_SLIDER - SMALLEST_RADIUS) * (position / STEPS) ** 2


def position_of(radius: float) -> int:
    """Radius to slider position."""
    part = (min(radius, LARGEST_RADIUS) - SMALLEST_RADIUS) / (LARGEST_ON_SLIDER - SMALLEST_RADIUS)
    return round(min(max(part, 0.0), 1.0) ** 0.5 * STEPS)
