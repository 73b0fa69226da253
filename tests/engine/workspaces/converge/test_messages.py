"""Messages of factors of any order: both directions, changes and swings, whatever kernel made them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mrfstudio.engine.convergence.frustration import frustrated_factors
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.links import links_of, scope_of, table_of
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.messages.alpha_bp import AlphaBP
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.messages.tree_reweighted import TreeReweighted
from mrfstudio.engine.protocol.commands import SetLimits
from mrfstudio.engine.protocol.requests.converge import FindFrustrated, FindSwings, OpenGraph
from mrfstudio.engine.session.document import Document
from mrfstudio.engine.session.lanes import make_algorithm
from mrfstudio.engine.workspaces.converge.messages import factor_messages, likeliest, message_change, owners
from mrfstudio.engine.workspaces.studio import Studio
from mrfstudio.engine.workspaces.workspace import LaneView
from tests.engine.helpers.graphs import random_factors
from tests.engine.helpers.sessions import run


def view_of(graph: FactorGraph, algorithm: Algorithm, steps: int = 3) -> LaneView:
    evidence = graph.no_evidence()
    before = state = algorithm.init(graph, evidence)
    for _ in range(steps):
        before, state = state, algorithm.step(graph, evidence, state)
    nothing: Document = Document({})
    return LaneView(nothing, graph, algorithm, evidence, state, before)


@pytest.mark.parametrize("seed", range(4))
def test_the_next_message_of_a_factor_is_its_table_times_what_its_variables_say(seed: int) -> None:
    cards, factors = random_factors(seed, order=4)
    graph = FactorGraph.from_factors(cards, factors)
    algorithm = BeliefPropagation()
    now = view_of(graph, algorithm)
    following = view_of(graph, algorithm, 4)
    for factor in range(links_of(graph).factors):
        _, said = factor_messages(now, factor) or ((), ())
        to, _ = factor_messages(following, factor) or ((), ())
        joint = np.exp(table_of(graph, factor))
        order = len(scope_of(graph, factor))
        for axis in range(order):
            weights = [said[other].reshape([-1 if a == other else 1 for a in range(order)]) for other in range(order)]
            product = joint
            for other in range(order):
                product = product * weights[other] if other != axis else product
            expected = product.sum(tuple(other for other in range(order) if other != axis))
            np.testing.assert_allclose(to[axis], expected / expected.sum(), atol=1e-6)


@pytest.mark.parametrize("algorithm", [AlphaBP(alpha=0.6), TreeReweighted(), BeliefPropagation(kernel="generic")])
def test_what_a_variable_says_times_what_it_hears_is_its_belief(algorithm: Algorithm) -> None:
    """b ∝ cavity · m^own: own is α in α-BP and 1 in the others, whose other messages have powers of their own."""
    graph = FactorGraph.ising([(0, 1), (1, 2), (2, 0)], [0.8, -0.5, 0.3], [0.1, 0.2, -0.4])
    view = view_of(graph, algorithm)
    to, back = factor_messages(view, 0) or ((), ())
    own = algorithm.alpha if isinstance(algorithm, AlphaBP) else 1.0
    belief = back[0] * to[0] ** own
    assert np.allclose(belief / belief.sum(), graph.unpack(view.beliefs)[scope_of(graph, 0)[0]], atol=1e-6)


def test_log_ratios_and_log_messages_are_read_alike() -> None:
    graph = FactorGraph.ising([(0, 1), (1, 2), (2, 0)], [0.8, -0.5, 0.3], [0.1, 0.2, -0.4])
    fast, plain = view_of(graph, BeliefPropagation()), view_of(graph, BeliefPropagation(kernel="generic"))
    assert type(fast.state) is not type(plain.state)
    for factor, side in itertools.product(range(3), (0, 1)):
        mine, theirs = (factor_messages(each, factor) for each in (fast, plain))
        assert mine is not None
        assert theirs is not None
        np.testing.assert_allclose(np.stack(mine[side]), np.stack(theirs[side]), atol=1e-6)
    said, expected = likeliest(graph, fast.state), likeliest(graph, plain.state)
    np.testing.assert_allclose(said, expected, atol=1e-6)  # type: ignore[arg-type]


def test_changes_and_owners_are_counted_link_by_link() -> None:
    cards, factors = random_factors(3, order=4)
    graph = FactorGraph.from_factors(cards, factors)
    view = view_of(graph, BeliefPropagation())
    change = message_change(graph, view.state, view.previous)
    assert change is not None
    links = np.concatenate([change[0].ravel(), change[1]])
    flat = (view.state.messages.exp() - view.previous.messages.exp()).abs()  # type: ignore[attr-defined,union-attr]
    largest = np.zeros(len(links))
    np.maximum.at(largest, owners(graph), flat.numpy())
    np.testing.assert_allclose(links, largest, atol=1e-6)


def triples() -> FactorGraph:
    """Strong random factors of three variables with three states each: BP does not settle on these."""
    rng = np.random.default_rng(3)
    scopes = [tuple(int(v) for v in rng.choice(8, 3, replace=False)) for _ in range(14)]
    return FactorGraph.from_factors([3] * 8, [(scope, 4 * rng.normal(size=(3, 3, 3))) for scope in scopes])


def test_messages_of_triples_are_counted_where_they_swing() -> None:
    studio = Studio({})
    graph = triples()
    studio.answer("graph", OpenGraph(graph, "triples"))
    session = studio.session("graph")
    session.apply(SetLimits(60, 1e-6))
    run(session)
    assert session.point.lanes[0].status == "iteration limit"
    swings = studio.answer("graph", FindSwings(0)).work()
    assert len(swings.period) == 3 * graph.factors
    assert swings.count == np.count_nonzero(swings.period) > 0
    # α-BP cannot work on triples: damped BP, and what `auto` would pick.
    assert [tip.algorithm for tip in swings.tips] == ["bp", "auto"]
    assert all(make_algorithm(tip.algorithm, dict(tip.parameters)).supports(graph) is None for tip in swings.tips)


def test_a_triangle_with_one_negative_edge_is_frustrated_and_a_tree_is_not() -> None:
    graph = FactorGraph.ising([(0, 1), (1, 2), (2, 0), (2, 3)], [1.0, 1.0, -1.0, -1.0], np.zeros(4))
    assert frustrated_factors(graph).factors.tolist() == [0, 1, 2]
    balanced = FactorGraph.ising([(0, 1), (1, 2), (2, 0), (2, 3)], [1.0, -1.0, -1.0, -1.0], np.zeros(4))
    found = frustrated_factors(balanced)
    assert not len(found.factors)
    assert found.text.startswith("No cycle is frustrated")
    studio = Studio({})
    studio.answer("graph", OpenGraph(graph, "square"))
    assert studio.answer("graph", FindFrustrated(0)).work().factors.tolist() == [0, 1, 2]
