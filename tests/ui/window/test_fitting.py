"""Nothing is cut off at any size of text: choices and advice end in dots, panels follow the text both ways."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QDockWidget, QLabel, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.engine.engine_thread import EngineThread
from mrfstudio.ui.style.theme import MinimumWidth, Theme, px, unit_of
from mrfstudio.ui.widgets.choice_box import ChoiceBox
from mrfstudio.ui.widgets.elided import Elided
from mrfstudio.ui.window.help.finding import ShortcutSheet
from mrfstudio.ui.window.main_window import MainWindow
from mrfstudio.ui.window.scrolling import TALLEST, HorizontalScroll, VerticalScroll
from mrfstudio.ui.window.settings import Settings
from tests.ui.helpers.studio import studio_in


def scaled(widget: QWidget, factor: float) -> None:
    font = QFont(widget.font())
    font.setPointSizeF(font.pointSizeF() * factor)
    widget.setFont(font)
    for _ in range(5):
        QApplication.processEvents()


def test_a_choice_without_room_ends_in_dots_and_stays_the_choice(qtbot: QtBot) -> None:
    box = ChoiceBox(6)
    qtbot.addWidget(box)
    box.addItem("Tree-reweighted belief propagation")
    box.resize(box.minimumSizeHint())
    assert box.shown_text().endswith("…")
    assert box.currentText() == "Tree-reweighted belief propagation"
    box.resize(2 * box.fontMetrics().horizontalAdvance(box.currentText()), box.height())
    assert box.shown_text() == box.currentText()


def test_a_choice_does_not_widen_its_panel(qtbot: QtBot) -> None:
    box = ChoiceBox(6)
    qtbot.addWidget(box)
    before = box.minimumSizeHint().width()
    box.addItem("a name much longer than six letters")
    assert box.minimumSizeHint().width() == before


def test_a_panel_grows_with_the_text_but_slower_and_shrinks_again(qtbot: QtBot) -> None:
    panel = QWidget()
    qtbot.addWidget(panel)
    MinimumWidth(panel, 200)
    before, unit = panel.minimumWidth(), unit_of(panel.font())
    scaled(panel, 2.0)
    assert before < panel.minimumWidth() < 200 * unit_of(panel.font())
    scaled(panel, 0.5)
    assert panel.minimumWidth() == before
    assert unit_of(panel.font()) == unit


def test_what_scrolls_keeps_room_for_its_bar_and_shrinks_with_the_text(qtbot: QtBot) -> None:
    inside = QWidget()
    column = QVBoxLayout(inside)
    for _ in range(20):
        column.addWidget(QLabel("a tool with a name"))
    scrolled = VerticalScroll(inside, always=False)
    qtbot.addWidget(scrolled)
    scrolled.resize(10, 100)
    scrolled.show()
    qtbot.waitUntil(lambda: scrolled.verticalScrollBar().isVisible())
    scaled(scrolled, 1.0)
    scrolled.resize(10, 100)
    before = scrolled.minimumWidth()
    assert scrolled.viewport().width() >= inside.minimumSizeHint().width()
    scaled(scrolled, 2.0)
    assert scrolled.minimumWidth() > 1.5 * before
    scaled(scrolled, 0.5)
    assert scrolled.minimumWidth() == before


def test_every_workspace_fits_a_small_screen_with_text_of_twice_the_size(
    qtbot: QtBot, theme: Theme, tmp_path: Path
) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.start()
        window = studio.window
        small = (1280, 740)  # what a title bar and a task bar leave of 800
        window.resize(*small)
        window.choose_workspace("inpaint")  # made before the text grows, others after
        theme.set_scale(2.0)
        for name in ("segment", "photograph", "inpaint", "graph", "train"):
            window.choose_workspace(name)
            for _ in range(10):
                QApplication.processEvents()
            window.resize(*small)
            assert (window.width(), window.height()) == small, name
        theme.set_scale(1.0)
        assert not window.width_watcher.narrow
        studio.window.show_workspace("segment")
        studio.settle()


def test_panels_pages_and_splits_fit_a_small_screen_with_text_of_twice_the_size(
    qtbot: QtBot, theme: Theme, tmp_path: Path
) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.start()
        window, small = studio.window, (1280, 800)
        window.resize(*small)
        window.choose_workspace("graph")
        studio.settle()
        theme.set_scale(2.0)
        pages = window.workspace.pages
        assert pages is not None
        for dock in [each for each, owner in window.docks._owners.items() if owner == "graph"]:
            window.docks.toggle(dock.objectName())
            for step in (lambda: None, dock.titleBarWidget()._page.click, lambda: pages.split.setChecked(True)):  # type: ignore[attr-defined]
                step()
                for _ in range(10):
                    QApplication.processEvents()
                assert (window.width(), window.height()) == small, dock.objectName()
            pages.split.setChecked(False)
            pages.close_page(pages.current)
            dock.hide()
        theme.set_scale(1.0)
        studio.settle()


def test_a_tall_row_scrolls_both_ways_and_another_along_only(qtbot: QtBot) -> None:
    inside = [QWidget() for _ in range(2)]
    for each in inside:
        each.setMinimumSize(2000, 700)
    tall, row = HorizontalScroll(inside[0], tall=True), HorizontalScroll(inside[1])
    for scrolled in (tall, row):
        qtbot.addWidget(scrolled)
        scrolled.resize(300, 200)
        scrolled.show()
        qtbot.waitUntil(lambda scrolled=scrolled: scrolled.horizontalScrollBar().maximum() > 0)  # type: ignore[misc]
    assert tall.verticalScrollBar().isVisible()
    assert not row.verticalScrollBar().isVisible()
    bar = tall.horizontalScrollBar().sizeHint().height()
    assert tall.minimumSizeHint().height() <= px(tall, TALLEST) + bar


def test_all_tools_are_seen_without_scrolling_on_a_small_screen(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.window.resize(1272, 760)
        studio.start()
        palette = studio.segment.palette
        qtbot.waitUntil(lambda: palette.strength.visibleRegion().boundingRect().height() == palette.strength.height())
        assert palette.strength.height() > 0


def test_a_window_that_starts_with_large_text_is_no_wider_than_it_was_left(
    qtbot: QtBot, theme: Theme, tmp_path: Path
) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.window.resize(1272, 740)
        studio.settings.geometry = studio.window.saveGeometry()
        studio.settings.sync()
    theme.set_scale(2.0)
    with studio_in(qtbot, theme, tmp_path) as studio:
        assert studio.window.width() <= 1272
        studio.window.resize(1272, 740)
        assert studio.window.width() == 1272
        studio.start()
        for name in ("inpaint", "graph", "segment"):
            studio.window.choose_workspace(name)
            QApplication.processEvents()
        studio.settle()
        controls = studio.window.docks.controls
        # Panels grow after the switch: measured earlier, there would be nothing to give back.
        qtbot.waitUntil(lambda: not any(each.settling for each in controls.findChildren(VerticalScroll)))
        before = controls.width()
        theme.set_scale(1.0)
        qtbot.waitUntil(lambda: controls.width() < 0.8 * before, timeout=30_000)
        studio.settle()


def test_where_there_is_little_room_tools_show_keys_and_panels_share_a_place(
    qtbot: QtBot, theme: Theme, tmp_path: Path
) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.start()
        window, brush = studio.window, studio.segment.palette.tools["brush"]
        window.resize(1280, 800)
        clones = window.findChild(QDockWidget, "clones")
        assert clones is not None
        assert brush.text() == " Brush  B"
        theme.set_scale(2.0)
        assert brush.text() == " B"
        assert brush.accessibleName() == "Brush"
        window.docks.toggle("clones")
        assert clones in window.tabifiedDockWidgets(window.docks.controls)
        qtbot.waitUntil(lambda: not clones.visibleRegion().isEmpty())
        window.docks.controls.raise_()
        qtbot.waitUntil(lambda: clones.visibleRegion().isEmpty())
        window.docks.toggle("clones")  # it was behind: it comes to the front instead of going away
        qtbot.waitUntil(lambda: not clones.visibleRegion().isEmpty())
        theme.set_scale(1.0)
        assert brush.text() == " Brush  B"
        assert clones not in window.tabifiedDockWidgets(window.docks.controls)
        qtbot.waitUntil(lambda: clones.geometry().right() < window.docks.controls.geometry().left())


def test_panels_give_back_what_they_took_for_larger_text(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.window.resize(1280, 760)
        studio.start()
        window, docks = studio.window, studio.window.docks
        window.choose_workspace("inpaint")  # two panels at the right, which share a place with larger text
        qtbot.waitUntil(lambda: window.docks.shown() != [])
        before = docks.controls.width(), docks.curves.height()
        theme.set_scale(2.0)
        qtbot.waitUntil(lambda: before[0] < docks.controls.width() < 2 * before[0])
        theme.set_scale(1.0)
        qtbot.waitUntil(lambda: (docks.controls.width(), docks.curves.height()) == before)
        assert min(before) > 0
        window.show_workspace("segment")
        studio.settle()


def test_the_first_window_leaves_room_for_its_frame(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    settings = Settings(tmp_path / "settings.ini")
    window = MainWindow(Controller(EngineThread(lambda: None)), settings, theme)
    qtbot.addWidget(window)
    assert window.height() <= window.screen().availableSize().height() - 30


def test_hidden_buttons_are_laid_out_anew_when_the_text_has_grown(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.start()
        window = studio.window
        window.choose_workspace("inpaint")
        window.show_workspace("segment")
        theme.set_scale(2.0)
        window.show_workspace("inpaint")
        for button in (*studio.inpaint.palette.tools.values(), *studio.inpaint.palette.targets):
            qtbot.waitUntil(lambda button=button: button.height() >= button.sizeHint().height())
            assert button.width() >= button.sizeHint().width()
        theme.set_scale(1.0)
        window.show_workspace("segment")
        studio.settle()


def test_the_panels_of_every_workspace_can_be_shown_again_from_the_menu(
    qtbot: QtBot, theme: Theme, tmp_path: Path
) -> None:
    with studio_in(qtbot, theme, tmp_path) as studio:
        studio.start()
        studio.window.choose_workspace("inpaint")
        listed = [action.text() for action in studio.window.menus.panels.actions() if action.isVisible()]
        assert "Gallery" in listed
        assert "Clones" not in listed  # a panel of another workspace
        studio.window.show_workspace("segment")
        studio.settle()


def test_a_line_without_room_ends_in_dots_and_its_tip_has_all_of_it(qtbot: QtBot) -> None:
    line = Elided()
    qtbot.addWidget(line)
    line.set_words("iteration limit after 15 iterations", "It stopped.")
    line.resize(80, 20)
    assert line.shown_text().endswith("…")
    assert line.toolTip() == "iteration limit after 15 iterations\nIt stopped."
    line.resize(2000, 20)
    assert line.shown_text() == line.text()


def test_the_sheet_of_shortcuts_stays_on_the_screen(qtbot: QtBot, theme: Theme) -> None:
    theme.set_scale(2.0)
    sheet = ShortcutSheet()
    qtbot.addWidget(sheet)
    screen = sheet.screen().availableSize()
    assert sheet.width() <= screen.width()
    assert sheet.height() <= screen.height()
    theme.set_scale(1.0)
