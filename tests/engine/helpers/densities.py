"""Small models whose every state can be listed, and the gradients of learners on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mrfstudio.engine.families.graph.model import TiedGraph
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.training.density import density_of


def machine(seed: int = 0) -> RBM:
    model = RBM(5, 3, dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    for tensor in (model.weights, model.outer_bias, model.hidden_bias):
        tensor.normal_(generator=generator)
    return model.train_all()


def everything(cards: list[int]) -> torch.Tensor:
    return torch.from_numpy(np.stack([axis.ravel() for axis in np.indices(cards)], 1))


def rows(model: Any, count: int = 6) -> dict[str, torch.Tensor]:
    """Some possible assignments."""
    cards = model.structure.cardinalities.tolist() if isinstance(model, TiedGraph) else [2] * model.visible
    all_states = everything(cards)
    seen = density_of(model, {"x": all_states})
    possible = all_states[torch.isfinite(seen.score(seen.visible))]
    generator = torch.Generator().manual_seed(5)
    return {"x": possible[torch.randint(len(possible), (count,), generator=generator)]}


def gradients(model: Any) -> list[torch.Tensor]:
    found = [tensor.grad for tensor in model.tensors().values() if tensor.grad is not None]
    for tensor in model.tensors().values():
        tensor.grad = None
    return found


def all_scores(model: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Every assignment and its score, with gradients."""
    cards = model.structure.cardinalities.tolist() if isinstance(model, TiedGraph) else [2] * model.visible
    seen = density_of(model, {"x": everything(cards)})
    return seen.visible, seen.score(seen.visible)
