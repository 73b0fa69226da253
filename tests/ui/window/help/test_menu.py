"""The Help menu: what a bug report shows and saves, and how to cite."""

from __future__ import annotations

import zipfile
from pathlib import Path

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialogButtonBox

from mrfstudio import __version__
from mrfstudio.bug_report import SESSION, SUMMARY
from mrfstudio.ui.window.dialogs.bug_report import BugReportDialog
from mrfstudio.ui.window.dialogs.common import TextDialog
from tests.ui.helpers.studio import Studio


def report_dialog(studio: Studio) -> BugReportDialog:
    studio.do("report_bug")
    return next(each for each in studio.window.findChildren(BugReportDialog) if each.isVisible())


def test_a_report_is_shown_first_and_holds_the_session_only_if_asked(studio: Studio, tmp_path: Path) -> None:
    dialog = report_dialog(studio)
    shown = dialog.page.toPlainText()
    assert f"mrfstudio {__version__}" in shown
    assert not dialog.with_session.isChecked()
    dialog.save(tmp_path / "plain.zip")
    with zipfile.ZipFile(tmp_path / "plain.zip") as archive:
        assert SESSION not in archive.namelist()
        assert all(archive.read(name).decode() in shown + "\n" for name in archive.namelist())
    dialog = report_dialog(studio)
    dialog.with_session.setChecked(True)
    dialog.save(tmp_path / "whole.zip")
    studio.until((tmp_path / "whole.zip").exists)
    with zipfile.ZipFile(tmp_path / "whole.zip") as archive:
        assert {SUMMARY, SESSION} <= set(archive.namelist())
        assert archive.read(SESSION)[:2] == b"PK"


def test_a_place_that_cannot_be_written_is_said(studio: Studio, tmp_path: Path) -> None:
    dialog = report_dialog(studio)
    dialog.save(tmp_path / "nowhere" / "report.zip")
    assert "cannot be written" in studio.window.message_bar.text.text()
    assert dialog.isVisible()
    dialog.reject()


def test_how_to_cite_copies_the_entry(studio: Studio) -> None:
    studio.do("cite")
    dialog = next(each for each in studio.window.findChildren(TextDialog) if each.isVisible())
    copy = next(
        button
        for button in dialog.buttons.buttons()
        if dialog.buttons.buttonRole(button) == QDialogButtonBox.ButtonRole.ActionRole
    )
    copy.click()
    assert QGuiApplication.clipboard().text().startswith("@software{mrfstudio,")
    assert __version__ in QGuiApplication.clipboard().text()
    dialog.reject()
