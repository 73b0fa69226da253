"""Event files say what the curves say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mrfstudio.cli import main

pytest.importorskip("tensorboard")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_event_files_hold_the_numbers_of_the_curves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    line = ["train", "ising", "--data", "ising", "--side", "3", "--epochs", "2", "--learner", "pseudolikelihood"]
    out, events = tmp_path / "spins.safetensors", tmp_path / "events"
    assert main([*line, "--out", str(out), "--tensorboard", str(events), "--json", "-"]) == 0
    capsys.readouterr()
    curves = json.loads(out.with_suffix("").with_suffix(".curves.json").read_text())["columns"]
    read = EventAccumulator(str(events), size_guidance={"scalars": 0, "histograms": 0})
    read.Reload()
    told = {event.step: event.value for event in read.Scalars("train/loss")}
    assert list(told) == [int(step) for step in curves["step"]]
    assert list(told.values()) == pytest.approx(curves["loss"], rel=1e-6)
    assert {"train/gradient_norm", "train/learning_rate"} <= set(read.Tags()["scalars"])
    assert any(tag.startswith("parameters/") for tag in read.Tags()["histograms"])
