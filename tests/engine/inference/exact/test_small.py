"""Small graphs are contracted in numpy: against enumeration, and left to others where numbers could vanish."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.exact import contraction
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.exact.paths import quick_path
from mrfstudio.engine.inference.exact.planning import plan_of
from mrfstudio.engine.inference.exact.small import LETTERS, contracted_small
from mrfstudio.engine.inference.run import run
from tests.engine.helpers.graphs import GRAPHS, enumerate_all, random_factors


@pytest.mark.parametrize("seed", GRAPHS)
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_small_graphs_have_the_marginals_of_enumeration(seed: int, zeros: float) -> None:
    cards, factors = random_factors(seed, zeros=zeros)
    cards = [*cards, 3]  # a variable without factors
    evidence = {0: 0} if seed % 2 else {}
    truth = enumerate_all(cards, factors, evidence)
    graph = FactorGraph.from_factors(cards, factors)
    if math.isinf(truth.log_z):
        with pytest.raises(ContradictoryEvidence):
            run(Exact(), graph, graph.evidence(evidence))
        return
    local = graph.local_potentials(graph.evidence(evidence))
    found = contraction._small(graph, local, [group.tables for group in graph.groups])
    assert found is not None
    assert float(found.log_z) + graph.constant == pytest.approx(truth.log_z, abs=1e-9)
    for mine, right in zip(graph.unpack(found.gradients[0]), truth.marginals, strict=True):
        np.testing.assert_allclose(mine, right, atol=1e-12)
    for group, joint in zip(graph.groups, found.gradients[1:], strict=True):
        for number, scope in enumerate(group.scopes.T.tolist()):
            np.testing.assert_allclose(joint[..., number].numpy(), truth.over(tuple(scope)), atol=1e-12)


def test_graphs_with_more_variables_than_letters_are_the_same() -> None:
    """Variables are numbered anew from there."""
    cards, factors = random_factors(1)
    graph = FactorGraph.from_factors(cards, factors)
    plan = plan_of(graph)
    tables = [np.exp(group.tables[..., n].numpy()) for group in graph.groups for n in range(group.count)]
    assert [table.ndim for table in tables] == list(map(len, plan.scopes))

    def moved(scope: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(LETTERS + v for v in scope)

    steps = [(chosen, moved(kept)) for chosen, kept in plan.steps]
    log_z, found = contracted_small(tables, list(map(moved, plan.scopes)), steps)
    expected, others = contracted_small(tables, plan.scopes, plan.steps)
    assert log_z == pytest.approx(expected, abs=1e-12)
    for mine, right in zip(found, others, strict=True):
        np.testing.assert_allclose(mine, right, atol=1e-14)


def test_a_table_that_forbids_everything_is_left_to_others() -> None:
    graph = FactorGraph.from_factors([2, 2], [((0, 1), np.full((2, 2), -np.inf))])
    assert contraction._small(graph, graph.unary, [group.tables for group in graph.groups]) is None


def test_tables_that_could_vanish_are_left_to_others() -> None:
    strong = [((0, 1), np.array([[0.0, -400.0], [-400.0, 0.0]])), ((1, 2), np.array([[-400.0, 0.0], [0.0, -400.0]]))]
    graph = FactorGraph.from_factors([2, 2, 2], strong)
    assert contraction._small(graph, graph.unary, [group.tables for group in graph.groups]) is None


def test_a_path_multiplies_until_only_numbers_are_left() -> None:
    scopes = [(0, 1), (1, 2), (2, 0), (3,), (4, 5)]
    left = [frozenset(scope) for scope in scopes]
    for step in quick_path(scopes, dict.fromkeys(range(6), 2)):
        joined = frozenset().union(*(left[place] for place in step.chosen))
        left = [scope for place, scope in enumerate(left) if place not in step.chosen]
        left.append(frozenset(v for v in joined if any(v in scope for scope in left)))
        assert (step.joined, step.kept) == (joined, left[-1])
    assert not any(left)


def test_a_path_takes_the_variable_with_the_smallest_table_first() -> None:
    """Every table on the way is within that of the variable whose turn it is when one looks at all of them anew."""
    draw = np.random.default_rng(0)
    for _ in range(20):
        scopes = [tuple(draw.choice(12, 3, replace=False).tolist()) for _ in range(14)]
        sizes = {v: int(draw.integers(2, 5)) for v in range(12)}
        left = [frozenset(scope) for scope in scopes]

        def table(v: int, left: list[frozenset[int]], sizes: dict[int, int] = sizes) -> int:
            return math.prod(sizes[u] for u in frozenset().union(*(scope for scope in left if v in scope)))

        path, waiting = [step.chosen for step in quick_path(scopes, sizes)], set(sizes)
        while waiting:
            turn = min(waiting, key=lambda v: (table(v, left), v))
            waiting.remove(turn)
            least = table(turn, left)
            while sum(turn in scope for scope in left) > 1 or (path and len(path[0]) == 1):
                chosen = path.pop(0)
                joined = frozenset().union(*(left[place] for place in chosen))
                assert turn in joined
                assert math.prod(sizes[v] for v in joined) <= least
                left = [scope for place, scope in enumerate(left) if place not in chosen]
                left.append(frozenset(v for v in joined if any(v in scope for scope in left)))
        assert not path
