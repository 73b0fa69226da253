"""Networks for peers: each form in which a peer gets one is the same distribution as the studio's graph."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pytest

from mrfstudio import bench


@pytest.fixture
def networks() -> Any:
    assert bench.peers()
    return sys.modules["networks"]


def small() -> dict[str, Any]:
    """Variables of 2, 3, 2 and 3 states; the last one is in no factor."""
    draw = np.random.default_rng(3)
    local = draw.normal(size=(4, 3))
    local[[0, 2], 2] = 0.0
    return {
        "cards": np.array([2, 3, 2, 3]),
        "orders": np.array([2, 3, 2]),
        "scopes": np.array([1, 0, 0, 1, 2, 2, 1]),
        "tables": draw.normal(size=6 + 12 + 6),
        "local": local,
    }


def scores(factors: list[tuple[tuple[int, ...], np.ndarray]]) -> np.ndarray:
    """The sum of log-tables for each assignment of `small`, (36,)."""
    states = itertools.product(*map(range, small()["cards"]))
    return np.array([sum(table[tuple(x[v] for v in scope)] for scope, table in factors) for x in states])


def test_absorbed_fields_say_the_same(networks: Any) -> None:
    inputs = small()
    graph = networks.graph_of(inputs)
    states = itertools.product(*map(range, inputs["cards"]))
    expected = np.array([float(graph.score(x)) for x in states])
    found = networks.absorbed(inputs)
    assert [scope for scope, _ in found] == [(1, 0), (0, 1, 2), (2, 1), (3,)]
    np.testing.assert_allclose(scores(found), expected, atol=1e-5)


def test_factors_by_shape_are_all_of_them(networks: Any) -> None:
    inputs = small()
    found = networks.by_shape(inputs)
    assert {shape: [scope for scope, _ in members] for shape, members in found.items()} == {
        (3, 2): [(1, 0)],
        (2, 3, 2): [(0, 1, 2)],
        (2, 3): [(2, 1)],
    }
    together = [member for members in found.values() for member in members]
    np.testing.assert_allclose(scores(together), scores(networks.factors(inputs)))
