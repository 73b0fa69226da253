"""What the Help menu does, but for the lessons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, QUrl
from PySide6.QtGui import QAction, QDesktopServices
from PySide6.QtWidgets import QApplication, QWhatsThis, QWidget

from mrfstudio.places import log_folder
from mrfstudio.ui.window.actions import (
    ABOUT,
    CITE,
    COMMAND_PALETTE,
    OPEN_LOG,
    READ_PAGE,
    REPORT_BUG,
    SHORTCUT_SHEET,
    WHATS_THIS,
    ActionHandlers,
)
from mrfstudio.ui.window.dialogs.bug_report import BugReportDialog
from mrfstudio.ui.window.dialogs.common import TextDialog, about_text, bibtex, citation_text, show_dialog
from mrfstudio.ui.window.dialogs.page import PageDialog
from mrfstudio.ui.window.help.finding import CommandPalette, ShortcutSheet
from mrfstudio.ui.words.lighting import Pointed
from mrfstudio.ui.words.topics import topic_of

if TYPE_CHECKING:
    from mrfstudio.ui.window.main_window import MainWindow


class HelpMenu(QObject):
    """Sheets, pages and dialogs that explain the window, and the way to say what is wrong with it."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.page: PageDialog | None = None

    def action_handlers(self) -> ActionHandlers:
        return {
            SHORTCUT_SHEET: self.shortcut_sheet,
            WHATS_THIS: self.whats_this,
            READ_PAGE: self.read_page,
            COMMAND_PALETTE: self.command_palette,
            OPEN_LOG: self.open_log,
            REPORT_BUG: self.report_bug,
            CITE: self.cite,
            ABOUT: self.about,
        }

    def shortcut_sheet(self) -> None:
        show_dialog(ShortcutSheet(self._window))

    def whats_this(self) -> None:
        for widget in self._window.findChildren(QWidget):
            if widget.toolTip() and not widget.whatsThis():  # what a tool tip says is what it is
                widget.setWhatsThis(widget.toolTip())
            if topic_of(widget):
                widget.installEventFilter(self)
        QWhatsThis.enterWhatsThisMode()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """What has a page opens it, instead of the one sentence of its tool tip."""
        if event.type() == QEvent.Type.WhatsThis and isinstance(watched, QWidget) and topic_of(watched):
            QWhatsThis.leaveWhatsThisMode()
            self.open_page(topic_of(watched))
            return True
        return super().eventFilter(watched, event)

    def read_page(self) -> None:
        """The page of the control with the focus; elsewhere that of the algorithm that runs."""
        topic = topic_of(self._window.focusWidget())
        newest = self._window.controller.newest
        if not topic and newest is not None and newest.lanes:
            topic = f"algorithm/{newest.lanes[0].algorithm}"
        self.open_page(topic or "doc/index")

    def open_page(self, topic: str) -> None:
        """Open a page in a window of its own; one is enough."""
        if self.page is None:
            self.page = PageDialog(self._window.controller, self._window)
            self.page.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            self.page.view.symbol_hovered.connect(self._light)
            self.page.finished.connect(self._page_closed)
            self.page.show()
        self.page.follow(topic)
        self.page.activateWindow()

    def _light(self, pointed: Pointed) -> None:
        self._window.workspace.light_symbol(pointed)

    def _page_closed(self) -> None:
        self.page = None
        self._window.workspace.light_symbol(Pointed(""))

    def command_palette(self) -> None:
        palette = CommandPalette(self._window.menus.every_action(), self._window)
        palette.finished.connect(lambda: self._run_chosen(palette.chosen))
        show_dialog(palette)

    def _run_chosen(self, action: QAction | None) -> None:
        if action is not None:
            QTimer.singleShot(0, action.trigger)

    def open_log(self) -> None:
        folder = log_folder()
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            QApplication.clipboard().setText(str(folder))
            self._window.message_bar.show_message(f"The log is in {folder}; the path is in the clipboard.")

    def report_bug(self) -> None:
        window = self._window
        show_dialog(
            BugReportDialog(window.controller, window.menus.device.text(), window.message_bar.show_message, window)
        )

    def cite(self) -> None:
        dialog = TextDialog("How to cite", citation_text(), self._window)
        dialog.offer_copy("Copy BibTeX", "Copy the BibTeX entry.", bibtex())
        show_dialog(dialog)

    def about(self) -> None:
        show_dialog(TextDialog("About MRF Studio", about_text(self._window.menus.device.text()), self._window))
