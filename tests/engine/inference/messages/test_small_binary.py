"""A step on a small binary graph in numpy is the step in torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.messages import binary_pairwise
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.messages.binary_pairwise import LogRatios


def some_graph(scale: float, dtype: torch.dtype) -> FactorGraph:
    """Random pairs, one of them twice, on twelve variables of which one has no factor."""
    draw = np.random.default_rng(3)
    pairs = [(int(i), int(j)) for i in range(11) for j in range(i) if draw.random() < 0.4]
    pairs.append(pairs[0])
    factors = [(pair, draw.normal(0, scale, (2, 2))) for pair in pairs]
    factors += [((v,), draw.normal(0, 1, 2)) for v in range(12)]
    return FactorGraph.from_factors([2] * 12, factors, dtype=dtype)


@pytest.mark.parametrize("scale", [0.5, 3.0])
@pytest.mark.parametrize("temperature", [1.0, 0.6, 2.5])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_every_step_is_that_of_torch(
    scale: float, temperature: float, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one variable observed."""
    compare(some_graph(scale, dtype), BeliefPropagation(temperature=temperature, damping=0.2), monkeypatch)


def test_the_change_of_nearly_certain_messages_is_one_of_logarithms(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ring of strong couplings: log-ratios of 9 move by tenths, as probabilities by less than 1e-4."""
    ring = FactorGraph.ising([(i, (i + 1) % 12) for i in range(12)], [4.7] * 12, [0.4] * 12, dtype=torch.float64)
    residuals = compare(ring, BeliefPropagation(damping=0.9), monkeypatch)
    assert residuals[-1] > 1e-3


def compare(graph: FactorGraph, bp: BeliefPropagation, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Residuals of some steps, each compared with torch's from the same messages."""
    evidence, residuals = graph.evidence({4: 1}), list[float]()
    near = 1e-10 if graph.dtype == torch.float64 else 2e-4
    state = bp.init(graph, evidence)
    for _ in range(40):
        monkeypatch.setattr(binary_pairwise, "SMALL", 0)
        torchs = bp.step(graph, evidence, state)
        monkeypatch.setattr(binary_pairwise, "SMALL", 10**9)
        found = bp.step(graph, evidence, state)
        assert isinstance(found, LogRatios)
        assert isinstance(torchs, LogRatios)
        assert found.ratios.dtype == graph.dtype
        assert torch.allclose(found.ratios, torchs.ratios, atol=near)
        assert float(found.residual) == pytest.approx(float(torchs.residual), abs=near)
        residuals.append(float(found.residual))
        state = found
    return residuals


def test_small_graphs_take_it_and_gradients_and_many_items_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = some_graph(0.5, torch.float64)
    asked = []
    real = binary_pairwise.small_step
    monkeypatch.setattr(binary_pairwise, "small_step", lambda *given: asked.append(1) or real(*given))
    bp, nothing = BeliefPropagation(), graph.no_evidence()
    state = bp.step(graph, nothing, bp.init(graph, nothing))
    assert len(asked) == 1
    assert isinstance(state, LogRatios)
    bp.step(graph, nothing, LogRatios(1, state.residual, state.ratios.clone().requires_grad_()))
    bp.step(graph, nothing, LogRatios(1, state.residual, state.ratios.expand(3, -1)))
    bp.replace(temperature=0.0).step(graph, nothing, state)
    assert len(asked) == 1
