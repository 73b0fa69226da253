"""The arena's page: what it shows of scores, and a person who runs a folder."""

from __future__ import annotations

from pathlib import Path

from mrfstudio.engine.protocol.answers import ArenaScore, ArenaScores
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.workspaces.converge.actions import SHOW_ARENA
from mrfstudio.ui.workspaces.converge.overviews.arena_page import ArenaPage
from tests.ui.helpers.converge import Converge

SCORES = ArenaScores(
    (
        ArenaScore("a", "auto", 0.001, 0.0, 0.0, 2.0, "exact by a join tree"),
        ArenaScore("a", "bp", 0.25, 1.5, None, 0.5, "converged"),
        ArenaScore("b", "bp", 0.05, None, None, 0.5, "iteration limit"),
    ),
    4,
    "kept.jsonl",
    (("auto", 0.001), ("bp", 0.15)),
)


def opened(converge: Converge) -> ArenaPage:
    converge.studio.do(SHOW_ARENA.name)
    page = converge.workspace.overviews.arena
    assert isinstance(page, ArenaPage)
    return page


def test_the_page_shows_scores_the_worst_first(converge: Converge) -> None:
    page = opened(converge)
    page.show_scores(SCORES)
    texts = [[page.table.item(row, column).text() for column in range(6)] for row in range(3)]  # type: ignore[union-attr]
    assert texts[0] == ["a", "bp", "0.2500", "–", "1.500", "0.5"]
    assert [row[2] for row in texts] == ["0.2500", "0.0500", "0.0010"]
    assert "3 of 4 runs" in page.status.text()
    assert "bp 0.1500" in page.status.text()
    lines = {line.name: line.y.tolist() for line in page.errors.lines}
    assert lines == {"auto": [0.001], "bp": [0.05, 0.25]}
    assert [len(line.y) for line in page.log_z.lines] == [1, 1]
    plots = page.findChildren(Plot)
    assert [plot.whole_numbers for plot in plots] == [True, True]


def test_a_folder_without_graphs_is_refused_on_the_page(converge: Converge, tmp_path: Path) -> None:
    page = opened(converge)
    page.folder.setText(str(tmp_path))
    page.run()
    converge.studio.until(lambda: "no graph" in page.status.text())
    assert page.start.isEnabled()
    assert not page.stop.isEnabled()


def test_a_closed_page_comes_back_with_what_it_showed(converge: Converge) -> None:
    page = opened(converge)
    page.show_scores(SCORES)
    pages = converge.workspace.centre.pages
    pages.close_page("arena")
    assert "arena" not in pages.names()
    assert opened(converge) is page
    assert pages.current == "arena"
    assert page.table.rowCount() == 3


def test_stop_ends_a_run(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "pair.uai").write_text("MARKOV\n2\n2 2\n1\n2 0 1\n4\n4 1 2 3\n")
    (tmp_path / "pair.uai.MAR").write_text("MAR\n2 2 0.5 0.5 2 0.6 0.4\n")
    page = opened(converge)
    page.folder.setText(str(tmp_path))
    page.algorithms.setText("auto bp gbp exact join-graph")
    page.run()
    assert page.stop.isEnabled()
    page.end()
    converge.studio.until(page.start.isEnabled)
    assert "Stopped" in page.status.text()
