"""Panels at full size in the middle of the real window, floating ones, and figures of what is open there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QDialog, QDockWidget, QWidget

from mrfstudio.engine.protocol.commands import NewGraph, Restart
from mrfstudio.ui.canvas.surface import Surface
from mrfstudio.ui.export.figure_dialog import FigureDialog
from mrfstudio.ui.export.paper import Paper, save_figure
from mrfstudio.ui.style.colours import colours_of, rgb
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.window import showing
from tests.ui.helpers.converge import Converge
from tests.ui.helpers.pictures import pixels
from tests.ui.helpers.studio import Studio


def panel_of(studio: Studio, title: str) -> QDockWidget:
    return next(each for each in studio.window.docks.shown() if each.windowTitle() == title)


@pytest.mark.parametrize(
    ("workspace", "action", "title"),
    [
        ("graph", "show_comparison", "Comparison"),
        ("graph", "show_regions", "Regions"),
        ("graph", "show_sigma_map", "Map of σ_max"),
        ("graph", "show_messages", "Messages"),
        ("segment", "show_clones", "Clones"),
    ],
)
def test_a_panel_becomes_a_page_as_large_as_the_canvas_and_goes_back(
    studio: Studio, workspace: str, action: str, title: str
) -> None:
    window = studio.window
    window.choose_workspace(workspace)
    studio.settle()
    pages = window.workspace.pages
    assert pages is not None
    studio.do(action)
    panel = panel_of(studio, title)
    inside: QWidget | None = panel.widget()
    assert inside is not None
    panel.titleBarWidget()._page.click()  # type: ignore[attr-defined]
    studio.qtbot.waitUntil(lambda: inside.isVisible() and inside.size() == pages.parts.size())  # all of the middle
    assert not pages.canvas.isVisible()
    pages.split.setChecked(True)
    assert pages.canvas.isVisible()
    assert inside.isVisible()
    pages.split.setChecked(False)
    pages.close_page(pages.current)
    assert panel.widget() is inside
    assert pages.canvas.isVisible()


def test_a_floating_panel_has_a_frame_a_title_and_a_place_of_its_own(studio: Studio) -> None:
    studio.window.choose_workspace("graph")
    studio.settle()
    studio.do("show_comparison")
    panel = panel_of(studio, "Comparison")
    bar = panel.titleBarWidget()
    bar._float.click()  # type: ignore[attr-defined]
    studio.qtbot.waitUntil(panel.isFloating)
    assert panel.isWindow()
    assert panel.contentsMargins().left() > 0
    edges = pixels(panel.grab().toImage())
    frame = rgb(colours_of(panel).outline)
    for place in ((edges.shape[0] // 2, 0), (edges.shape[0] // 2, -1), (0, edges.shape[1] // 2), (-1, 50)):
        assert tuple(edges[place][:3]) == tuple(frame)
    assert bar.isVisible()
    assert panel.width() >= px(bar, 420)
    assert panel.height() >= px(bar, 320)
    bar._float.click()  # type: ignore[attr-defined]
    assert not panel.isFloating()
    assert panel.contentsMargins().left() == 0
    panel.hide()


def test_a_figure_is_offered_the_plots_of_open_pages(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    converge = Converge(studio)
    converge.show(NewGraph("ring", {"nodes": 5}), Restart())
    studio.until(lambda: studio.frame.lanes[0].status == "converged")
    dialogs: list[QDialog] = []
    monkeypatch.setattr(showing, "show_dialog", dialogs.append)
    plots = [plot for plot in studio.window.showing.plots() if plot.content.anything]
    plots[0].enlarge()
    studio.do("export_figure")
    pages = converge.workspace.pages
    assert pages is not None
    pages.close_page(pages.current)
    studio.do("export_figure")
    offered = []
    for dialog in dialogs:
        assert isinstance(dialog, FigureDialog)
        offered.append([box.text() for box in dialog.boxes])
        dialog.deleteLater()
    titles = [plot.content.title for plot in plots]
    assert offered == [[*titles, f"{titles[0]}, enlarged"], titles]


@pytest.mark.parametrize("workspace", ["graph", "segment"])
def test_a_figure_has_the_canvas_in_light_colours_also_from_behind_a_page(
    studio: Studio, workspace: str, tmp_path: Path
) -> None:
    window = studio.window
    window.choose_workspace(workspace)
    studio.settle()
    pages = window.workspace.pages
    assert pages is not None
    pages.open("page", "A page", QWidget())
    if workspace == "graph":
        window.workspace.canvas.resize(0, 300)  # type: ignore[attr-defined]  # as a page that took all the room
    pictures = []
    for mode in ("light", "dark"):
        window.theme.set_mode(mode)
        drawing = window.showing.canvas_on_paper()
        assert drawing is not None
        save_figure([], drawing, Paper(), tmp_path / f"{mode}.png", "")
        pictures.append(QImage(str(tmp_path / f"{mode}.png")))
        assert {colours_of(each).name for each in pages.canvas.findChildren(Surface)} <= {mode}
        assert colours_of(pages.canvas).name == mode
    window.theme.set_mode("light")
    assert colours_of(pages.canvas).name == "light"
    pages.close_page("page")
    assert pictures[0] == pictures[1]
    assert len(np.unique(pixels(pictures[0]))) > 5
