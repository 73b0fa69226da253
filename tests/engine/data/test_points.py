"""Points in the plane, drawn and from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.data.dataset import DataError
from mrfstudio.engine.data.points import SHAPES, Points


@pytest.mark.parametrize("shape", list(SHAPES))
def test_drawn_points_are_standardised_and_the_same_each_time(shape: str) -> None:
    plan = Points(shape=shape, count=300, validation=20, test=50)
    splits = plan.open()
    assert splits.sizes == {"train": 300, "val": 20, "test": 50}
    x = np.concatenate([splits[split]["x"] for split in splits])
    assert np.abs(x.mean(0)).max() < 1e-4
    assert np.abs(x.std(0) - 1).max() < 1e-4
    assert np.array_equal(plan.open()["test"]["x"], splits["test"]["x"])


def test_points_of_a_file_stay_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "painted.npz"
    x = np.random.default_rng(0).normal(size=(40, 2)) * 3 + 7
    np.savez(path, x=x)
    splits = Points().open(path)
    assert splits.sizes == {"train": 32, "val": 4, "test": 4}
    together = np.concatenate([splits[split]["x"] for split in splits])
    assert np.allclose(np.sort(together, 0), np.sort(x, 0), atol=1e-5)
    np.savez(path, x=x[:, :1])
    with pytest.raises(DataError, match=r"\(N, 2\)"):
        Points().open(path)
