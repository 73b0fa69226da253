"""A text under a chain: the graph's beliefs are the chain's posteriors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.families.chain.model import Chain, ChainError, ChainPlan
from mrfstudio.engine.families.chain.typed import typed
from mrfstudio.engine.families.lattices import LATTICES
from mrfstudio.engine.files.open_model import open_fitting
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.training.learner import TensorSource, TrainingData
from mrfstudio.engine.workspaces.converge.neighbours import neighbour_beliefs
from mrfstudio.engine.workspaces.workspace import LaneView


def shipped(name: str) -> Chain:
    model = open_fitting(name, LATTICES)
    assert isinstance(model, Chain)
    return model


@pytest.mark.parametrize("name", ["letters", "letters-3"])
def test_the_lattice_says_what_the_recursion_says(name: str) -> None:
    model = shipped(name)
    found = typed(model, "the end")
    graph, nothing = found.graph, found.graph.no_evidence()
    state = run(Exact(), graph, nothing, Limits(iterations=1)).state
    beliefs = np.stack(graph.unpack(Exact().beliefs(graph, nothing, state)))
    with torch.no_grad():
        emissions = model.emissions(torch.tensor([model.encoded("the end")]))
    assert np.allclose(beliefs, model.posteriors(emissions, torch.tensor([7]))[0].numpy(), atol=1e-9)
    assert "".join(found.columns) == "the end"


def test_steps_between_columns_are_beliefs_of_pairs() -> None:
    found = typed(shipped("letters"), "ab cd")
    graph, algorithm = found.graph, BeliefPropagation()
    nothing = graph.no_evidence()
    state = run(algorithm, graph, nothing, Limits(iterations=30, tolerance=1e-12)).state
    steps = neighbour_beliefs(LaneView(None, graph, algorithm, nothing, state))  # type: ignore[arg-type]
    marginals = np.stack(graph.unpack(algorithm.beliefs(graph, nothing, state)))
    assert steps.shape == (4, 6, 6)
    assert np.allclose(steps.sum(2), marginals[:-1], atol=1e-5)
    assert np.allclose(steps.sum(1), marginals[1:], atol=1e-5)


def test_steps_of_a_directed_chain_of_third_order_are_sums_over_its_factors() -> None:
    data = TrainingData(TensorSource(x=torch.tensor([[0, 1, 2, 0, 1]])), constants={"symbols": list("abc")})
    model = ChainPlan(states=2, order=3, start="noise", start_noise=3.0).build_for(data, 0)
    graph, algorithm = typed(model, "abcab").graph, Exact()
    nothing = graph.no_evidence()
    state = run(algorithm, graph, nothing, Limits(iterations=1)).state
    steps = neighbour_beliefs(LaneView(None, graph, algorithm, nothing, state))  # type: ignore[arg-type]
    marginals = np.stack(graph.unpack(algorithm.beliefs(graph, nothing, state)))
    assert np.allclose(steps.sum(2), marginals[:-1], atol=1e-5)
    assert np.allclose(steps.sum(1), marginals[1:], atol=1e-5)


def test_nothing_typed_is_refused() -> None:
    with pytest.raises(ChainError, match="type a few letters"):
        typed(shipped("letters"), "")


def test_what_a_chain_does_not_know_is_told_and_columns_stay_those_of_the_text() -> None:
    model = shipped("letters")
    assert typed(model, "The cat").remark == ""
    found = typed(model, "café İ日本")  # a capital that has two letters when small
    assert found.graph.variables == len(found.columns) == 8
    assert found.remark == "This model does not know é İ 日 本: what it does not know is read as a space."
    assert model.encoded("é") == model.encoded(" ")
    assert "1 2 3 4 5 and 2 more:" in typed(model, "1234567").remark


@pytest.mark.parametrize(("symbols", "read"), [(["?", "cat"], "a rare word"), (["dog", "cat"], "left open")])
def test_words_that_a_chain_does_not_know_are_told(symbols: list[str], read: str) -> None:
    data = TrainingData(
        TensorSource(x=torch.tensor([[0, 1, 0, 0, 1]])), constants={"symbols": symbols, "unit": "words"}
    )
    model = ChainPlan(states=2, start="noise").build_for(data, 0)
    assert typed(model, "Cat cat").remark == ""
    found = typed(model, "cat mouse ?")
    assert found.columns == ("cat", "mouse", "?")
    assert found.remark.startswith("This model does not know mouse ?: ")
    assert read in found.remark
