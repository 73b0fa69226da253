"""The column beside the canvas: tools, labels, brush size, strength of hints; it shows what the canvas holds."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from mrfstudio.ui.canvas import TOOLS, Canvas, Target
from mrfstudio.ui.style.colours import Colours, colours_of
from mrfstudio.ui.style.icons import icon
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.palette import STEPS, Palette, PaletteButton

OUTSIDE = "Rectangle, ellipse and lasso then fill everything but what they go around."
LARGEST_ON_SLIDER = 24.0
"""Pixels of radius, until `set_largest` says otherwise; the keys go further."""


class ToolPalette(Palette):
    """Buttons for everything that keys do on the canvas, so that nothing has to be remembered."""

    def __init__(self, canvas: Canvas, parent: QWidget | None = None) -> None:
        super().__init__(
            "How wide the brush paints, in pixels of the picture. Keys [ and ].",
            "How much a hint counts: 100 % forces the label, less only leans towards it.",
            parent,
        )
        self.canvas, self._largest = canvas, LARGEST_ON_SLIDER
        self.tools = {tool.name: PaletteButton(tool.title, tool.help, tool.key) for tool in TOOLS}
        self.outside = PaletteButton("Everything but", OUTSIDE, "X", "All but")
        self.outside.setAutoExclusive(False)
        self.targets: list[PaletteButton] = []
        for name, button in self.tools.items():
            button.clicked.connect(lambda _=False, name=name: canvas.choose_tool(name))
        self._tools.set_buttons([*self.tools.values(), self.outside])
        self._connect()
        self.set_targets(canvas.tools.targets)
        self._follow_theme()

    def set_largest(self, radius: float) -> None:
        """The radius at the right end of the slider, for pictures of another size."""
        self._largest = max(radius, LARGEST_ON_SLIDER)
        self._show_radius(self.canvas.tools.radius)

    def set_targets(self, targets: tuple[Target, ...]) -> None:
        """Other labels to paint with; digit keys choose them in this order."""
        self.targets = []
        for index, target in enumerate(targets):
            button = PaletteButton(target.title, target.help, str(index + 1))
            button.clicked.connect(lambda _=False, index=index: self.canvas.choose_target(index))
            self.targets.append(button)
        self._labels.set_buttons(self.targets)
        self.canvas.set_targets(targets)
        self._follow_theme()

    def _connect(self) -> None:
        canvas = self.canvas
        canvas.tool_changed.connect(lambda name: self.tools[name].setChecked(True))
        canvas.outside_changed.connect(self.outside.setChecked)
        self.outside.clicked.connect(canvas.set_outside)
        canvas.target_changed.connect(self._show_target)
        canvas.radius_changed.connect(self._show_radius)
        canvas.strength_changed.connect(self._show_strength)
        self.brush_size.valueChanged.connect(lambda position: canvas.set_radius(radius_at(position, self._largest)))
        self.strength.valueChanged.connect(lambda position: canvas.set_strength(max(position, 1) / STEPS))
        self.tools[canvas.tools.tool].setChecked(True)
        self._show_numbers()

    def _show_numbers(self) -> None:
        self._show_radius(self.canvas.tools.radius)
        self._show_strength(self.canvas.tools.strength)

    def _show_target(self, index: int) -> None:
        if index < len(self.targets):
            self.targets[index].setChecked(True)
        # What was observed was observed: most cannot be soft.
        soft = self.canvas.tools.target.soft
        self.strength.setEnabled(soft)
        self.strength_label.setEnabled(soft)

    def _show_radius(self, radius: float) -> None:
        self.size_label.setText(self.worded("Size", f"{2 * radius:g} px"))
        with QSignalBlocker(self.brush_size):
            self.brush_size.setValue(position_of(radius, self._largest))

    def _show_strength(self, strength: float) -> None:
        self.strength_label.setText(self.strength_words(strength))
        with QSignalBlocker(self.strength):
            self.strength.setValue(round(strength * STEPS))

    def _follow_theme(self) -> None:
        super()._follow_theme()
        side = px(self, 18)
        for name, button in self.tools.items():
            button.setIcon(icon(name, self))
            button.setIconSize(QSize(side, side))
        self.outside.setIcon(icon("outside", self))
        self.outside.setIconSize(QSize(side, side))
        for button, target in zip(self.targets, self.canvas.tools.targets, strict=False):
            button.setIcon(swatch(target, colours_of(self), side, self.devicePixelRatioF()))
            button.setIconSize(QSize(side, side))


def radius_at(position: int, largest: float) -> float:
    """Slider position to radius: fine steps for fine brushes."""
    return 0.5 + (largest - 0.5) * (position / STEPS) ** 2


def position_of(radius: float, largest: float) -> int:
    """Radius to slider position."""
    return round((min(max(radius - 0.5, 0.0) / (largest - 0.5), 1.0)) ** 0.5 * STEPS)


def target_colour(target: Target, colours: Colours) -> str:
    """A label's colour, a named one, or ink."""
    if isinstance(target.colour, int):
        return colours.labels[target.colour]
    if target.colour is not None and target.colour.startswith("#"):
        return target.colour
    named: str = getattr(colours, target.colour or "ink")
    return named


def swatch(target: Target, colours: Colours, side: int, ratio: float) -> QIcon:
    """A label's colour as it looks on the canvas: hints striped, ink plain."""
    pixmap = QPixmap(round(side * ratio), round(side * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setBrush(QColor(target_colour(target, colours)))
    painter.setPen(QPen(QColor(colours.outline), 1))
    painter.drawRoundedRect(1, 1, side - 2, side - 2, side / 6, side / 6)
    if isinstance(target.colour, int):
        painter.setPen(QPen(QColor(colours.ink), max(side / 12, 1)))
        for offset in (-side * 0.34, 0.0, side * 0.34):
            painter.drawLine(
                round(side * 0.2 + max(offset, 0)),
                round(side * 0.8 + min(offset, 0)),
                round(side * 0.8 + min(offset, 0)),
                round(side * 0.2 + max(offset, 0)),
            )
    painter.end()
    return QIcon(pixmap)
