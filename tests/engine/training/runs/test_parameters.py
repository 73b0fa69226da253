"""Histograms of parameters over the snapshots of a run, and the numbers beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from mrfstudio.engine.files.model_file import save_model
from mrfstudio.engine.training.checkpoint import COLUMNS, Curves
from mrfstudio.engine.training.runs.parameters import FEWEST, FINE, ParameterHistories
from mrfstudio.engine.training.runs.snapshots import parameter_path
from tests.engine.helpers.toy import toy_trainer


def snapshot(folder: Path, step: int, **tensors: torch.Tensor) -> None:
    path = parameter_path(folder, step)
    path.parent.mkdir(exist_ok=True)
    save_model(path, "toy", tensors, {"steps": step})
    path.with_suffix(".npz").touch()


def test_histograms_count_every_number_once_between_common_edges(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(40, 50)).astype(np.float32)
    for step, scale in ((0, 0.1), (7, 1.0), (30, 3.0)):
        weights = torch.from_numpy(values * np.float32(scale))
        snapshot(tmp_path, step, weights=weights, bias=torch.full((3,), 0.5), count=torch.tensor([4]))
    histories = ParameterHistories()
    found = {tensor.name: tensor for tensor in histories.of(tmp_path).tensors}
    assert set(found) == {"weights", "bias"}
    weights = found["weights"]
    assert weights.steps.tolist() == [0, 7, 30]
    assert weights.shares.sum(axis=1) == pytest.approx([1, 1, 1])
    exact = np.histogram(values * 3.0, weights.edges)[0] / values.size
    fine = np.histogram(values, FINE)[0].max() / values.size  # an edge cuts through one of these
    assert np.abs(weights.shares[2] - exact).max() <= 2 * fine
    assert weights.quantiles[1] == pytest.approx(np.quantile(values, (0.05, 0.5, 0.95)), abs=1e-6)
    assert weights.changes
    assert not found["bias"].changes
    assert found["bias"].shares.shape == (3, FEWEST)
    snapshot(tmp_path, 60, weights=torch.from_numpy(values * 9), bias=torch.zeros(3))
    parameter_path(tmp_path, 7).write_bytes(b"damaged")  # it was read before
    again = {tensor.name: tensor for tensor in histories.of(tmp_path).tensors}
    assert again["weights"].steps.tolist() == [0, 7, 30, 60]
    assert again["weights"].shares.sum(axis=1) == pytest.approx([1, 1, 1, 1])
    fresh = {tensor.name: tensor for tensor in ParameterHistories().of(tmp_path).tensors}
    assert fresh["weights"].steps.tolist() == [0, 30, 60]


def test_numbers_that_are_not_finite_are_left_out(tmp_path: Path) -> None:
    snapshot(tmp_path, 1, mixed=torch.tensor([1.0, 2.0, float("nan"), float("inf")]), none=torch.full((2,), np.nan))
    (mixed,) = ParameterHistories().of(tmp_path).tensors
    assert (mixed.name, mixed.size) == ("mixed", 2)
    assert mixed.edges[[0, -1]].tolist() == [1.0, 2.0]


def test_a_run_counts_images_and_the_gradient_of_every_tensor(tmp_path: Path) -> None:
    trainer = toy_trainer()
    records = [record for record in trainer.run() if record.state == "running"]
    sizes = np.diff([0, *(record.images for record in records)])
    assert records[-1].images == trainer.state.items == sizes.sum()
    assert set(sizes[:-1]) <= {trainer.learner.batch_size, sizes.min()}
    parts = {name for name in records[0].extras if name.startswith("gradient/")}
    assert parts == {f"gradient/{name}" for name, tensor in trainer.model.tensors().items() if tensor.requires_grad}
    for record in records:
        assert np.hypot.reduce([record.extras[name] for name in parts]) == pytest.approx(record.gradient_norm)


def test_curves_of_a_run_that_counted_no_images_go_on() -> None:
    names = [name for name in COLUMNS if name != "images"]
    old = Curves.from_tensor([*names, "converged"], torch.ones(len(names) + 1, 3))
    assert np.isnan(old.columns["images"]).all()
    record = next(toy_trainer().run())
    old.append(record)
    assert {len(column) for column in old.columns.values()} == {4}
    assert old.columns["images"][-1] == record.images
