"""Comparing lanes in the window: rows, curves, points and the table say what frames say; every click is a command."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from mrfstudio.engine.answers import Loaded
from mrfstudio.engine.catalogue import Catalogue, Entry, Parameters, integer, number
from mrfstudio.engine.commands import AddLane, RemoveLane, RenameLane, Scrub, SetSpeed
from mrfstudio.engine.frames import Comparison, Frame, LaneScore, Scalars
from mrfstudio.engine.models.ising import ising_grid
from mrfstudio.ui.colours import DARK, LIGHT, colours_of, rgb
from mrfstudio.ui.panels.comparison import ComparisonPanel
from mrfstudio.ui.panels.curves import Curves
from mrfstudio.ui.panels.lane_manager import LaneManager
from mrfstudio.ui.panels.lane_names import lane_colour, lane_title
from mrfstudio.ui.panels.scatter import MarginalScatter
from mrfstudio.ui.panels.score_table import COLUMNS, ScoreTable
from mrfstudio.ui.settings import Settings
from mrfstudio.ui.theme import palette_of
from mrfstudio.ui.workspaces.converge import ConvergeWorkspace, GraphToShow
from tests.ui.pictures import frame, lane, pixels
from tests.ui.studio import Studio, shared_studio

LEFT = Qt.MouseButton.LeftButton


class Damped(Parameters):
    """An algorithm as the catalogue describes it."""

    name = "bp"
    title = "Belief propagation"
    summary = "Messages."
    damping: float = number(0.0, "Keeps.", low=0, high=1)
    rounds: int = integer(1, "How many.")


class Field(Parameters):
    """Another one."""

    name = "mean-field"
    title = "Mean field"
    summary = "No messages."


ENTRIES: dict[str, Entry] = {"bp": Damped.entry(), "mean-field": Field.entry()}
LOADED = Loaded(Catalogue(algorithms=tuple(ENTRIES.values())), (), (), "here", {"graph": ("bp", "mean-field")})


def score(number: int, **values: Any) -> LaneScore:
    return LaneScore(number, **{"iterations": 7, "seconds": 0.002, **values})


def compared(*scores: LaneScore, marginals: np.ndarray | None = None, **values: Any) -> Comparison:
    made = {"reference": "exact", "lane": None, "text": "Compared with exact inference.", "log_partition": 3.5}
    return Comparison(**{**made, **values}, marginals=marginals, scores=scores)


def three(**values: Any) -> Frame:
    """Three lanes, the second with the smallest error and the third without any."""
    lanes = (
        lane(5, number=0, residual=1e-3, parameters={"damping": 0.25}),
        lane(5, number=1, residual=1e-5, algorithm="mean-field", status="converged"),
        lane(5, number=3, residual=None, status="diverging"),
    )
    found = compared(score(0, l1=0.2, log_partition_error=-1.0), score(1, l1=0.05, largest=0.3), score(3))
    return frame(*lanes, **{"comparison": found, "workspace": "graph", **values})


def shown(qtbot: QtBot, widget: QWidget, width: int = 900, height: int = 260) -> Any:
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    widget.activateWindow()
    return widget


def emitted(signal: Any) -> list[Any]:
    seen: list[Any] = []
    signal.connect(seen.append)
    return seen


# Names ----------------------------------------------------------------------------------------------------------------


def test_a_lane_is_called_by_its_name_or_by_what_is_unusual_about_it() -> None:
    assert lane_title(lane(parameters={"damping": 0.25, "rounds": 1}), ENTRIES) == "bp, damping 0.25"
    assert lane_title(lane(parameters={"damping": 0.0}), ENTRIES) == "bp"
    assert lane_title(lane(title="mine", parameters={"damping": 0.25}), ENTRIES) == "mine"
    assert lane_title(lane(algorithm="unheard-of"), ENTRIES) == "unheard-of"


# The manager ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def manager(qtbot: QtBot) -> LaneManager:
    made = shown(qtbot, LaneManager(), 300, 240)
    made.on_loaded(LOADED, "graph")
    made.set_frame(three())
    return made


def test_buttons_add_copy_and_remove_lanes(manager: LaneManager, qtbot: QtBot) -> None:
    seen = emitted(manager.command)
    manager.algorithm.setCurrentIndex(1)
    qtbot.mouseClick(manager.add, LEFT)
    qtbot.mouseClick(manager.rows[0].copy, LEFT)
    qtbot.mouseClick(manager.rows[3].remove, LEFT)
    assert seen == [
        AddLane("grid-border-16", "mean-field"),
        AddLane("grid-border-16", "bp", {"damping": 0.25}),
        RemoveLane(3),
    ]


def test_a_name_is_typed_into_its_row_and_frames_do_not_take_it_away(manager: LaneManager, qtbot: QtBot) -> None:
    seen = emitted(manager.command)
    field = manager.rows[1].name
    assert field.placeholderText() == "mean-field"
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    qtbot.keyClicks(field, "a bound")
    manager.set_frame(three())
    assert field.text() == "a bound"
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert seen == [RenameLane(1, "a bound")]
    field.clearFocus()
    manager.set_frame(frame(*three().lanes[:1], lane(5, number=1, title="from a file"), *three().lanes[2:]))
    assert manager.rows[1].name.text() == "from a file"


def test_two_lanes_are_chosen_and_change_places(manager: LaneManager, qtbot: QtBot) -> None:
    assert manager.pair == (0, 1)
    pairs = emitted(manager.pair_changed)
    manager.rows[3].sides[1].click()
    manager.rows[3].sides[0].click()
    assert pairs == [(0, 3), (3, 0)]
    assert manager.rows[3].sides[0].isChecked()
    assert manager.rows[0].sides[1].isChecked()
    manager.set_frame(frame(*three().lanes[:2]))  # lane 3 is gone
    assert manager.pair == (0, 1)


def test_one_lane_has_no_sides_and_cannot_be_removed_and_six_are_the_most(qtbot: QtBot) -> None:
    made = shown(qtbot, LaneManager(), 300, 240)
    made.on_loaded(LOADED, "graph")
    made.set_frame(frame(lane(1)))
    assert not made.rows[0].sides[0].isVisible()
    assert not made.rows[0].remove.isEnabled()
    assert made.add.isEnabled()
    made.set_frame(frame(*(lane(1, number=number) for number in range(6))))
    assert not made.add.isEnabled()
    assert "remove one first" in made.add.toolTip()
    assert not made.rows[2].copy.isEnabled()
    assert made.rows[2].remove.isEnabled()


def test_everything_in_the_manager_has_a_tool_tip_and_a_key(manager: LaneManager) -> None:
    row = manager.rows[0]
    for widget in (manager.algorithm, manager.add, row.name, *row.sides, row.copy, row.remove):
        assert widget.toolTip()
        assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus


# The table ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def table(qtbot: QtBot) -> ScoreTable:
    made = shown(qtbot, ScoreTable())
    made.set_frame(three(), ENTRIES)
    return made


def column(name: str) -> int:
    return [each.name for each in COLUMNS].index(name)


def letters(table: ScoreTable) -> str:
    return "".join(str(row.values["lane"]) for row in table.scores.rows)


def test_every_column_sorts_both_ways_and_what_is_missing_comes_last(table: ScoreTable) -> None:
    table.sortByColumn(column("l1"), Qt.SortOrder.AscendingOrder)
    assert letters(table) == "BAD"
    table.sortByColumn(column("l1"), Qt.SortOrder.DescendingOrder)
    assert letters(table) == "ABD"
    table.sortByColumn(column("status"), Qt.SortOrder.DescendingOrder)
    assert letters(table) == "ADB"
    for index in range(len(COLUMNS)):
        for order in (Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder):
            table.sortByColumn(index, order)
            assert sorted(letters(table)) == ["A", "B", "D"]


def test_rows_keep_their_places_while_lanes_run_and_are_sorted_when_they_rest(table: ScoreTable) -> None:
    table.sortByColumn(column("l1"), Qt.SortOrder.AscendingOrder)
    turned = compared(score(0, l1=0.01), score(1, l1=0.05), score(3, l1=0.02))
    table.set_frame(three(comparison=turned, playing=True), ENTRIES)
    assert letters(table) == "BAD"
    table.set_frame(three(comparison=turned), ENTRIES)
    assert letters(table) == "ADB"


def test_the_table_goes_out_in_full_as_it_is_sorted(table: ScoreTable) -> None:
    table.sortByColumn(column("l1"), Qt.SortOrder.AscendingOrder)
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert [row["lane"] for row in rows] == ["B", "A", "D"]
    assert float(rows[1]["l1"]) == 0.2
    assert rows[1]["title"] == "bp, damping 0.25"
    assert float(rows[0]["milliseconds"]) == 2.0
    assert rows[2]["l1"] == ""
    table.copy()
    assert QGuiApplication.clipboard().text() == table.as_text("\t")


def test_the_copy_key_copies(table: ScoreTable, qtbot: QtBot) -> None:
    QGuiApplication.clipboard().clear()
    table.setFocus()
    qtbot.waitUntil(table.hasFocus)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().startswith("lane\ttitle")


def test_lanes_come_and_go(table: ScoreTable) -> None:
    table.set_frame(frame(*three().lanes[:1]), ENTRIES)
    assert letters(table) == "A"
    model = table.model()
    assert model.rowCount() == 1
    assert model.data(model.index(0, column("l1"))) == "–"
    table.set_frame(three(), ENTRIES)
    assert letters(table) == "ABD"


def test_what_does_not_fit_gives_way_instead_of_scrolling(table: ScoreTable, qtbot: QtBot) -> None:
    counts = []
    table.left_out.connect(counts.append)
    hidden = []
    for width in (1200, 700, 460, 340):
        table.resize(width, 200)
        qtbot.waitUntil(lambda: table.horizontalScrollBar().maximum() == 0)
        hidden.append({c.name for i, c in enumerate(COLUMNS) if table.isColumnHidden(i)})
    assert not hidden[0]
    assert hidden[0] <= hidden[1] < hidden[2] < hidden[3]
    assert {"lane", "title", "l1_pairs", "log_partition_error"}.isdisjoint(hidden[3])
    assert counts[-1] == len(hidden[3])
    assert table.to_csv().splitlines()[0] == ",".join(c.name for c in COLUMNS)


# Points and curves ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_points_of_each_lane_have_its_colour_and_exact_ones_lie_on_the_diagonal(qtbot: QtBot, colours: Any) -> None:
    scatter = MarginalScatter()
    scatter.setPalette(palette_of(colours))
    shown(qtbot, scatter, 220, 240)
    exact = np.linspace(0, 1, 9, dtype=np.float32)
    found = compared(score(0, marginals=exact), score(1, marginals=1 - exact), marginals=exact)
    scatter.set_comparison(found)
    np.testing.assert_array_equal(scatter.points(0)[:, 0], scatter.points(0)[:, 1])
    picture = pixels(scatter.grab().toImage()).astype(int)
    area = scatter.area()

    def at(x: float, y: float) -> np.ndarray:
        return picture[round(area.bottom() - y * area.height()), round(area.left() + x * area.width())]

    first, second = (np.array(rgb(colours.lanes[number])) for number in (0, 1))
    assert np.abs(at(0.25, 0.25) - first).max() < 60
    assert np.abs(at(0.25, 0.75) - second).max() < 60


def test_no_reference_is_said_in_words_and_many_points_are_thinned(qtbot: QtBot) -> None:
    scatter = shown(qtbot, MarginalScatter(), 220, 240)
    scatter.grab()
    scatter.set_comparison(compared(score(0), reference="computing", text="Exact marginals are being computed…"))
    assert len(scatter.points(0)) == 0
    scatter.grab()
    many = np.zeros(4000, np.float32)
    scatter.set_comparison(compared(*(score(n, marginals=many) for n in range(6)), marginals=many))
    assert 500 < len(scatter.points(2)) <= 1000


def test_the_exact_free_energy_is_a_line_within_the_plot(qtbot: QtBot) -> None:
    curves = shown(qtbot, Curves(("residual", "log_partition")), 500, 200)
    curves.set_frame(frame(lane(1, scalars=[Scalars(1, 0.1, 2.0)]), comparison=compared(log_partition=9.0)))
    plot = curves.plots["log_partition"]
    assert plot.level == ("exact", -9.0)
    assert plot.range is not None
    assert plot.range[0] <= -9.0 <= plot.range[1]
    plot.grab()
    curves.set_frame(frame(lane(1)))
    assert plot.level is None


# The panel ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def panel(qtbot: QtBot, tmp_path: Path) -> ComparisonPanel:
    made = ComparisonPanel(Settings(tmp_path / "settings.ini"))
    made.on_loaded(LOADED)
    return shown(qtbot, made, 1100, 300)


def test_the_panel_shows_the_reference_and_asks_for_another(panel: ComparisonPanel) -> None:
    panel.set_frame(three())
    assert panel.text.text().startswith("Compared with exact inference.")
    choices = [panel.reference.itemText(index) for index in range(panel.reference.count())]
    assert choices == ["Exact, where possible", "Lane A: bp, damping 0.25", "Lane B: mean-field", "Lane D: bp"]
    asked = emitted(panel.reference_changed)
    panel.reference.setCurrentIndex(2)
    panel.reference.activated.emit(2)
    assert asked == [1]
    panel.set_frame(frame(three().lanes[0]))  # the lane that was the reference is gone
    assert asked == [1, None]
    assert panel.reference.currentData() is None


def test_no_iteration_is_left_out_of_the_panels_curves(panel: ComparisonPanel) -> None:
    for first in (1, 4, 7):
        scalars = [Scalars(iteration, 0.1 / iteration, 1.0) for iteration in range(first, first + 3)]
        panel.set_frame(frame(lane(first + 2, scalars=scalars), lane(first + 2, number=1, scalars=scalars)))
    for series in panel.curves.series.lanes.values():
        assert series.iterations.tolist() == list(range(1, 10))
    seen = emitted(panel.command)
    panel.curves.plots["residual"].picked.emit(4)
    assert seen == [Scrub(4)]


def test_a_table_that_cannot_be_written_is_said(panel: ComparisonPanel, tmp_path: Path) -> None:
    panel.set_frame(three())
    panel.save(tmp_path / "scores.csv")
    assert (tmp_path / "scores.csv").read_text() == panel.to_csv()
    said = emitted(panel.message)
    panel.save(tmp_path / "nowhere" / "scores.csv")
    assert "cannot be written" in said[0]


def test_an_empty_panel_shows_no_lane(panel: ComparisonPanel) -> None:
    """A lane's colour appears in curves and points only once that lane has told something."""
    colour = rgb(lane_colour(0, colours_of(panel)).name())

    def drawn() -> list[bool]:
        pictures = [pixels(widget.grab().toImage()) for widget in (panel.curves, panel.scatter)]
        return [bool((picture == colour).all(2).any()) for picture in pictures]

    assert drawn() == [False, False]
    panel.set_frame(frame(lane(0)))
    assert drawn() == [False, False]
    told, marginals = [Scalars(iteration, 0.1 / iteration, 1.0) for iteration in (1, 2)], np.linspace(0, 1, 20)
    found = compared(score(0, marginals=marginals), marginals=marginals)
    panel.set_frame(frame(lane(2, scalars=told), comparison=found, serial=2))
    assert drawn() == [True, True]


# In the window --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with shared_studio(qapp, tmp_path_factory.mktemp("studio")) as studio:
        yield studio


def test_six_lanes_on_a_graph_from_the_lane_manager_to_the_table(shared: Studio, qtbot: QtBot) -> None:
    shared.begin(qtbot)
    shared.window.files.open_graph(GraphToShow(ising_grid(4, 4, coupling=0.9, field=0.2, seed=3), "glass", (4, 4)))
    shared.until(
        lambda: shared.frame.workspace == "graph" and shared.frame.name == "glass" and shared.frame.iteration > 0
    )
    workspace = shared.window.workspaces["graph"]
    assert isinstance(workspace, ConvergeWorkspace)
    workspace.post(SetSpeed(None))
    shared.do("show_comparison")
    shared.settle()
    lanes = workspace.controls.lanes
    for name in ("mean-field", "trw", "alpha-bp", "exact", "gibbs"):
        lanes.algorithm.setCurrentIndex(lanes.algorithm.findData(name))
        lanes.add.click()
        shared.settle()
    assert [each.lane for each in shared.frame.lanes] == [0, 1, 2, 3, 4, 5]
    panel = workspace.comparing.panel
    assert panel is not None
    assert panel.text.text().startswith("Compared with exact inference, lane E.")
    rows = {str(row.values["lane"]): row.values for row in panel.table.scores.rows}
    assert rows["E"]["l1"] == 0
    assert rows["B"]["log_partition_error"] < 0 < rows["C"]["log_partition_error"]
    assert rows["F"]["l1_pairs"] is None
    assert len(panel.curves.series.lanes) == 6
    iterations = panel.curves.series.lanes[0].iterations.tolist()
    assert iterations == list(range(1, len(iterations) + 1))
    _colours_of_nodes(shared, workspace)
    lanes.rows[1].remove.click()
    shared.settle()
    assert lanes.pair == (2, 0)
    shared.do("show_comparison")
    shared.settle()
    assert shared.frame.comparison is None
    shared.tidy()


def _colours_of_nodes(shared: Studio, workspace: ConvergeWorkspace) -> None:
    """Nodes show the difference of the two chosen lanes, the error, and marginals again."""
    colouring, lanes = workspace.controls.colouring, workspace.controls.lanes
    lanes.set_pair(2, 1)
    colouring.setCurrentIndex(colouring.findData("difference"))
    colouring.activated.emit(colouring.currentIndex())
    shared.until(lambda: "difference" in shared.frame.lanes[2].pictures)
    assert "difference" not in shared.frame.lanes[1].pictures
    assert workspace.lane == 2
    values = workspace.canvas.picture.values
    assert values is not None
    assert values.shape == (16, 3)
    colouring.setCurrentIndex(colouring.findData("error"))
    colouring.activated.emit(colouring.currentIndex())
    shared.until(lambda: "error" in shared.frame.lanes[2].pictures)
    colouring.setCurrentIndex(0)
    colouring.activated.emit(0)
    shared.settle()
    assert workspace.canvas.picture.values is None


def test_two_models_on_a_picture_are_compared_with_the_first_lane(shared: Studio, qtbot: QtBot) -> None:
    shared.begin(qtbot)
    shared.do("compare")
    shared.until(lambda: len(shared.frame.lanes) == 2)
    shared.do("show_comparison")
    shared.settle()
    assert shared.frame.comparison is not None
    assert shared.frame.comparison.reference == "lane"
    panel = shared.segment.comparing.panel
    assert panel is not None
    assert panel.text.text().startswith("Compared with lane A: ")
    assert panel.table.scores.rows[1].values["l1"] > 0
    shared.segment.panel.lanes.set_pair(1, 0)
    shared.settle()
    assert [canvas.scene.lane for canvas in shared.segment.canvases.both()] == [1, 0]
    assert shared.segment.panel.first_group.title() == "Lane B"
    shared.segment.panel.lanes.set_pair(0, 1)
    shared.do("show_comparison")
    shared.do("compare")
    shared.until(lambda: len(shared.frame.lanes) == 1)
    shared.tidy()


def test_curves_of_another_session_begin_anew_with_their_ranges(qtbot: QtBot) -> None:
    curves = shown(qtbot, Curves(), 500, 200)
    scalars = [Scalars(iteration, 0.1, 500.0) for iteration in range(1, 80)]
    curves.set_frame(frame(lane(79, scalars=scalars), serial=30))
    curves.set_frame(frame(lane(1, scalars=[Scalars(1, 0.1, 1.0)]), serial=2))
    plot = curves.plots["log_partition"]
    assert curves.series.lanes[0].iterations.tolist() == [1]
    assert plot.end == 15
    assert plot.range is not None
    assert plot.range[0] > -100
