"""Query distributions: what they draw, how they are written, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from mrfstudio.engine.files.images import write_image
from mrfstudio.engine.training.learner import BatchContext
from mrfstudio.engine.training.queries import Half, Mixture, PatchQuery, QueryError, Uniform, parse_queries


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    "text", ["uniform:0.5", "one", "patch:5x7", "half:left", "one+uniform:0.25+patch:7x7+half:top+one"]
)
def test_queries_are_written_as_they_are_read(text: str) -> None:
    assert str(parse_queries(text)) == text
    assert "unknown" in parse_queries(text).sentence


def test_uniform_queries_ask_for_their_part_of_any_shape() -> None:
    for shape in ((28, 20), (560,)):
        masks = Uniform(0.3).draw(200, shape, generator())
        assert masks.shape == (200, *shape)
        assert float(masks.float().mean()) == pytest.approx(0.3, abs=0.01)


def test_patches_are_whole_and_reach_every_corner() -> None:
    masks = PatchQuery(5, 3).draw(600, (8, 6), generator())
    assert (masks.flatten(1).sum(1) == 15).all()
    assert (masks.any(2).sum(1) == 5).all()
    assert masks.any(0).all()
    whole = PatchQuery(8, 6).draw(2, (8, 6), generator())
    assert whole.all()


def test_halves_are_the_side_they_name() -> None:
    for side, where in {"left": np.s_[:, :2], "right": np.s_[:, 3:], "top": np.s_[:4], "bottom": np.s_[4:]}.items():
        expected = np.zeros((8, 5), bool)
        expected[where] = True
        masks = Half(side).draw(2, (8, 5), generator())
        assert np.array_equal(masks[1].numpy(), expected)


def test_a_mixture_draws_each_part_for_about_its_share() -> None:
    mixture = parse_queries("half:left+half:right")
    assert isinstance(mixture, Mixture)
    left = mixture.draw(1000, (4, 4), generator())[:, 0, 0]
    assert float(left.float().mean()) == pytest.approx(0.5, abs=0.06)


def test_a_painted_mask_is_asked_for_in_every_picture(tmp_path: Path) -> None:
    path = tmp_path / "a+b.png"  # a plus that joins nothing
    painted = np.zeros((4, 6), np.float32)
    painted[1, 2:] = 1
    write_image(path, painted)
    queries = parse_queries(f"mask:{path}+uniform:1")
    masks = queries.draw(50, (4, 6), generator())
    sums = masks.flatten(1).sum(1)
    assert set(sums.tolist()) == {4, 24}
    assert np.array_equal(masks[int(sums.argmin())].numpy(), painted > 0)
    with pytest.raises(QueryError, match="6×4 pixels: expected 4×6"):
        queries.draw(1, (6, 4), generator())


def test_a_batch_cut_in_two_asks_what_the_whole_one_asks() -> None:
    queries = parse_queries("uniform:0.5+patch:2x2")
    whole = queries.draw_batch((6, 5), BatchContext(3, 7, 0, 10, slice(0, 10)))
    halves = [queries.draw_batch((6, 5), BatchContext(3, 7, 0, 10, rows)) for rows in (slice(0, 4), slice(4, 10))]
    assert torch.equal(whole, torch.cat(halves))
    assert not torch.equal(whole, queries.draw_batch((6, 5), BatchContext(3, 8, 0, 10, slice(0, 10))))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("uniform:0", "expected one in"),
        ("uniform:nan", "expected one in"),
        ("uniform:", "is no query distribution: expected uniform:P"),
        ("patch:5", "is no query distribution"),
        ("patch:0x3", "at least one row"),
        ("half:middle", "expected half:left"),
        ("mask:nowhere.png", "does not exist"),
        ("", "is no query distribution"),
        ("uniform:0.5+", "is no query distribution"),
    ],
)
def test_what_is_no_query_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        parse_queries(text)


def test_patches_and_halves_need_pictures_they_fit_in() -> None:
    with pytest.raises(QueryError, match="use uniform:P"):
        Half("left").draw(1, (64,), generator())
    with pytest.raises(QueryError, match="do not fit a picture of 4 rows"):
        PatchQuery(5, 2).draw(1, (4, 4), generator())
