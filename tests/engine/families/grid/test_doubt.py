"""Whether a picture is like those that a grid model learned."""

from __future__ import annotations

import numpy as np
import pytest

from mrfstudio.engine.families.grid.doubt import Explained, Likeness, calibrated, explained, settled, unlike
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation

LIKENESS = Likeness(0.1, -0.2, 0.3, 2.0, 0.25, 0.02)


@pytest.fixture(scope="module")
def model() -> GridMRF:
    opened = open_model("grid-border-16", "grid")
    assert isinstance(opened, GridMRF)
    return opened


def box(side: int, top: int, bottom: int) -> np.ndarray:
    """A square contour as seen on a canvas of `side`; 0 is seen."""
    picture = np.ones((side, side), np.uint8)
    picture[top, top + 1 : bottom] = picture[bottom, top + 1 : bottom] = 0
    picture[top + 1 : bottom, top] = picture[top + 1 : bottom, bottom] = 0
    return picture


def test_an_empty_canvas_of_any_size_is_predicted_from_three(model: GridMRF) -> None:
    likeness = calibrated(model, [box(20, 5, 12), box(20, 4, 11)], iterations=15)
    evidence = model.evidence_from_image(np.ones((30, 20)))
    value = BeliefPropagation().log_partition(model, evidence, settled(model, evidence, 60)).value
    assert value == pytest.approx(likeness.empty(30, 20), abs=0.05)


def test_calibration_lets_the_wanted_part_pass(model: GridMRF) -> None:
    known = [box(20, 3 + k % 3, 10 + k % 5) for k in range(12)]
    likeness = calibrated(model, known, iterations=15, part=0.9)
    passed = []
    for picture in known:
        evidence = model.evidence_from_image(picture)
        passed.append(likeness.knows(explained(model, evidence, settled(model, evidence, 15), likeness)))
    assert np.mean(passed) >= 0.9


def test_specks_are_less_explained_than_a_box(model: GridMRF) -> None:
    specks = np.ones((20, 20), np.uint8)
    specks[2:18:5, 2:18:5] = 0
    found = []
    for picture in (box(20, 5, 12), specks):
        evidence = model.evidence_from_image(picture)
        found.append(explained(model, evidence, settled(model, evidence, 15), LIKENESS))
    assert found[0].seen == (box(20, 5, 12) == 0).sum()
    assert found[0].unexplained < 0.2 < found[1].unexplained


def test_all_numbers_must_stay_below_their_limits() -> None:
    assert LIKENESS.knows(Explained(1.9, 0.2, 0.01, 30))
    assert not LIKENESS.knows(Explained(2.1, 0.2, 0.01, 30))
    assert not LIKENESS.knows(Explained(1.9, 0.3, 0.01, 30))
    assert not LIKENESS.knows(Explained(1.9, 0.2, 0.03, 30))
    assert LIKENESS.knows(Explained(0.0, 0.0, 0.0, 0))  # nothing drawn yet
    assert "30%" in LIKENESS.sentence(Explained(1.0, 0.3, 0.01, 30))
    assert "many more lines" in LIKENESS.sentence(Explained(2.1, 0.2, 0.03, 30))
    assert "cannot say whether they lie inside" in LIKENESS.sentence(Explained(1.0, 0.2, 0.03, 30))


def test_pixels_whose_side_is_open_are_counted() -> None:
    model = GridMRF((2, 1, 1), emission=[0.9, 0.1, 0.1])  # no potentials: beliefs are the evidence's alone
    picture = np.ones((50, 50), np.uint8)
    picture[10, :20] = 0
    evidence = model.evidence_from_image(picture)
    hints = np.full(picture.shape, 3, np.uint8)
    hints[30:, :] = 2
    hinted = model.with_hints(evidence, hints)
    for given, decided in ((evidence, 0), (hinted, 20 * 50)):
        found = explained(model, given, settled(model, given, 1), LIKENESS)
        assert found.seen == 20
        assert found.undecided == pytest.approx((50 * 50 - 20 - decided) / 50)


def test_a_model_keeps_the_limits() -> None:
    kept = GridMRF((2, 1, 1), likeness=LIKENESS.values(), sizes=(6, 200))
    again = GridMRF(**kept.hyperparameters())
    assert Likeness.of_model(again) == LIKENESS
    assert again.sizes == (6, 200)
    assert Likeness.of_model(GridMRF((2, 1, 1))) is None
    assert Likeness.of_model(GridMRF((2, 1, 1), likeness={"area": 1.0})) is None


def test_a_picture_that_is_unlike_is_said_to_be(model: GridMRF) -> None:
    known = [box(20, 3 + k % 3, 10 + k % 5) for k in range(12)]
    aware = GridMRF(
        weights=model.weights,
        emission=model.emission.numpy(),
        **{**model.hyperparameters(), "likeness": calibrated(model, known, iterations=15).values()},
    )
    specks = np.ones((20, 20), np.uint8)
    specks[2:18:5, 2:18:5] = 0
    said = []
    for picture in (known[0], specks):
        evidence = aware.evidence_from_image(picture)
        said.append(unlike(aware, evidence, settled(aware, evidence, 15)))
    assert said[0] is None
    assert said[1] is not None
    assert "unlike what the model learned" in said[1]
