"""Trainable graphs and exact samples: the same distribution as the graph itself, by enumeration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from mrfstudio.engine.data.dataset import parse_data
from mrfstudio.engine.families.graph.model import FactorGraphField, FieldError, TiedGraph, entries_of, tied
from mrfstudio.engine.families.ising.model import Ising, IsingField
from mrfstudio.engine.files.graphs.graph import write_graph
from mrfstudio.engine.files.model_file import load_model, save_model
from mrfstudio.engine.files.open_model import build_model
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import complete_edges, grid_edges, ising_grid
from mrfstudio.engine.inference.exact.sampling import exact_samples
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training.learner import TensorSource, TrainingData
from tests.engine.helpers.graphs import enumerate_all, ising_factors, random_factors


def random_states(cards: list[int], count: int = 20) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.stack([torch.randint(0, k, (count,), generator=generator) for k in cards], 1)


@pytest.mark.parametrize("zeros", [0.0, 0.15])
def test_free_tables_start_at_the_graph_and_score_like_it(zeros: float) -> None:
    cards, factors = random_factors(3, zeros=zeros)
    graph = FactorGraph.from_factors(cards, factors)
    model, states = tied(graph), random_states(cards)
    assert torch.equal(entries_of(model.graph()), entries_of(graph))
    assert model.scores(states).tolist() == pytest.approx([graph.score(row) for row in states.numpy()])


def test_shared_tables_are_one_for_all_factors_of_a_class_and_their_gradient_is_the_sum() -> None:
    graph = ising_grid(2, 3, seed=4)
    shared = tied(graph, [[0] * graph.groups[0].count], unary="shared")
    assert len(shared.weights) == 4 + 2
    tables = shared.graph().groups[0].tables
    assert torch.allclose(tables, tables[..., :1].expand_as(tables))
    states = random_states([2] * 6)
    free = tied(graph)
    shared.scores(states).sum().backward()
    free.scores(states).sum().backward()
    assert shared.weights.grad is not None
    assert free.weights.grad is not None
    per_cell = free.weights.grad[12:].reshape(4, -1).sum(1)
    assert shared.weights.grad[2:].tolist() == per_cell.tolist()


def test_the_ising_model_has_its_couplings_and_fields() -> None:
    model = IsingField(grid_edges(2, 3), 6)
    with torch.no_grad():
        model.weights.copy_(torch.randn(len(model.weights), generator=torch.Generator().manual_seed(0)))
    states = random_states([2] * 6)
    spins = 2 * states - 1
    pairs = spins[:, model.edges[:, 0]] * spins[:, model.edges[:, 1]]
    expected = (pairs * model.couplings).sum(1) + (spins * model.fields).sum(1)
    assert torch.allclose(model.scores(states), expected)
    same = FactorGraph.ising(model.edges, model.couplings.detach().numpy(), model.fields.detach().numpy())
    assert torch.allclose(entries_of(model.graph()), entries_of(same))
    tied_to_two = IsingField(complete_edges(4), 4, sharing="all")
    assert (len(tied_to_two.weights), len(tied_to_two.couplings), len(tied_to_two.fields)) == (2, 6, 4)


@pytest.mark.parametrize("zeros", [0.0, 0.2])
def test_a_trainable_graph_survives_its_file(tmp_path: Path, zeros: float) -> None:
    cards, factors = random_factors(5, zeros=zeros)
    graph = FactorGraph.from_factors(cards, factors)
    write_graph(tmp_path / "g.uai", graph)
    source = TensorSource(x=random_states(cards))
    plan = FactorGraphField(graph=str(tmp_path / "g.uai"), tying="free", start="file")
    model = plan.build_for(TrainingData(source), 0)
    save_model(tmp_path / "m.safetensors", model.kind, model.tensors(), {"hyperparameters": model.hyperparameters()})
    again = build_model(load_model(tmp_path / "m.safetensors"))
    assert isinstance(again, TiedGraph)
    states = random_states(cards)
    assert torch.equal(again.scores(states), model.scores(states))
    assert again.weights.requires_grad


def test_data_that_do_not_fit_are_refused() -> None:
    model = IsingField(grid_edges(2, 2), 4)
    assert model.states_of(torch.tensor([[-1, 1, 1, -1]])).tolist() == [[0, 1, 1, 0]]
    with pytest.raises(FieldError, match="4 variables"):
        model.states_of(torch.zeros(2, 5))
    with pytest.raises(FieldError, match="value 2 for variable 1"):
        model.states_of(torch.tensor([[0, 2, 0, 0]]))
    with pytest.raises(FieldError, match="do not fill a grid"):
        Ising(graph="grid", columns=3).build_for(TrainingData(TensorSource(x=torch.zeros(2, 4))), 0)
    with pytest.raises(FieldError, match="--graph FILE"):
        FactorGraphField().build_for(TrainingData(TensorSource(x=torch.zeros(2, 4))), 0)


def test_samples_are_exact_and_seeded() -> None:
    cards, factors = random_factors(7, variables=5, factors=7)
    graph = FactorGraph.from_factors(cards, factors)
    truth = enumerate_all(cards, factors)
    states, log_z = exact_samples(graph, 20_000, seed=1)
    assert log_z == pytest.approx(truth.log_z, abs=1e-9)
    counts = np.zeros(cards)
    np.add.at(counts, tuple(states.T), 1 / len(states))
    # The distance of an empirical distribution to its truth is about sqrt(cells / samples).
    assert np.abs(counts - truth.joint).sum() < 1.5 * np.sqrt(truth.joint.size / len(states))
    assert np.array_equal(states, exact_samples(graph, 20_000, seed=1)[0])
    assert not np.array_equal(states, exact_samples(graph, 20_000, seed=2)[0])


def test_samples_of_a_hopeless_graph_are_refused() -> None:
    graph = FactorGraph.ising(complete_edges(60), np.zeros(60 * 59 // 2), np.zeros(60))
    with pytest.raises(StudioError, match="would need"):
        exact_samples(graph, 1, seed=0)


def test_the_drawn_ising_data_know_their_truth() -> None:
    splits = parse_data("ising").open(side=3, count=50, validation=5, test=5)
    x = splits["train"]["x"].astype(np.int64)
    fields, matrix = splits.constants["h"], splits.constants["J"]
    logp = 0.5 * np.einsum("ni,ij,nj->n", x, matrix, x) + x @ fields - splits.constants["logZ"]
    assert np.allclose(logp, splits["train"]["logp"])
    graph = ising_grid(3, 3, coupling=1.0, field=0.1, seed=0)
    assert float(splits.constants["logZ"]) == pytest.approx(enumerate_all(*ising_factors(graph)).log_z)
    assert not np.array_equal(splits["val"]["x"], splits["test"]["x"])
