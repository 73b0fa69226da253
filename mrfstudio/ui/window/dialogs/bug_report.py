"""Help → Report a bug: shows what a report would hold, then writes it as one zip. Nothing is sent anywhere."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from mrfstudio.bug_report import SESSION, report_parts, write_report
from mrfstudio.engine.protocol.requests.studio import CopySession
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.style.theme import px

PROMISE = "This is what the report holds. It is saved as a file; nothing is sent anywhere. Attach it where you report."


class BugReportDialog(QDialog):
    """All texts of the report to read, a box for the session, and Save."""

    def __init__(self, controller: Controller, device: str, say: Callable[[str], None], parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Report a bug")
        self._controller, self._say = controller, say
        self.parts = report_parts(device)
        promise = QLabel(PROMISE, wordWrap=True)
        self.page = QPlainTextEdit(readOnly=True)
        self.page.setAccessibleName("What the report holds")
        self.page.setToolTip("Versions, device and the end of the log; your folder's name is taken out.")
        self.page.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.page.setPlainText("\n".join(f"== {name} ==\n{text}" for name, text in self.parts.items()))
        self.with_session = QCheckBox("Add what is open now, with your pictures")
        self.with_session.setToolTip("The session as File → Save writes it: it helps most, and holds what you painted.")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.save_button = QPushButton("Save report…")
        self.save_button.setToolTip("Choose where the zip file goes.")
        buttons.addButton(self.save_button, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.accepted.connect(self._choose)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        for widget in (promise, self.page, self.with_session, buttons):
            layout.addWidget(widget)
        self.resize(px(self, 640), px(self, 480))

    def _choose(self) -> None:
        chosen, _ = QFileDialog.getSaveFileName(self, "Save report", "mrfstudio-report.zip", "Zip files (*.zip)")
        if chosen:
            self.save(Path(chosen).with_suffix(".zip"))

    def save(self, path: Path) -> None:
        """Write the report, with the session if the box is ticked."""
        if not self.with_session.isChecked():
            self._write(path, None)
            return
        folder = tempfile.TemporaryDirectory(prefix="mrfstudio-report-")
        copy = Path(folder.name, SESSION)

        def written(saved: str) -> None:
            self._write(path, Path(saved))
            folder.cleanup()

        def refused(reason: str) -> None:
            folder.cleanup()
            self._say(f"The report was not saved: {reason}")

        self._controller.ask(CopySession(self._controller.workspace, str(copy)), written, refused)

    def _write(self, path: Path, session: Path | None) -> None:
        try:
            write_report(path, self.parts, session)
        except OSError as problem:
            self._say(f"{path} cannot be written ({problem.strerror}): choose another place.")
            return
        self._say(f"The report is in {path}.")
        self.accept()
