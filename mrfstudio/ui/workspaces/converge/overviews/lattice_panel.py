"""Type a text and see the hidden states under it: the lattice of a chain, answered by the algorithms of the lanes."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.answers import TextColumns
from mrfstudio.engine.protocol.commands import Forbid
from mrfstudio.engine.protocol.frames import Frame, LaneFrame
from mrfstudio.engine.protocol.requests.converge import ListReaders, ReadText
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.elided import Elided
from mrfstudio.ui.workspaces.converge.overviews.lattice_canvas import LatticeCanvas

if TYPE_CHECKING:
    from mrfstudio.ui.workspaces.converge.view import ConvergeView

LATTICE_HELP = "Type a text: a column a letter, a row a hidden state, as dark as it is probable. Click to forbid one."
FIRST_TEXT = "belief propagation"
NO_MODEL = "No model here reads text yet: train one with mrfstudio train chain --data text:FILE, then Use this model."
OTHER_GRAPH = "Another graph is shown now: press Return in the text to read it again."
LONGEST = 200
SHORT = 24
"""Letters of a text that are quoted."""


class LatticePanel(QWidget):
    """Asks for the graph under the text; frames of the Converge workspace then say what its lanes believe."""

    def __init__(self, controller: Controller, workspace: ConvergeView) -> None:
        super().__init__()
        self._controller, self._workspace = controller, workspace
        self._shown: TextColumns | None = None
        self._open = self._asking = self._again = self._current = False
        self.model, self.text, self.canvas, self.note = QComboBox(), QLineEdit(), LatticeCanvas(), Elided()
        self.model.setToolTip("A model that learned from text; those you take from Train are here too.")
        self.model.setAccessibleName("Model")
        self.text.setMaxLength(LONGEST)
        self.text.setPlaceholderText("Type a text…")
        self.text.setToolTip("The lattice answers as you type.")
        self.text.setAccessibleName("Text")
        self.note.hide()
        row = QHBoxLayout()
        row.addWidget(self.model)
        row.addWidget(self.text, 1)
        self.scroller = scroll = QScrollArea()
        scroll.setWidget(self.canvas)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        column = QVBoxLayout(self)
        margin = px(self, 6)
        column.setContentsMargins(margin, margin, margin, margin)
        column.addLayout(row)
        column.addWidget(self.note)
        column.addWidget(scroll, 1)
        self.text.textEdited.connect(self._ask)
        self.text.returnPressed.connect(self._ask)
        self.model.activated.connect(self._ask)
        self.canvas.toggled.connect(self._toggle)

    @property
    def wanted_pictures(self) -> set[str]:
        return {"steps"} if self._open else set()

    def set_shown(self, shown: bool) -> None:
        self._open = shown
        if shown:
            self._controller.ask(ListReaders(), self._on_readers)

    def _on_readers(self, names: tuple[str, ...]) -> None:
        before = self.model.currentText()
        self.model.clear()
        self.model.addItems(names)
        if before in names:
            self.model.setCurrentText(before)
        self.model.setEnabled(bool(names))
        self.text.setEnabled(bool(names))
        if not names or self.note.text() == NO_MODEL:
            self._say("" if names else NO_MODEL)
        if names and self._shown is None:
            self.text.setText(FIRST_TEXT)
            self._ask()

    def _toggle(self, column: int, state: int) -> None:
        """Forbid a state, or allow it again; Undo takes it back."""
        if self._current and not self._emptied:
            self._workspace.post(Forbid(column, state, (column, state) not in self.canvas.forbidden))

    @property
    def _emptied(self) -> bool:
        return not self.text.text().strip()

    def _ask(self) -> None:
        """One question at a time; while one is under way, only the last wish counts."""
        if self._emptied:
            self._again = False
            self._empty()
            return
        if not self.model.currentText():
            return
        if self._asking:
            self._again = True
            return
        self._asking, self._again = True, False
        self._controller.ask(ReadText(self.model.currentText(), self.text.text()), self._on_read, self._on_refused)

    def _on_read(self, read: TextColumns) -> None:
        self._shown, self._current = read, False  # until a frame is about it
        if self._emptied:
            self._empty()
        else:
            self._say(read.remark)
            self.canvas.set_text(read.columns, read.states)
        # All rows of a few states are seen at once; of many, some are scrolled to.
        self.scroller.setMinimumHeight(min(self.canvas.minimumHeight() + px(self, 4), px(self, 240)))
        self._workspace.on_opened()
        self._next()

    def _on_refused(self, sentence: str) -> None:
        if not self._emptied:
            self._say(sentence)
        self._next()

    def _next(self) -> None:
        self._asking = False
        if self._again:
            self._ask()

    def _empty(self) -> None:
        """Nothing is typed: no columns, and words about the graph where it is still that of the text before."""
        self.canvas.set_text((), 0)
        columns = () if self._shown is None or not self._current else self._shown.columns
        text = ("" if all(len(column) == 1 for column in columns) else " ").join(columns)
        quoted = text if len(text) <= SHORT else f"{text[:SHORT]}…"
        self._say(f"The text is empty; the graph is still that of “{quoted}”, until you type." if text else "")

    def _say(self, sentence: str) -> None:
        self.note.setText(sentence)
        self.note.setToolTip(f"<p>{escape(sentence)}</p>" if sentence else "")
        self.note.setVisible(bool(sentence))

    def set_frame(self, frame: Frame, lane: LaneFrame | None) -> None:
        """Beliefs of the lane that is shown, where the graph is still that of the text."""
        if not self._open or self._shown is None or lane is None or frame.graph is None:
            return
        before = self._current
        self._current = frame.name == self._shown.model and frame.graph.nodes == len(self._shown.columns)
        if self._emptied:
            if before != self._current:
                self._empty()
            return
        if not self._current:
            if self.canvas.letters and (before or self._controller.answered):  # else it may be older than the text
                self.canvas.set_text((), 0)
                self._say(OTHER_GRAPH)
            return
        if not self.canvas.letters:
            self.canvas.set_text(self._shown.columns, self._shown.states)
            self._say(self._shown.remark)
        self.canvas.set_forbidden(frame.graph.forbidden)
        marginals = lane.pictures.get("marginal")
        states = self._shown.states
        self.canvas.set_beliefs(None if marginals is None else marginals[:, :states], lane.pictures.get("steps"))
