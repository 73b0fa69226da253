"""Figures are written as PNG and SVG, with everything that was to be seen in them."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from mrfstudio import bench
from mrfstudio.bench.measure import Curve, CurveSet, Report
from mrfstudio.cli import main
from mrfstudio.ui.export import figure


def report() -> Report:
    made = Report("two curves", load_before=0.0)
    made.curves += [
        Curve("error, first", [1.0, 2.0, 3.0], [0.1, 0.01, 0.0], [0.05, 0.001, 0.0], [0.2, 0.1, 0.01]),
        Curve("error, second", [1.0, 2.0, 3.0], [0.5, 0.5, 0.5]),
    ]
    made.figures.append(CurveSet("both", "A title", "iteration", "error", ("error, first", "error, second"), True))
    return made


def test_a_figure_is_a_png_and_an_svg_with_its_words(qtbot: QtBot, tmp_path: Path) -> None:
    paths = bench.save_figures(report().as_dict(), tmp_path / "new folder")
    assert [path.name for path in paths] == ["both.png", "both.svg"]
    image = QImage(str(paths[0]))
    assert (image.width(), image.height()) == (1440, 920)
    seen = {image.pixelColor(x, y).name() for x in range(0, 1440, 3) for y in range(0, 920, 3)}
    assert {figure.LIGHT.lanes[0], figure.LIGHT.lanes[1]} <= seen
    words = "".join(ElementTree.parse(paths[1]).getroot().itertext())
    for expected in ("A title", "iteration", "error", "first (mean", "second", "10"):
        assert expected in words
    assert "error, second" not in words  # what all names share is said once, at the axis


def test_curves_bands_and_marks_are_items_of_pyqtgraph_at_their_places(qtbot: QtBot) -> None:
    lines = (
        figure.Line("a", [1.0, 2.0, 3.0], [1e-2, 1e-14, 1e-15], [1e-3] * 3, [1e-1] * 3),
        figure.Line("b", [1.0], [1.0]),
    )
    plot = figure.FigurePlot(figure.Figure("t", "x", "y", lines, logarithmic=True))
    qtbot.addWidget(plot)
    plot.resize(figure.SIZE)
    plot.now()
    parts = plot.body.parts
    assert [curve.getData()[1].tolist() for curve in parts.curves] == [[-2.0, -14.0, -15.0], [0.0]]
    assert [band.isVisible() for band in parts.bands] == [True, False]
    assert [len(dots.getData()[0]) for dots in parts._dots] == [3, 1]
    assert plot.span_y()[0] < -15 < 0 < plot.span_y()[1]


def test_a_power_is_straight_on_two_logarithmic_axes(qtbot: QtBot) -> None:
    sizes, values = [1.0, 4.0, 16.0, 256.0], [3.0, 6.0, 12.0, 48.0]
    line = figure.Line("a", sizes, values)
    plot = figure.FigurePlot(figure.Figure("t", "x", "y", (line,), logarithmic=True, logarithmic_across=True))
    qtbot.addWidget(plot)
    plot.resize(figure.SIZE)
    plot.now()
    x, y = plot.body.parts.curves[0].getData()
    assert np.diff(y) / np.diff(x) == pytest.approx([0.5] * 3)
    assert plot.span_x() == pytest.approx((-0.02 * np.log10(256), 1.02 * np.log10(256)))


def test_one_point_and_equal_values_still_have_axes(qtbot: QtBot) -> None:
    line = figure.Line("alone", [2.0], [3.0])
    assert "alone" in figure.drawing_of(figure.Figure("t", "x", "y", (line,))).svg()


def test_bench_writes_figures_where_asked_and_keeps_its_json(
    qtbot: QtBot, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "run", lambda name: report().as_dict())
    assert main(["bench", "sigma", "--plots", str(tmp_path), "--json", "-"]) == 0
    out = capsys.readouterr().out
    assert out.startswith('{"sigma"')
    assert out.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["both.png", "both.svg"]


def test_a_folder_that_cannot_be_written_is_refused(
    qtbot: QtBot, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "run", lambda name: report().as_dict())
    (tmp_path / "file").write_text("")
    assert main(["bench", "sigma", "--plots", str(tmp_path / "file")]) == 2
    assert "no place for figures" in capsys.readouterr().err
