"""Histograms."""

from __future__ import annotations

import numpy as np
from pytestqt.qtbot import QtBot

from mrfstudio.ui.plots.probabilities import Histogram
from mrfstudio.ui.style.colours import LIGHT, rgb
from mrfstudio.ui.style.theme import palette_of
from tests.ui.helpers.pictures import lane, pixels
from tests.ui.helpers.widgets import shown


def test_the_histogram_draws_taller_bars_for_more_pixels(qtbot: QtBot) -> None:
    histogram = Histogram()
    histogram.setPalette(palette_of(LIGHT))
    shown(qtbot, histogram, 260, 200)
    shares = np.zeros((3, 20), np.float32)
    shares[:, 0], shares[2, 19] = 0.25, 1.0
    histogram.set_lane(lane(pictures={"histogram": shares}))
    image = pixels(histogram.grab().toImage())
    inside = np.abs(image.astype(int) - rgb(LIGHT.labels[2])).max(axis=2) < 8
    left, right = inside[:, :30].sum(0).max(), inside[:, -30:].sum(0).max()
    assert 1.7 < right / left < 2.4  # square roots: 1 is twice as tall as 0.25
