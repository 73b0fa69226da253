"""α-BP and mean field on contrast grids, beside the general algorithms on the same factor graph."""

from __future__ import annotations

import pytest
import torch

from mrfstudio.engine.families.photographs.rules import FieldAlphaMessages, MeanFieldSweeps, SumProduct
from mrfstudio.engine.families.scored_grid import messages
from mrfstudio.engine.families.scored_grid.contrast_grid import ContrastGrid
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.messages.alpha_bp import AlphaBP
from mrfstudio.engine.inference.run import Limits, run


def small(labels: int, edges: int, strength: float) -> tuple[ContrastGrid, torch.Tensor]:
    """A grid of 4 × 5, and node scores (labels, 4, 5)."""
    generator = torch.Generator().manual_seed(labels)
    shapes = [messages.weight_shape(k, 4, 5) for k in range(edges)]
    weights = [strength * torch.rand(*shape, generator=generator, dtype=torch.float64) for shape in shapes]
    return ContrastGrid(weights, labels), 3 * torch.rand(labels, 4, 5, generator=generator, dtype=torch.float64)


def general(algorithm: Algorithm, model: ContrastGrid, scores: torch.Tensor, iterations: int) -> torch.Tensor:
    """Beliefs (labels, height, width) of the general algorithm on the factor graph."""
    graph, packed = model.as_graph(Evidence(scores.permute(1, 2, 0)))
    outcome = run(algorithm, graph, packed, Limits(iterations=iterations, tolerance=0.0))
    beliefs = algorithm.beliefs(graph, packed, outcome.state)
    return model.from_graph(beliefs, Evidence(scores.permute(1, 2, 0))).permute(2, 0, 1)


def iterated(rule: SumProduct, model: ContrastGrid, scores: torch.Tensor, iterations: int) -> torch.Tensor:
    local = rule.local(scores)
    old = rule.start(model.gains, local)
    new = torch.empty_like(old)
    for _ in range(iterations):
        rule.step(local, model.gains, old, new)
        old, new = new.clone(), old
    return rule.beliefs(local, old)


@pytest.mark.parametrize("edges", [2, 4])
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.4])
def test_alpha_messages_equal_the_general_ones_at_every_iteration(alpha: float, labels: int, edges: int) -> None:
    model, scores = small(labels, edges, 1.5)
    for iterations in (1, 2, 5):
        found = iterated(FieldAlphaMessages(alpha), model, scores, iterations)
        torch.testing.assert_close(found, general(AlphaBP(alpha=alpha), model, scores, iterations))


def test_alpha_one_is_sum_product() -> None:
    model, scores = small(3, 4, 2.0)
    torch.testing.assert_close(
        iterated(FieldAlphaMessages(1.0), model, scores, 4), iterated(SumProduct(), model, scores, 4)
    )


@pytest.mark.parametrize("labels", [2, 3])
def test_mean_field_settles_where_the_general_one_does(labels: int) -> None:
    model, scores = small(labels, 4, 0.6)
    found = iterated(MeanFieldSweeps(), model, scores, 60)
    torch.testing.assert_close(found, general(MeanField(), model, scores, 60), atol=1e-8, rtol=1e-6)


def test_the_change_of_a_pixel_is_that_of_its_values() -> None:
    for rule in (SumProduct(), FieldAlphaMessages(0.5), MeanFieldSweeps()):
        for labels in (2, 3):
            model, scores = small(labels, 4, 1.0)
            local = rule.local(scores)
            old = rule.start(model.gains, local)
            new = torch.empty_like(old)
            residual = rule.step(local, model.gains, old, new)
            change = rule.change(local, new, old)
            assert change.shape == (4, 5)
            assert float(change.max()) == pytest.approx(float(residual), rel=1e-6)
