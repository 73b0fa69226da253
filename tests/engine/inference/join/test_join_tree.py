"""Join trees that keep no messages: exact, in little memory, and refused where that is not enough."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from mrfstudio.bench.adversary.graphs import random_case
from mrfstudio.bench.adversary.judge import Setting, findings
from mrfstudio.bench.adversary.oracle import enumerated
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.algorithm import Unsupported
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.join import clusters, nests, solved, sums, walk
from mrfstudio.engine.inference.join.clusters import chained
from mrfstudio.engine.inference.join.join_tree import JoinTree, tree_of
from mrfstudio.engine.inference.join.solved import SolvedTree
from mrfstudio.engine.inference.join.walk import Walk
from mrfstudio.engine.inference.run import run
from mrfstudio.engine.runtime.interruption import Interrupted, interruptible
from tests.engine.helpers.graphs import GRAPHS, enumerate_all, random_factors

SPINS = np.array([[1.0, -1.0], [-1.0, 1.0]])


@pytest.fixture(params=["as it is", "everything is large"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with limits so low that small graphs take the ways of large ones."""
    if request.param == "as it is":
        return
    for module in (nests, solved, sums):
        monkeypatch.setattr(module, "LEAST", 4)
    monkeypatch.setattr(nests, "SHORTEST", 2)
    monkeypatch.setattr(nests, "CALL", 1.0)
    monkeypatch.setattr(clusters, "CHAINED", 1.0)
    monkeypatch.setattr(walk, "LITTLE", 16)
    monkeypatch.setattr(walk, "SMALL", 2)
    monkeypatch.setattr(solved, "AGAIN", 2)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("seed", GRAPHS)
@pytest.mark.parametrize(("zeros", "strength"), [(0.0, 1.0), (0.25, 1.0), (0.25, 300.0), (0.0, 900.0)])
def test_random_graphs_are_those_of_enumeration(seed: int, zeros: float, strength: float) -> None:
    cards, factors = random_factors(seed, zeros=zeros, strength=strength)
    evidence = {0: 0} if seed % 3 == 0 else {}
    truth = enumerate_all(cards, factors, evidence)
    graph = FactorGraph.from_factors(cards, factors)
    given, chosen = graph.evidence(evidence), JoinTree()
    if math.isinf(truth.log_z):
        with pytest.raises(ContradictoryEvidence):
            run(chosen, graph, given)
        return
    outcome = run(chosen, graph, given)
    assert outcome.converged
    assert outcome.state.iteration == 1
    for found, right in zip(graph.unpack(chosen.beliefs(graph, given, outcome.state)), truth.marginals, strict=True):
        np.testing.assert_allclose(found, right, atol=1e-8)
    log_z = chosen.log_partition(graph, given, outcome.state)
    assert (log_z.value, log_z.kind) == (pytest.approx(truth.log_z, rel=1e-9, abs=1e-8), "exact")
    for group, beliefs in zip(graph.groups, chosen.factor_beliefs(graph, given, outcome.state), strict=True):
        for place, scope in enumerate(group.scopes.t().tolist()):
            np.testing.assert_allclose(beliefs[..., place], truth.over(tuple(scope)), atol=1e-8)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("seed", range(30))
def test_adversarial_graphs_are_those_of_enumeration(seed: int) -> None:
    case = random_case(870_000 + seed)
    assert findings(case, enumerated(case), Setting("join-tree", {})) == []


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_grid_is_exact_on_any_number_of_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    graph = ising_grid(13, 14, coupling=0.8, field=0.3, seed=2)
    given, chosen = graph.evidence({3: 1}), JoinTree()
    state, right = run(chosen, graph, given).state, run(Exact(), graph, given).state
    torch.testing.assert_close(
        chosen.beliefs(graph, given, state), Exact().beliefs(graph, given, right), atol=1e-10, rtol=0
    )
    assert chosen.log_partition(graph, given, state).value == pytest.approx(
        Exact().log_partition(graph, given, right).value
    )


@pytest.mark.usefixtures("sizes")
def test_spins_that_are_all_bound_to_each_other_are_exact() -> None:
    draw = np.random.default_rng(1)
    pairs = [(pair, draw.normal(0, 0.4) * SPINS) for pair in itertools.combinations(range(16), 2)]
    graph = FactorGraph.from_factors([2] * 16, [*pairs, *(((v,), draw.normal(size=2)) for v in range(16))])
    given, chosen = graph.no_evidence(), JoinTree()
    state, right = run(chosen, graph, given).state, run(Exact(), graph, given).state
    torch.testing.assert_close(
        chosen.beliefs(graph, given, state), Exact().beliefs(graph, given, right), atol=1e-10, rtol=0
    )
    for mine, theirs in zip(
        chosen.factor_beliefs(graph, given, state), Exact().factor_beliefs(graph, given, right), strict=True
    ):
        torch.testing.assert_close(mine, theirs, atol=1e-10, rtol=0)


def star(side: int) -> FactorGraph:
    """Every variable of one side with every variable of the other: messages over one whole side meet."""
    draw = np.random.default_rng(side)
    pairs = [((a, side + b), draw.normal(0, 0.3) * SPINS) for a in range(side) for b in range(side)]
    return FactorGraph.from_factors([2] * (2 * side), pairs)


def test_large_messages_that_would_meet_are_sent_on_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = star(8)
    given = graph.no_evidence()
    apart = tree_of(graph, given, 0, 1.0)
    assert max(len(children) for children in apart.way.children) > 4
    monkeypatch.setattr(clusters, "CHAINED", 4.0)
    sent_on = chained(apart.problem, apart.clusters)
    takers = [other for _, other, _ in sent_on.edges]
    assert max(takers.count(other) for other in takers) == 1
    assert len(sent_on.edges) == len(apart.clusters.edges)
    for one, other, shared in sent_on.edges:  # still a tree that has what it shares at both ends
        assert one < other
        assert set(shared) <= set(sent_on.scopes[one]) & set(sent_on.scopes[other])


def test_messages_in_a_row_are_kept_at_some_places_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    count, size = 400, 10_000
    row = Walk([*range(1, count), -1], [size] * count)
    assert row.peak(row.stay) == count * size + size  # all stay, and one is heard back at a time
    monkeypatch.setattr(walk, "LITTLE", 16 * size)
    sparing = Walk([*range(1, count), -1], [size] * count)
    assert sparing.peak(sparing.stay) <= 3 * math.isqrt(count) * size


def test_every_message_is_made_at_most_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "LITTLE", 2**10)
    monkeypatch.setattr(walk, "SMALL", 2)
    graph = ising_grid(9, 9, seed=1)
    tree = tree_of(graph, graph.no_evidence(), 0, 1.0)
    assert len(tree.way.stay) < len(tree.way.order)
    made: list[int] = []
    held: list[int] = []

    class Listening(SolvedTree):
        def collect(self, cluster: int, *, first: bool) -> None:
            made.append(cluster)
            super().collect(cluster, first=first)
            held.append(sum(tree.way.sizes[each] for each in (*self.up, *self.down)))

    found = Listening(tree)
    assert sorted(set(made)) == sorted(tree.way.order)
    assert {cluster for cluster in made if made.count(cluster) > 1} <= set(tree.way.order) - tree.way.stay
    assert max(map(made.count, made)) == 2
    assert max(held) <= tree.way.peak(tree.way.stay) < sum(tree.way.sizes)
    assert not found.up
    assert not found.down


def test_a_tree_that_needs_more_memory_than_allowed_is_refused() -> None:
    graph = ising_grid(20, 20, seed=1)
    with pytest.raises(Unsupported, match=r"needs .* and 0.001 GB are allowed"):
        run(JoinTree(gigabytes=0.001), graph, graph.no_evidence())
    wide = ising_grid(70, 70, seed=1)
    with pytest.raises(Unsupported, match="use auto"):
        run(JoinTree(effort=0.1), wide, wide.no_evidence())


def test_solving_can_be_interrupted() -> None:
    graph = ising_grid(10, 10, seed=1)
    given, chosen = graph.no_evidence(), JoinTree()
    tree_of(graph, given, chosen.seed, chosen.effort)
    begun, looks = chosen.init(graph, given), itertools.count()
    with interruptible(lambda: next(looks) > 50), pytest.raises(Interrupted):
        chosen.step(graph, given, begun)
    assert chosen.decides(chosen.step(graph, given, begun))
