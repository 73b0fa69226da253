"""A stage for a hall: large letters, captions, keys that are shown, a halo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.frames import GraphFrame
from mrfstudio.engine.words.markdown import words_of
from mrfstudio.ui.graph_canvas.on_stage import StageGraph
from mrfstudio.ui.lessons.slide import Slide
from mrfstudio.ui.plots.content import Content, PlotLine
from mrfstudio.ui.plots.curve_plot import lane_paint
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.colours import DARK
from mrfstudio.ui.window.stage import Stage, letter_height
from mrfstudio.ui.words.view import EquationView
from tests.ui.helpers.pictures import frame, lane, pixels
from tests.ui.helpers.widgets import emitted, shown

Key = Qt.Key
LEFT = Qt.MouseButton.LeftButton


def plot() -> Plot:
    content = Content("residual", "", "", "iteration")
    content.lines = [PlotLine(0, "A", np.arange(10.0), np.arange(10.0), lane_paint(0))]
    return Plot(content)


def ring(nodes: int) -> GraphFrame:
    turn = np.arange(nodes) * 2 * np.pi / nodes
    positions = np.stack([np.sin(turn), -np.cos(turn)], 1).astype(np.float32) * 1.2
    edges = np.array([(i, (i + 1) % nodes) for i in range(nodes)], np.int32)
    counts = np.full(nodes, 2, np.int32)
    none = np.zeros((0, 2), np.int32)
    strengths = {"coupling": 1.0, "field": 1.0, "temperature": 1.0}
    labels = tuple(range(nodes))
    return GraphFrame(positions, edges, none, counts, counts, labels, None, None, None, "ring", {}, strengths, True)


def test_letters_have_24_points_on_1080_lines_and_grow_with_the_screen(qtbot: QtBot) -> None:
    assert letter_height(1080) == 32  # 24 points at 96 dots an inch
    assert letter_height(2160) == 64
    slide = Slide("Rings, step 1 of 2", words_of("Watch $\\message{m}$.\n\n$$\\belief{b} = 1$$"))
    stage = shown(qtbot, Stage(QLabel("canvas"), [plot()], slide), 1920, 1080)
    assert stage.plots[0].font().pixelSize() == 32
    letters = [*stage.slide.findChildren(QLabel), *stage.slide.findChildren(EquationView)]
    assert len(letters) >= 3
    assert {each.font().pixelSize() for each in letters} == {32}
    stage.set_words(words_of("Say $m$."))
    assert {each.font().pixelSize() for each in stage.caption.findChildren(QLabel)} == {32}
    assert stage.caption.text() == "Say $m$."


def test_large_text_makes_letters_nodes_and_lines_larger_and_nothing_smaller(qtbot: QtBot) -> None:
    sizes = []
    for text in (0.75, 1.0, 2.0):
        canvas = StageGraph()
        stage = shown(qtbot, Stage(canvas, [plot()], text=text), 1920, 1080)
        rows = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), -1).reshape(16, 2).astype(np.float32)
        edges = np.array([(i, i + 1) for i in range(15) if i % 4 < 3], np.int32)
        grid = replace(ring(16), positions=rows, edges=edges)
        layers = {"hints": np.full((1, 16), 255, np.uint8), "hints_strength": np.ones((1, 16), np.float32)}
        told = lane(3, pictures={"marginal": np.full((16, 2), 0.5, np.float32)})
        canvas.set_frame(frame(told, shape=(1, 16), layers=layers, workspace="graph", graph=grid))
        canvas.fit()
        picture, scale = canvas.picture, canvas.transform.scale
        radius = picture.radius(scale)
        assert picture.has_numbers(radius)
        letters = stage.plots[0].font().pixelSize()
        sizes.append((letters, picture.number_letters(radius), picture.value_letters(radius), radius))
        stage.close_stage()
    assert sizes[0] == sizes[1]
    assert sizes[2][0] == 48
    assert min(sizes[0][:3]) >= 31  # 24 points
    assert all(large >= usual for large, usual in zip(sizes[2], sizes[1], strict=True))


def test_numbers_of_axes_have_full_contrast_on_stage(qtbot: QtBot) -> None:
    stage = shown(qtbot, Stage(QLabel("canvas"), [plot()]), 960, 540)
    stage.dress(True)
    axis = stage.plots[0].body.left
    assert axis.textPen().color().name() == DARK.text


def test_keys_turn_plots_do_deeds_and_are_shown(qtbot: QtBot) -> None:
    done: list[str] = []
    empty = Plot(Content("nothing yet"))
    stage = Stage(QLabel("canvas"), [empty, plot(), plot()], keys={" ": lambda: done.append("play")})
    shown(qtbot, stage, 960, 540)
    stage.setFocus()
    QTest.keyClick(stage, Key.Key_Space)
    assert done == ["play"]
    assert stage.pressed.text() == "Space"
    for visible in ([False, True, False], [False, False, True], [False, False, False], [False, True, False]):
        assert [each.isVisible() for each in stage.plots] == visible
        QTest.keyClick(stage, Key.Key_P)
    QTest.keyClick(stage, Key.Key_T)
    stage.typed.setText("typed here")
    QTest.keyClick(stage.typed, Key.Key_Return)
    assert stage.caption.text() == "typed here"
    left = emitted(stage.left)
    QTest.keyClick(stage, Key.Key_Escape)
    assert len(left) == 1
    assert not stage.isVisible()


def test_keys_turn_slides_and_answer_questions(qtbot: QtBot) -> None:
    asked = Slide("Rings, question 1 of 2", words_of("What now?"), choices=("It swings", "It settles"))
    stage = shown(qtbot, Stage(QLabel("canvas"), [plot()], asked), 1280, 720)
    went, wanted, picked = emitted(stage.went), emitted(stage.answer_wanted), emitted(stage.picked)
    for key in (Key.Key_Right, Key.Key_PageDown, Key.Key_Left, Key.Key_Return, Key.Key_3, Key.Key_2):
        QTest.keyClick(stage, key)
    assert went == [1, 1, -1]
    assert len(wanted) == 1
    assert picked == [1]
    known = replace(asked, choices=("It swings", "✓ It settles"), picked=1, praise=words_of("See."), last=True)
    stage.set_slide(known)
    assert [each.text() for each in stage.slide.choices] == ["1   It swings", "2   ✓ It settles"]
    assert stage.slide.praise.isVisible()
    for key in (Key.Key_1, Key.Key_Right):  # it was answered, and nothing comes after it
        QTest.keyClick(stage, key)
    assert (len(picked), len(went)) == (1, 3)
    stage.set_slide(None)
    assert not stage.slide.isVisible()


def test_the_halo_follows_the_pointer_and_themes_have_full_contrast(qtbot: QtBot) -> None:
    stage = shown(qtbot, Stage(QLabel("canvas"), [plot()]), 960, 540)
    stage.halo.move_to(QPointF(200, 200))
    before = pixels(stage.grab().toImage())
    stage.halo.move_to(None)
    assert (before[180:220, 180:220] != pixels(stage.grab().toImage())[180:220, 180:220]).any()
    for dark, ground in ((False, 255), (True, 0)):
        stage.dress(dark)
        assert (pixels(stage.grab().toImage())[2, 2] == ground).all()


def test_messages_are_written_along_their_edges(qtbot: QtBot) -> None:
    graph = ring(5)
    canvas = shown(qtbot, StageGraph(), 1100, 1000)
    messages = np.tile(np.array([0.25, 0.75], np.float32), (5, 2, 1))
    marginal = np.full((5, 2), 0.5, np.float32)
    layers = {"hints": np.full((1, 5), 255, np.uint8), "hints_strength": np.ones((1, 5), np.float32)}

    def picture(**more: np.ndarray) -> np.ndarray:
        told = lane(3, pictures={"marginal": marginal, **more})
        canvas.set_frame(frame(told, shape=(1, 5), layers=layers, workspace="graph", graph=graph))
        canvas.fit()
        return pixels(canvas.grab().toImage())

    bare, written = picture(), picture(messages=messages)
    assert (bare != written).any(2).mean() > 0.005
    assert canvas.picture.radius(canvas.transform.scale) >= 38  # numbers in nodes of at least 24 points
    given = emitted(canvas.command)
    QTest.mouseClick(canvas, LEFT, pos=canvas.transform.to_widget(*graph.positions[2].tolist()).toPoint())
    assert [each.nodes for each in given] == [(2,)]  # a hand on the stage gives evidence


def test_no_number_of_a_message_hides_that_of_a_node_or_another(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A 3×3 grid with an edge across it."""
    canvas = shown(qtbot, StageGraph(), 900, 700)
    font = canvas.font()
    font.setPixelSize(28)
    canvas.setFont(font)
    none, count = np.zeros((0, 2), np.int32), np.full(9, 2, np.int32)
    positions = np.stack(np.divmod(np.arange(9), 3)[::-1], 1).astype(np.float32) + 0.5
    sides = [(n, n + 1) for n in range(9) if n % 3 < 2] + [(n, n + 3) for n in range(6)]
    edges = np.array([*sides, (0, 8)], np.int32)
    labels = tuple(range(9))
    graph = GraphFrame(positions, edges, none, count, count, labels, None, None, (3, 3), "drawn", {}, {}, True)
    layers = {"hints": np.full((3, 3), 255, np.uint8), "hints_strength": np.ones((3, 3), np.float32)}
    messages = np.tile(np.array([0.25, 0.75], np.float32), (len(edges), 2, 1))
    told = lane(3, pictures={"marginal": np.full((9, 2), 0.5, np.float32), "messages": messages})
    boxes: list[QRectF] = []
    monkeypatch.setattr(StageGraph, "_value", lambda self, painter, box, values: boxes.append(box))
    canvas.set_frame(frame(told, shape=(3, 3), layers=layers, workspace="graph", graph=graph))
    canvas.fit()
    boxes.clear()
    canvas.grab()
    assert len(boxes) >= 2 * len(sides)
    radius = 0.75 * canvas.picture.radius(canvas.transform.scale)
    for x, y in positions.tolist():
        node = canvas.transform.to_widget(x, y)
        inside = QRectF(node.x() - radius / 2**0.5, node.y() - radius / 2**0.5, 2**0.5 * radius, 2**0.5 * radius)
        assert not any(box.intersects(inside) for box in boxes)
    assert not any(one.intersects(other) for n, one in enumerate(boxes) for other in boxes[:n])


def test_a_chain_leaves_room_for_its_messages(qtbot: QtBot) -> None:
    """Six nodes in a row, as wide as a stage with a slide: arrows and values stand between them."""
    canvas = shown(qtbot, StageGraph(), 1160, 620)
    font = canvas.font()
    font.setPixelSize(32)
    canvas.setFont(font)
    row = ring(6)
    positions = np.stack([np.arange(6.0), np.zeros(6)], 1).astype(np.float32)
    graph = replace(row, positions=positions, edges=row.edges[:5])
    layers = {"hints": np.full((1, 6), 255, np.uint8), "hints_strength": np.ones((1, 6), np.float32)}
    marginal = np.full((6, 2), 0.5, np.float32)
    messages = np.tile(np.array([0.25, 0.75], np.float32), (5, 2, 1))

    def picture(**more: np.ndarray) -> np.ndarray:
        told = lane(3, pictures={"marginal": marginal, **more})
        canvas.set_frame(frame(told, shape=(1, 6), layers=layers, workspace="graph", graph=graph))
        canvas.fit()
        return pixels(canvas.grab().toImage())

    assert (picture() != picture(messages=messages)).any(2).mean() > 0.005
