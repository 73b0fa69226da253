"""Query training of Ising models and of any factor graph, with free and with shared parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from mrfstudio.engine.families.crbm.model import CRBM
from mrfstudio.engine.families.graph.model import TiedGraph, tied
from mrfstudio.engine.families.graph.query import answered, log_truth, observed
from mrfstudio.engine.families.ising.model import IsingField
from mrfstudio.engine.files.graphs.graph import write_graph
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import grid_edges, ising_grid
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.tasks.evaluate import evaluate_model
from mrfstudio.engine.training.command import train_command
from mrfstudio.engine.training.learner import BatchContext, TensorSource, TrainingData
from mrfstudio.engine.training.learners.query import Query
from mrfstudio.engine.training.trainer import Trainer
from tests.engine.helpers.graphs import random_factors

CONTEXT = BatchContext(seed=0, step=0, epoch=0, batch_size=5, rows=slice(0, 5))


def ising() -> TiedGraph:
    model = IsingField(grid_edges(2, 3), 6, shape=(2, 3))
    with torch.no_grad():
        model.weights.normal_(generator=torch.Generator().manual_seed(1))
    return model


def mixed(zeros: float = 0.0) -> TiedGraph:
    cards, factors = random_factors(0, variables=5, factors=6, strength=0.6, zeros=zeros)
    graph = FactorGraph.from_factors(cards, factors)
    return tied(graph, [[0] * group.count for group in graph.groups])


def some_states(model: TiedGraph) -> torch.Tensor:
    generator = torch.Generator().manual_seed(2)
    cards = model.structure.cardinalities.tolist()
    return torch.stack([torch.randint(0, k, (5,), generator=generator) for k in cards], 1)


@pytest.mark.parametrize("make", [ising, mixed])
def test_the_gradient_is_that_of_the_loss(make: Any) -> None:
    model = make()
    learner = Query(iterations=4, first_iterations=4, jitter=0, readouts=2)
    batch = {"x": some_states(model)}
    result = learner.batch(model, batch, {}, CONTEXT)
    found = model.weights.grad.clone()
    assert float(found.abs().max()) > 1e-3
    for place in range(len(model.weights)):
        moved = []
        for sign in (1, -1):
            with torch.no_grad():
                model.weights[place] += sign * 1e-6
            moved.append(learner.batch(model, batch, {}, CONTEXT).loss)
            with torch.no_grad():
                model.weights[place] -= sign * 1e-6
        assert (moved[0] - moved[1]) / 2e-6 == pytest.approx(float(found[place]), abs=1e-6)
    assert result.weight >= 1


def test_answers_are_those_of_belief_propagation_with_hard_evidence() -> None:
    model = mixed()
    states, graph = some_states(model), model.graph()
    unknown = torch.tensor([[True, False, True, False, True]]).expand(5, -1)
    (found,) = answered(graph, states, unknown, 6)
    algorithm = BeliefPropagation()
    for row, beliefs in zip(states, found, strict=True):
        hard = graph.evidence({variable: int(row[variable]) for variable in (1, 3)})
        state = algorithm.init(graph, hard)
        for _ in range(6):
            state = algorithm.step(graph, hard, state)
        assert torch.allclose(beliefs, algorithm.beliefs(graph, hard, state), atol=1e-12)
    assert torch.isfinite(observed(graph, states, unknown).log_potentials).all()
    assert log_truth(graph, found, states).shape == states.shape


def test_the_share_of_converged_targets_is_told() -> None:
    """On a chain of six spins messages are at rest after five iterations, and after two they are not."""
    chain = IsingField(grid_edges(1, 6), 6, shape=(1, 6))
    with torch.no_grad():
        chain.weights.fill_(1.0)
    batch = {"x": some_states(chain)}
    shares = []
    for iterations in (1, 2, 7):
        learner = Query(iterations=iterations, first_iterations=iterations, jitter=0, queries="uniform:1")
        shares.append(learner.batch(chain, batch, {}, CONTEXT).scalars.get("converged"))
    assert shares[0] is None
    assert shares[1] is not None
    assert shares[1] < 1
    assert shares[2] == 1


@pytest.mark.parametrize("queries", ["half:left", "unifrom:0.5", "patch:9x9", "mask:nowhere.png"])
def test_queries_that_do_not_fit_are_refused_while_a_run_goes_on(queries: str) -> None:
    """A run with rows of spins, whose person mistypes: it is told, and goes on with the queries that it has."""
    model = IsingField(grid_edges(2, 3), 6)
    data = TrainingData(TensorSource(x=some_states(model)))
    said = iter([[{"do": "change", "values": {"queries": queries}}]])
    trainer = Trainer(model, Query(batch_size=5, epochs=2.0), data, poll=lambda: next(said, []))
    records = list(trainer.run())
    assert any(queries.partition(":")[2] in record.notice for record in records)
    assert trainer.learner.values()["queries"] == Query().queries
    assert trainer.outcome is not None
    assert trainer.outcome.reason == "finished"


def test_forbidden_entries_give_finite_gradients() -> None:
    model = mixed(zeros=0.15)
    Query(iterations=4, readouts=2).batch(model, {"x": some_states(model)}, {}, CONTEXT)
    assert model.weights.grad is not None
    assert torch.isfinite(model.weights.grad).all()


def test_query_training_learns_to_answer(tmp_path: Path) -> None:
    options: dict[str, Any] = {"side": 3, "count": 400, "validation": 60, "test": 60}
    out = tmp_path / "m.safetensors"
    settings = {"iterations": 5, "epochs": 2, "validate_every": 20, "batch_size": 20}
    told: list[dict[str, Any]] = []
    train_command("ising", "query", "ising", out, graph="grid", report=told.append, **settings, **options)
    bits = [record["validation"]["nce_bits"] for record in told if record["validation"]]
    assert min(bits) < 0.85 * told[0]["loss"]
    found = evaluate_model(out, "ising", queries="half:left", **options)
    assert found["queries"] == "half:left"
    assert 0 < found["nce_bits"] < 1
    assert found["nll"] > found["true_nll"] - 0.5


def test_a_graph_file_with_shared_tables_is_trained_by_the_command(tmp_path: Path) -> None:
    write_graph(tmp_path / "g.uai", ising_grid(3, 3))
    out = tmp_path / "m.safetensors"
    options: dict[str, Any] = {"side": 3, "count": 200, "validation": 40, "test": 40}
    train_command(
        "factor-graph", "query", "ising", out, graph=str(tmp_path / "g.uai"), tying="shared", epochs=1, **options
    )
    found = evaluate_model(out, "ising", **options)
    assert found["nce_bits"] < 1.05
    assert found["images"] == 40


def test_what_has_no_queries_is_refused() -> None:
    assert "use the learner likelihood" in (Query().supports(CRBM(4, 4, 2)) or "")
