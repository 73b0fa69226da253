"""The browser of clones."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mrfstudio.ui.workspaces.segment.clone_browser import CloneBrowser
from tests.ui.helpers.widgets import LEFT, emitted, gallery, shown


@pytest.fixture
def browser(qtbot: QtBot) -> CloneBrowser:
    browser = CloneBrowser()
    shown(qtbot, browser, 420, 420)
    browser.set_gallery(gallery())
    QApplication.processEvents()
    return browser


def test_the_gallery_shows_used_clones_and_lists_the_others(browser: CloneBrowser) -> None:
    assert browser.model.clones == [7, 6, 5, 4, 2, 1]
    assert browser.unused.text() == "Unused: 0, 3"
    assert "6 of 8" in browser.title.text()


def test_the_gallery_can_be_ordered(browser: CloneBrowser) -> None:
    browser.order.setCurrentIndex(1)
    browser.order.activated.emit(1)
    assert browser.model.clones == [1, 2, 4, 5, 6, 7]
    browser.order.setCurrentIndex(2)
    browser.order.activated.emit(2)
    assert browser.model.clones == [1, 2, 4, 6, 7, 5]  # 5 leans nowhere


def test_hovering_and_clicking_a_clone_tell_which(browser: CloneBrowser) -> None:
    hovered, chosen = emitted(browser.hovered), emitted(browser.chosen)
    viewport = browser.view.viewport()
    place = browser.view.visualRect(browser.model.index(2)).center()
    QTest.mouseMove(viewport, place)
    QTest.mouseClick(viewport, LEFT, pos=place)
    assert hovered[0] == 5
    assert chosen == [5]


def test_arrow_keys_go_through_the_gallery(browser: CloneBrowser) -> None:
    browser.view.setFocus()
    browser.view.setCurrentIndex(browser.model.index(0))
    hovered = emitted(browser.hovered)
    QTest.keyClick(browser.view, Qt.Key.Key_Right)
    assert hovered == [6]


def test_a_clone_is_a_plot_with_its_numbers_and_a_page_has_larger_ones(browser: CloneBrowser, qtbot: QtBot) -> None:
    place = browser.view.visualRect(browser.model.index(1)).center()
    browser.menu.open(place)
    plot = browser.menu.plot
    assert plot is not None
    assert plot.content.title == "Clone 6"
    assert plot.content.picture is not None
    patch = gallery().patches[6]
    assert plot.content.to_csv().count("\n") == 1 + patch.size
    inside = plot.place(0.5, 0.5)
    assert f"CONTOUR <b>{patch[0, 0, 0]:.1%}</b>" in plot.words_at(0.5, 0.5, inside)
    QApplication.activePopupWidget().close()  # type: ignore[union-attr]
    narrow = browser.view.visualRect(browser.model.index(0)).width()
    browser.resize(1200, 800)
    qtbot.waitUntil(lambda: browser.view.visualRect(browser.model.index(0)).width() > 1.5 * narrow)


def test_clones_are_described_in_words(browser: CloneBrowser) -> None:
    words = browser.model.index(0).data(Qt.ItemDataRole.ToolTipRole)
    assert words == "Clone 7: chosen by 28.0% of the contour pixels, expects IN left."
    assert "does not lean" in browser.model.index(2).data(Qt.ItemDataRole.AccessibleTextRole)


def test_an_empty_gallery_says_what_belongs_there(browser: CloneBrowser) -> None:
    browser.set_gallery(None)
    assert not browser.view.isVisible()
    assert "clone" in browser.title.text()
    browser.set_progress(3, 10)
    assert "3 of 10" in browser.title.text()
