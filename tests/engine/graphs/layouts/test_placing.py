"""Where nodes stand: every part of a graph has its own room."""

from __future__ import annotations

import numpy as np
import pytest

from mrfstudio.engine.graphs.layouts.placing import place


def ring(first: int, nodes: int) -> list[tuple[int, int]]:
    return [(first + i, first + (i + 1) % nodes) for i in range(nodes)]


@pytest.mark.parametrize("name", ["automatic", "spring", "kamada-kawai", "planar", "pivots"])
def test_lone_variables_leave_the_rest_its_room(name: str) -> None:
    together = np.array(ring(0, 12))
    alone = place(name, 12, together)
    with_others = place(name, 15, together)  # three variables without a factor
    assert np.ptp(with_others[:12], axis=0) == pytest.approx(np.ptp(alone, axis=0), rel=0.05)
    apart = np.linalg.norm(with_others[12:, None] - with_others[None, :12], axis=-1)
    assert apart.min() > 0.9


def test_parts_do_not_overlap_and_fill_the_picture() -> None:
    edges = np.array(ring(0, 9) + ring(9, 9) + ring(18, 4))
    points = place("spring", 23, edges)
    boxes = [(points[part].min(0), points[part].max(0)) for part in (slice(0, 9), slice(9, 18), slice(18, 22))]
    for index, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[index + 1 :]:
            assert (low > other_high).any() or (high < other_low).any()
    width, height = np.ptp(points, axis=0)
    assert points.min() == pytest.approx(0.5)
    assert 0.3 < width / height < 4


def test_no_two_variables_of_a_random_graph_stand_on_each_other() -> None:
    rng = np.random.default_rng(5)
    edges = np.array([rng.choice(40, 2, replace=False) for _ in range(90)])
    points = place("automatic", 40, edges)
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1) + 10 * np.eye(40)
    assert apart.min() > 0.6


def test_a_large_random_graph_fills_its_sheet_and_a_large_ring_stays_round() -> None:
    rng = np.random.default_rng(3)
    edges = rng.integers(0, 3000, (6000, 2))
    points = place("pivots", 3000, edges[edges[:, 0] != edges[:, 1]])
    assert np.prod(np.ptp(points, 0)) < 3 * 3000  # crowded in the middle it would need ten times as much
    ring = np.stack([np.arange(2000), (np.arange(2000) + 1) % 2000], 1)
    around = place("pivots", 2000, ring)
    radius = np.hypot(*(around - around.mean(0)).T)
    assert radius.min() > 0.5 * radius.max()
