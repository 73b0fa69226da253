"""The studio's own icons, drawn in the colours of the theme.

The files in `assets/icons` are lines in `currentColor`. They are rendered when asked for, at whole multiples of the
usual size, so that they are sharp at every pixel ratio; a widget asks again on `PaletteChange`.
"""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QByteArray, QCoreApplication, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QWidget

from mrfstudio.assets import asset
from mrfstudio.ui.colours import colours_of

SIZES = (16, 20, 24, 32, 40, 48, 64, 96)


def icon(name: str, widget: QWidget) -> QIcon:
    """An icon for a widget: in its text colour, muted where disabled."""
    colours = colours_of(widget)
    return tinted(name, colours.text, colours.outline)


def tinted(name: str, colour: str, disabled: str) -> QIcon:
    """An icon in a colour of one's own choice; each is drawn once."""
    app = QCoreApplication.instance()
    # Kept by the application: pictures must not outlive it.
    known = app.__dict__.setdefault("mrfstudio_icons", {}) if app is not None else {}
    key = (name, colour, disabled)
    if key not in known:
        known[key] = _drawn(*key)
    return known[key]


def _drawn(name: str, colour: str, disabled: str) -> QIcon:
    result = QIcon()
    for size in SIZES:
        result.addPixmap(picture(name, colour, size), QIcon.Mode.Normal)
        result.addPixmap(picture(name, disabled, size), QIcon.Mode.Disabled)
    return result


def picture(name: str, colour: str, size: int) -> QPixmap:
    """One icon as a square of `size` device pixels."""
    renderer = QSvgRenderer(QByteArray(_source(name).replace("currentColor", colour).encode()))
    result = QPixmap(size, size)
    result.fill(Qt.GlobalColor.transparent)
    painter = QPainter(result)
    renderer.render(painter, QRectF(0, 0, size, size))
    painter.end()
    return result


@cache
def _source(name: str) -> str:
    return asset("icons", f"{name}.svg").read_text(encoding="utf-8")
