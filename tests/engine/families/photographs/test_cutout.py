import itertools

import numpy as np
import pytest
import torch

from mrfstudio.engine.families.photographs import photograph as photographs
from mrfstudio.engine.families.photographs.cutout import Cutout, CutoutSettings
from mrfstudio.engine.families.photographs.full_size import full_size
from mrfstudio.engine.families.photographs.photograph import Photograph
from mrfstudio.engine.protocol.errors import StudioError


def scene(height: int = 90, width: int = 120, noise: float = 18.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A noisy green disc on a ground that turns from blue to the disc's own green: colour alone is not enough."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:height, :width]
    radius = 0.3 * height
    disc = (y - 0.5 * height) ** 2 + (x - 0.45 * width) ** 2 < radius**2
    ground = np.array([40.0, 60.0, 170.0]) + (x / width)[..., None] ** 3 * np.array([10.0, 90.0, -90.0])
    picture = np.where(disc[..., None], np.array([50.0, 150.0, 80.0]), ground)
    picture = np.clip(picture + rng.normal(0, noise, picture.shape), 0, 255).astype(np.uint8)
    strokes = np.zeros((height, width), np.uint8)
    strokes[height // 2, int(0.4 * width) : int(0.5 * width)] = 2
    strokes[3:6, 5 : width - 5] = 1
    strokes[height // 3 : height // 2, width - 4] = 1
    return picture, disc, strokes


def iou(found: np.ndarray, truth: np.ndarray) -> float:
    return float((found & truth).sum() / (found | truth).sum())


def test_two_strokes_cut_a_disc_out_of_a_ground_that_shares_its_colour() -> None:
    picture, disc, strokes = scene()
    cutout = Cutout(Photograph(picture), strokes)
    beliefs = cutout.beliefs(cutout.run())
    assert beliefs.shape == (2, 90, 120)
    torch.testing.assert_close(beliefs.sum(0), torch.ones(90, 120))
    assert iou((beliefs[1] > 0.5).numpy(), disc) > 0.95
    assert bool((beliefs[1].numpy()[strokes == 2] > 0.99).all())
    assert bool((beliefs[0].numpy()[strokes == 1] > 0.99).all())


def test_a_third_label_takes_its_own_part() -> None:
    picture, disc, strokes = scene()
    picture[70:, 80:] = (200, 40, 30)
    strokes[80, 90:110] = 3
    cutout = Cutout(Photograph(picture), strokes, 3)
    labels = full_size(cutout, cutout.run()).labels
    corner = np.zeros_like(disc)
    corner[70:, 80:] = True
    assert iou(labels == 3, corner) > 0.95
    assert iou(labels == 2, disc) > 0.9


def test_every_iteration_is_a_state_of_its_own() -> None:
    picture, _, strokes = scene(140, 180)
    photograph = Photograph(picture)
    settings = CutoutSettings(rounds=1, iterations=3)
    cutout = Cutout(photograph, strokes, 2, settings)
    states = list(cutout.states())
    whole = len(cutout.stages) * settings.iterations
    assert [s.iteration for s in states[:whole]] == list(range(1, whole + 1))
    assert all(later.iteration > s.iteration for s, later in itertools.pairwise(states[whole - 1 :]))
    assert states[0].level == len(photograph.levels) - 1
    assert states[-1].level == 0
    assert {s.round for s in states} == {0, 1}
    before = states[4].messages.clone()
    again = cutout.step(states[4])
    assert torch.equal(states[4].messages, before)
    assert torch.equal(again.messages, states[5].messages)


def test_colours_come_from_beliefs_after_the_first_round() -> None:
    """A part of the object in a colour that no stroke has: only beliefs can know it."""
    picture, disc, strokes = scene(noise=4.0)
    x = np.mgrid[:90, :120][1]
    picture[disc & (x > 64)] = (150, 200, 90)
    photograph = Photograph(picture)

    def score_of_new_colour(rounds: int) -> float:
        cutout = Cutout(photograph, strokes, 2, CutoutSettings(rounds=rounds))
        clues = cutout.run().clues
        cells = photograph.levels[photograph.thinking].cells
        seen = [cells.look(table)[disc & (x > 66)].mean() for table in clues.tables]
        return float(seen[1] - seen[0])

    assert score_of_new_colour(1) > 10 * max(score_of_new_colour(0), 1e-6)


def test_a_large_photograph_is_answered_at_its_own_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(photographs, "FINEST", 8_000)
    picture, disc, strokes = scene(200, 301, noise=6.0)
    photograph = Photograph(picture)
    assert photograph.reduction == 3
    cutout = Cutout(photograph, strokes)
    last = cutout.run()
    answer = full_size(cutout, last)
    assert answer.labels.shape == disc.shape
    assert answer.beliefs.shape == (2, *disc.shape)
    blocks = np.kron((cutout.beliefs(last)[1] > 0.5).numpy(), np.ones((3, 3), bool))[:200, :301]
    assert iou(answer.labels == 2, disc) > max(0.97, iou(blocks, disc))


def test_a_photograph_of_one_colour_and_tiny_ones_are_answered() -> None:
    for height, width in ((1, 2), (3, 2), (40, 50)):
        strokes = np.zeros((height, width), np.uint8)
        strokes[0, 0], strokes[-1, -1] = 1, 2
        cutout = Cutout(Photograph(np.full((height, width, 3), 90, np.uint8)), strokes)
        labels = full_size(cutout, cutout.run()).labels
        assert labels[0, 0] == 1
        assert labels[-1, -1] == 2


def test_strokes_that_do_not_fit_are_refused_in_a_sentence() -> None:
    picture, _, strokes = scene()
    photograph = Photograph(picture)
    with pytest.raises(StudioError, match="119×90 pixels: the photograph is 120×90"):
        Cutout(photograph, strokes[:, :-1])
    with pytest.raises(StudioError, match="no stroke of label 3"):
        Cutout(photograph, strokes, 3)
