"""Annealed importance sampling against enumeration."""

from __future__ import annotations

import math

import pytest
import torch

from mrfstudio.engine.families.rbm.annealing import Annealing, LogZ, annealed_log_z, base_of_rows
from tests.engine.helpers.boltzmann import enumerated, random_machine


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
