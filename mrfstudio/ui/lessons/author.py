"""Writes a lesson about what is shown: records what is done, offers what can count as done, tries it, saves it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from mrfstudio.engine.protocol.commands import Command, Opening, Play, SetView, Transport
from mrfstudio.engine.protocol.lessons import Lesson
from mrfstudio.engine.protocol.requests.studio import ExportLesson, KeepSession, SaveLesson, Typeset
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.lessons.facts import facts

if TYPE_CHECKING:
    from mrfstudio.ui.lessons.author_dialog import AuthorDialog
    from mrfstudio.ui.window.main_window import MainWindow

ENDING = ".mrfl"


class Author(QObject):
    """One lesson at a time, about one workspace; it begins with the state that was shown."""

    def __init__(self, window: MainWindow, controller: Controller) -> None:
        super().__init__(window)
        self._window, self._controller = window, controller
        self.dialog: AuthorDialog | None = None
        self._workspace = ""
        self._start = b""
        self._plays = False
        controller.sent.connect(self._on_sent)

    def begin(self) -> None:
        """A new lesson that begins with what is shown; while one is written, that one."""
        if self.dialog is not None:
            self.dialog.activateWindow()
            return
        self._workspace = self._controller.workspace
        newest = self._controller.newest
        # A file opens paused; what a teacher changes goes on by itself unless it was paused here.
        self._plays = newest is not None and any(lane.status != "paused" for lane in newest.lanes)
        if self._window.workspace.has_session:
            self._controller.ask(KeepSession(self._workspace), self._open)
        else:
            self._open(b"")

    def change(self, lesson: Lesson) -> None:
        """Go on with a lesson that was written before; while one is written, that one."""
        if self.dialog is not None:
            self.dialog.activateWindow()
            return
        if self._window.workspace.name != lesson.workspace:
            self._window.choose_workspace(lesson.workspace)
        self._workspace, self._plays = lesson.workspace, False
        self._open(lesson.session, lesson)

    def _open(self, start: bytes, lesson: Lesson | None = None) -> None:
        from mrfstudio.ui.lessons.author_dialog import AuthorDialog

        self._start = start
        dialog = AuthorDialog(self._window)
        dialog.recorded.connect(self._record)
        dialog.tried.connect(self.try_it)
        dialog.saved.connect(self.ask_and_save)
        dialog.exported.connect(self.ask_and_export)
        dialog.preview_wanted.connect(self._preview)
        dialog.finished.connect(self._closed)
        self.dialog = dialog
        if lesson is not None:
            dialog.show_lesson(lesson)
        dialog.show()

    def _closed(self) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
        self.dialog = None

    # Recording --------------------------------------------------------------------------------------------------------

    def _record(self, on: bool) -> None:
        assert self.dialog is not None
        if on:
            self.dialog.draft.done = []
            self.dialog.show_done()
            self._window.activateWindow()
        else:
            self.dialog.offer(facts(self._controller.newest, self.dialog.draft.done))

    def _on_sent(self, command: Command, number: int) -> None:
        dialog = self.dialog
        if dialog is None or not dialog.record.isChecked() or self._controller.workspace != self._workspace:
            return
        if isinstance(command, Opening):
            self._window.say("Opening a picture is not recorded: begin the lesson with it open.")
        elif not isinstance(command, SetView) and (command.undoable or isinstance(command, Transport)):
            done = dialog.draft.done
            if done and command.merge_key is not None and done[-1].merge_key == command.merge_key:
                done.pop()  # a slider that is dragged: only where it ends counts
            done.append(command)
            dialog.show_done()

    # What becomes of it -----------------------------------------------------------------------------------------------

    def lesson(self) -> Lesson:
        """The lesson as it is written now."""
        assert self.dialog is not None
        dialog = self.dialog
        first, *others = (draft.step() for draft in dialog.drafts)
        if self._plays:
            first = replace(first, setup=(Play(), *first.setup))
        return Lesson(
            name="mine",
            title=dialog.title.text() or "My lesson",
            about=dialog.about.text() or "A lesson.",
            minutes=dialog.minutes.value(),
            workspace=self._workspace,
            steps=(first, *others),
            session=self._start,
        )

    def try_it(self) -> None:
        """Play it as a student would; what was done while writing is given up."""
        lesson = self.lesson()
        if self._window.workspace.name != lesson.workspace:
            self._window.choose_workspace(lesson.workspace)
        self._window.tutor.set_out(lesson)
        self._window.activateWindow()

    def ask_and_save(self) -> None:
        path = self._ask("Save lesson", f"Lesson (*{ENDING})", ENDING, self.lesson().title)
        if path is not None:
            self.save(path)

    def save(self, path: Path) -> None:
        """Write the lesson file."""
        said = "it opens by a double click, or with Open."
        self._controller.ask(SaveLesson(self.lesson(), str(path)), lambda at: self._say(f"Saved: {at}; {said}"))

    def _say(self, sentence: str) -> None:
        """In the window, and where the dialog covers that."""
        self._window.say(sentence)
        if self.dialog is not None:
            self.dialog.note.set_words(sentence)

    def ask_and_export(self, lesson: Lesson | None = None) -> None:
        """Ask where to, and write a lesson as a web page: the one that is written, or another."""
        wanted = lesson if isinstance(lesson, Lesson) else self.lesson()
        path = self._ask("Export lesson", "Web page (*.html)", ".html", wanted.title)
        if path is not None:
            self.export(wanted, path)

    def export(self, lesson: Lesson, path: Path) -> None:
        """Write the lesson as a web page, while everything goes on."""
        self._say("Writing the page: every step is played…")
        request = ExportLesson(lesson, str(path))
        self._controller.ask(request, lambda size: self._say(f"Written: {path}, {size / 1e6:.2f} MB."))

    def _ask(self, title: str, kind: str, ending: str, called: str) -> Path | None:
        folder = self._window.settings.folder
        name = "".join(letter if letter.isalnum() else "-" for letter in called.lower())
        chosen, _ = QFileDialog.getSaveFileName(self._window, title, str(Path(folder, name + ending)), kind)
        if not chosen:
            return None
        path = Path(chosen)
        self._window.settings.folder = str(path.parent)
        return path if path.suffix else path.with_suffix(ending)

    def _preview(self, text: str) -> None:
        def typeset(found: tuple) -> None:
            if self.dialog is not None:
                self.dialog.show_preview(found[0])

        self._controller.ask(Typeset((text,)), typeset)
