"""Light and dark, following the system or forced; one stylesheet whose lengths follow the font.

Widgets do not ask this module for colours: they read `colours_of(self)` when they paint and repaint on
`PaletteChange`, the way Qt's own widgets do. So a test can give one widget the dark palette.
"""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from mrfstudio.ui.style.colours import DARK, LIGHT, Colours
from mrfstudio.ui.style.stylesheet import stylesheet

Mode = Literal["system", "light", "dark"]
MODES: tuple[Mode, ...] = ("system", "light", "dark")
DESIGN_FONT_HEIGHT = 17.0  # pixels: the line height at which `unit` is 1, so lengths below are easy to imagine
LARGEST_SCALE = 2.0


class Theme(QObject):
    """The look of one application. Make one after the QApplication and keep it."""

    changing = Signal(float)
    """Before the size of the text changes: the `unit_of` to come, for who has to make room for it."""
    changed = Signal()

    def __init__(self, app: QApplication, mode: Mode = "system", scale: float = 1.0) -> None:
        super().__init__(app)
        self._app = app
        self._base_size = max(app.font().pointSizeF(), 9.0)
        self._mode: Mode = mode
        self._scale = scale
        self._busy = False
        app.setStyle("Fusion")  # the one style that looks alike everywhere and takes a palette as a whole
        app.styleHints().colorSchemeChanged.connect(self._apply)
        self._apply()

    @property
    def mode(self) -> Mode:
        return self._mode

    @property
    def scale(self) -> float:
        """Font size relative to the system's, 0.75 to 2."""
        return self._scale

    @property
    def colours(self) -> Colours:
        if self._mode == "system":
            return DARK if self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark else LIGHT
        return DARK if self._mode == "dark" else LIGHT

    def set_mode(self, mode: Mode) -> None:
        """`system`, `light` or `dark`."""
        self._mode = mode
        self._apply()

    def set_scale(self, scale: float) -> None:
        """Larger or smaller text, and everything that goes with it."""
        self._scale = min(max(scale, 0.75), LARGEST_SCALE)
        self._apply()

    def _apply(self) -> None:
        if self._busy:  # telling the platform which scheme we use makes it tell us that the scheme changed
            return
        self._busy = True
        scheme = {"system": Qt.ColorScheme.Unknown, "light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}
        self._app.styleHints().setColorScheme(scheme[self._mode])  # window frames and file dialogs follow too
        font = QFont(self._app.font())
        font.setPointSizeF(self._base_size * self._scale)
        self.changing.emit(unit_of(font))
        self._app.setFont(font)
        self._app.setPalette(palette_of(self.colours))
        self._app.setStyleSheet(stylesheet(self.colours, unit_of(font)))
        self._busy = False
        self.changed.emit()


def unit_of(font: QFont) -> float:
    """How many pixels one design pixel is at this font: 1 at the usual size, 2 at 200 %."""
    return QFontMetricsF(font).height() / DESIGN_FONT_HEIGHT


def px(widget: QWidget, length: float) -> int:
    """A length in pixels that grows with the widget's font."""
    return max(1, round(length * QFontMetricsF(widget.font()).height() / DESIGN_FONT_HEIGHT))


class MinimumWidth(QObject):
    """Keeps a panel at least so many design pixels wide.

    With large text it grows half as fast as the text: words break, and the whole window is to fit the screen.
    """

    def __init__(self, panel: QWidget, length: float) -> None:
        super().__init__(panel)
        self._panel, self._length = panel, length
        panel.installEventFilter(self)
        self._set()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FontChange:
            self._set()
        return False

    def _set(self) -> None:
        unit = unit_of(self._panel.font())
        self._panel.setMinimumWidth(round(self._length * (unit if unit < 1 else (1 + unit) / 2)))


def palette_of(colours: Colours) -> QPalette:
    """The whole Qt palette; disabled text is muted further but stays readable."""
    role = QPalette.ColorRole
    palette = QPalette(QColor(colours.window))
    for which, colour in {
        role.Window: colours.window,
        role.WindowText: colours.text,
        role.Base: colours.surface,
        role.AlternateBase: colours.window,
        role.Text: colours.text,
        role.Button: colours.raised,
        role.ButtonText: colours.text,
        role.BrightText: colours.bad,
        role.ToolTipBase: colours.surface,
        role.ToolTipText: colours.text,
        role.PlaceholderText: colours.muted,
        role.Highlight: colours.accent,
        role.HighlightedText: colours.accent_text,
        role.Accent: colours.accent,
        role.Link: colours.accent,
        role.LinkVisited: colours.accent,
        role.Light: colours.surface,
        role.Midlight: colours.raised,
        role.Mid: colours.border,
        role.Dark: colours.outline,
        role.Shadow: colours.backdrop,
    }.items():
        palette.setColor(which, QColor(colour))
    for which in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, which, QColor(colours.outline))
    palette.setColor(QPalette.ColorGroup.Disabled, role.Highlight, QColor(colours.border))
    return palette
