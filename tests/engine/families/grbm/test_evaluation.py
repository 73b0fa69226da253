"""Scores of a GRBM beside the Gaussian baselines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from mrfstudio.engine.families.grbm.baselines import RIDGE, GaussianBaselines
from mrfstudio.engine.families.grbm.model import GRBM
from mrfstudio.engine.files.model_file import save_model
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.tasks.evaluate import evaluate_model


def frey_file(folder: Path, faces: int = 40) -> Path:
    x = np.random.default_rng(1).integers(0, 256, (faces, 28, 20), dtype=np.uint8)
    np.savez(folder / "frey.npz", x=x)
    return folder / "frey.npz"


def silent_model(folder: Path, shape: tuple[int, int] = (28, 20)) -> str:
    """Weights 0 and the pixels' own means: the independent baseline of variance 1, exactly."""
    model = GRBM(shape, 2, variance="unit")
    model.mean.fill_(0.5)
    model.deviation.fill_(0.25)
    path = folder / "silent.safetensors"
    if shape == (28, 20):
        with np.load(folder / "frey.npz") as file:
            x = file["x"]
        order = np.random.default_rng(0).permutation(len(x))
        train = torch.from_numpy(x[order[: len(x) * 4 // 5]].astype(np.float32) / 255)
        model.visible_bias.copy_(model.standardise(train).mean(0))
    card = {"hyperparameters": model.hyperparameters(), "options": {"iterations": 3}}
    save_model(path, "grbm", model.tensors(), card)
    return str(path)


def test_full_covariance_is_the_conditional_gaussian() -> None:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randn(30, 6, generator=generator, dtype=torch.float64) @ torch.randn(
        6, 6, generator=generator, dtype=torch.float64
    )
    fitted = GaussianBaselines.fitted(pixels)
    unknown = torch.tensor([True, False, True, False, False, True])
    covariance = torch.cov(pixels.t(), correction=0) + RIDGE * torch.eye(6, dtype=torch.float64)
    gain = covariance[unknown][:, ~unknown] @ torch.linalg.inv(covariance[~unknown][:, ~unknown])
    mean = pixels.mean(0)[unknown] + gain @ (pixels[0] - pixels.mean(0))[~unknown]
    variance = (covariance[unknown][:, unknown] - gain @ covariance[~unknown][:, unknown]).diagonal()
    found = fitted.answers(pixels[0], unknown)["full_covariance"]
    torch.testing.assert_close(found, (mean, variance))


def test_a_silent_model_scores_like_independent_pixels(tmp_path: Path) -> None:
    data = f"frey:{frey_file(tmp_path)}"
    found = evaluate_model(silent_model(tmp_path), data, limit=5, seed=3)
    assert (found["images"], found["iterations"], found["queries"]) == (5, 50, "uniform:0.5")
    for score in ("nce_bits", "mse"):
        assert found[score] == pytest.approx(found["baselines"]["independent_unit_variance"][score], abs=1e-4)
    again = evaluate_model(silent_model(tmp_path), data, limit=5, seed=3)
    assert again["nce_bits"] == found["nce_bits"]
    assert evaluate_model(silent_model(tmp_path), data, limit=5, seed=4)["nce_bits"] != found["nce_bits"]


def test_queries_are_what_was_asked_for(tmp_path: Path) -> None:
    data = f"frey:{frey_file(tmp_path)}"
    found = evaluate_model(silent_model(tmp_path), data, limit=4, queries="patch:5x5", iterations=2)
    assert (found["queries"], found["targets"], found["iterations"]) == ("patch:5x5", 100, 2)
    half = evaluate_model(silent_model(tmp_path), data, limit=4, queries="half:left")
    assert half["targets"] == 4 * 280


def test_pictures_of_another_size_are_refused(tmp_path: Path) -> None:
    data = f"frey:{frey_file(tmp_path)}"
    with pytest.raises(StudioError, match="pictures of 20×28 pixels: this model takes 5×4"):
        evaluate_model(silent_model(tmp_path, (4, 5)), data)
    with pytest.raises(StudioError, match="is no query distribution"):
        evaluate_model(silent_model(tmp_path), data, queries="most:0.5")
