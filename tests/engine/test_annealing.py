"""Annealed importance sampling against enumeration."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

from mrfstudio.engine.annealing import Annealing, LogZ, annealed_log_z, base_of_rows, log_z_of
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.files.model_file import save_model
from tests.engine.boltzmann import enumerated, random_machine


@pytest.mark.parametrize("second", [0, 3])
def test_the_error_bar_holds_log_z(second: int) -> None:
    held = 0
    for seed in range(8):
        model = random_machine(seed, 5, 4, second, scale=1.5)
        found = annealed_log_z(model, Annealing(chains=100, temperatures=100, seed=seed))
        log_z, _ = enumerated(model)
        assert found.value == pytest.approx(log_z, abs=0.3)
        assert found.high - found.low < 0.8
        held += found.low <= log_z <= found.high
    assert held >= 7  # three standard errors


def test_independent_units_are_exact_and_the_base_changes_nothing_but_the_error() -> None:
    model = random_machine(1, 4, 3)
    base = base_of_rows(torch.tensor([[1, 0, 0, 1], [1, 1, 0, 1]]), model)
    found = annealed_log_z(model, Annealing(chains=400, temperatures=200), base)
    assert found.value == pytest.approx(enumerated(model)[0], abs=0.1)
    model.weights.zero_()
    model.hidden_bias.zero_()
    exact = annealed_log_z(model, Annealing(chains=2, temperatures=1))
    assert exact.value == pytest.approx(enumerated(model)[0], abs=1e-9)
    assert exact.effective_chains == pytest.approx(2)


def test_the_same_seed_gives_the_same_estimate_and_progress_is_told() -> None:
    model, told = random_machine(2, 4, 3), []
    runs = [annealed_log_z(model, Annealing(chains=5, temperatures=20), report=told.append) for _ in range(2)]
    assert runs[0] == runs[1]
    assert told[-1] == {"done": 20, "total": 20}


def test_an_error_larger_than_the_mean_has_no_lower_end() -> None:
    found = LogZ.of(torch.tensor([0.0, -100.0, -100.0]), 0.0)
    assert found.low == -math.inf
    assert math.isfinite(found.high)


def test_large_weights_stay_finite() -> None:
    found = annealed_log_z(random_machine(3, 20, 10, scale=1000.0), Annealing(chains=4, temperatures=10))
    assert math.isfinite(found.value)


def test_work_of_a_job_gives_values_ready_for_json(tmp_path: Path) -> None:
    model = random_machine(4, 4, 3).to(torch.float32)
    path, told = tmp_path / "m.safetensors", []
    save_model(path, model.kind, model.tensors(), {"hyperparameters": model.hyperparameters()})
    found = log_z_of(str(path), chains=50, temperatures=60, report=told.append)
    json.dumps(found, allow_nan=False)
    assert found["log_partition"] == pytest.approx(enumerated(model.to(torch.float64))[0], abs=0.5)
    assert found["log_partition_low"] < found["log_partition"] < found["log_partition_high"]
    assert told[-1] == {"done": 60, "total": 60}


def test_other_models_are_refused() -> None:
    with pytest.raises(StudioError, match="is a grid"):
        log_z_of("grid-border-16")
