"""The plane of a run as it is now: written at steps, read once each, gone with the end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.protocol.training import PlanePicture, TrainingPlan
from mrfstudio.engine.training.runs import child, live, snapshots
from mrfstudio.engine.training.runs.child import train_run
from mrfstudio.engine.training.runs.store import RunStore


def picture(value: float) -> PlanePicture:
    density = np.full((4, 4), value, np.float32)
    none = np.zeros((0, 2), np.float32)
    return PlanePicture((-1.0, -1.0, 1.0, 1.0), density, density[None], none, np.zeros(0, np.int64), none, none)


def test_the_newest_plane_is_read_once(tmp_path: Path) -> None:
    assert live.read(tmp_path, -1) is None
    for step in (3, 7):
        live.write(tmp_path, step, picture(step))
    found = live.read(tmp_path, 3)
    assert found is not None
    assert (found.step, float(found.plane.density[0, 0]), found.plane.window) == (7, 7.0, (-1.0, -1.0, 1.0, 1.0))
    assert live.read(tmp_path, 7) is None
    assert [path.name for path in tmp_path.iterdir()] == [live.FILE]


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 and then nothing"])
def test_a_damaged_file_shows_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / live.FILE).write_bytes(content)
    assert live.read(tmp_path, -1) is None


@pytest.mark.parametrize("model", ["flow-mixture", "transport"])
def test_a_run_draws_every_step_and_snapshots_stay_few(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "LIVE_SECONDS", 0.0)
    monkeypatch.setattr(child, "LIVE_SHARE", 1e9)
    drawn: list[int] = []
    monkeypatch.setattr(live, "write", lambda folder, step, plane: drawn.append(step))
    store = RunStore(tmp_path / "runs")
    learner = {"flow-mixture": "em", "transport": "sinkhorn"}[model]
    options = {"count": 64, "validation": 0, "test": 0, "batch_size": 16, "epochs": 3.0}
    run = store.create(TrainingPlan(model, learner, "points", minutes=None, options=options))
    train_run(str(store.path(run)), snapshot_seconds=1e9)
    kept = snapshots.steps(store.path(run))
    assert set(range(1, 13)) - set(kept) <= set(drawn)
    assert len(kept) <= 3
    assert not (store.path(run) / live.FILE).exists()
