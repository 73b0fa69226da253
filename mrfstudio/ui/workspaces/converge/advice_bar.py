"""The line above the graph: what to try, or what is wrong and, one click away, what helps."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from mrfstudio.engine.protocol.answers import Guarantee, Swings, Tip, Trial
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.elided import ElidedButton
from mrfstudio.ui.window.shell import AdviceLine

MOST_TIPS = 3
LEAST = 60
"""Pixels that a button keeps, however long its words are."""


class AdviceBar(QWidget):
    """Words, and buttons where there is something to do. The line keeps its height, so nothing moves."""

    chosen = Signal(object)
    """A `Tip` to follow."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.label = AdviceLine()
        self.buttons = [ElidedButton() for _ in range(MOST_TIPS)]
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
            policy.setHorizontalPolicy(QSizePolicy.Policy.Preferred)  # may become narrower than its words
            button.setSizePolicy(policy)
            button.setMinimumWidth(LEAST)
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
        if found is None:
            for button in self.buttons:
                button.setText("")
        self._say()
        for index, button in enumerate(self.buttons):
            shown = index < len(self._tips)
            button.setVisible(shown)
            if shown:
                tip = self._tips[index]
                if button.text().startswith(f"{tip.title}, "):
                    continue  # what was tried a moment ago holds until something is edited
                button.setText(tip.title)
                button.setToolTip(f"{tip.reason} Undo takes it back.")
                button.setAccessibleName(tip.title)

    def set_trials(self, trials: tuple[Trial, ...]) -> None:
        """What the tips would do, each tried in a copy: the buttons say it."""
        for index, (button, tip) in enumerate(zip(self.buttons, self._tips, strict=False)):
            if index < len(trials) and trials[index].tip.title == tip.title:
                trial = trials[index]
                brief = trial.text if trial.converged else trial.text.partition(" in ")[0]
                button.setText(f"{tip.title}, {brief}")
                button.setToolTip(f"{tip.reason} Tried in a copy: {trial.text}. Undo takes it back.")
                button.setAccessibleName(button.text())

    def set_guarantee(self, found: Guarantee | None) -> None:
        """Whether convergence is certain: messages may swing for long and come to rest all the same."""
        guaranteed = found is not None and found.guaranteed
        if guaranteed != self._guaranteed:
            self._guaranteed = guaranteed
            self._say()

    def _say(self) -> None:
        role = "problem" if self._swings is not None and not self._guaranteed else "muted"
        if role != self.label.property("role"):  # not at every frame: style sheets are slow
            self.label.setProperty("role", role)
            self.label.style().polish(self.label)
        self.label.show_text(self._words if self._swings is None else sentence(self._swings, self._guaranteed))

    def _follow(self, index: int) -> None:
        if index < len(self._tips):
            self.chosen.emit(self._tips[index])


def sentence(swings: Swings, guaranteed: bool) -> str:
    """What the messages do, in words."""
    if not swings.count:
        return "Messages between regions do not settle. Instead:"
    total = len(swings.period)
    one = swings.count == 1
    many = "All messages" if swings.count >= total else f"{swings.count:,} of {total:,} messages"
    period = _period(swings)
    if guaranteed or swings.shrinks:
        still = f"{many} still {'swings' if one else 'swing'} ({period}), less and less"
        return f"{still}: convergence is guaranteed. Sooner with:" if guaranteed else f"{still}. Sooner with:"
    return f"{many} {'oscillates' if one else 'oscillate'} ({period})." + (" What may help:" if swings.tips else "")


def _period(swings: Swings) -> str:
    """The period that all who swing share, or how many do, or that there is none."""
    if swings.commonest > 0:
        few = 0 < swings.sharing < swings.count
        return f"period {swings.commonest}" + (f" for {swings.sharing:,} of them" if few else "")
    return "no period" if not (swings.period > 0).any() else "no common period"
