"""What is shown of a model while it learns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from mrfstudio.engine.data.pictures.border_noise import CONTOUR, IN, OUT
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.showing import clone_panels
from mrfstudio.engine.families.rbm.showing import field_panels
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.registry import DATASETS, MODELS
from mrfstudio.engine.training.learner import TensorSource, TrainingData
from mrfstudio.engine.training.learners.query import Query
from mrfstudio.engine.training.queries import settled_gaussians, settled_share
from mrfstudio.engine.training.showing import MEASURED, calibration, fixed_items, histogram, parameter_panels, show
from tests.engine.helpers.toy import LogisticModel, ToyLearner


def grid(connectivity: int = 8) -> GridMRF:
    model = GridMRF((4, 1, 1), connectivity=connectivity, emission=[0.8, 0.03, 0.001])
    model.randomise(0, [0.15, 0.6, 0.25], 0.5)
    return model


def test_the_answers_shown_are_the_beliefs_of_the_algorithm() -> None:
    model, learner = grid(), Query(iterations=4)
    noisy = torch.ones(3, 6, 7, dtype=torch.uint8)
    noisy[:, 2, 1:5] = 0
    shown = show(model, learner, {"images": torch.full((3, 6, 7), OUT, dtype=torch.uint8), "noisy_images": noisy})
    algorithm = BeliefPropagation()
    evidence: Evidence = model.evidence_from_image(noisy[0].numpy())
    state = algorithm.init(model, evidence)
    for _ in range(4):
        state = algorithm.step(model, evidence, state)
    expected = model.label_beliefs(algorithm.beliefs(model, evidence, state)).numpy()
    answer = next(panel for panel in shown.queries[0] if panel.title == "answer")
    assert np.allclose(answer.array, expected, atol=1e-5)
    assert len(shown.queries) == 3
    assert shown.probabilities is not None
    assert np.allclose(shown.probabilities.sum(1), 1, atol=1e-5)


def test_a_tile_shows_the_same_unit_in_every_snapshot() -> None:
    generator = torch.Generator().manual_seed(0)
    before, after = (torch.randn(80, 3, 4, generator=generator) * torch.rand(80, 1, 1) for _ in range(2))
    first, second = field_panels(before), field_panels(after)
    assert [panel.title for panel in first] == [panel.title for panel in second]
    assert all(np.array_equal(panel.array, after[int(panel.title)].numpy()) for panel in second)


@pytest.mark.parametrize("connectivity", [4, 8])
def test_a_clone_expects_around_itself_what_its_potentials_say(connectivity: int) -> None:
    model = grid(connectivity)
    with torch.no_grad():
        model.weights.zero_()
        model.weights[0, 0, 4 + IN - 1] = 20.0  # to the right of clone 0 is IN
        model.weights[1, 4 + OUT - 1, 0] = 20.0  # above clone 0 is OUT
    patch = clone_panels(model)[0].array
    assert patch[1, 2].argmax() == IN
    assert patch[0, 1].argmax() == OUT
    assert patch[1, 1].argmax() == CONTOUR
    assert np.allclose(patch.sum(-1), 1, atol=1e-5)


def test_a_kind_without_a_function_is_shown_by_its_matrices() -> None:
    class Matrices(LogisticModel):
        def tensors(self) -> dict[str, torch.Tensor]:
            return {"pair_weights": torch.arange(6.0).reshape(2, 3), "bias": torch.zeros(3)}

    panels = parameter_panels(Matrices())
    assert [(panel.title, panel.layer, panel.array.shape) for panel in panels] == [("pair weights", "signed", (2, 3))]
    assert show(LogisticModel(), ToyLearner(), {}).pictures == ()


def test_the_fixed_items_are_the_first_of_the_validation_part() -> None:
    train, held = TensorSource(x=torch.arange(100)), TensorSource(x=torch.arange(200, 300))
    assert fixed_items(TrainingData(train, held))["x"].tolist() == list(range(200, 200 + MEASURED))
    assert fixed_items(TrainingData(train))["x"].tolist() == list(range(MEASURED))
    assert fixed_items(TrainingData(torch.arange(5)))["items"].tolist() == list(range(5))


def test_a_calibrated_model_lies_on_the_diagonal_and_a_boaster_below_it() -> None:
    generator = np.random.default_rng(0)
    chance = generator.uniform(size=200_000)
    outcomes = (generator.uniform(size=len(chance)) < chance).astype(int)
    honest = calibration(np.stack([1 - chance, chance], 1), outcomes)
    assert np.allclose(honest[:, 0], honest[:, 1], atol=0.02)
    assert honest[:, 2].sum() == pytest.approx(1, abs=1e-6)
    boast = np.clip(chance + np.sign(chance - 0.5) * 0.3, 0, 1)
    proud = calibration(np.stack([1 - boast, boast], 1), outcomes)
    assert proud[-1, 1] < proud[-1, 0] - 0.1
    lonely = calibration(np.array([[0.05, 0.95]]), np.array([1]))
    assert np.isnan(lonely[4, :2]).all()


def test_the_histogram_counts_every_answer_once_for_each_label() -> None:
    shares = histogram(np.array([[0.0, 1.0], [0.52, 0.48], [1.0, 0.0], [0.0, 1.0]]))
    assert shares.shape == (2, 20)
    assert np.allclose(shares.sum(1), 1)
    assert shares[0, 0] == 0.5
    assert shares[0, 10] == 0.25
    assert shares[1, 19] == 0.5


def test_settled_variables_are_those_whose_last_beliefs_hardly_changed() -> None:
    before = torch.tensor([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    after = torch.tensor([[0.5, 0.5], [0.8, 0.2], [0.2005, 0.7995]])
    assert settled_share(torch.stack([before, after]).log()) == pytest.approx(2 / 3)
    assert math.isnan(settled_share(after.log()[None]))
    precision = torch.tensor([[1.0, 4.0], [1.0, 4.0]])
    mean = torch.tensor([[0.5, 0.5], [0.5, 0.501]])  # moved by 0.002 deviations
    assert settled_gaussians(mean * precision, precision) == 0.5
    assert math.isnan(settled_gaussians(mean[:1], precision[:1]))


def test_every_model_that_can_be_trained_has_a_name_for_its_usual_data() -> None:
    for cls in MODELS:
        if cls.trainable() and cls.default_data:
            assert cls.default_data.partition(":")[0] in DATASETS.names()


def pictures(count: int = 8, side: int = 6) -> TrainingData:
    generator = torch.Generator().manual_seed(0)
    clean = (torch.rand(count, side, side, generator=generator) > 0.5).to(torch.uint8) * 255
    damaged = torch.where(torch.rand(clean.shape, generator=generator) < 0.2, 255 - clean, clean)
    source = TensorSource(images=clean, noisy_images=damaged)
    return TrainingData(source, source, name="pictures")


def spins(count: int = 8) -> TrainingData:
    generator = torch.Generator().manual_seed(0)
    source = TensorSource(x=(torch.randint(0, 2, (count, 12), generator=generator) * 2 - 1).to(torch.int8))
    return TrainingData(source, source, name="spins")


@pytest.mark.parametrize(
    ("kind", "options", "data", "rows"),
    [
        ("rbm", {"hidden": 5}, pictures(), ("given", "answer", "doubt", "truth")),
        ("dbm", {"hidden": 5}, pictures(), ("given", "answer", "doubt", "truth")),
        ("grbm", {"hidden": 5}, pictures(), ("given", "answer", "doubt", "truth")),
        ("crbm", {"hidden": 5}, pictures(), ("given", "answer", "truth")),
        ("crbm", {"hidden": 0}, pictures(), ("given", "answer", "truth")),
        ("ising", {"graph": "grid", "columns": 4}, spins(), ("given", "answer", "truth")),
        ("ising", {"graph": "complete"}, spins(), ("given", "answer", "truth")),
    ],
)
def test_every_kind_answers_the_same_queries_again(
    kind: str, options: dict[str, Any], data: TrainingData, rows: tuple[str, ...]
) -> None:
    model = MODELS[kind](**options).build_for(data, 0)  # type: ignore[attr-defined]
    learner = Query(iterations=3)
    first, again = (show(model, learner, fixed_items(data)) for _ in range(2))
    assert [panel.title for panel in first.queries[0]] == list(rows)
    assert all(layer_picture_of(panel) for query in first.queries for panel in query)
    assert first.probabilities is not None
    assert first.outcomes is not None
    assert np.isfinite(first.probabilities).all()
    assert np.allclose(first.probabilities.sum(1), 1, atol=1e-5)
    assert len(first.probabilities) == len(first.outcomes) > 0
    assert first.pictures
    for one, other in zip(first.queries, again.queries, strict=True):
        for panel, same in zip(one, other, strict=True):
            assert np.array_equal(panel.array, same.array, equal_nan=True)
    given, answer, truth = (
        next(p.array for p in first.queries[0] if p.title == t) for t in ("given", "answer", "truth")
    )
    assert given.shape == answer.shape == truth.shape
    if "doubt" in rows:  # what is given stays as it was
        seen = np.isfinite(given)
        assert np.allclose(answer[seen], truth[seen])
        assert 0 < seen.sum() < seen.size


def layer_picture_of(panel: object) -> bool:
    array = panel.array  # type: ignore[attr-defined]
    return array.ndim == 2 and array.dtype == np.float32
