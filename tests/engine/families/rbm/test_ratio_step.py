"""Messages of a machine kept as ratios are those kept as log-odds."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from mrfstudio.engine.families.rbm import ratio_step
from mrfstudio.engine.families.rbm.belief_propagation import Odds
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from tests.engine.helpers.boltzmann import random_machine, unit_beliefs


def stepped(algorithm: BeliefPropagation, model: RBM, evidence: Evidence, count: int) -> Odds:
    state = algorithm.init(model, evidence)
    for _ in range(count):
        state = algorithm.step(model, evidence, state)
    assert isinstance(state, Odds)
    return state


def large_machine(scale: float) -> RBM:
    """300 × 260 units: two blocks of a direction, and more messages than one product may hold."""
    model = random_machine(5, 300, 260, scale=scale)
    model.weights.clamp_(-8, 8)
    return model


@pytest.mark.parametrize("scale", [0.05, 2.0])
@pytest.mark.parametrize("schedule", ["parallel", "sequential"])
def test_ratios_are_the_messages_that_log_odds_are(
    scale: float, schedule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = large_machine(scale)
    algorithm, nothing = BeliefPropagation(schedule=schedule, damping=0.2), model.no_evidence()
    quick = stepped(algorithm, model, nothing, 4)
    assert quick.ratios
    monkeypatch.setattr(ratio_step, "LARGEST_WEIGHT", 0.0)
    slow = stepped(algorithm, model, nothing, 4)
    assert not slow.ratios
    for name in ("to_hidden", "to_outer"):
        assert torch.allclose(getattr(quick.as_logs(), name), getattr(slow, name), atol=1e-9)
    assert float(quick.residual) == pytest.approx(float(slow.residual), abs=1e-9)


def test_single_precision_keeps_six_digits_with_a_thousand_units() -> None:
    """Rounding of ratios near 1 must not add up: beliefs stay with those of 64 bits."""
    generator = torch.Generator().manual_seed(0)
    weights = 0.1 * torch.randn(500, 1000, generator=generator, dtype=torch.float64)
    beliefs = []
    for dtype in (torch.float32, torch.float64):
        model = RBM(1000, 500, dtype=dtype)
        model.weights.copy_(weights)
        evidence = model.no_evidence()
        state = stepped(BeliefPropagation(), model, evidence, 8)
        assert state.ratios
        beliefs.append(BeliefPropagation().beliefs(model, evidence, state).double())
    assert torch.allclose(*beliefs, atol=2e-6)


def test_a_moved_temperature_takes_the_messages_along() -> None:
    """From ratios to log-odds and back: the step is the one from the same messages."""
    model = random_machine(1, 5, 4)
    nothing, warm, cool = model.no_evidence(), BeliefPropagation(), BeliefPropagation(temperature=0.8)
    state = stepped(warm, model, nothing, 3)
    assert state.ratios
    cooled = cool.step(model, nothing, state)
    assert not cooled.ratios
    again = cool.step(model, nothing, state.as_logs())
    assert torch.allclose(cooled.to_hidden, again.to_hidden, atol=1e-12)
    back, other = (warm.step(model, nothing, each) for each in (cooled, cooled.as_ratios()))
    assert back.ratios
    assert torch.allclose(unit_beliefs(warm, model, nothing, back), unit_beliefs(warm, model, nothing, other))


def test_a_state_without_the_mark_holds_log_odds() -> None:
    """Files of versions that knew no ratios lack it; the first state, from which it is taken then, says so."""
    model = random_machine(1, 5, 4)
    first = BeliefPropagation().init(model, model.no_evidence())
    assert isinstance(first, Odds)
    assert not first.ratios
    assert "ratios" in first.remembered
    ratios = replace(first, to_hidden=first.to_hidden + 0.5).as_ratios().to_hidden
    assert torch.allclose(ratios.log(), torch.full_like(ratios, 0.5))
