"""Equations in the window: in the theme's colours, on the base line of the text, and lighting what they name."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from mrfstudio.engine.words.markdown import words_of
from mrfstudio.ui.style.colours import DARK, LIGHT, rgb
from mrfstudio.ui.style.theme import Theme
from mrfstudio.ui.words.symbols import symbol_colours
from mrfstudio.ui.words.view import EquationView, WordsView

TEXT = "A message is $\\message{m_{ij}}$ here.\n\n$$\\belief{b_i} \\propto \\prod_j \\message{m_{ji}}$$"


def shown(qtbot: QtBot) -> WordsView:
    view = WordsView()
    qtbot.addWidget(view)
    view.resize(400, 120)
    view.set_words(words_of(TEXT))
    view.show()
    return view


def holds(image: QImage, colour: str) -> bool:
    wanted = rgb(colour)
    pixels = (image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height()))
    return any(max(abs(a - b) for a, b in zip(pixel.getRgb()[:3], wanted, strict=True)) < 24 for pixel in pixels)


def test_symbols_have_the_colours_of_the_theme(qtbot: QtBot, theme: Theme) -> None:
    view = shown(qtbot)
    for colours, mode in ((LIGHT, "light"), (DARK, "dark")):
        theme.set_mode(mode)  # type: ignore[arg-type]
        picture = view.grab().toImage()
        assert holds(picture, symbol_colours(colours)["message"])
        assert holds(picture, symbol_colours(colours)["belief"])


def test_pointing_at_a_symbol_says_which(qtbot: QtBot, theme: Theme) -> None:
    view = shown(qtbot)
    heard: list[str] = []
    view.symbol_hovered.connect(lambda pointed: heard.append(pointed.symbol))
    equation = view.findChildren(EquationView)[0]
    part = next(part for part in equation.equation.parts if part.symbol == "belief")
    top = (equation.height() - equation.equation.height * equation.em) / 2
    centre = QPointF(part.box[0] + part.box[2] / 2, part.box[1] + part.box[3] / 2) * equation.em + QPointF(0, top)
    qtbot.mouseMove(equation, centre.toPoint())
    qtbot.mouseMove(equation, QPoint(equation.width() - 1, 1))
    assert heard == ["belief", ""]
    label = view.findChild(QLabel)
    assert label is not None
    label.linkHovered.emit("symbol:message/m_%7Bij%7D")
    assert heard[-1] == "message"
    assert "message" in label.toolTip()


def test_a_formula_stands_on_the_line_of_the_text(qtbot: QtBot, theme: Theme) -> None:
    """The lowest ink of an x set as a formula is that of the letter x beside it, to a pixel or so."""
    view = WordsView()
    qtbot.addWidget(view)
    view.set_words(words_of("x $\\message{x}$ $\\frac{1}{\\belief{x^2_2}}$ x"))
    view.resize(200, 40)
    view.show()
    image = view.grab().toImage()
    text, marked = rgb(LIGHT.text), rgb(symbol_colours(LIGHT)["message"])

    def lowest(colour: tuple[int, int, int], columns: range) -> int:
        near = [
            y
            for y in range(image.height())
            for x in columns
            if sum(abs(a - b) for a, b in zip(image.pixelColor(x, y).getRgb()[:3], colour, strict=True)) < 120
        ]
        return max(near)

    assert abs(lowest(text, range(8)) - lowest(marked, range(8, 40))) <= 2
