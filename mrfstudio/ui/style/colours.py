"""Every colour of the window by name, once for light and once for dark.

Text colours reach a contrast of 4.5 on the surfaces they are used on (WCAG AA), outlines of controls and the focus
ring 3. The label and lane colours stay apart for people who do not see red and green alike; a test simulates that.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QWidget


@dataclass(frozen=True)
class Colours:
    """Named colours as `#rrggbb`. `colours_of(widget)` gives the set that fits a widget's palette."""

    name: str
    window: str
    surface: str
    raised: str
    border: str
    outline: str
    text: str
    muted: str
    accent: str
    accent_text: str
    accent_soft: str
    focus: str
    good: str
    warn: str
    bad: str
    backdrop: str
    """Around the picture."""
    paper: str
    """Under the picture: nothing seen, nothing believed."""
    ink: str
    """An observed contour pixel."""
    unknown: str
    """A pixel that nobody has looked at."""
    grid: str
    labels: tuple[str, ...]
    """By label number: contour, OUT, IN, then spare ones for photographs with more labels."""
    lanes: tuple[str, ...]
    highlight: str
    """What a pointed-at clone lights up; in no other use."""


LIGHT = Colours(
    name="light",
    window="#f1f3f5",
    surface="#ffffff",
    raised="#e6e9ed",
    border="#ced4da",
    outline="#818a95",
    text="#1a1e23",
    muted="#545d68",
    accent="#0b5cad",
    accent_text="#ffffff",
    accent_soft="#d3e4f6",
    focus="#0b5cad",
    good="#0f6a43",
    warn="#875000",
    bad="#b3261e",
    backdrop="#dee2e6",
    paper="#ffffff",
    ink="#14171a",
    unknown="#cfc6d8",
    grid="#adb5bd",
    labels=("#123c8c", "#b4c0cc", "#f0a30a", "#1c8a72", "#c05c9c", "#7a4b12", "#5fb4e5", "#8d2f3f"),
    lanes=("#0b5cad", "#b35900", "#8a1c5a", "#0d7a5f", "#5b5f66", "#7a4b12"),
    highlight="#e0007a",
)

DARK = Colours(
    name="dark",
    window="#1a1d21",
    surface="#22262c",
    raised="#2c3138",
    border="#3a414a",
    outline="#7b8590",
    text="#e7eaee",
    muted="#a5afba",
    accent="#66b2f7",
    accent_text="#08131f",
    accent_soft="#22405c",
    focus="#8cc6ff",
    good="#62cda0",
    warn="#f2b75c",
    bad="#ff938a",
    backdrop="#0c0e10",
    paper="#15181c",
    ink="#f7f9fa",
    unknown="#46394f",
    grid="#5c6670",
    labels=("#7cc4f8", "#46525f", "#e39b07", "#2fae90", "#d883b7", "#b98a4c", "#3f7fd0", "#d0606f"),
    lanes=("#66b2f7", "#f2a33c", "#f6c9e4", "#43c39a", "#b9c0c8", "#c79a62"),
    highlight="#ff5fb0",
)


def colours_of(widget: QWidget) -> Colours:
    """The colours that fit the palette a widget has now, so that one window may hold both themes."""
    return DARK if widget.palette().color(QPalette.ColorRole.Window).lightness() < 128 else LIGHT


def rgb(colour: str) -> tuple[int, int, int]:
    """`#rrggbb` as three numbers 0…255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def faded(colour: str, opacity: float) -> QColor:
    """A colour with an opacity in [0, 1]."""
    result = QColor(colour)
    result.setAlphaF(opacity)
    return result
