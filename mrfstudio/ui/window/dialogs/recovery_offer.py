"""The question after a crash: what was not saved is still there, shall it be opened?"""

from __future__ import annotations

import time
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QMessageBox

from mrfstudio.engine.protocol.answers import Recovered, Unsaved
from mrfstudio.engine.protocol.requests.studio import DiscardLeftBehind, LeftBehind, Recover
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.window.dialogs.common import show_dialog

if TYPE_CHECKING:
    from mrfstudio.ui.window.main_window import MainWindow


class RecoveryOffer(QObject):
    """Looks once, when the engine is there, for work of a window that did not close in order."""

    def __init__(self, window: MainWindow, controller: Controller) -> None:
        super().__init__(window)
        self._window, self._controller = window, controller
        self.question: QMessageBox | None = None

    def look(self) -> None:
        self._controller.ask(LeftBehind(), self._found)

    def _found(self, works: tuple[Unsaved, ...]) -> None:
        if not works or self.question is not None:
            return
        role = QMessageBox.ButtonRole
        self.question = QMessageBox(self._window)
        self.question.setTextFormat(Qt.TextFormat.PlainText)
        self.question.setIcon(QMessageBox.Icon.Information)
        self.question.setWindowTitle("Unsaved work")
        self.question.setText("MRF Studio did not close properly. What was not saved is still there:")
        self.question.setInformativeText("\n".join(f"•  {self._in_words(work)}" for work in works))
        recover = self.question.addButton("&Recover", role.AcceptRole)
        recover.setToolTip("Open it as it was; save it then to keep it.")
        later = self.question.addButton("&Not now", role.RejectRole)
        later.setToolTip("Leave it where it is; the next start asks again.")
        discard = self.question.addButton("&Discard", role.DestructiveRole)
        discard.setToolTip("Throw it away for good.")
        self.question.setDefaultButton(recover)
        self.question.setEscapeButton(later)
        self.question.finished.connect(lambda: self._answered(works, recover, discard))
        show_dialog(self.question)

    def _in_words(self, work: Unsaved) -> str:
        titles = {sign.name: sign.title for sign in self._window.signs}
        what = titles.get(work.workspace, work.workspace)
        return f"{what}: {work.name}, {when(work.changed)}" if work.name else f"{what}, {when(work.changed)}"

    def _answered(self, works: tuple[Unsaved, ...], recover: object, discard: object) -> None:
        assert self.question is not None
        clicked = self.question.clickedButton()
        self.question.deleteLater()
        self.question = None
        if clicked is recover:
            self._controller.ask(Recover(works), self._recovered)
        elif clicked is discard:
            self._controller.ask(DiscardLeftBehind(works[0].window), lambda _: self.look())

    def _recovered(self, recovered: Recovered) -> None:
        # The newest is shown last, and so on top.
        for workspace, file in reversed(recovered.sessions):
            self._window.files.opened(workspace, Path(file) if file else None)
        said = [*recovered.problems]
        if recovered.sessions:
            said.insert(0, "Recovered. Save it to keep it.")
        self._window.message_bar.show_message(" ".join(said))


def when(seconds: float) -> str:
    """A time as a person says it: today with the hour, else with the day."""
    moment = datetime.fromtimestamp(seconds)
    clock = time.strftime("%H:%M", moment.timetuple())
    return f"today at {clock}" if moment.date() == date.today() else f"{moment:%Y-%m-%d} at {clock}"
