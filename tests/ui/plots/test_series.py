"""The numbers behind a curve."""

from __future__ import annotations

from mrfstudio.ui.plots.series import Series
from tests.ui.helpers.widgets import scalars


def test_a_repeated_iteration_replaces_the_old_one() -> None:
    series = Series()
    series.extend(scalars(1, 1000))
    series.extend(scalars(500, 502, rate=0.9))
    assert series.iterations.tolist() == list(range(1, 502))
