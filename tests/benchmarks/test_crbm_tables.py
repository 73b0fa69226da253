"""The script that remakes the tables of conditional RBMs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import boltzmann_table
from mrfstudio.engine.tasks.evaluate import evaluate_model
from mrfstudio.engine.training.command import train_command


def test_validation_chooses_how_many_iterations_answers_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(boltzmann_table.__file__).parent))
    from benchmarks.crbm_tables import _asked

    file, sizes = tmp_path / "few.safetensors", {"count": 40, "validation": 20, "test": 15, "rate": 0.2}
    options = {"hidden": 8, "start_scale": 1.0, "epochs": 1.0, "batch_size": 20, **sizes}
    train_command("crbm", "cd", "noisy", file, seed=0, **options)
    found = _asked(file, "noisy", sizes, [1, 2, 30])
    errors = found["validation"]
    assert len(set(errors.values())) == 3
    assert found["iterations"] == min(errors, key=lambda count: errors[count])
    assert found["images"] == 15

    own = _asked(file, "noisy", sizes, [])
    assert own["validation"] == {}
    assert own["pixel_error"] == pytest.approx(evaluate_model(file, "noisy", **sizes)["pixel_error"])
    assert own["pixel_error"] != found["pixel_error"]
