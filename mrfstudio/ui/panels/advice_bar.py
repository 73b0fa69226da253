"""The line above the graph: what to try, or what is wrong and, one click away, what helps."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QWidget

from mrfstudio.engine.answers import Guarantee, Swings, Tip
from mrfstudio.ui.shell import Advice
from mrfstudio.ui.theme import px

MOST_TIPS = 2


class AdviceBar(QWidget):
    """Words, and buttons where there is something to do. The line keeps its height, so nothing moves."""

    chosen = Signal(object)
    """A `Tip` to follow."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.label = Advice()
        self.buttons = [QPushButton() for _ in range(MOST_TIPS)]
        self._tips: tuple[Tip, ...] = ()
        self._words = ""
        self._swings: Swings | None = None
        self._guaranteed = False
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(px(self, 6))
        row.addWidget(self.label, 1)
        for index, button in enumerate(self.buttons):
            policy = button.sizePolicy()
            policy.setRetainSizeWhenHidden(True)
            button.setSizePolicy(policy)
            button.clicked.connect(lambda _=False, index=index: self._follow(index))
            row.addWidget(button)
            button.hide()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    @property
    def text(self) -> str:
        return self.label.text()

    def show_text(self, words: str) -> None:
        """What to try, while nothing is wrong."""
        self._words = words
        if not self._tips:
            self.label.show_text(words)

    def set_swings(self, swings: Swings | None) -> None:
        """Say which messages swing and offer what helps; None goes back to what to try."""
        found = self._swings = swings if swings is not None and (swings.count or swings.tips) else None
        self._tips = () if found is None else found.tips[:MOST_TIPS]
        self._say()
        for index, button in enumerate(self.buttons):
            shown = index < len(self._tips)
            button.setVisible(shown)
            if shown:
                tip = self._tips[index]
                button.setText(tip.title)
                button.setToolTip(f"{tip.reason} Undo takes it back.")
                button.setAccessibleName(tip.title)

    def set_guarantee(self, found: Guarantee | None) -> None:
        """Whether convergence is certain: messages may swing for long and come to rest all the same."""
        guaranteed = found is not None and found.guaranteed
        if guaranteed != self._guaranteed:
            self._guaranteed = guaranteed
            self._say()

    def _say(self) -> None:
        problem = self._swings is not None and not self._guaranteed
        self.label.setProperty("role", "problem" if problem else "muted")
        self.label.style().polish(self.label)
        self.label.show_text(self._words if self._swings is None else sentence(self._swings, self._guaranteed))

    def _follow(self, index: int) -> None:
        if index < len(self._tips):
            self.chosen.emit(self._tips[index])


def sentence(swings: Swings, guaranteed: bool) -> str:
    """What the messages do, in words."""
    if not swings.count:
        return "Messages between regions do not settle. Instead:"
    total = swings.period.size
    many = "All" if swings.count >= total else f"{swings.count} of {total}"
    period = f"period {swings.commonest}" if swings.commonest > 0 else "no period"
    if guaranteed:
        return (
            f"{many} messages still swing ({period}, striped), less and less: convergence is guaranteed. Sooner with:"
        )
    return f"{many} messages oscillate ({period}, striped). Damp them, or lower α:"
