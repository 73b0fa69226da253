"""The numbers behind a curve."""

from __future__ import annotations

import numpy as np
import pytest

from mrfstudio.engine.protocol.frames import Scalars
from mrfstudio.ui.plots.series import Series
from tests.ui.helpers.widgets import scalars


def test_a_repeated_iteration_replaces_the_old_one() -> None:
    series = Series()
    series.extend(scalars(1, 1000))
    series.extend(scalars(500, 502, rate=0.9))
    assert series.iterations.tolist() == list(range(1, 502))


def test_what_is_known_grows_with_what_is_new_and_forgets_what_was_cut() -> None:
    draws = np.random.default_rng(0)
    series, whole = Series(), list[tuple[int, float | None, float]]()
    for cut in (None, None, 300, None, 290):
        if cut is not None:
            series.cut(cut)
            whole = [row for row in whole if row[0] <= cut]
        for _ in range(400):
            heights, seconds = draws.normal(size=2).tolist()
            row = (len(whole) + 1, heights if draws.random() < 0.7 else None, abs(seconds))
            whole.append(row)
            series.extend([Scalars(row[0], 0.0, None, row[1], None, None, seconds=row[2])])
            if row[0] % 37 == 0:
                series.known("iou", "second")  # asked in between, as plots do
        there = [(i, y) for i, y, _ in whole if y is not None]
        x, y = series.known("iou")
        assert x.tolist() == [i for i, _ in there]
        assert y.tolist() == [value for _, value in there]
        assert series.ends("iou") == (min(y), max(y))
        passed = np.cumsum([each for _, _, each in whole])
        assert series.along("second", "iou") == pytest.approx([passed[i - 1] for i, _ in there])


def test_what_was_given_out_stays_as_it_was() -> None:
    series = Series()
    series.extend(scalars(1, 10))
    given, kept = series.known("residual")[1], series.known("residual")[1].copy()
    series.extend(scalars(5, 2000, rate=0.9))
    assert series.known("residual")[1][4] != kept[4]
    assert (given == kept).all()
