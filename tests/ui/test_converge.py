"""The Converge workspace in the real window on the real engine: graphs, strengths, gauge, advice, drawing, evidence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from PySide6.QtCore import QObject, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mrfstudio.engine.commands import Command, NewGraph, SetAlgorithm, SetEvidence, SetSpeed, SetStrength, Undo
from mrfstudio.engine.files.graph import read_graph, write_graph
from mrfstudio.engine.frames import NO_HINT, GraphFrame
from mrfstudio.engine.models.factor_graph import FactorGraph
from mrfstudio.ui.canvas.graph_input import GraphCanvas
from mrfstudio.ui.canvas.graph_look import LEVELS, change_levels, node_colours, state_colour
from mrfstudio.ui.canvas.graph_raster import LatticeRaster, LineRaster, packed
from mrfstudio.ui.colours import DARK, LIGHT, rgb
from mrfstudio.ui.controller import Controller
from mrfstudio.ui.panels.gauge import GUARANTEED, NOT_GUARANTEED, number
from mrfstudio.ui.workspaces.converge import ConvergeWorkspace, GraphToShow
from mrfstudio.ui.workspaces.converge_questions import Questions
from tests.ui.studio import Studio, shared_studio

Left, Right = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


@pytest.fixture(scope="module")
def shared(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with shared_studio(qapp, tmp_path_factory.mktemp("studio")) as studio:
        yield studio


class Converge:
    """The workspace with what a test needs to drive it."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.qtbot = studio, studio.qtbot
        studio.window.choose_workspace("graph")
        workspace = studio.window.workspace
        assert isinstance(workspace, ConvergeWorkspace)
        self.workspace = workspace
        self.canvas: GraphCanvas = workspace.canvas
        studio.controller.ask("begin_graph", lambda _: workspace.on_opened())
        self.post(SetSpeed(None))
        self.settle()

    @property
    def graph(self) -> GraphFrame:
        graph = self.studio.frame.graph
        assert graph is not None
        return graph

    @property
    def hints(self) -> list[int]:
        return self.studio.frame.layers["hints"].ravel()[: self.graph.nodes].tolist()

    def post(self, *commands: Command) -> None:
        for command in commands:
            self.workspace.post(command)

    def settle(self) -> None:
        self.studio.settle()
        self.studio.until(lambda: self.workspace.questions.quiet)

    def show(self, *commands: Command) -> None:
        self.post(*commands)
        self.settle()

    def at(self, node: int) -> QPoint:
        return self.canvas.transform.to_widget(*self.graph.positions[node].tolist()).toPoint()

    def middle(self, edge: int) -> QPoint:
        first, second = self.graph.positions[self.graph.edges[edge]].tolist()
        return self.canvas.transform.to_widget((first[0] + second[0]) / 2, (first[1] + second[1]) / 2).toPoint()

    def click(self, point: QPoint, button: Qt.MouseButton = Left, alt: bool = False) -> None:
        modifier = Qt.KeyboardModifier.AltModifier if alt else Qt.KeyboardModifier.NoModifier
        self.qtbot.mouseClick(self.canvas, button, modifier, point)
        self.settle()

    def drag(self, start: QPoint, end: QPoint) -> None:
        self.qtbot.mousePress(self.canvas, Left, pos=start)
        self.qtbot.mouseMove(self.canvas, (start + end) / 2)
        self.qtbot.mouseMove(self.canvas, end)
        self.qtbot.mouseRelease(self.canvas, Left, pos=end)
        self.settle()

    def key(self, key: Qt.Key) -> None:
        self.qtbot.keyClick(self.canvas, key)


@pytest.fixture
def converge(shared: Studio, qtbot: QtBot) -> Iterator[Converge]:
    shared.begin(qtbot)
    made = Converge(shared)
    yield made
    made.canvas.choose_tool("evidence")
    made.canvas.choose_state(1)
    made.canvas.set_radius(0.5)
    made.workspace.controls.graph.change.setCurrentIndex(0)
    shared.tidy()


def test_converge_is_in_the_rail_and_begins_with_a_graph_that_runs(converge: Converge) -> None:
    assert converge.studio.window.workspace.title == "Converge"
    assert converge.graph.nodes == 100
    assert converge.studio.frame.lanes[0].status == "converged"
    converge.studio.until(lambda: converge.workspace.controls.gauge.shown is not None)


class Clerk(QObject):
    """Stands for a controller: notes what is asked, to be answered by hand."""

    message = Signal(str)
    workspace = "graph"

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, Any, Any]] = []

    def ask(self, question: str, then: Any, refused: Any, **more: Any) -> None:
        self.asked.append((question, then, refused))


@pytest.mark.parametrize("refuses", [False, True])
def test_what_waited_for_an_answer_about_an_earlier_graph_is_asked_then(converge: Converge, refuses: bool) -> None:
    """The run may have ended meanwhile, so that no further frame would ask."""
    clerk, frame = Clerk(), converge.studio.frame
    said: list[object] = []
    clerk.message.connect(said.append)
    questions = Questions(cast(Controller, clerk), "graph")
    questions.guarantee.connect(said.append)
    questions.on_frame(frame, frame.lanes[0])
    questions.reset()
    questions.on_frame(frame, frame.lanes[0])
    (_, then, refused), *more = clerk.asked
    assert not more  # one at a time
    if refuses:
        refused("no")
    else:
        then("of the earlier graph")
    assert [question for question, _, _ in clerk.asked] == ["guarantee", "guarantee"]
    assert said == []
    clerk.asked[1][1]("of this graph")
    assert said == ["of this graph"]


def test_a_student_raises_the_coupling_of_a_ring_sees_it_fail_and_follows_the_advice(converge: Converge) -> None:
    workspace, form = converge.workspace, converge.workspace.controls.graph
    form.source.setCurrentIndex(form.source.findData("ring"))
    form.source.activated.emit(form.source.currentIndex())
    converge.settle()
    assert converge.studio.frame.lanes[0].status == "converged"
    slider = form.strengths.row("coupling").slider
    assert slider is not None
    slider.setValue(slider.maximum())
    converge.settle()
    assert converge.graph.strengths["coupling"] == 2.0
    assert converge.studio.frame.lanes[0].status == "iteration limit"
    converge.studio.until(workspace.advice.buttons[0].isVisible)
    assert "10" in workspace.advice.text
    assert converge.canvas.picture.period is not None
    workspace.advice.buttons[0].click()
    converge.settle()
    assert converge.studio.frame.lanes[0].status == "converged"
    assert converge.studio.frame.lanes[0].parameters["damping"] == 0.5
    assert not workspace.advice.buttons[0].isVisible()
    assert converge.canvas.picture.period is None
    converge.show(Undo())
    assert converge.studio.frame.lanes[0].parameters["damping"] == 0


def test_the_gauge_follows_the_slider_and_says_what_is_certain(converge: Converge) -> None:
    gauge = converge.workspace.controls.gauge
    converge.show(NewGraph("complete"), SetStrength("coupling", 0.02))
    converge.studio.until(lambda: GUARANTEED in gauge.verdict.text())
    assert gauge.shown is not None
    assert gauge.shown.sigma_max is not None
    assert gauge.shown.sigma_max < 1
    converge.studio.until(lambda: " to " in gauge.interval.text())
    converge.show(SetStrength("coupling", 1.0))
    converge.studio.until(lambda: NOT_GUARANTEED in gauge.verdict.text() and "none" in gauge.interval.text())


def test_the_gauge_says_in_a_sentence_why_there_is_no_matrix(converge: Converge, tmp_path: Path) -> None:
    path = tmp_path / "potts.uai"
    write_graph(path, FactorGraph.from_factors([3, 3], [((0, 1), np.eye(3))]))
    converge.studio.window.files.open(path)
    gauge = converge.workspace.controls.gauge
    converge.studio.until(lambda: "two states" in gauge.explanation.text())
    assert gauge.bars.isHidden()
    assert len(converge.workspace.palette.states) == 3
    assert converge.studio.frame.name == "potts.uai"


def test_a_click_gives_evidence_the_right_button_takes_it_back_and_undo_too(converge: Converge) -> None:
    converge.show(NewGraph("ring", {"nodes": 6}))
    converge.key(Qt.Key.Key_0)
    converge.click(converge.at(2))
    assert converge.hints[2] == 0
    assert converge.studio.frame.lanes[0].pictures["marginal"][2].tolist() == [1.0, 0.0]
    converge.key(Qt.Key.Key_1)
    converge.click(converge.at(4))
    assert converge.hints == [NO_HINT, NO_HINT, 0, NO_HINT, 1, NO_HINT]
    converge.click(converge.at(2), Right)
    assert converge.hints[2] == NO_HINT
    converge.show(Undo(), Undo())
    assert converge.hints == [NO_HINT, NO_HINT, 0, NO_HINT, NO_HINT, NO_HINT]


def test_evidence_is_painted_over_a_grid_in_one_step_of_undo_and_drawn_at_once(converge: Converge) -> None:
    converge.canvas.set_radius(1.1)
    converge.qtbot.mousePress(converge.canvas, Left, pos=converge.at(22))
    assert (converge.canvas.picture.hints[[22, 12, 32, 21, 23]] == 1).all()  # before the engine has answered
    converge.qtbot.mouseMove(converge.canvas, converge.at(27))
    converge.qtbot.mouseRelease(converge.canvas, Left, pos=converge.at(27))
    converge.settle()
    assert sum(hint == 1 for hint in converge.hints) == 6 * 3 + 2
    converge.show(Undo())
    assert set(converge.hints) == {NO_HINT}


def test_nodes_are_added_joined_moved_and_deleted_by_hand(converge: Converge) -> None:
    converge.show(NewGraph("drawn"))
    canvas = converge.canvas
    converge.key(Qt.Key.Key_D)
    assert canvas.tool == "draw"
    converge.click(converge.at(0) + QPoint(120, 40))
    assert converge.graph.nodes == 2
    converge.drag(converge.at(0), converge.at(1))
    assert converge.graph.edges.tolist() == [[0, 1]]
    converge.drag(converge.at(1), converge.at(1) + QPoint(-60, 90))  # to nowhere: a new node, joined
    assert converge.graph.edges.tolist() == [[0, 1], [1, 2]]
    converge.key(Qt.Key.Key_V)
    before = converge.graph.positions[2].copy()
    converge.drag(converge.at(2), converge.at(2) + QPoint(-50, 0))
    assert converge.graph.positions[2, 0] < before[0]
    converge.show(Undo())
    assert np.allclose(converge.graph.positions[2], before)
    converge.key(Qt.Key.Key_D)
    converge.click(converge.middle(0), Right)
    assert converge.graph.edges.tolist() == [[1, 2]]
    converge.click(converge.at(0), Right)
    assert converge.graph.nodes == 2
    converge.show(Undo(), Undo())
    assert converge.graph.edges.tolist() == [[0, 1], [1, 2]]


def test_a_clicked_edge_opens_its_messages_over_iterations(converge: Converge) -> None:
    converge.show(NewGraph("ring", {"nodes": 6}))
    converge.click(converge.middle(2))
    inspector = converge.workspace.messages
    converge.studio.until(lambda: inspector.plots[0].isVisible() and len(inspector.plots[0].iterations) > 3)
    assert inspector.plots[0].title == "3 → 2"
    assert inspector.plots[0].values.shape[1] == 2
    assert "Edge 2 – 3" in inspector.heading.text()
    row = inspector.form.row("coupling").slider
    assert row is not None
    row.setValue(row.maximum())
    converge.settle()
    assert converge.graph.couplings is not None
    assert converge.graph.couplings[2] == pytest.approx(10 * converge.graph.strengths["coupling"])
    converge.workspace.show_messages()
    assert converge.workspace.edge is None


def test_an_edge_of_an_algorithm_on_regions_points_to_the_regions(converge: Converge) -> None:
    converge.show(NewGraph("ring", {"nodes": 6}), SetAlgorithm(0, "renn", {"embedding": 8}))
    converge.click(converge.middle(2))
    inspector = converge.workspace.messages
    converge.studio.until(lambda: "Ctrl+Shift+R" in inspector.heading.text())
    assert not inspector.plots[0].isVisible()
    converge.workspace.show_messages()


def test_pointing_at_a_node_shows_its_marginal_and_degree_and_alt_inspects_it(converge: Converge) -> None:
    converge.show(NewGraph("ring", {"nodes": 6}), SetEvidence((3,), 1))
    converge.qtbot.mouseMove(converge.canvas, converge.at(3))
    lines = converge.canvas.note()
    assert lines[0] == "Node 3, degree 2"
    assert "P(1) = 100.0%" in lines
    assert "evidence: state 1" in lines
    converge.click(converge.at(5), alt=True)
    assert converge.workspace.node == 5
    assert "Node 5, degree 2" in converge.workspace.controls.inspector.heading.text()
    assert converge.hints[5] == NO_HINT


def test_the_keyboard_goes_from_node_to_node_and_gives_evidence(converge: Converge) -> None:
    converge.show(NewGraph("grid", {"rows": 3, "columns": 3}))
    converge.canvas.setFocus()
    converge.canvas._point_at(None)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Return):
        converge.key(key)
    converge.settle()
    assert [node for node, hint in enumerate(converge.hints) if hint == 1] == [4]
    converge.key(Qt.Key.Key_Backspace)
    converge.settle()
    assert set(converge.hints) == {NO_HINT}


def test_a_change_restarts_where_that_is_chosen_and_goes_on_where_not(converge: Converge) -> None:
    form = converge.workspace.controls.graph
    converge.show(SetStrength("coupling", 0.4))
    went_on = converge.studio.frame.iteration
    assert went_on > converge.studio.frame.lanes[0].base > 0
    form.change.setCurrentIndex(1)
    converge.show(SetStrength("coupling", 0.5))
    assert converge.studio.frame.lanes[0].base == 0


def test_the_map_is_computed_and_a_click_goes_there(converge: Converge) -> None:
    converge.show(NewGraph("ring"))
    converge.workspace.show_sigma_map()
    panel = converge.workspace.sigma
    converge.studio.qtbot.waitUntil(lambda: panel.map.found is not None, timeout=120_000)
    assert panel.map.point == (1.0, 0.5)
    converge.qtbot.mouseClick(panel.map, Left, pos=panel.map.place(0.5, 1.0).toPoint())
    converge.settle()
    assert converge.graph.strengths["coupling"] == pytest.approx(1.0, abs=0.03)
    assert converge.studio.frame.lanes[0].parameters["alpha"] == pytest.approx(0.5, abs=0.02)
    converge.studio.until(lambda: panel.map.point[0] == converge.studio.frame.lanes[0].parameters["alpha"])
    converge.workspace.show_sigma_map()
    converge.show(NewGraph("tree"))  # gives the job up


def test_lanes_are_added_chosen_and_removed(converge: Converge) -> None:
    controls = converge.workspace.controls
    converge.show(NewGraph("ring", {"nodes": 6}))
    controls.lanes.algorithm.setCurrentIndex(controls.lanes.algorithm.findData("bp"))
    controls.lanes.add.click()
    converge.settle()
    assert [lane.algorithm for lane in converge.studio.frame.lanes] == ["alpha-bp", "bp"]
    controls.lanes.rows[1].sides[0].click()
    converge.settle()
    assert converge.workspace.lane == 1
    assert controls.algorithm.algorithm.currentData() == "bp"
    assert "B:" in converge.studio.window.badge.text
    controls.lanes.rows[1].remove.click()
    converge.settle()
    assert converge.workspace.lane == 0
    assert len(converge.studio.frame.lanes) == 1


def test_a_graph_too_large_for_a_lane_is_refused_with_the_nearest_that_can(converge: Converge) -> None:
    controls = converge.workspace.controls
    converge.show(NewGraph("ring"))
    controls.algorithm.algorithm.setCurrentIndex(controls.algorithm.algorithm.findData("exact"))
    controls.algorithm.algorithm.activated.emit(controls.algorithm.algorithm.currentIndex())
    converge.settle()
    converge.show(NewGraph("grid", {"rows": 80, "columns": 80}))
    assert any("use bp" in message for message in converge.studio.messages)
    assert converge.graph.source == "ring"


def test_files_open_here_are_scaled_and_exported(converge: Converge, tmp_path: Path) -> None:
    path = tmp_path / "pair.uai"
    write_graph(path, FactorGraph.ising([(0, 1)], [0.5], [0.1, 0.0]))
    converge.studio.window.files.open(path)
    converge.studio.until(lambda: converge.studio.frame.name == "pair.uai")
    converge.settle()
    assert converge.workspace.controls.graph.source.currentText() == "pair.uai"
    converge.workspace.files.copy_command()
    converge.settle()
    assert QApplication.clipboard().text().startswith(f"mrfstudio infer {path} --algorithm alpha-bp --alpha 1.0")
    converge.show(SetStrength("coupling", 2.0))
    out = tmp_path / "out.fg"
    answered: list[object] = []
    converge.studio.controller.ask("export_graph", answered.append, path=str(out))
    converge.studio.until(lambda: bool(answered))
    assert float(read_graph(out).groups[0].tables[0, 0, 0]) == pytest.approx(1.0)


def test_a_session_with_a_drawn_graph_is_saved_and_opened_again(converge: Converge, tmp_path: Path) -> None:
    converge.show(NewGraph("ring", {"nodes": 7}), SetEvidence((2,), 1))
    path = tmp_path / "ring.mrfs"
    saved: list[object] = []
    converge.studio.window.files.save_to(path, lambda: saved.append(1))
    converge.studio.until(lambda: bool(saved))
    converge.show(NewGraph("tree"))
    converge.studio.controller.ask("open_session", lambda _: converge.workspace.on_opened(), path=str(path))
    converge.studio.until(lambda: converge.graph.nodes == 7)
    assert converge.hints[2] == 1
    converge.workspace.start()


def test_view_opens_a_graph_of_a_notebook_here_laid_out_as_asked(converge: Converge) -> None:
    graph = FactorGraph.ising([(0, 1), (1, 2), (2, 3)], [0.2, 0.3, 0.1], [0.1, 0, 0, 0])
    converge.studio.window.files.open_graph(GraphToShow(graph, "mine", (2, 2)))
    converge.studio.until(lambda: converge.studio.frame.name == "mine")
    assert converge.graph.positions.tolist() == [[0.5, 0.5], [1.5, 0.5], [0.5, 1.5], [1.5, 1.5]]
    said = converge.workspace.controls.graph.summary
    converge.studio.until(lambda: said.text().startswith("mine: 4 variables"))
    assert "file" not in said.text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_thousands_of_nodes_are_an_image_with_nodes_and_messages(converge: Converge, theme: str) -> None:
    converge.studio.window.set_theme(theme)
    converge.show(NewGraph("grid", {"rows": 60, "columns": 60}))
    canvas = converge.canvas
    image = canvas.grab().toImage()
    assert isinstance(canvas.picture._raster[1], LatticeRaster)  # type: ignore[index]
    colours = {image.pixel(x, y) for x in range(0, image.width(), 3) for y in range(0, image.height(), 3)}
    assert len(colours) > 30
    canvas.zoom(20)
    canvas.grab()
    canvas.fit()
    converge.studio.window.set_theme("light")


# Drawing without a window ---------------------------------------------------------------------------------------------


def graph_frame(edges: list[tuple[int, int]], positions: np.ndarray, lattice: tuple[int, int] | None) -> GraphFrame:
    count, pairs = len(positions), np.array(edges, np.int32).reshape(-1, 2)
    ones = np.full(count, 2, np.int32)
    labels = tuple(range(count))
    source = "grid" if lattice else "drawn"
    stars = np.zeros((0, 2), np.int32)
    return GraphFrame(positions, pairs, stars, ones, ones, labels, None, None, lattice, source, {}, {}, True)


def test_a_message_lies_beside_its_receiver_on_the_side_of_its_sender() -> None:
    positions = np.array([[0.5, 0.5], [1.5, 0.5]], np.float32)
    raster = LatticeRaster(graph_frame([(0, 1)], positions, (1, 2)), 5)
    nodes, halves = np.array([1, 2], np.uint32), np.array([[3, 4]], np.uint32)
    image = raster.image(nodes, halves, np.array([False, True]), LIGHT)
    assert image.shape == (5, 10)
    assert (image[2, 2], image[2, 4], image[2, 5]) == (1, 3, 4)
    assert image[1, 7] == 2
    assert image[2, 7] == packed(np.array(rgb(LIGHT.ink), np.uint8))  # evidence
    assert image[0, 0] == packed(np.array(rgb(LIGHT.paper), np.uint8))


def test_across_the_border_of_a_torus_a_message_comes_from_outside() -> None:
    positions = np.array([[column + 0.5, 0.5] for column in range(3)], np.float32)
    raster = LatticeRaster(graph_frame([(2, 0)], positions, (1, 3)), 5)
    image = raster.image(np.zeros(3, np.uint32), np.array([[7, 8]], np.uint32), np.zeros(3, np.bool_), LIGHT)
    assert (image[2, 14], image[2, 0]) == (7, 8)


def test_lines_of_any_graph_reach_from_node_to_middle() -> None:
    starts, ends = np.array([[5.0, 5.0], [25.0, 5.0]]), np.array([[15.0, 5.0], [15.0, 5.0]])
    raster = LineRaster(starts, ends, starts, 2.0, (11, 31))
    image = raster.image(np.array([1, 2], np.uint32), np.array([3, 4], np.uint32), np.array([0, 9]), DARK)
    assert (image[5, 5], image[5, 10], image[5, 20], image[5, 25]) == (1, 3, 4, 2)
    assert image[0, 0] == packed(np.array(rgb(DARK.paper), np.uint8))


def test_colours_of_marginals_and_changes() -> None:
    sure = node_colours(np.array([[1, 0], [0.5, 0.5], [0, 1]], np.float32), LIGHT)
    assert sure[0, 2] > sure[0, 0]  # blue
    assert sure[2, 0] > sure[2, 2]  # orange
    assert sure[1].min() > 250  # undecided is paper
    assert state_colour(1, 2, LIGHT) == tuple(sure[2].tolist())
    assert node_colours(np.eye(3, dtype=np.float32), LIGHT)[2].tolist() == list(rgb(LIGHT.labels[2]))
    levels = change_levels(np.array([0.0, 1e-5, 1e-3, 1.0]))
    assert levels[0] == levels[1] == 0
    assert 0 < levels[2] < LEVELS - 1 == levels[3]


def test_a_bound_is_never_rounded_to_the_other_side_of_one() -> None:
    assert number(0.99996) == "0.999960"
    assert number(1.00004) == "1.000"
    assert number(None) == "–"


def test_an_empty_canvas_says_what_belongs_there(qtbot: QtBot) -> None:
    canvas = GraphCanvas()
    qtbot.addWidget(canvas)
    canvas.resize(300, 200)
    image: QImage = canvas.grab().toImage()
    assert len({image.pixel(x, y) for x in range(300) for y in range(200)}) > 2
    assert canvas.note() == []
    assert canvas.node_at(QPointF(10, 10)) is None


def test_a_session_of_the_first_version_opens_with_evidence_and_a_name(converge: Converge) -> None:
    stored = Path(__file__).parents[1] / "sessions" / "version-1-graph.mrfs"
    converge.studio.window.files.open(stored)
    converge.studio.until(lambda: converge.graph.nodes == 30 and converge.graph.source == "file")
    converge.settle()
    assert converge.workspace.controls.graph.source.currentText() == "from a file"
    assert converge.hints[7:10] == [1, 1, 1]
    assert converge.graph.lattice == (5, 6)
