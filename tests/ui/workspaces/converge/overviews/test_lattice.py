"""The lattice of a text: its canvas alone, and a person who types into the window."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.commands import NewGraph, Undo
from mrfstudio.ui.window.actions import SHOW_LATTICE
from mrfstudio.ui.window.scrolling import HorizontalScroll
from mrfstudio.ui.workspaces.converge.overviews.lattice_canvas import LatticeCanvas
from mrfstudio.ui.workspaces.converge.overviews.lattice_panel import OTHER_GRAPH
from tests.ui.helpers.converge import Converge


def shown(qtbot: QtBot) -> LatticeCanvas:
    canvas = LatticeCanvas()
    qtbot.addWidget(canvas)
    canvas.resize(400, 200)
    canvas.set_text(tuple("abc"), 2)
    marginals = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], np.float32)
    canvas.set_beliefs(marginals, np.full((2, 2, 2), 0.25, np.float32))
    return canvas


def test_probable_cells_are_darker(qtbot: QtBot) -> None:
    canvas = shown(qtbot)
    image = canvas.grab().toImage()
    ratio = canvas.devicePixelRatioF()

    def blue(column: int, state: int) -> int:
        middle = canvas.place(column + 0.5, state + 0.5) * ratio
        return image.pixelColor(middle.toPoint()).red()

    assert blue(0, 0) < blue(2, 0) < blue(0, 1)  # the accent is blue: the less red, the stronger


def test_a_click_and_the_space_bar_toggle_a_cell(qtbot: QtBot) -> None:
    canvas = shown(qtbot)
    heard: list[tuple[int, int]] = []
    canvas.toggled.connect(lambda column, state: heard.append((column, state)))
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=canvas.place(1.5, 1.5).toPoint())
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    qtbot.keyClick(canvas, Qt.Key.Key_Up)
    qtbot.keyClick(canvas, Qt.Key.Key_Space)
    assert heard == [(1, 1), (2, 0)]


def test_a_cell_says_what_it_is(qtbot: QtBot) -> None:
    canvas = shown(qtbot)
    assert canvas.words(0, 0) == "State 0 under 'a': probability 0.9. Click to forbid it."
    canvas.set_forbidden({(0, 0)})
    assert canvas.words(0, 0).endswith("click to allow it.")
    here = canvas.place(2.5, 1.5)
    assert canvas.words_at(*canvas.at(here), here) == canvas.words(2, 1)


def test_a_double_click_forbids_nothing_and_the_large_twin_forbids_as_well(qtbot: QtBot) -> None:
    canvas = shown(qtbot)
    heard: list[tuple[int, int]] = []
    canvas.toggled.connect(lambda column, state: heard.append((column, state)))
    middle = canvas.place(0.5, 1.5)
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle.toPoint())
    qtbot.mouseDClick(canvas, Qt.MouseButton.LeftButton, pos=middle.toPoint())
    assert heard == [(0, 1), (0, 1)]
    twin = canvas.twin()
    qtbot.addWidget(twin)
    twin.resize(600, 400)
    qtbot.mouseClick(twin, Qt.MouseButton.LeftButton, pos=twin.place(2.5, 0.5).toPoint())
    assert heard[2:] == [(2, 0)]


def test_a_person_types_and_the_lattice_answers(converge: Converge) -> None:
    """In the window: typed letters become columns, a forbidden state loses its belief, and another graph closes it."""
    studio, panel = converge.studio, converge.workspace.overviews.lattice
    studio.do(SHOW_LATTICE.name)
    studio.until(lambda: panel.canvas.marginals is not None and len(panel.canvas.letters) == 18)
    panel.text.setText("the cat")
    panel.text.textEdited.emit("the cat")
    studio.until(lambda: panel.canvas.letters == tuple("the cat") and panel.canvas.marginals is not None)
    studio.until(lambda: panel.canvas.steps is not None and float(panel.canvas.steps.sum()) > 5.9)
    state = int(panel.canvas.marginals[5].argmax())  # type: ignore[index]
    panel.canvas.toggled.emit(5, state)
    studio.until(lambda: panel.canvas.marginals is not None and panel.canvas.marginals[5, state] == 0)
    assert (5, state) in panel.canvas.forbidden
    studio.controller.post(Undo())
    studio.until(lambda: panel.canvas.marginals is not None and panel.canvas.marginals[5, state] > 0.1)
    assert not panel.canvas.forbidden


def test_an_emptied_text_and_another_graph_are_told_and_return_reads_again(converge: Converge) -> None:
    studio, panel = converge.studio, converge.workspace.overviews.lattice
    if not panel.wanted_pictures:  # the test before left it open
        studio.do(SHOW_LATTICE.name)
    studio.until(lambda: panel.canvas.marginals is not None)

    def typed(text: str) -> None:
        panel.text.setText(text)
        panel.text.textEdited.emit(text)

    typed("a <b>")
    studio.until(lambda: panel.canvas.letters == tuple("a <b>") and panel.canvas.marginals is not None)
    assert panel.note.text() == "This model does not know < >: what it does not know is read as a space."
    assert panel.note.textFormat() == Qt.TextFormat.PlainText
    typed(" ")
    assert panel.canvas.letters == ()
    assert "the graph is still that of “a <b>”" in panel.note.text()
    heard = list[object]()
    converge.workspace.controller.posted.connect(lambda command, number: heard.append(command))
    panel.canvas.toggled.emit(0, 0)
    assert not heard  # there is no cell to forbid
    typed("dog")
    studio.until(lambda: panel.canvas.letters == tuple("dog") and panel.canvas.marginals is not None)
    assert panel.note.isHidden()
    typed("dot")  # is asked for, and emptied before it was answered
    typed("")
    studio.until(lambda: "“dot”" in panel.note.text())
    assert panel.canvas.letters == ()

    typed("dot")
    studio.until(lambda: panel.canvas.marginals is not None and panel.canvas.letters == tuple("dot"))
    converge.post(NewGraph("ring"))
    studio.until(lambda: panel.note.text() == OTHER_GRAPH and panel.canvas.letters == ())
    studio.qtbot.keyClick(panel.text, Qt.Key.Key_Return)
    studio.until(lambda: panel.canvas.letters == tuple("dot") and panel.canvas.marginals is not None)
    assert panel.note.isHidden()


def test_the_place_of_the_lattice_grows_with_it_and_every_row_can_be_reached(converge: Converge) -> None:
    studio, panel = converge.studio, converge.workspace.overviews.lattice
    if not panel.wanted_pictures:
        studio.do(SHOW_LATTICE.name)
    panel.text.setText("1 of six")
    panel.text.textEdited.emit("1 of six")
    studio.until(lambda: len(panel.canvas.letters) == 8 and not panel.note.isHidden())
    place = panel.parentWidget().parentWidget()  # type: ignore[union-attr]
    assert isinstance(place, HorizontalScroll)
    studio.until(lambda: place.height() >= place.minimumSizeHint().height())
    hidden = panel.height() - place.viewport().height()
    assert place.verticalScrollBar().maximum() == max(0, hidden)
    studio.do(SHOW_LATTICE.name)
