"""Pages beside the canvas."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from mrfstudio.ui.widgets.pages import PageTabs
from tests.ui.helpers.widgets import emitted, shown


def test_a_page_takes_the_place_of_the_canvas_or_half_of_it(qtbot: QtBot) -> None:
    canvas = QLabel("canvas")
    tabs = shown(qtbot, PageTabs(canvas), 600, 300)
    assert not tabs.tabs.isVisible()
    seen = emitted(tabs.shown)
    page = QLabel("page")
    tabs.open("map", "Map", page)
    assert page.isVisible()
    assert not canvas.isVisible()
    assert seen == [("map", True)]
    tabs.split.click()
    assert page.isVisible()
    assert canvas.isVisible()
    assert min(tabs.parts.sizes()) > 100
    tabs.choose("")
    assert not page.isVisible()
    assert seen[-1] == ("map", False)


def test_a_page_that_has_another_home_goes_back_there(qtbot: QtBot) -> None:
    tabs = shown(qtbot, PageTabs(QLabel("canvas")), 600, 300)
    home: list[str] = []
    tabs.open("table", "Table", QLabel("first"), take_back=lambda: home.append("back"))
    tabs.open("plot", "Plot", QLabel("second"))
    assert tabs.current == "plot"
    tabs.close_page("table")
    assert home == ["back"]
    assert tabs.names() == ["plot"]
    tabs.close_page("plot")
    assert tabs.current == ""
    assert not tabs.tabs.isVisible()


def test_a_large_page_scrolls_and_makes_nothing_larger(qtbot: QtBot) -> None:
    tabs = shown(qtbot, PageTabs(QLabel("canvas")), 600, 300)
    page = QLabel("page")
    page.setMinimumSize(2000, 1500)
    tabs.open("wide", "Wide", page)
    assert tabs.minimumSizeHint().width() < 600
    assert tabs.minimumSizeHint().height() < 300
    assert page.size().toTuple() == (2000, 1500)
