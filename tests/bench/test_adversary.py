"""A few seconds of the search for wrong answers, and that it would find some."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from mrfstudio.bench.adversary import run
from mrfstudio.bench.adversary.graphs import random_case
from mrfstudio.bench.adversary.judge import Setting, findings, settings
from mrfstudio.bench.adversary.oracle import enumerated
from mrfstudio.engine.inference.algorithm import LogPartition
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.join.auto import Auto
from mrfstudio.engine.inference.mean_field import MeanFieldOnGraph
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.registry import ALGORITHMS

FOUND: list[tuple[int, Setting]] = [
    (100130, Setting("exact", {})),  # log Z of 2307 added up in 32 bits
    (100170, Setting("exact", {})),
    (210147, Setting("join-graph", {"bits": 4.0, "damping": 0.5})),  # a damped sweep of a tree is not its answer
    (210053, Setting("join-graph", {"bits": 4.0, "damping": 0.5})),  # … nor is its log Z
    (220007, Setting("join-graph", {"bits": 4.0, "damping": 0.5})),  # saturated messages that still move
    (220025, Setting("join-graph", {"bits": 4.0, "damping": 0.5})),
    (210219, Setting("join-graph", {"bits": 4.0, "damping": 0.5})),  # a contradiction on a loop of clusters
    (1003408, Setting("alpha-bp", {"alpha": 0.2})),  # beliefs of factors beside messages that ran off
    (31000824, Setting("bp", {"kernel": "generic"})),  # messages too faint for 64 bits, taken for impossible ones
]
"""Cases in which something was found on the way, by seed and setting."""


def test_nothing_is_found_in_a_few_seconds() -> None:
    report = run(minutes=60.0, first=1_000_000, most=25)
    values = {row.what: row.value for row in report.rows}
    assert values["graphs"] == 25
    assert values["answers"] >= 100
    assert values["findings"] == 0


@pytest.mark.parametrize(("seed", "setting"), FOUND)
def test_what_was_found_once_is_found_no_more(seed: int, setting: Setting) -> None:
    case = random_case(seed)
    assert findings(case, enumerated(case), setting) == []


def test_every_registered_algorithm_gets_its_turn() -> None:
    assert {setting.name for setting in settings()} == {cls.name for cls in ALGORITHMS}


def test_cases_are_of_every_kind() -> None:
    cases = [random_case(seed) for seed in range(300)]
    tables = [table for case in cases for scope, table in case.factors if len(scope) > 1]
    assert {case.bits for case in cases} == {32, 64}
    assert {len(scope) for case in cases for scope, _ in case.factors} >= {0, 1, 2, 3, 4}
    assert {states for case in cases for states in case.cardinalities} >= {1, 2, 3, 4}
    assert any(np.isneginf(table).any() for table in tables)
    assert any(table.max() > 900 for table in tables)
    assert any(case.is_tree for case in cases)
    truths = [enumerated(case) for case in cases[:100]]
    assert 3 < sum(not truth.possible for truth in truths) < 50


def test_enumeration_is_that_of_the_score_of_every_assignment() -> None:
    for seed in range(20):
        case = random_case(seed)
        truth, graph = enumerated(case), case.graph().to(dtype=torch.float64)
        if not truth.possible:
            continue
        index = np.unravel_index(int(truth.scores.argmax()), truth.scores.shape)
        assert truth.best == pytest.approx(graph.score(index, case.given(graph)), rel=1e-6)
        assert math.fsum(truth.marginals[0]) == pytest.approx(1)


def test_it_would_see_wrong_marginals_bounds_contradictions_and_fixed_points(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = next(s for s in range(100) if enumerated(random_case(s)).possible and random_case(s).kind == "complete")
    case, truth = random_case(seed), enumerated(random_case(seed))
    exact, mean_field, bp = Setting("exact", {}), Setting("mean-field", {}), Setting("bp", {"kernel": "generic"})
    for setting in (exact, mean_field, bp):
        assert findings(case, truth, setting) == []
    with monkeypatch.context() as patch:
        patch.setattr(Exact, "beliefs", lambda *rest: case.graph().packing.softmax(case.graph().unary))
        assert any("wrong by" in fault for fault in findings(case, truth, exact))
    with monkeypatch.context() as patch:
        patch.setattr(MeanFieldOnGraph, "log_partition", lambda *rest: LogPartition(truth.log_z + 1e4, "lower_bound"))
        assert any("above log Z" in fault for fault in findings(case, truth, mean_field))
    with monkeypatch.context() as patch:
        patch.setattr(BeliefPropagation, "residual", lambda *rest: 0.0)
        patch.setattr(BeliefPropagation, "doubt", lambda *rest: None)
        assert any("converged, and" in fault for fault in findings(case, truth, bp))
    with monkeypatch.context() as patch:
        patch.setattr(Auto, "beliefs", lambda *rest: case.graph().packing.softmax(case.graph().unary))
        assert any("wrong by" in fault for fault in findings(case, truth, Setting("auto", {})))
    impossible = next(s for s in range(200) if not enumerated(random_case(s)).possible)
    other = random_case(impossible)
    assert findings(other, enumerated(other), exact) == []
    assert findings(other, truth, exact) == ["says contradictory, and is not"]
