"""The keyboard alone reaches everything: every dialog, workspace, panel and page, and one sees where it is."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QPushButton, QTableWidget, QTableWidgetItem, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

import mrfstudio.ui
from mrfstudio.engine.protocol.lessons import Lesson
from mrfstudio.engine.protocol.requests.studio import ListLessons
from mrfstudio.ui.export.figure_dialog import FigureDialog
from mrfstudio.ui.lessons.author_dialog import AuthorDialog
from mrfstudio.ui.lessons.chooser import LessonChooser
from mrfstudio.ui.widgets.pages import PageTabs
from mrfstudio.ui.widgets.preview import PreviewDialog
from mrfstudio.ui.widgets.table_keys import table_keys
from mrfstudio.ui.window.dialogs.bug_report import BugReportDialog
from mrfstudio.ui.window.dialogs.common import NewDrawing, TextDialog
from mrfstudio.ui.window.dialogs.link import LinkDialog
from mrfstudio.ui.window.dialogs.page import PageDialog
from mrfstudio.ui.window.help.finding import CommandPalette, ShortcutSheet
from mrfstudio.ui.workspaces.inpaint.crop_dialog import CropDialog
from mrfstudio.ui.workspaces.segment.drawing_dialogs import GapDialog
from mrfstudio.ui.workspaces.segment.example_dialog import ExampleDialog
from mrfstudio.ui.workspaces.segment.kind_question import KindQuestion
from mrfstudio.ui.workspaces.segment.picture_dialog import PictureDialog
from tests.ui.helpers.keyboard import controls, looks_the_same, spoken, unreached, walked
from tests.ui.helpers.studio import Studio
from tests.ui.helpers.widgets import shown

SQUARE = np.pad(np.ones((20, 20)), 6)
BASES = (PreviewDialog,)


def figure(studio: Studio) -> QDialog:
    window = studio.window
    return FigureDialog(window.showing.plots(), None, studio.settings, window.say, window)


def page(studio: Studio) -> QDialog:
    made = PageDialog(studio.controller, studio.window)
    made.follow("algorithm/alpha-bp")
    studio.qtbot.waitUntil(lambda: made.view.text().startswith("# "), timeout=30_000)
    return made


def chooser(studio: Studio) -> QDialog:
    lessons: list[Lesson] = []
    studio.controller.ask(ListLessons(), lessons.extend)
    studio.qtbot.waitUntil(lambda: bool(lessons), timeout=30_000)
    return LessonChooser(lessons, {}, studio.window)


def example(studio: Studio) -> QDialog:
    engine = studio.controller.engine
    assert engine is not None
    return ExampleDialog(studio.controller, engine.figures, studio.segment.first_example, studio.window)


DIALOGS: dict[type[QDialog], Callable[[Studio], QDialog]] = {
    AuthorDialog: lambda studio: AuthorDialog(studio.window),
    BugReportDialog: lambda studio: BugReportDialog(studio.controller, "cpu", print, studio.window),
    CommandPalette: lambda studio: CommandPalette(studio.window.menus.every_action(), studio.window),
    CropDialog: lambda studio: CropDialog(studio.controller, SQUARE, "grey", studio.window),
    ExampleDialog: example,
    FigureDialog: figure,
    GapDialog: lambda studio: GapDialog(2, studio.window),
    KindQuestion: lambda studio: KindQuestion("a.png", True, studio.window),
    LessonChooser: chooser,
    LinkDialog: lambda studio: LinkDialog("", studio.window),
    NewDrawing: lambda studio: NewDrawing(parent=studio.window),
    PageDialog: page,
    PictureDialog: lambda studio: PictureDialog(studio.controller, SQUARE, studio.window),
    ShortcutSheet: lambda studio: ShortcutSheet(studio.window),
    TextDialog: lambda studio: TextDialog("About", "Words.", studio.window),
}


def walk(studio: Studio, begin: QWidget) -> list[QWidget]:
    """Where Tab stops, once two rounds agree: answers of the engine may still switch controls on and off."""
    rounds: list[list[QWidget]] = [[]]

    def agree() -> bool:
        begin.setFocus()
        rounds.append(walked())
        return rounds[-1] == rounds[-2]

    studio.qtbot.waitUntil(agree)
    begin.setFocus()
    return rounds[-1]


def kinds_of(base: type[QDialog]) -> Iterator[type[QDialog]]:
    for kind in base.__subclasses__():
        if kind.__module__.startswith("mrfstudio"):
            yield kind
        yield from kinds_of(kind)


def test_no_dialog_is_forgotten_here() -> None:
    for module in pkgutil.walk_packages(mrfstudio.ui.__path__, "mrfstudio.ui."):
        importlib.import_module(module.name)
    assert set(kinds_of(QDialog)) - set(BASES) == set(DIALOGS)


@pytest.mark.parametrize("kind", DIALOGS, ids=lambda kind: kind.__name__)
def test_a_dialog_is_used_and_left_with_the_keyboard(studio: Studio, kind: type[QDialog]) -> None:
    dialog = DIALOGS[kind](studio)
    dialog.show()
    dialog.activateWindow()
    try:
        studio.qtbot.waitUntil(dialog.isActiveWindow)
        studio.qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
        studio.settle()
        begin = QApplication.focusWidget()
        assert begin is not None
        stops = walk(studio, begin)
        assert unreached(dialog, stops) == []
        assert [type(each).__name__ for each in (*controls(dialog), *stops) if not spoken(each)] == []
        assert [spoken(stop) for stop in stops if looks_the_same(stop)] == []
        assert set(walked(Qt.Key.Key_Backtab)) == set(stops)
        QTest.keyClick(stops[0], Qt.Key.Key_Escape)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        assert not isValid(dialog) or not dialog.isVisible()
    finally:
        if isValid(dialog):
            dialog.close()
            dialog.deleteLater()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.mark.parametrize("name", ["segment", "photograph", "repair", "inpaint", "graph", "train"])
def test_a_workspace_with_all_its_panels_is_walked(studio: Studio, name: str) -> None:
    window = studio.window
    assert {sign.name for sign in window.signs} == {"segment", "photograph", "repair", "inpaint", "graph", "train"}
    window.choose_workspace(name)
    QApplication.processEvents()
    before = window.docks.shown()
    own = [each for each, owner in window.docks._owners.items() if owner == name]
    for panel in own:
        panel.show()
    window.say("A message that can be dismissed.")
    QApplication.processEvents()
    try:
        stops = walk(studio, window.workspace.canvas)
        assert unreached(window, stops) == []
        assert [type(each).__name__ for each in (*controls(window), *stops) if not spoken(each)] == []
        plain = [spoken(stop) for stop in stops if stop.visibleRegion().isEmpty() is False and looks_the_same(stop)]
        assert plain == []
        window.workspace.canvas.setFocus()
        assert set(walked(Qt.Key.Key_Backtab)) == set(stops)
    finally:
        for panel in own:
            panel.setVisible(panel in before)
        window.message_bar.hide()
        QApplication.processEvents()


def test_a_panel_as_a_page_is_walked_and_closed(studio: Studio) -> None:
    window = studio.window
    studio.segment.clones.show_clones()
    (panel,) = (each for each in window.docks.shown() if each.isAncestorOf(studio.segment.clones.browser))
    window.docks.to_middle(panel)
    QApplication.processEvents()
    pages = window.workspace.pages
    assert isinstance(pages, PageTabs)
    stops = walk(studio, pages.tabs)
    assert unreached(pages, stops) == []
    assert pages.split in stops
    QTest.keyClick(pages.tabs, Qt.Key.Key_Delete)
    assert pages.names() == []
    panel.hide()


def test_a_table_sorts_with_keys_and_tab_leaves_it(qtbot: QtBot) -> None:
    holder = QWidget()
    table = QTableWidget(3, 2, holder)
    table.resize(200, 200)
    for row, (word, number) in enumerate((("b", "2"), ("a", "3"), ("c", "1"))):
        table.setItem(row, 0, QTableWidgetItem(word))
        table.setItem(row, 1, QTableWidgetItem(number))
    table.setSortingEnabled(True)
    table_keys(table)
    after = QPushButton("after", holder)
    shown(qtbot, holder, 240, 240)
    table.setFocus()
    qtbot.waitUntil(table.hasFocus)
    table.setCurrentCell(0, 1)
    QTest.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert [table.item(row, 1).text() for row in range(3)] == ["3", "2", "1"]  # type: ignore[union-attr]
    QTest.keyClick(table, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert [table.item(row, 1).text() for row in range(3)] == ["1", "2", "3"]  # type: ignore[union-attr]
    QTest.keyClick(table, Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is after
