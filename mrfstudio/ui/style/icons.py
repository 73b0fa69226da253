"""The studio's own icons, drawn in the colours of the theme.

The files in `assets/icons` are lines in `currentColor`. They are rendered when asked for, at whole multiples of the
usual size, so that they are sharp at every pixel ratio; a widget asks again on `PaletteChange`.
"""

from __future__ import annotations

from functools import cache, lru_cache

from PySide6.QtCore import QByteArray, QCoreApplication, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QWidget

from mrfstudio.assets import asset
from mrfstudio.ui.style.colours import colours_of

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
        shape = picture(name, colour, size)
        result.addPixmap(shape, QIcon.Mode.Normal)
        result.addPixmap(_recoloured(shape, disabled), QIcon.Mode.Disabled)
    return result


def picture(name: str, colour: str, size: int) -> QPixmap:
    """One icon as a square of `size` device pixels."""
    result = QPixmap(size, size)
    result.fill(Qt.GlobalColor.transparent)
    painter = QPainter(result)
    _renderer(name, colour).render(painter, QRectF(0, 0, size, size))
    painter.end()
    return result


def _recoloured(shape: QPixmap, colour: str) -> QPixmap:
    """The same lines in another colour: drawing them again would take three times as long."""
    result = QPixmap(shape)
    painter = QPainter(result)
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
    painter.fillRect(result.rect(), QColor(colour))
    painter.end()
    return result


@lru_cache(maxsize=1)  # the sizes of one icon are drawn one after the other
def _renderer(name: str, colour: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(_source(name).replace("currentColor", colour).encode()))


@cache
def _source(name: str) -> str:
    return asset("icons", f"{name}.svg").read_text(encoding="utf-8")
