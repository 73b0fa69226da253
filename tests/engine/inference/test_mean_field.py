"""Mean field: a lower bound, exact without interactions."""

import itertools
import math

import numpy as np
import pytest

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.run import Limits, run
from tests.engine.helpers.graphs import GRAPHS, enumerate_all, random_factors


@pytest.mark.parametrize("zeros", [0.0, 0.15])
@pytest.mark.parametrize("seed", GRAPHS)
def test_mean_field_is_a_lower_bound_that_never_falls(seed: int, zeros: float) -> None:
    cards, factors = random_factors(seed, zeros=zeros)
    truth = enumerate_all(cards, factors)
    if math.isinf(truth.log_z):
        return
    graph = FactorGraph.from_factors(cards, factors)
    given = graph.no_evidence()
    mean_field = MeanField()
    state, bounds = mean_field.init(graph, given), []
    for _ in range(20):
        bounds.append(mean_field.log_partition(graph, given, state).value)
        state = mean_field.step(graph, given, state)
    assert max(bounds) <= truth.log_z + 1e-9
    assert all(later >= earlier - 1e-9 for earlier, later in itertools.pairwise(bounds))
    assert mean_field.log_partition(graph, given, state).kind == "lower_bound"


def test_mean_field_is_exact_without_interactions() -> None:
    rng = np.random.default_rng(0)
    cards = [2, 3, 4]
    factors = [((v,), rng.normal(size=k)) for v, k in enumerate(cards)]
    truth = enumerate_all(cards, factors)
    graph = FactorGraph.from_factors(cards, factors)
    outcome = run(MeanField(), graph, graph.no_evidence())
    assert MeanField().log_partition(graph, graph.no_evidence(), outcome.state).value == pytest.approx(truth.log_z)


def test_mean_field_factor_beliefs_are_products() -> None:
    cards, factors = random_factors(2)
    graph = FactorGraph.from_factors(cards, factors)
    mean_field, given = MeanField(), graph.no_evidence()
    state = run(mean_field, graph, given, Limits(iterations=3)).state
    singles = graph.unpack(mean_field.beliefs(graph, given, state))
    for group, tables in zip(graph.groups, mean_field.factor_beliefs(graph, given, state), strict=True):
        for number, scope in enumerate(group.scopes.T.tolist()):
            product = np.ones(())
            for variable in scope:
                product = np.multiply.outer(product, singles[variable])
            np.testing.assert_allclose(tables[..., number].numpy(), product, atol=1e-12)
