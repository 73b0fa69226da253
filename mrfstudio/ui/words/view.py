"""A column of paragraphs and formulas. Pointing at a symbol says what it stands for, and lights it on the canvas."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QMouseEvent, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.words import SYMBOLS, Equation, Run, TextBlock, Words
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.words.picture import inline_image, letters_of, paint_equation

SYMBOL_LINK = "symbol:"
DISPLAYED = 1.4  # formulas on lines of their own are larger


def plain_words(source: str) -> Words:
    """Words without formulas, before the engine has typeset them or where there is nothing to typeset."""
    return Words(source, tuple(TextBlock("paragraph", (Run(part),)) for part in source.split("\n\n") if part))


class EquationView(QWidget):
    """A formula on a line of its own."""

    symbol_hovered = Signal(str)

    def __init__(self, equation: Equation) -> None:
        super().__init__()
        self.equation, self.lit = equation, ""
        self.setMouseTracking(True)
        self.setAccessibleName(f"Equation: {equation.tex}")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def em(self) -> float:
        """Pixels of an em: smaller where the formula is wider than its place."""
        wanted = letters_of(self.font()).em * DISPLAYED
        return min(wanted, max(self.width() / self.equation.width, wanted / 2))

    def sizeHint(self) -> QSize:
        em = letters_of(self.font()).em * DISPLAYED
        return QSize(round(self.equation.width * em), round(self.equation.height * em) + px(self, 6))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(self, 100), self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        em = self.em
        top = (self.height() - self.equation.height * em) / 2
        paint_equation(painter, self.equation, QRectF(0, top, self.width(), 0), em, colours_of(self), self.lit)

    def symbol_at(self, at: QPointF) -> str:
        """What lies under a point."""
        em = self.em
        return self.equation.symbol_at(at.x() / em, (at.y() - (self.height() - self.equation.height * em) / 2) / em)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.light(self.symbol_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        self.light("")

    def light(self, symbol: str) -> None:
        """Light a symbol here, and say so."""
        if symbol != self.lit:
            self.lit = symbol
            self.setToolTip(SYMBOLS.get(symbol, ""))
            self.symbol_hovered.emit(symbol)
            self.update()


class WordsView(QWidget):
    """Shows `Words`; before they are typeset, the text as it was written."""

    symbol_hovered = Signal(str)
    """A symbol is pointed at; empty: none any more."""
    link_clicked = Signal(str)

    def __init__(self, role: str = "") -> None:
        super().__init__()
        self._role = role
        self.words = plain_words("")
        self._labels: list[tuple[QLabel, TextBlock]] = []
        self._equations: list[EquationView] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(px(self, 4))
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def text(self) -> str:
        """What was written."""
        return self.words.source

    def set_words(self, words: Words, before: str = "") -> None:
        """Show a text; `before` comes before its first word."""
        if words == self.words and self._column.count():
            return
        self.words = words
        self._clear()
        for index, block in enumerate(words.blocks):
            if block.equation is not None:
                self._add_equation(block.equation)
            else:
                runs = (Run(before), *block.runs) if before and not index else block.runs
                self._add_label(TextBlock(block.kind, runs))
        self.setAccessibleDescription(words.source)
        self._dress()
        self.updateGeometry()

    def set_letters(self, font: QFont, palette: QPalette) -> None:
        """Other letters and colours than those of the window, as on a stage."""
        for widget in (self, *(label for label, _ in self._labels), *self._equations):
            widget.setFont(font)
            widget.setPalette(palette)
        self._dress()
        self.updateGeometry()

    def _clear(self) -> None:
        for widget in (*(label for label, _ in self._labels), *self._equations):
            self._column.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        self._labels.clear()
        self._equations.clear()

    def _add_equation(self, equation: Equation) -> None:
        view = EquationView(equation)
        view.symbol_hovered.connect(self.symbol_hovered)
        self._equations.append(view)
        self._column.addWidget(view)

    def _add_label(self, block: TextBlock) -> None:
        label = QLabel(wordWrap=True)
        label.setTextFormat(Qt.TextFormat.RichText)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        label.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Tab goes to buttons; a page scrolls as a whole
        label.linkHovered.connect(self._hovered)
        label.linkActivated.connect(self._followed)
        label.setProperty("role", "heading" if block.kind == "heading" else self._role)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        label.setSizePolicy(policy)
        self._labels.append((label, block))
        self._column.addWidget(label)

    def _hovered(self, link: str) -> None:
        symbol = link.removeprefix(SYMBOL_LINK) if link.startswith(SYMBOL_LINK) else ""
        self.symbol_hovered.emit(symbol)

    def _followed(self, link: str) -> None:
        if not link.startswith(SYMBOL_LINK):
            self.link_clicked.emit(link)

    # Colours and sizes ------------------------------------------------------------------------------------------------

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._dress()

    def _dress(self) -> None:
        for label, block in self._labels:
            label.ensurePolished()
            html = rich(block, self._formula(label))
            if html != label.text():
                label.setText(html)

    def _formula(self, label: QLabel) -> Callable[[Equation], str]:
        letters = letters_of(label.font(), self.devicePixelRatioF())
        colours = colours_of(self)

        def drawn(equation: Equation) -> str:
            address, width, height = inline_image(equation, letters, colours)
            image = f'<img src="{address}" width="{width}" height="{height}" style="vertical-align: middle">'
            symbols = {part.symbol for part in equation.parts if part.symbol}
            # A formula in a line lights the one thing that it names.
            return f'<a href="{SYMBOL_LINK}{symbols.pop()}">{image}</a>' if len(symbols) == 1 else image

        return drawn

    def heightForWidth(self, width: int) -> int:
        heights = [label.heightForWidth(width) for label, _ in self._labels]
        heights += [view.sizeHint().height() for view in self._equations]
        return sum(heights) + self._column.spacing() * max(len(heights) - 1, 0)

    def hasHeightForWidth(self) -> bool:
        return True


def rich(block: TextBlock, formula: Callable[[Equation], str]) -> str:
    """A block as Qt's HTML; `formula` gives the picture of a formula."""
    inside = "".join(_rich_run(run, formula) for run in block.runs)
    if block.kind == "code":
        return f"<pre>{inside}</pre>"
    if block.kind == "bullet":
        return f"<table><tr><td>•&nbsp;</td><td>{inside}</td></tr></table>"
    return inside


def _rich_run(run: Run, formula: Callable[[Equation], str]) -> str:
    if run.equation is not None:
        return formula(run.equation)
    text = escape(run.text)
    if run.code:
        return f"<code>{text}</code>"
    if run.link:
        return f'<a href="{escape(run.link)}">{text}</a>'
    return f"<b>{text}</b>" if run.bold else f"<i>{text}</i>" if run.italic else text
