"""Comparing lanes in the window: rows, curves, points and the table say what frames say; every click is a command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.protocol.commands import Scrub, SetSpeed
from mrfstudio.engine.protocol.frames import Scalars
from mrfstudio.engine.protocol.requests.converge import OpenGraph
from mrfstudio.ui.style.colours import colours_of, rgb
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.lane_names import lane_colour
from mrfstudio.ui.widgets.pages import PageScroll
from mrfstudio.ui.window.settings import Settings
from mrfstudio.ui.workspaces.converge.view import ConvergeView
from mrfstudio.ui.workspaces.shared.comparison import ComparisonPanel
from mrfstudio.ui.workspaces.shared.score_table import COLUMNS
from tests.ui.helpers.lanes import LOADED, compared, score, three
from tests.ui.helpers.pictures import frame, lane, pixels
from tests.ui.helpers.studio import Studio
from tests.ui.helpers.widgets import emitted, shown


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


def test_the_head_folds_into_two_rows_where_it_has_no_room_and_back(qtbot: QtBot, tmp_path: Path) -> None:
    panel = ComparisonPanel(Settings(tmp_path / "settings.ini"))
    page = shown(qtbot, PageScroll(panel), 1100, 500)

    def beside() -> bool:
        return panel.filter.y() < panel.reference.geometry().bottom()

    qtbot.waitUntil(beside)
    page.resize(panel.parts.minimumSizeHint().width() + px(panel, 20), 500)
    qtbot.waitUntil(lambda: not beside())
    assert panel.export.geometry().right() <= panel.width() <= page.viewport().width()
    page.resize(1100, 500)
    qtbot.waitUntil(beside)


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
        panel.scatter.now()  # a plot that is not shown waits for its turn
        pictures = [pixels(widget.grab().toImage()) for widget in (panel.curves, panel.scatter)]
        return [bool((picture == colour).all(2).any()) for picture in pictures]

    assert drawn() == [False, False]
    panel.set_frame(frame(lane(0)))
    assert drawn() == [False, False]
    told, marginals = [Scalars(iteration, 0.1 / iteration, 1.0) for iteration in (1, 2)], np.linspace(0, 1, 20)
    found = compared(score(0, marginals=marginals), marginals=marginals)
    panel.set_frame(frame(lane(2, scalars=told), comparison=found, serial=2))
    assert drawn() == [True, True]


def test_six_lanes_on_a_graph_from_the_lane_manager_to_the_table(shared: Studio, qtbot: QtBot) -> None:
    shared.begin(qtbot)
    shared.window.files.replace_by(OpenGraph(ising_grid(4, 4, coupling=0.9, field=0.2, seed=3), "glass", (4, 4)))
    shared.until(
        lambda: shared.frame.workspace == "graph" and shared.frame.name == "glass" and shared.frame.iteration > 0
    )
    workspace = shared.window.workspaces["graph"]
    assert isinstance(workspace, ConvergeView)
    workspace.post(SetSpeed(None))
    shared.do("show_comparison")
    shared.settle()
    lanes = workspace.controls.lanes
    for name in ("mean-field", "trw", "alpha-bp", "exact", "gibbs"):
        lanes.algorithm.setCurrentIndex(lanes.algorithm.findData(name))
        lanes.add.click()
        shared.settle()
    assert [each.lane for each in shared.frame.lanes] == [0, 1, 2, 3, 4, 5]
    panel = workspace.comparison_dock.panel
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


def _colours_of_nodes(shared: Studio, workspace: ConvergeView) -> None:
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
    panel = shared.segment.comparison_dock.panel
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


def test_columns_are_chosen_and_rows_filtered(panel: ComparisonPanel) -> None:
    panel.resize(1400, 300)
    panel.set_frame(frame(lane(3), lane(3, number=1, algorithm="exact"), comparison=compared(score(0), score(1))))
    table = panel.table
    hidden = [column.name for column in COLUMNS].index("correlation")
    menu = table.column_menu()
    action = next(each for each in menu.actions() if each.text().startswith("ρ"))
    assert "correlation" in action.text()
    action.trigger()
    assert table.isColumnHidden(hidden)
    menu.deleteLater()
    panel.filter.setText("exact")
    assert [row.values["lane"] for row in table.scores.rows] == ["B"]
    panel.filter.setText("")
    assert len(table.scores.rows) == 2
