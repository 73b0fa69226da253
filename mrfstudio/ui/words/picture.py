"""Typeset formulas as pictures: drawn once in each colour and size, then kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF
from PySide6.QtGui import QFont, QFontMetricsF, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from mrfstudio.engine.protocol.words import Equation
from mrfstudio.ui.style.colours import Colours
from mrfstudio.ui.words.symbols import symbol_colours


def paint_equation(
    painter: QPainter, equation: Equation, at: QRectF, em: float, colours: Colours, lit: str = ""
) -> None:
    """Draw a formula into a rectangle, at its upper left corner."""
    svg = equation.svg(symbol_colours(colours), em, lit)
    renderer = QSvgRenderer(QByteArray(svg.encode()))
    renderer.render(painter, QRectF(at.left(), at.top(), equation.width * em, equation.height * em))


@dataclass(frozen=True)
class Letters:
    """The text around a formula, in pixels."""

    em: float
    """Of an em at which formulas are as large as the letters."""
    ascent: float
    descent: float
    x_height: float
    sharp: float = 1.0
    """Pixels of the screen for one of the text."""

    def around(self, above: float, below: float) -> tuple[float, float]:
        """Pixels above and below the base line of a picture that has room for a formula.

        Qt centres a picture in its line. The line reaches as far as the letters and as a picture of height h, of which
        Qt takes (h ± x / 2) / 2 to be above and below, x being the height of an x. Pictures of one line that are as
        high as the letters stand well together.
        """
        height = math.ceil(self.ascent + self.descent)
        while True:
            up, down = (height + self.x_height / 2) / 2, (height - self.x_height / 2) / 2
            middle = (max(self.ascent, up) - max(self.descent, down)) / 2
            if height / 2 + middle >= above and height / 2 - middle >= below:
                return height / 2 + middle, height / 2 - middle
            height += 1


@lru_cache(maxsize=256)
def inline_image(equation: Equation, letters: Letters, colours: Colours) -> tuple[str, int, int]:
    """A formula for a line of text: PNG as a data address, and its width and height in pixels of the text.

    Both are whole, and the picture has just the pixels of the screen: Qt would not smooth it.
    """
    em, sharp = letters.em, letters.sharp
    above, below = (equation.height - equation.depth) * em, equation.depth * em
    above_all, below_all = letters.around(above, below)
    left = max(0.0, *(-part.box[0] * em for part in equation.parts)) if equation.parts else 0.0  # slanted letters
    width, height = math.ceil(left + equation.width * em), round(above_all + below_all)
    image = QImage(round(width * sharp), round(height * sharp), QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    painter.scale(sharp, sharp)
    paint_equation(painter, equation, QRectF(left, above_all - above, width, height), em, colours)
    painter.end()
    content = QByteArray()
    buffer = QBuffer(content)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]  # the stubs take bytes for the format
    return f"data:image/png;base64,{content.toBase64().toStdString()}", width, height


def letters_of(font: QFont, sharp: float = 1.0) -> Letters:
    """What formulas need to know of the letters around them."""
    metrics = QFontMetricsF(font)
    return Letters(metrics.ascent() * 1.12, metrics.ascent(), metrics.descent(), metrics.xHeight(), sharp)
