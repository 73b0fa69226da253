"""Each lane against a reference, point by point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from mrfstudio.ui.plots.scatter import MarginalScatter
from mrfstudio.ui.style.colours import DARK, LIGHT, rgb
from mrfstudio.ui.style.theme import palette_of
from tests.ui.helpers.lanes import compared, score
from tests.ui.helpers.pictures import pixels
from tests.ui.helpers.widgets import shown


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
