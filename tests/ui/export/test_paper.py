"""Figures for paper: white, in millimetres, letters as letters, the numbers beside them."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from mrfstudio.ui.export.figure_dialog import FigureDialog
from mrfstudio.ui.export.paper import MM, Paper, save_figure
from mrfstudio.ui.export.pictures import ExportError
from mrfstudio.ui.plots.content import Content, PlotLine
from mrfstudio.ui.plots.curve_plot import lane_paint
from mrfstudio.ui.plots.plot import Plot
from mrfstudio.ui.style.colours import DARK
from mrfstudio.ui.style.theme import palette_of
from mrfstudio.ui.window.settings import Settings
from tests.ui.helpers.pictures import pixels

HEIGHTS = np.cos(np.arange(50) / 5)


@pytest.fixture
def plots(qtbot: QtBot) -> list[Plot]:
    made = []
    for title in ("residual", "free energy"):
        content = Content(title, "", "", "iteration")
        content.lines = [
            PlotLine(lane, f"lane {lane}", np.arange(50.0), HEIGHTS + lane, lane_paint(lane)) for lane in (0, 1)
        ]
        plot = Plot(content)
        plot.setPalette(palette_of(DARK))
        qtbot.addWidget(plot)
        made.append(plot)
    return made


def test_a_figure_is_white_and_as_wide_as_asked(plots: list[Plot], tmp_path: Path) -> None:
    save_figure(plots, None, Paper(width=178, height=50, columns=2, resolution=192), tmp_path / "f.png", "")
    picture = QImage(str(tmp_path / "f.png"))
    assert picture.width() == pytest.approx(178 * MM * 2, abs=1)
    assert picture.height() == pytest.approx(50 * MM * 2, abs=1)
    assert (pixels(picture)[1, 1] == 255).all()
    assert np.median(pixels(picture)) == 255


def test_paper_shows_no_line_of_the_present(plots: list[Plot], tmp_path: Path) -> None:
    save_figure(plots, None, Paper(), tmp_path / "without.png", "")
    for plot in plots:
        plot.content.present = 20.0
    save_figure(plots, None, Paper(), tmp_path / "with.png", "")
    assert QImage(str(tmp_path / "with.png")) == QImage(str(tmp_path / "without.png"))
    assert all(plot.content.present == 20.0 for plot in plots)


def test_letters_stay_letters_and_every_lane_is_named(plots: list[Plot], tmp_path: Path) -> None:
    save_figure(plots, None, Paper(width=140), tmp_path / "f.svg", "")
    drawing = (tmp_path / "f.svg").read_text()
    written = "".join(re.findall(r"<text[^>]*>([^<]*)</text>", drawing))
    for words in ("residual", "free energy", "lane 0", "lane 1", "iteration"):
        assert words in written
    assert "<image" not in drawing
    save_figure(plots, None, Paper(width=140), tmp_path / "f.pdf", "")
    pdf = (tmp_path / "f.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert b"/FontDescriptor" in pdf
    box = [float(number) for number in re.search(rb"/MediaBox \[([^\]]*)\]", pdf).group(1).split()]  # type: ignore[union-attr]
    assert box[2] / 72 * 25.4 == pytest.approx(140, abs=0.5)


def test_numbers_and_the_command_lie_beside_the_figure(plots: list[Plot], tmp_path: Path) -> None:
    save_figure(plots[:1], None, Paper(), tmp_path / "f.svg", "mrfstudio replay f.mrfs --figure f.svg")
    rows = list(csv.reader(io.StringIO((tmp_path / "f.csv").read_text())))
    values = [float(row[2]) for row in rows if row and row[0] == "lane 1"]
    assert values == (HEIGHTS + 1).tolist()
    assert (tmp_path / "f.txt").read_text() == "mrfstudio replay f.mrfs --figure f.svg\n"
    with pytest.raises(ExportError, match="ends in none"):
        save_figure(plots, None, Paper(), tmp_path / "f.doc", "")


def test_the_dialog_writes_what_is_ticked(plots: list[Plot], qtbot: QtBot, tmp_path: Path) -> None:
    said: list[str] = []
    dialog = FigureDialog(plots, None, Settings(tmp_path / "s.ini"), said.append)
    qtbot.addWidget(dialog)
    dialog.boxes[1].setChecked(False)
    dialog.millimetres.setValue(85)
    assert dialog.save(tmp_path / "one.svg")
    assert "free energy" not in (tmp_path / "one.csv").read_text()
    assert not dialog.save(tmp_path / "no" / "such" / "place.svg")
    assert "cannot be written" in said[-1]


def test_a_plot_that_is_only_offered_is_written_where_it_is_ticked(
    plots: list[Plot], qtbot: QtBot, tmp_path: Path
) -> None:
    offered = [("free energy, enlarged", plots[1])]
    dialog = FigureDialog(plots[:1], None, Settings(tmp_path / "s.ini"), lambda _: None, offered=offered)
    qtbot.addWidget(dialog)
    assert [(box.text(), box.isChecked()) for box in dialog.boxes] == [("residual", True), (offered[0][0], False)]
    assert dialog.save(tmp_path / "one.svg")
    assert "free energy" not in (tmp_path / "one.csv").read_text()
    dialog.boxes[1].setChecked(True)
    assert dialog.save(tmp_path / "two.svg")
    assert "free energy" in (tmp_path / "two.csv").read_text()
