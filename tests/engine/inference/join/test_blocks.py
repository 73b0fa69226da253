"""Sums block by block are those of the joint table, whatever the plan, on one thread and on several."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mrfstudio.engine.inference.join import blocks, nests
from mrfstudio.engine.inference.join.blocks import ends_of, total_of
from mrfstudio.engine.inference.join.nests import Nest, nest
from mrfstudio.engine.inference.join.tables import Axes, Floats
from mrfstudio.engine.runtime.interruption import Interrupted, interruptible


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of tests are small: blocks must be so too."""
    monkeypatch.setattr(nests, "LEAST", 1)
    monkeypatch.setattr(nests, "SHORTEST", 2)
    monkeypatch.setattr(nests, "CALL", 1.0)


def drawn(draw: np.random.Generator) -> tuple[Axes, list[int], int, list[Floats]]:
    """Up to eight axes of two or three states, up to five tables with zeros, and what is kept."""
    axes = Axes(tuple(int(size) for size in draw.integers(2, 4, int(draw.integers(3, 9)))))
    whole = (1 << len(axes.shape)) - 1
    masks = [int(draw.integers(0, whole + 1)) for _ in range(int(draw.integers(1, 6)))]
    masks[0] = whole & ~(1 << int(draw.integers(len(axes.shape))))
    tables = [draw.random(axes.laid(mask)) * (draw.random(axes.laid(mask)) > 0.3) for mask in masks]
    return axes, masks, int(draw.integers(0, whole + 1)), tables


@pytest.mark.parametrize("seed", range(60))
def test_random_sums_are_those_of_the_joint_table(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(seed)
    monkeypatch.setattr(nests, "BLOCK", int(draw.choice([4, 8, 32])))
    monkeypatch.setattr(nests, "LAID", int(draw.choice([4, 64, 10**6])))
    monkeypatch.setattr(nests, "SHARE", int(draw.choice([1, 16, 1000])))
    planned = 0
    for _ in range(20):
        axes, masks, kept, tables = drawn(draw)
        plan = nest(axes, masks, kept)
        if plan is None:
            continue
        planned += 1
        joint = np.ones(axes.shape)
        for table in tables:
            joint = joint * table
        right = 0.7 * joint.sum(tuple(axis for axis in range(len(axes.shape)) if not kept >> axis & 1)).ravel()
        for threads in (1, 2, 3):
            found = total_of(plan, tables, np.full(axes.size(kept), math.nan), 0.7, threads)
            np.testing.assert_allclose(found.values, right, rtol=1e-12, atol=1e-15)
            assert found.top == pytest.approx(right.max())
            assert found.low == pytest.approx(min(right[right > 0], default=0.0))
    assert planned > 5


def chain() -> tuple[Nest, list[Floats]]:
    """A cluster of a chain: a message without the last axis, a factor of the first and the last, the rest is kept."""
    axes, draw = Axes((2,) * 10), np.random.default_rng(0)
    masks = [(1 << 9) - 1, 1 | 1 << 9]
    plan = nest(axes, masks, (1 << 10) - 2)
    assert plan is not None
    return plan, [draw.random(axes.laid(mask)) for mask in masks]


def test_the_block_lies_where_all_large_tables_have_their_axes_side_by_side() -> None:
    plan, _ = chain()
    assert plan.axes.of(plan.block) == list(range(1, 9))
    assert plan.loops[plan.outer :] == (0,)
    assert plan.large == {0}


def test_short_blocks_are_left_to_other_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    axes = Axes((2,) * 10)
    assert nest(axes, [0b0101010101, 0b1111111111], 0b1010101010) is None  # no axis in all three
    monkeypatch.setattr(nests, "SHORTEST", 2**9)
    assert nest(axes, [(1 << 9) - 1], (1 << 10) - 2) is None


@pytest.mark.parametrize("threads", [1, 2])
def test_a_sum_ends_where_it_is_interrupted(threads: int) -> None:
    plan, tables = chain()
    asked: list[int] = []

    def ask() -> bool:
        asked.append(1)
        return True

    with interruptible(ask), pytest.raises(Interrupted):
        total_of(plan, tables, np.empty(2**9), threads=threads)
    assert len(asked) == 1
    found = total_of(plan, tables, np.empty(2**9), threads=threads)  # nothing is left behind
    np.testing.assert_allclose(found.values, (tables[0] * tables[1]).sum(0).ravel())


def test_what_a_helper_finds_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, tables = chain()

    def fails(self: object) -> None:
        raise MemoryError

    monkeypatch.setattr(blocks._Run, "helping", fails)
    with pytest.raises(MemoryError):
        total_of(plan, tables, np.empty(2**9), threads=2)


def test_ends_leave_zeros_out() -> None:
    assert ends_of(np.array([0.0, 3.0, 0.5])) == (3.0, 0.5)
    assert ends_of(np.zeros(3)) == (0.0, 0.0)
