"""Which states can be."""

import math

import numpy as np
import pytest

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.possible import possible_states
from tests.engine.helpers.graphs import GRAPHS, enumerate_all, random_factors, random_tree


@pytest.mark.parametrize("seed", GRAPHS)
def test_possible_states_are_those_of_some_probability_on_trees_and_include_them_on_others(seed: int) -> None:
    for (cards, factors), is_tree in ((random_tree(seed, zeros=0.4), True), (random_factors(seed, zeros=0.2), False)):
        graph = FactorGraph.from_factors(cards, factors)
        truth = enumerate_all(cards, factors)
        alive = graph.unpack(possible_states(graph, graph.unary).double())
        for vector, marginal in zip(alive, truth.marginals, strict=True):
            some = np.zeros(len(vector), bool) if math.isinf(truth.log_z) else marginal > 0
            assert (vector > 0)[some].all()
            if is_tree:
                assert (vector > 0).tolist() == some.tolist()
