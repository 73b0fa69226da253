"""A column of paragraphs and formulas. Pointing at a symbol says what it stands for, and lights it on the canvas."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from urllib.parse import quote, unquote

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QFont, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QLabel, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.words import Equation, Part, Run, TextBlock, Words
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.keys import keyed
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.words.lighting import Pointed
from mrfstudio.ui.words.picture import inline_image, letters_of, paint_equation

SYMBOL_LINK = "symbol:"
DISPLAYED = 1.4  # formulas on lines of their own are larger
NOWHERE = Part("")


def plain_words(source: str) -> Words:
    """Words without formulas, before the engine has typeset them or where there is nothing to typeset."""
    return Words(source, tuple(TextBlock("paragraph", (Run(part),)) for part in source.split("\n\n") if part))


class EquationView(QWidget):
    """A formula on a line of its own. Left and Right go from symbol to symbol."""

    symbol_hovered = Signal(object)

    def __init__(self, equation: Equation) -> None:
        super().__init__()
        self.equation, self.lit = equation, NOWHERE
        self.marked = [part for part in equation.parts if part.symbol]
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if self.marked else Qt.FocusPolicy.NoFocus)
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
        colours = colours_of(self)
        paint_equation(painter, self.equation, QRectF(0, top, self.width(), 0), em, colours, self.lit.symbol)
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.focus), 1))
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))

    def part_at(self, at: QPointF) -> Part:
        """What lies under a point."""
        em = self.em
        top = (self.height() - self.equation.height * em) / 2
        return self.equation.part_at(at.x() / em, (at.y() - top) / em) or NOWHERE

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.light(self.part_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        self.light(NOWHERE)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.light(NOWHERE)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        way = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if way is None:
            super().keyPressEvent(event)
            return
        at = next((index for index, part in enumerate(self.marked) if part is self.lit), -1 if way > 0 else 0)
        self.light(self.marked[(at + way) % len(self.marked)])
        below = self.mapToGlobal(QPoint(round(self.lit.box[0] * self.em), self.height()))
        QToolTip.showText(below, self.toolTip(), self)

    def light(self, part: Part) -> None:
        """Light a symbol here, and say so."""
        if part is not self.lit:
            self.lit = part
            pointed = Pointed(part.symbol, part.letter)
            self.symbol_hovered.emit(pointed)
            self.setToolTip(pointed.words())
            self.setAccessibleDescription(pointed.words())
            self.update()


class WordsView(QWidget):
    """Shows `Words`; before they are typeset, the text as it was written."""

    symbol_hovered = Signal(object)
    """A symbol is `Pointed` at; an empty one: none any more."""
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
        self.setAccessibleDescription(keyed(words.source))
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
        # Tab goes to links and buttons; a page scrolls as a whole.
        linked = any(run.link for run in block.runs)
        label.setFocusPolicy(Qt.FocusPolicy.StrongFocus if linked else Qt.FocusPolicy.NoFocus)
        label.linkHovered.connect(lambda link: self._hovered(label, link))
        label.linkActivated.connect(self._followed)
        label.setProperty("role", "heading" if block.kind == "heading" else self._role)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        label.setSizePolicy(policy)
        self._labels.append((label, block))
        self._column.addWidget(label)

    def _hovered(self, label: QLabel, link: str) -> None:
        named = link.removeprefix(SYMBOL_LINK) if link.startswith(SYMBOL_LINK) else ""
        symbol, _, letter = named.partition("/")
        pointed = Pointed(symbol, unquote(letter))
        self.symbol_hovered.emit(pointed)
        label.setToolTip(pointed.words())

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
            marked = [part for part in equation.parts if part.symbol]
            if len({part.symbol for part in marked}) != 1:
                return image
            # A formula in a line lights the one thing that it names.
            return f'<a href="{SYMBOL_LINK}{marked[0].symbol}/{quote(marked[0].letter)}">{image}</a>'

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
    text = escape(keyed(run.text))
    if run.code:
        return f"<code>{text}</code>"
    if run.link:
        return f'<a href="{escape(run.link)}">{text}</a>'
    return f"<b>{text}</b>" if run.bold else f"<i>{text}</i>" if run.italic else text
