"""Unused clones become copies of busy ones, and the distribution of labels stays nearly what it was."""

from __future__ import annotations

import pytest
import torch

from mrfstudio.engine.families.grid.growth import revive
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.query import clone_use
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation


def model_with_unused(tying: str) -> tuple[GridMRF, torch.Tensor]:
    """Sixteen clones of which every second explains nothing: its potentials are far below the others'."""
    model = GridMRF((16, 1, 1), tying=tying, emission=[0.8, 0.05, 0.01], dtype=torch.float64)
    model.randomise(1, [0.3, 0.4, 0.3])
    potentials = model.potentials.clone()
    unused = torch.arange(8) * 2 + 1
    potentials[:, unused] -= 8.0
    potentials[:, :, unused] -= 8.0
    model.set_potentials(potentials)
    return model, unused


def labels(model: GridMRF, noisy: torch.Tensor) -> torch.Tensor:
    evidence, bp = model.evidence_from_image(noisy.numpy()), BeliefPropagation()
    state = bp.init(model, evidence)
    for _ in range(10):
        state = bp.step(model, evidence, state)
    return model.label_beliefs(bp.beliefs(model, evidence, state))


@pytest.mark.parametrize("tying", ["free", "square"])
def test_unused_clones_come_to_use_and_labels_hardly_change(tying: str) -> None:
    model, unused = model_with_unused(tying)
    noisy = (torch.rand(4, 9, 9, generator=torch.Generator().manual_seed(2)) < 0.8).to(torch.uint8)
    use, before = clone_use(model, noisy, 10), labels(model, noisy)
    assert float(use[unused].sum()) < 1e-3 * float(use.sum())
    assert revive(model, use, 0.05, noise=0.0) == 8
    again = clone_use(model, noisy, 10)
    assert float(again[unused].min()) > 0.1 * float(again.sum()) / 16
    inner = (slice(None), slice(3, 6), slice(3, 6))  # border pixels have fewer edges to carry the penalty
    assert float((labels(model, noisy)[inner] - before[inner]).abs().max()) < 0.05


def test_a_model_that_uses_all_its_clones_stays_as_it_is() -> None:
    model, _ = model_with_unused("free")
    before = model.weights.clone()
    assert revive(model, torch.ones(16), 0.5) == 0
    assert torch.equal(model.weights, before)


def test_copies_differ_by_noise() -> None:
    model, unused = model_with_unused("free")
    use = torch.ones(16)
    use[unused] = 0.0
    assert revive(model, use, 0.1) == 8
    distances = torch.cdist(model.potentials[0, unused], model.potentials[0])
    assert float(distances.topk(2, largest=False).values[:, 1].min()) > 0.1
