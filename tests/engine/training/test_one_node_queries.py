"""[QT21], *Connection with Pseudo-likelihood*: asking for one node, given all others, is the pseudolikelihood."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from mrfstudio.engine.families.graph.model import tied
from mrfstudio.engine.families.ising.model import IsingField
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import complete_edges
from mrfstudio.engine.training.density import density_of
from mrfstudio.engine.training.learner import BatchContext
from mrfstudio.engine.training.learners.query import Query
from mrfstudio.engine.training.queries import One
from tests.engine.helpers.boltzmann import random_machine
from tests.engine.helpers.graphs import random_factors

ITEMS = 40


def complete() -> tuple[Any, Tensor]:
    """A loopy Ising model in which everything is coupled, with rows of spins."""
    model = IsingField(complete_edges(6), 6)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        model.weights.normal_(generator=generator).mul_(1.5)
    return model, torch.randint(0, 2, (ITEMS, 6), generator=generator)


def triples() -> tuple[Any, Tensor]:
    """Factors of one to three variables with two or three states."""
    cards, factors = random_factors(0, variables=5, factors=6, strength=0.8)
    graph = FactorGraph.from_factors(cards, factors)
    generator = torch.Generator().manual_seed(2)
    rows = [torch.randint(0, int(k), (ITEMS,), generator=generator) for k in graph.cardinalities]
    return tied(graph, [list(range(group.count)) for group in graph.groups]), torch.stack(rows, 1)


def machine() -> tuple[Any, Tensor]:
    """With one unit unknown an RBM is a star: messages at temperature 1 are exact there too."""
    model: RBM = random_machine(3, visible=7, hidden=5).train_all()
    with torch.no_grad():
        model.log_temperature.zero_()
    return model, torch.randint(0, 2, (ITEMS, 7), generator=torch.Generator().manual_seed(4))


@pytest.mark.parametrize("make", [complete, triples, machine])
def test_asking_for_one_node_is_the_pseudolikelihood(make: Any) -> None:
    model, rows = make()
    context = BatchContext(seed=5, step=0, epoch=0, batch_size=ITEMS, rows=slice(0, ITEMS))
    learner = Query(queries="one", iterations=3, first_iterations=3, jitter=0, readouts=1)
    trained = {name: tensor for name, tensor in model.tensors().items() if tensor.requires_grad}
    state = {"centre": torch.zeros(rows.shape[1], dtype=torch.float64)}  # of a machine
    loss = learner.batch(model, {"x": rows}, state, context).loss
    found = {name: tensor.grad.clone() for name, tensor in trained.items() if name != "log_temperature"}

    asked = One().draw_batch((rows.shape[1],), context)
    seen = density_of(model, {"x": rows})
    expected = -seen.log_conditionals(seen.visible)[asked].mean() / math.log(2)
    gradients = torch.autograd.grad(expected, [trained[name] for name in found])
    assert loss == pytest.approx(float(expected.detach()), rel=1e-6)
    for mine, theirs in zip(found.values(), gradients, strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-4, atol=1e-6)
    assert max(float(theirs.abs().max()) for theirs in gradients) > 1e-3


def test_every_node_is_asked_for_as_often_as_the_others() -> None:
    masks = One().draw(6000, (2, 3), torch.Generator().manual_seed(0))
    assert (masks.flatten(1).sum(1) == 1).all()
    assert masks.float().mean(0).flatten().tolist() == pytest.approx([1 / 6] * 6, abs=0.02)
