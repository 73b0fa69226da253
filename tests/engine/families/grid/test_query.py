"""Query training of the grid, small enough for a test."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mrfstudio.engine.data.pictures.border_noise import OUT, labels_from_silhouettes, seeded_noise
from mrfstudio.engine.families.grid.model import Grid
from mrfstudio.engine.families.grid.shape import GridError
from mrfstudio.engine.families.grid.windows import windows
from mrfstudio.engine.training.learner import BatchContext, TensorSource, TrainingData
from mrfstudio.engine.training.learners.query import Query, iterations_now
from mrfstudio.engine.training.trainer import Trainer


def boxes(count: int, side: int = 9) -> TrainingData:
    """Noisy contours of random rectangles."""
    generator = np.random.default_rng(0)
    figures = np.zeros((count, side, side), bool)
    for figure in figures:
        top, left = generator.integers(1, 3, 2)
        height, width = generator.integers(3, 5, 2)
        figure[top : top + height, left : left + width] = True
    labels = labels_from_silhouettes(figures)
    noisy = seeded_noise(labels, 0, spurious=0, deletion=0.1)
    part = {"images": torch.from_numpy(labels), "noisy_images": torch.from_numpy(noisy)}
    held = {name: tensor[: count // 4] for name, tensor in part.items()}
    rest = {name: tensor[count // 4 :] for name, tensor in part.items()}
    return TrainingData(TensorSource(**rest), TensorSource(**held), name="boxes")


def context(progress: float, step: int = 0, batch: int = 4, rows: slice | None = None) -> BatchContext:
    return BatchContext(0, step, 0, batch, rows or slice(0, batch), progress)


def test_a_few_seconds_of_training_learn_to_fill_boxes() -> None:
    data = boxes(80)
    model = Grid(clones=8).build_for(data, seed=0)
    learner = Query(epochs=10, learning_rate=0.1, iterations=6, first_iterations=3, jitter=1, crop=9, batch_size=5)
    before = learner.validate(model, data.validation)  # type: ignore[arg-type]
    trainer = Trainer(model, learner, data, seed=0)
    for _ in trainer.run():
        pass
    after = learner.validate(model, data.validation)  # type: ignore[arg-type]
    assert after["iou"] > 0.8 > before["iou"]
    assert after["nce_bits"] < 0.5 * before["nce_bits"]
    assert after["nce_bits"] < after["nce_bits_without_evidence"]


def test_two_processes_add_up_to_the_gradient_of_one() -> None:
    data = boxes(16)
    learner = Query(iterations=4, first_iterations=2, crop=8, growth=0.5)
    gradients = []
    for parts in ([slice(0, 4)], [slice(0, 2), slice(2, 4)]):
        model = Grid(clones=8).build_for(data, seed=1)
        state = learner.start(model, data, 0)
        total = torch.zeros_like(model.weights)
        for rows in parts:
            model.weights.grad = None
            batch = data.train[torch.arange(4)[rows]]
            result = learner.batch(model, batch, state, context(0.3, rows=rows))
            assert model.weights.grad is not None
            total += model.weights.grad * result.weight / 4
        gradients.append(total)
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-6, rtol=1e-4)


def test_windows_hold_the_whole_figure_and_differ() -> None:
    data = boxes(40)
    labels = data.train[torch.arange(30)]["images"].numpy()
    cut, same = windows(labels, labels, 7, context(0.0, batch=30))
    assert cut.shape == (30, 7, 7)
    np.testing.assert_array_equal(cut, same)
    assert ((cut != OUT).sum((1, 2)) == (labels != OUT).sum((1, 2))).all()
    other, _ = windows(labels, labels, 7, context(0.0, step=1, batch=30))
    assert (cut != other).any()
    whole, _ = windows(labels, labels, 50, context(0.0, batch=30))
    np.testing.assert_array_equal(whole, labels)


def test_iterations_grow_and_then_jitter_around_the_full_number() -> None:
    learner = Query(iterations=15, first_iterations=5, growth=0.5, jitter=0)
    assert [iterations_now(learner, context(p)) for p in (0.0, 0.25, 0.49, 0.5, 1.0)] == [5, 10, 15, 15, 15]
    drawn = {iterations_now(learner.replace(jitter=2), context(0.9, step)) for step in range(60)}
    assert drawn == {13, 14, 15, 16, 17}


def test_other_data_are_refused_in_one_sentence() -> None:
    data = TrainingData(TensorSource(x=torch.zeros(3, 4)), name="points")
    with pytest.raises(GridError, match="'points' are no noisy contour images"):
        Grid().build_for(data, 0)
    refusal = Query().supports(object())
    assert refusal is not None
    assert "grid" in refusal
