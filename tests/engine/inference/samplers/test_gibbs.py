"""Gibbs sampling against enumeration."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.inference.samplers.diagnostics import looks_at
from mrfstudio.engine.inference.samplers.gibbs import Gibbs, Samples
from tests.engine.helpers.graphs import distance, enumerate_all, random_factors


@pytest.mark.parametrize("sampler", ["gibbs", "metropolis"])
def test_samples_agree_with_enumeration_within_their_error_bars(sampler: str) -> None:
    cards, factors = random_factors(5)
    truth = enumerate_all(cards, factors, {1: 0})
    graph = FactorGraph.from_factors(cards, factors)
    given = graph.evidence({1: 0})
    gibbs = Gibbs(chains=400, burn_in=30, sampler=sampler)
    outcome = run(gibbs, graph, given, Limits(iterations=230, tolerance=0))
    error = gibbs.residual(outcome.state)
    assert 0 < error < 0.01
    assert distance(graph, gibbs.beliefs(graph, given, outcome.state), truth.marginals) < 4 * error


def test_the_same_seed_gives_the_same_samples() -> None:
    graph = ising_grid(3, 3, seed=0)
    one, two, other = Gibbs(seed=1), Gibbs(seed=1), Gibbs(seed=2)
    ends = [
        run(g, graph, graph.no_evidence(), Limits(iterations=5, tolerance=0)).state.chains for g in (one, two, other)
    ]
    assert torch.equal(ends[0], ends[1])
    assert not torch.equal(ends[0], ends[2])


def test_chains_leave_an_impossible_start() -> None:
    parity = np.where(np.indices((2, 2, 2)).sum(0) % 2 == 0, 0.0, -np.inf)
    graph = FactorGraph.from_factors([2] * 5, [((0, 1, 2), parity), ((2, 3, 4), parity)])
    gibbs = Gibbs(chains=200, burn_in=20)
    state = run(gibbs, graph, graph.no_evidence(), Limits(iterations=30, tolerance=0)).state
    assert all(math.isfinite(graph.score(chain.tolist())) for chain in state.chains)


def test_stopping_does_not_bias_the_estimate() -> None:
    """A run that waits until a rare state was seen must not find it too often: the mean over seeds is the truth."""
    rare = 1e-3
    graph = FactorGraph.from_factors([2], [((0,), np.log([1 - rare, rare]))])
    found, ends = [], []
    for seed in range(150):
        gibbs = Gibbs(chains=16, burn_in=1, seed=seed)
        outcome = run(gibbs, graph, graph.no_evidence(), Limits(iterations=1000, tolerance=0.02))
        found.append(float(gibbs.beliefs(graph, graph.no_evidence(), outcome.state)[1]))
        ends.append(outcome.converged)
    assert sum(ends) > 140
    error = float(np.std(found) / len(found) ** 0.5)
    assert abs(np.mean(found) - rare) < 3 * error


def test_chains_that_decide_do_not_answer_and_those_that_answer_do_not_decide() -> None:
    graph = ising_grid(3, 3, seed=0)
    given = graph.no_evidence()
    gibbs = Gibbs(chains=8, burn_in=0)
    look = next(sweep for sweep in range(60, 100) if looks_at(sweep))
    state = run(gibbs, graph, given, Limits(iterations=look - 1, tolerance=0)).state
    assert isinstance(state, Samples)
    first = torch.arange(8)[:, None] < 4
    judged = replace(state, counts=torch.where(first, state.counts.flip(1), state.counts))
    answered = replace(state, counts=torch.where(first, state.counts, state.counts.flip(1)))
    assert torch.equal(gibbs.beliefs(graph, given, judged), gibbs.beliefs(graph, given, state))
    assert not torch.equal(gibbs.beliefs(graph, given, answered), gibbs.beliefs(graph, given, state))
    for changed, same in ((answered, True), (judged, False)):
        ends = [gibbs.step(graph, given, each) for each in (state, changed)]
        assert torch.equal(ends[0].residual, ends[1].residual) is same


def test_fewer_than_four_chains_say_that_they_cannot_tell() -> None:
    graph = ising_grid(2, 2, seed=0)
    for chains in (2, 3):
        outcome = run(Gibbs(chains=chains), graph, graph.no_evidence(), Limits(iterations=900, tolerance=0.9))
        assert not outcome.converged
        assert any("four chains" in notice or "disagree" in notice for notice in outcome.notices)
