"""Tiles that go on alone end where the whole picture ends."""

import pytest
import torch

from mrfstudio.engine.families.photographs import moving
from mrfstudio.engine.families.photographs.cutout import Cutout, CutoutSettings
from mrfstudio.engine.families.photographs.photograph import Photograph
from mrfstudio.engine.families.photographs.rules import FieldAlphaMessages, MeanFieldSweeps, SumProduct
from mrfstudio.engine.families.scored_grid.messages import weight_shape
from tests.engine.helpers.photographs import disc, disc_strokes

HEIGHT, WIDTH = 45, 70


def field(labels: int) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Node scores (labels, h, w) and gains of a small random grid."""
    generator = torch.Generator().manual_seed(3)
    scores = torch.randn(labels, HEIGHT, WIDTH, generator=generator)
    gains = [torch.rand(weight_shape(k, HEIGHT, WIDTH), generator=generator).mul(0.5).expm1() for k in range(4)]
    return scores, gains


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("rule", [SumProduct(), FieldAlphaMessages(0.5)])
def test_tiles_reach_the_fixed_point_of_the_whole_picture(
    rule: SumProduct, labels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "QUIET", 1e-7)
    scores, gains = field(labels)
    local = rule.local(scores)
    old = rule.start(gains, local)
    tiles, where = old, torch.ones(HEIGHT, WIDTH, dtype=torch.bool)
    for _ in range(200):
        new = torch.empty_like(old)
        rule.step(local, gains, old, new)
        old = new
        tiles, _, where, _ = moving.step_tiles(rule, local, gains, tiles, where)
    assert torch.allclose(rule.beliefs(local, tiles), rule.beliefs(local, old), atol=1e-5)


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("few", [0, 10**9])
def test_tiles_that_all_move_do_what_the_whole_picture_does(
    labels: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rims that hear later than every iteration make borders between tiles swap sides for ever."""
    monkeypatch.setattr(moving, "FEW", few)
    rule, (scores, gains) = SumProduct(), field(labels)
    local = rule.local(scores)
    whole = rule.start(gains, local)
    everywhere = torch.ones(HEIGHT, WIDTH, dtype=torch.bool)
    tiles, residual, still, count = moving.step_tiles(rule, local, gains, whole, everywhere)
    assert count == (moving.AT_ONCE if few == 0 else moving.LONGER * moving.AT_ONCE)
    look = whole
    for done in range(count):
        if done == count - moving.AT_ONCE:
            look = whole
        new = torch.empty_like(whole)
        rule.step(local, gains, whole, new)
        whole = new
    assert torch.allclose(tiles, whole, atol=1e-5)
    change = rule.change(local, whole, look)
    assert residual == pytest.approx(float(change.max()), abs=1e-6)
    assert bool((still == (change > moving.QUIET)).float().mean() > 0.99)


def test_a_tile_at_rest_is_left_alone_and_wakes_when_its_neighbour_moves() -> None:
    still = torch.zeros(3 * moving.TILE, 2 * moving.TILE, dtype=torch.bool)
    assert len(moving.moving_tiles(still)) == 0
    still[moving.TILE // 2, 3] = True
    assert moving.moving_tiles(still).tolist() == [[0, 0]]
    still[moving.TILE - 1, 3] = True  # on the border of the one below
    assert moving.moving_tiles(still).tolist() == [[0, 0], [1, 0]]
    scores, gains = field(2)
    local = SumProduct().local(scores)
    old = SumProduct().start(gains, local)
    where = torch.zeros(HEIGHT, WIDTH, dtype=torch.bool)
    where[5, 5] = True
    new, residual, _, _ = moving.step_tiles(SumProduct(), local, gains, old, where)
    changed = (new != old).any(0)
    assert residual > 0
    assert bool(changed[: moving.TILE, : moving.TILE].any())
    assert not bool(changed[moving.TILE :].any() or changed[:, moving.TILE :].any())


@pytest.mark.parametrize("rule", [SumProduct(), MeanFieldSweeps()])
def test_what_is_called_settled_rests(rule: SumProduct) -> None:
    cutout = Cutout(Photograph(disc()), disc_strokes(), 2, CutoutSettings(iterations=2), rule)
    state = cutout.run()
    assert cutout.rests(state)
    once_more = cutout.rule.step(state.local, state.gains, state.messages, torch.empty_like(state.messages))
    assert float(once_more) < moving.SETTLED


def test_without_patience_the_end_is_not_called_settled() -> None:
    cutout = Cutout(Photograph(disc()), disc_strokes(), 2, CutoutSettings(iterations=2, patience=0))
    state = cutout.run()
    assert cutout.remaining(state) == 0
    assert not cutout.rests(state)
