"""What is seen of factors and messages: switches below the colours."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLabel, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.answers import Frustrated
from mrfstudio.ui.graph_canvas.lines import Shown
from mrfstudio.ui.style.colours import colours_of
from mrfstudio.ui.style.theme import px

SWITCHES = (
    ("pairs", "Squares of pairs", "Draw the squares of factors of two variables too. Larger factors always have one."),
    ("signs", "Lines by sign", "Colour lines by what their factor favours, instead of by how much messages change."),
    ("arrows", "Arrows", "Show which way each message goes."),
    ("values", "Values", "Write on each line the likeliest state that its message says, and its probability."),
    ("frustrated", "Frustrated cycles", "Light cycles whose wishes cannot all come true: there BP often fails."),
)


class LineOptions(QWidget):
    """A switch for each; `options` is what they say."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.meaning, self.said = QLabel(wordWrap=True), QLabel(wordWrap=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(px(self, 2))
        column.addWidget(self.meaning)
        self.switches = {}
        for name, title, help in SWITCHES:
            switch = self.switches[name] = QCheckBox(title)
            switch.setToolTip(help)
            switch.setChecked(getattr(Shown(), name))
            switch.toggled.connect(lambda _: self.changed.emit())
            column.addWidget(switch)
        for label in (self.meaning, self.said):
            label.setProperty("role", "muted")
        column.addWidget(self.said)
        self.said.hide()
        self._explain()

    @property
    def options(self) -> Shown:
        return Shown(**{name: switch.isChecked() for name, switch in self.switches.items()})

    def say(self, found: Frustrated | None) -> None:
        """What was found of frustrated cycles; None where nobody asked."""
        self.said.setVisible(found is not None)
        if found is not None:
            self.said.setText(found.text)

    def _explain(self) -> None:
        colours = colours_of(self)
        equal, different = colours.labels[3], colours.labels[4]
        self.meaning.setText(
            "Width: strength of the factor. Square: favours "
            f"<span style='color:{equal}'>■</span> equal, <span style='color:{different}'>■</span> different states."
        )

    def changeEvent(self, event: object) -> None:
        super().changeEvent(event)  # type: ignore[arg-type]
        self._explain() if hasattr(self, "meaning") else None
