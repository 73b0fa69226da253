"""Opening and saving, recent files, and the question about unsaved work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QMimeData, QObject, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QMessageBox

from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests import Request
from mrfstudio.engine.protocol.requests.studio import (
    CopyLink,
    ModelKind,
    OpenLesson,
    OpenLink,
    OpenSession,
    SaveSession,
)
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.window.actions import COPY_LINK, OPEN_FILE, OPEN_LINK, SAVE, SAVE_AS, ActionHandlers
from mrfstudio.ui.window.dialogs.common import show_dialog
from mrfstudio.ui.window.dialogs.link import SCHEME, LinkDialog
from mrfstudio.ui.window.recent import RecentFiles
from mrfstudio.ui.window.settings import Settings

if TYPE_CHECKING:
    from mrfstudio.ui.window.main_window import MainWindow

SESSION_ENDING = ".mrfs"
PICTURE_GLOBS = "*.png *.jpg *.jpeg *.bmp *.gif *.tif *.tiff *.webp *.pgm *.ppm *.heic *.heif *.avif"
LESSON_ENDING = ".mrfl"
SESSIONS = f"Sessions (*{SESSION_ENDING})"
LESSONS = f"Lessons (*{LESSON_ENDING})"
PICTURES = f"Pictures ({PICTURE_GLOBS})"
MODEL_ENDING = ".safetensors"
MODELS = f"Models (*{MODEL_ENDING})"


class Files(QObject):
    """What the File menu does with session files; pictures and models are the workspace's own."""

    def __init__(self, window: MainWindow, controller: Controller, settings: Settings) -> None:
        super().__init__(window)
        self._window, self._controller, self._settings = window, controller, settings
        self.recent_menu = QMenu("Open recent", window)
        self.recent_menu.setToolTipsVisible(True)
        self.recent = RecentFiles(self.recent_menu, settings, self.open)
        self._paths: dict[str, Path] = {}
        self._question: QMessageBox | None = None
        self._closing = False
        self._let_go: set[str] = set()  # workspaces that were saved or given up while the window closes
        self._title = ""

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            OPEN_FILE: self.open_file,
            SAVE: self.save,
            SAVE_AS: self.save_as,
            OPEN_LINK: self.ask_link,
            **({COPY_LINK: self.copy_link} if self._window.workspace.has_session else {}),
        }

    @property
    def path(self) -> Path | None:
        """The file of the shown workspace's session."""
        return self._paths.get(self._controller.workspace)

    # Opening ----------------------------------------------------------------------------------------------------------

    def open_file(self) -> None:
        own = [sign.filter for sign in self._window.signs if sign.filter]
        filters = (self._everything(), SESSIONS, LESSONS, PICTURES, MODELS, *own)
        chosen, _ = QFileDialog.getOpenFileName(self._window, "Open", self._settings.folder, ";;".join(filters))
        if chosen:
            self._settings.folder = str(Path(chosen).parent)
            self.open(Path(chosen))

    def _everything(self) -> str:
        endings = sorted({f"*{ending}" for sign in self._window.signs for ending in sign.endings})
        globs = (f"*{SESSION_ENDING}", f"*{LESSON_ENDING}", PICTURE_GLOBS, f"*{MODEL_ENDING}", *endings)
        return f"Everything that opens ({' '.join(globs)})"

    def open(self, path: Path) -> None:
        """Open whatever it is: a session, a picture, a model."""
        if not path.exists():
            self.recent.forget(path)
            self._window.message_bar.show_message(f"{path} does not exist: it may have been moved or renamed.")
        elif path.suffix.lower() == SESSION_ENDING:
            self.unless_unsaved(lambda: self._open_session(path))
        elif path.suffix.lower() == LESSON_ENDING:
            self._controller.ask(OpenLesson(str(path)), self._window.tutor.begin)
            self.recent.add(path)
        elif (opening := self._opening(path)) is not None:
            self.replace_by(opening(path))
            self.recent.add(path)
        elif path.suffix.lower() == MODEL_ENDING:
            self._controller.ask(ModelKind(str(path)), lambda kind: self._open_model(path, kind))
        elif self._window.workspace.open_path(path):
            self.recent.add(path)
        elif f"*{path.suffix.lower()}" in PICTURE_GLOBS.split():
            self._refuse_picture()
        else:
            self._window.message_bar.show_message(
                f"{path.name} is of a kind that the window does not show: expected a session, picture, model or graph."
            )

    def _open_model(self, path: Path, kind: str) -> None:
        """Use a model in the shown workspace if it can, else in the one that can."""
        engine = self._controller.engine
        takers = () if engine is None else engine.takers(kind)
        if self._window.workspace.name not in takers:
            if not takers:
                sentence = f"{path.name} is a model of kind {kind}, which no workspace shows: try mrfstudio evaluate."
                self._window.message_bar.show_message(sentence)
                return
            self._window.choose_workspace(takers[0])
        self._window.workspace.open_path(path)
        self.recent.add(path)

    def can_take(self, content: QMimeData) -> bool:
        """Whether what is dragged over the window could be opened."""
        return content.hasImage() or any(url.isLocalFile() for url in content.urls())

    def take(self, content: QMimeData) -> None:
        """Open the first file that was dropped: one window shows one thing. A picture may come without a file."""
        paths = [Path(url.toLocalFile()) for url in content.urls() if url.isLocalFile()]
        if paths:
            self.open(paths[0])
        elif not self._window.workspace.open_image(QImage(content.imageData())):
            self._refuse_picture()

    def _refuse_picture(self) -> None:
        takers = " or ".join(sign.title for sign in self._window.signs if sign.takes_pictures)
        self._window.message_bar.show_message(f"A picture means nothing here: open it in {takers}.")

    def _opening(self, path: Path) -> Callable[[Path], Request[str]] | None:
        """What makes a request of such a file, where a workspace opens it wherever the person is."""
        name = path.name.lower()
        return next((sign.opening for sign in self._window.signs if name.endswith(sign.endings)), None)

    def replaces(self, path: Path) -> bool:
        """Whether a file brings all that is shown; a picture or a model is added to what is there."""
        return path.suffix.lower() == SESSION_ENDING or self._opening(path) is not None

    def replace_by(self, request: Request[str]) -> None:
        """Show what a request brings, such as a graph, in the workspace that it belongs to."""
        if isinstance(request, OpenLink):
            self.open_link(request.link)
            return
        sign = next(sign for sign in self._window.signs if isinstance(request, sign.opened_by))
        self._window.show_workspace(sign.name)
        self.unless_unsaved(lambda: self._replace(request))

    def _replace(self, request: Request[str]) -> None:
        workspace = self._window.workspace

        def opened() -> None:
            self._paths.pop(workspace.name, None)  # what is new must not be saved over the session that was open
            self._window.mark_begun(workspace.name)

        workspace.open(request, opened, self._refused)

    def _open_session(self, path: Path) -> None:
        def opened(workspace: str) -> None:
            self.recent.add(path)
            self.opened(workspace, path)

        self._controller.ask(OpenSession(str(path)), opened, self._refused)

    def open_link(self, link: str) -> None:
        """Show the state that somebody sent as a link."""

        def opened(workspace: str) -> None:
            self.opened(workspace, None)

        def ask() -> None:
            self._controller.ask(OpenLink(link), opened, self._refused)

        self.unless_unsaved(ask)

    def ask_link(self) -> None:
        """Ask for a link; one in the clipboard is filled in."""
        held = QApplication.clipboard().text().strip()
        dialog = LinkDialog(held if held.startswith(SCHEME) else "", self._window)
        dialog.given.connect(self.open_link)
        show_dialog(dialog)

    def copy_link(self) -> None:
        """Put the shown state into the clipboard as a link."""

        def copied(link: str) -> None:
            QApplication.clipboard().setText(link)
            self._window.say(f"The link is in the clipboard, {len(link):,} letters: paste it into a mail or a chat.")

        self._controller.ask(CopyLink(self._controller.workspace), copied)

    def _refused(self, sentence: str) -> None:
        """A file cannot be opened; a workspace that waited for it shows something else."""
        self._controller.message.emit(sentence)
        self._window.begin()

    def opened(self, workspace: str, path: Path | None) -> None:
        """Show a workspace whose session was replaced; `path` is the file it belongs to."""
        self._paths.pop(workspace, None)
        if path is not None:
            self._paths[workspace] = path
        self._window.mark_begun(workspace)
        self._window.show_workspace(workspace)
        self._window.workspace.on_opened()

    # Saving -----------------------------------------------------------------------------------------------------------

    def save(self) -> None:
        self._save_then(lambda: None)

    def save_as(self) -> None:
        self._save_then(lambda: None, ask=True)

    def _save_then(self, then: Callable[[], None], ask: bool = False) -> None:
        """Save, asking for a name where there is none, and go on once the file is complete."""
        path = None if ask else self.path
        if path is None:
            path = self._ask_path()
        if path is not None:
            self.save_to(path, then)
        else:
            self._let_go.clear()  # the window stays, and with it what was given up

    def save_to(self, path: Path, then: Callable[[], None] = lambda: None) -> None:
        """Save the shown workspace's session to a file."""

        def saved(_: Any) -> None:
            self._paths[workspace] = path
            self.recent.add(path)
            then()

        workspace = self._controller.workspace
        self._controller.ask(SaveSession(workspace, str(path)), saved)

    def _ask_path(self) -> Path | None:
        chosen, _ = QFileDialog.getSaveFileName(self._window, "Save session", str(self._suggested()), SESSIONS)
        if not chosen:
            return None
        path = Path(chosen)
        self._settings.folder = str(path.parent)
        return path if path.suffix else path.with_suffix(SESSION_ENDING)

    def _suggested(self) -> Path:
        """The session's file, or one named after what is shown."""
        return self.path or Path(self._settings.folder, Path(self._shown_name()).stem + SESSION_ENDING)

    def _shown_name(self) -> str:
        """The file, or what the picture or graph is called."""
        newest = self._controller.newest
        return self.path.name if self.path else (newest.name if newest is not None else "") or "Untitled"

    # Unsaved work -----------------------------------------------------------------------------------------------------

    @property
    def unsaved(self) -> bool:
        newest = self._controller.newest
        return newest is not None and newest.modified

    def may_close(self) -> bool:
        """Whether the window may close now; asks about unsaved work and closes later if the answers allow it.

        Every workspace with unsaved work is shown when it is asked about, one after the other.
        """
        unsaved = [name for name in self._controller.modified if name not in self._let_go]
        if self._closing or not unsaved:
            return True
        if self._question is not None:  # asked already: one answer is enough
            return False
        name = unsaved[0]
        if name != self._controller.workspace:
            self._window.show_workspace(name)
        self._ask_about_unsaved(lambda: self._let_go_of(name))
        return False

    def discard(self) -> None:
        """Close without asking about unsaved work."""
        self._closing = True

    def _let_go_of(self, workspace: str) -> None:
        self._let_go.add(workspace)
        self._window.close()

    def unless_unsaved(self, then: Callable[[], None]) -> None:
        """Do something that would lose unsaved work: at once if there is none, else after asking."""
        if not self.unsaved:
            then()
            return
        if self._question is None:  # else it is asked already: one answer is enough
            self._ask_about_unsaved(then)

    def _ask_about_unsaved(self, then: Callable[[], None]) -> None:
        button = QMessageBox.StandardButton
        self._question = QMessageBox(self._window)
        self._question.setTextFormat(Qt.TextFormat.PlainText)
        self._question.setIcon(QMessageBox.Icon.Question)
        self._question.setWindowTitle("Unsaved work")
        where = self._window.workspace.title
        self._question.setText(f"Save what you did in {where} before it is closed?")
        self._question.setInformativeText(f"Without saving, the changes to “{self._shown_name()}” are lost.")
        self._question.setStandardButtons(button.Save | button.Discard | button.Cancel)
        self._question.setDefaultButton(button.Save)
        self._question.finished.connect(lambda answer: self._answered(answer, then))
        show_dialog(self._question)

    def _answered(self, answer: int, then: Callable[[], None]) -> None:
        assert self._question is not None
        self._question.deleteLater()
        self._question = None
        if answer == QMessageBox.StandardButton.Save:
            self._save_then(then)
        elif answer == QMessageBox.StandardButton.Discard:
            then()
        else:
            self._let_go.clear()  # the window stays, and with it what was given up

    # Title ------------------------------------------------------------------------------------------------------------

    def show_workspace_title(self, title: str) -> None:
        """A workspace without a session."""
        self._title = f"{title}[*] – MRF Studio"
        self._window.setWindowTitle(self._title)

    def show_title(self, frame: Frame) -> None:
        """The file, or what the picture is called, and whether there is unsaved work."""
        if frame.file:
            self._paths[frame.workspace] = Path(frame.file)
        else:
            self._paths.pop(frame.workspace, None)  # another picture took the place of the session in that file
        title = f"{self._shown_name()}[*] – MRF Studio"
        if title != self._title:
            self._title = title
            self._window.setWindowTitle(title)
        if self._window.isWindowModified() != frame.modified:
            self._window.setWindowModified(frame.modified)
