"""Ranges, ticks and the thinning of long curves."""

from __future__ import annotations

import numpy as np
import pytest

from mrfstudio.ui.plots.axes import next_end, roomy, thinned, tick_texts, ticks


def test_ranges_only_grow_and_in_round_steps() -> None:
    assert [next_end(i) for i in (0, 15, 16, 21, 60, 101, 5000)] == [15, 15, 20, 50, 100, 200, 5000]
    assert roomy((0.0, 1.0), 0.2, 0.9) == (0.0, 1.0)
    low, high = roomy((0.0, 1.0), -0.5, 0.9)
    assert low < -0.5
    assert high == 1.0
    assert roomy((-5.0, 0.0), -7.3, 0.0, whole=True) == (-8.0, 0.0)
    assert roomy(None, 2.0, 2.0, whole=True) == (2.0, 3.0)  # a loss of exactly 100, again and again
    assert roomy(None, 3.0, 3.0)[0] < 3.0 < roomy(None, 3.0, 3.0)[1]


@pytest.mark.parametrize("span", [(0.0, 1.0), (-105.3, -99.8), (0.0, 50_000.0), (1.0, 1.0001)])
def test_ticks_are_few_round_and_told_apart(span: tuple[float, float]) -> None:
    found = ticks(span, 6)
    assert 1 <= len(found) <= 7
    assert all(span[0] - 1e-9 <= value <= span[1] + 1e-9 for value in found)
    assert len(set(tick_texts(found))) == len(found)
    assert tick_texts([-3.0, 0.0], logarithmic=True) == ["10⁻³", "1"]


@pytest.mark.parametrize("count", [2_000, 100_000])
def test_thinning_loses_no_peak(count: int) -> None:
    x = np.arange(float(count))
    y = np.zeros_like(x)
    y[345], y[1_777], y[0], y[-1] = 5.0, -3.0, 1.0, 2.0
    few_x, few_y = thinned(x, y, 300)
    assert len(few_x) <= 4 * 300
    assert few_y.max() == 5.0
    assert few_y.min() == -3.0
    assert (np.diff(few_x) >= 0).all()
    assert (few_x[0], few_y[0], few_x[-1], few_y[-1]) == (0.0, 1.0, count - 1.0, 2.0)


def test_a_curve_that_falls_is_thinned_to_one_that_falls() -> None:
    x = np.arange(100_000.0)
    few_x, few_y = thinned(x, -x, 300)
    assert len(few_x) <= 2 * 300 + 2
    assert (np.diff(few_y) <= 0).all()
