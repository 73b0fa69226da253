"""Networks that are trained by strokes: what they see, that they learn, and that they are kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from mrfstudio.engine.families.photographs.colours import lab_array
from mrfstudio.engine.families.photographs.cutout import Cutout
from mrfstudio.engine.families.photographs.network import CAP, FEATURES, PhotoScores, features, fitted
from mrfstudio.engine.families.photographs.photograph import Photograph
from mrfstudio.engine.families.scribbles import cutter
from mrfstudio.engine.files.model_file import save_model
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.protocol.errors import StudioError
from tests.engine.helpers.photographs import disc, inside

LABELS = ((1, "Disc", "#e69f00"), (2, "Ground", "#56b4e9"))


def truth() -> np.ndarray:
    return np.stack([inside(), ~inside()]).astype(np.float32)


def test_a_network_learns_the_labels_that_it_is_fitted_to() -> None:
    seen = features(lab_array(disc()))
    assert seen.shape == (FEATURES, *inside().shape)
    scores = fitted([(seen, truth())], LABELS).scores(seen)
    assert (scores.argmax(0) == truth().argmax(0)).mean() > 0.97
    assert scores.max() == 0
    assert scores.min() >= -CAP


def test_texture_alone_is_enough() -> None:
    """Both halves have the same mean colour; one is smooth, the other noisy."""
    picture = np.full((3, 40, 80), 0.5, np.float32)
    picture[0, :, 40:] += np.random.default_rng(0).normal(0, 0.2, (40, 40))
    beliefs = np.zeros((2, 40, 80), np.float32)
    beliefs[0, :, :40] = beliefs[1, :, 40:] = 1
    seen = features(picture)
    assert (fitted([(seen, beliefs)], LABELS).scores(seen).argmax(0) == beliefs.argmax(0)).mean() > 0.9


def test_a_kept_model_cuts_another_photograph_without_strokes(tmp_path: Path) -> None:
    family = cutter()
    made, card = family.fitted([(Photograph(disc()), truth())], LABELS)
    model = open_model(save_model(tmp_path / "mine.safetensors", made.kind, made.tensors(), card))
    assert [each.title for each in family.labels(model)] == ["Disc", "Ground"]
    other = np.ascontiguousarray(np.roll(disc(), 15, 1)[::-1])
    cutting = family.cut(family.open(other), np.zeros(other.shape[:2], np.uint8), 2, None, model)
    state = cutting.start()
    while not cutting.settled(state):
        state = cutting.step(state)
    found = family.answer(cutting, state).labels == 1
    expected = np.roll(inside(), 15, 1)[::-1]
    assert (found & expected).sum() / (found | expected).sum() > 0.9


def test_without_a_network_every_label_needs_a_stroke() -> None:
    with pytest.raises(StudioError, match="no stroke of label 1, 2"):
        Cutout(Photograph(disc()), np.zeros(inside().shape, np.uint8))


def test_sizes_that_make_no_sense_are_refused() -> None:
    with pytest.raises(StudioError, match="1 labels"):
        PhotoScores(LABELS[:1])
    model = PhotoScores(LABELS)
    with pytest.raises(StudioError, match=r"head\.bias"):
        model.load_tensors({**model.tensors(), "head.bias": torch.zeros(3)})
