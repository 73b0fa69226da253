"""Symbols light what stands for them, on the canvas or beside it, or say that nothing on screen does."""

from __future__ import annotations

import json
import re

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QScrollArea, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.assets import asset, doc
from mrfstudio.engine.protocol.words import SYMBOLS
from mrfstudio.engine.registry import ALGORITHMS, LEARNERS
from mrfstudio.engine.words.markdown import words_of
from mrfstudio.ui.style.theme import Theme
from mrfstudio.ui.words.lighting import PARAMETERS, Pointed, SymbolLight, stands_for
from mrfstudio.ui.words.topics import set_topic
from mrfstudio.ui.words.view import EquationView, WordsView
from tests.ui.helpers.studio import Studio
from tests.ui.helpers.widgets import shown

PAGES = ("algorithms", "learners", "models", "parameters")
CONTROL = re.compile(r"\\control\{((?:[^{}]|\{[^{}]*\})*)\}")


def lit(studio: Studio, symbol: str, letter: str = "") -> tuple[bool, list[QWidget]]:
    """Point at a symbol; whether something lights, and beside the canvas what."""
    pointed = Pointed(symbol, letter)
    workspace = studio.window.workspace
    workspace.light_symbol(pointed)
    return pointed.seen, [frame.parentWidget() for frame in workspace._light.frames]


def test_every_number_that_a_page_or_lesson_writes_is_a_parameter() -> None:
    texts = [doc(f"what/{page}.md").read_text() for page in PAGES]
    texts += [json.dumps(json.loads(path.read_text()), ensure_ascii=False) for path in asset("lessons").glob("*.json")]
    letters = {letter.replace("\\\\", "\\") for text in texts for letter in CONTROL.findall(text)}
    assert letters == set(PARAMETERS)
    known = {field.name for registry in (ALGORITHMS, LEARNERS) for each in registry for field in each.entry().fields}
    graphs = {"coupling"}  # of every graph in Converge
    assert {name for names in PARAMETERS.values() for name in names} <= known | graphs


def test_in_segment_every_symbol_lights_something(studio: Studio) -> None:
    for symbol in SYMBOLS:  # plots and the form of parameters come after the first picture
        studio.qtbot.waitUntil(lambda symbol=symbol: lit(studio, symbol, "d")[0])
    # the form is filled anew when the first frame names its algorithm; until then the form as a whole lights
    studio.qtbot.waitUntil(
        lambda: [place.property("topic") for place in lit(studio, "control", "d")[1]] == ["parameter/damping"]
    )
    assert lit(studio, "energy")[1] == [studio.segment.curves.curves.plots["log_partition"]]
    assert lit(studio, "hidden")[1] == [studio.segment.panel.layers.boxes["clone"]]
    assert lit(studio, "belief")[1] == []  # that is on the canvas
    frame_of = studio.segment.panel.layers.boxes["clone"]
    lit(studio, "hidden")
    assert studio.window.workspace._light.frames[0].size() == frame_of.size()
    assert lit(studio, "") == (False, [])


def test_a_number_that_is_not_on_screen_says_so(studio: Studio) -> None:
    pointed = Pointed("control", r"\eta")
    studio.window.workspace.light_symbol(pointed)
    assert not pointed.seen
    assert "Nothing on screen" in pointed.words()
    assert "Nothing on screen" not in Pointed("belief", seen=True).words()
    assert Pointed("").words() == ""


def test_where_the_curves_are_closed_the_energy_is_nowhere(studio: Studio) -> None:
    studio.window.docks.curves.hide()
    assert lit(studio, "energy") == (False, [])
    studio.window.docks.curves.show()
    studio.qtbot.waitUntil(lambda: lit(studio, "energy")[0])
    lit(studio, "")


def test_what_is_scrolled_away_is_scrolled_to_and_what_is_folded_lights_its_fold(qtbot: QtBot, theme: Theme) -> None:
    area, inside = QScrollArea(), QWidget()
    column = QVBoxLayout(inside)
    column.addSpacing(900)
    group = QWidget()
    group.setMinimumHeight(20)
    rows = QVBoxLayout(group)
    plain, folded = QWidget(), QWidget()
    for row in (plain, folded):
        row.setMinimumSize(60, 30)
        rows.addWidget(row)
    folded.hide()
    column.addWidget(group)
    area.setWidget(inside)
    window = QWidget()
    QVBoxLayout(window).addWidget(area)
    shown(qtbot, window, 200, 200)
    QApplication.processEvents()
    stands_for(plain, "energy")
    set_topic(folded, "parameter/damping")
    light = SymbolLight(window)
    assert light.show(window, Pointed("energy"))
    assert area.verticalScrollBar().value() > 0
    assert light.frames[0].parentWidget() is plain
    assert light.show(window, Pointed("control", "d"))
    assert light.frames[0].parentWidget() is group
    assert not light.show(window, Pointed("belief"))


def test_a_row_that_was_just_added_lights_at_its_whole_height(qtbot: QtBot, theme: Theme) -> None:
    area, inside = QScrollArea(), QWidget()
    area.setWidgetResizable(True)
    column = QVBoxLayout(inside)
    area.setWidget(inside)
    shown(qtbot, area, 200, 100)
    rows = [QLabel(f"row {index}", inside) for index in range(30)]
    for row in rows:
        column.addWidget(row)
        row.show()
    set_topic(rows[-1], "parameter/damping")
    light = SymbolLight(area)
    assert light.show(area, Pointed("control", "d"))
    assert light.frames[0].parentWidget() is rows[-1]
    assert light.frames[0].height() >= rows[-1].sizeHint().height()


def test_the_keyboard_goes_from_symbol_to_symbol(qtbot: QtBot, theme: Theme) -> None:
    view = WordsView()
    view.set_words(words_of(r"$$\message{m}^{1-\control{\alpha}} \control{T} \frac{1}{2}$$"))
    shown(qtbot, view, 400, 120)
    heard: list[tuple[str, str]] = []
    view.symbol_hovered.connect(lambda pointed: heard.append((pointed.symbol, pointed.letter)))
    equation = view.findChildren(EquationView)[0]
    assert equation.focusPolicy() & Qt.FocusPolicy.TabFocus
    equation.setFocus()
    qtbot.waitUntil(equation.hasFocus)
    for _ in range(4):
        QTest.keyClick(equation, Qt.Key.Key_Right)
    QTest.keyClick(equation, Qt.Key.Key_Left)
    assert heard == [("message", "m"), ("control", r"\alpha"), ("control", "T"), ("message", "m"), ("control", "T")]
    assert "number that you set" in equation.toolTip()
    equation.clearFocus()
    assert heard[-1] == ("", "")


@pytest.mark.parametrize("symbol", ["belief", "message", "coupling", "hidden", "energy"])
def test_on_a_graph_every_symbol_lights_something(studio: Studio, symbol: str) -> None:
    studio.window.show_workspace("graph")
    studio.until(lambda: studio.controller.newest is not None and studio.frame.graph is not None)
    studio.settle()
    studio.qtbot.waitUntil(lambda: lit(studio, symbol)[0])
    assert lit(studio, "") == (False, [])
