"""Every model with every learner: it trains, or is refused in one sentence that names a learner which can."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from mrfstudio.engine.data.pictures.border_noise import seeded_noise
from mrfstudio.engine.families.chain.model import ChainPlan
from mrfstudio.engine.families.crbm.model import ConditionalBoltzmann
from mrfstudio.engine.families.grbm.model import GrbmPlan
from mrfstudio.engine.families.grid.model import Grid
from mrfstudio.engine.families.ising.model import Ising
from mrfstudio.engine.families.mixture.model import FlowMixturePlan
from mrfstudio.engine.families.rbm.plans import DeepBoltzmann, RestrictedBoltzmann
from mrfstudio.engine.families.transport.model import TransportPlan
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.training.learner import Learner, TensorSource, TrainingData
from mrfstudio.engine.training.trainer import Trainer

GENERATOR = torch.Generator().manual_seed(0)
SPINS = {"x": 2 * torch.randint(0, 2, (8, 9), generator=GENERATOR).to(torch.int8) - 1}
PICTURES = torch.rand(2, 8, 6, 6, generator=GENERATOR) < 0.5
LABELS = torch.randint(0, 3, (8, 6, 6), generator=GENERATOR).to(torch.uint8)
GREY = {"images": torch.randint(0, 256, (8, 4, 4), generator=GENERATOR).to(torch.uint8)}
PAIRS = {"images": PICTURES[0], "noisy_images": PICTURES[1]}
CONTOURS = {"images": LABELS, "noisy_images": torch.from_numpy(seeded_noise(LABELS.numpy(), 0, spurious=0))}
WORDS = {"x": torch.randint(0, 5, (8, 6), generator=GENERATOR)}
POINTS = {"x": torch.randn(8, 2, generator=GENERATOR)}
PLANS: dict[str, tuple[Any, dict[str, torch.Tensor]]] = {
    "ising": (Ising(graph="grid"), SPINS),
    "rbm": (RestrictedBoltzmann(hidden=3), SPINS),
    "dbm": (DeepBoltzmann(hidden=3, second=2), SPINS),
    "crbm": (ConditionalBoltzmann(hidden=3), PAIRS),
    "grbm": (GrbmPlan(hidden=3), GREY),
    "grid": (Grid(clones=8), CONTOURS),
    "chain": (ChainPlan(states=2), WORDS),
    "flow-mixture": (FlowMixturePlan(components=2, layers=1, width=4), POINTS),
    "transport": (TransportPlan(width=4), POINTS),
}


def built(kind: str) -> tuple[Any, TrainingData]:
    plan, arrays = PLANS[kind]
    data = TrainingData(TensorSource(**arrays), name=kind)
    return plan.build_for(data, 0), data


@pytest.mark.parametrize("learner_name", LEARNERS.names())
@pytest.mark.parametrize("kind", list(PLANS))
def test_a_learner_trains_a_model_or_names_another_that_can(kind: str, learner_name: str) -> None:
    model, data = built(kind)
    fewer = {"iterations": 3} if "iterations" in {field.name for field in LEARNERS[learner_name].fields()} else {}
    learner = LEARNERS[learner_name](batch_size=4, epochs=1.0, **fewer)
    assert isinstance(learner, Learner)
    refusal = learner.supports(model)
    if refusal is None:
        before = {name: tensor.detach().clone() for name, tensor in model.tensors().items()}
        trainer = Trainer(model, learner, data)
        records = list(trainer.run())
        assert records[-1].step == 2
        assert trainer.outcome is not None
        assert trainer.outcome.reason == "finished"
        assert any(not torch.equal(tensor, before[name]) for name, tensor in model.tensors().items())
        return
    assert refusal.endswith(".")
    assert "\n" not in refusal
    able = [name for name in LEARNERS.names() if LEARNERS[name]().supports(model) is None]  # type: ignore[attr-defined]
    assert any(f" {name}" in refusal.partition(": use")[2] for name in able), refusal
