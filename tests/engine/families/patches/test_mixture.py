"""The mixture of windows against plain Gaussian algebra: densities, conditioning, learning."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from mrfstudio.engine.families.patches.choice import CANDIDATES
from mrfstudio.engine.families.patches.model import PatchMixture, best_factor, log_densities, windows_of
from mrfstudio.engine.families.patches.online_em import OnlineExpectationMaximisation, set_steps, sums_of
from mrfstudio.engine.families.patches.windows import MEANS, MixtureWindows
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training.command import train_command

SIDE = 3


def small_mixture(components: int = 2, rank: int = 4) -> PatchMixture:
    """Orthogonal random directions without the means of channels, in 64 bits."""
    torch.manual_seed(0)
    model = PatchMixture(SIDE, components, rank, dtype=torch.float64)
    for k in range(components):
        free = torch.randn(SIDE**2, 3, rank, dtype=torch.float64)
        free = (free - free.mean(0)).flatten(0, 1)
        model.factors[k] = torch.linalg.qr(free)[0] * torch.linspace(0.4, 0.1, rank, dtype=torch.float64) / (k + 1)
    model.log_noise.copy_(torch.tensor([0.02, 0.05][:components], dtype=torch.float64).log())
    model.log_weights.copy_(torch.tensor([0.3, 0.7][:components], dtype=torch.float64).log())
    return model


def covariance(model: PatchMixture, k: int) -> torch.Tensor:
    factor = model.factors[k]
    return factor @ factor.T + (2 * model.log_noise[k]).exp() * torch.eye(len(factor), dtype=torch.float64)


def test_densities_are_those_of_gaussians_without_the_means() -> None:
    model = small_mixture()
    pieces = torch.randint(0, 256, (5, SIDE, SIDE, 3), dtype=torch.uint8)
    windows = windows_of(pieces).double()
    found = log_densities(model, windows)
    means = torch.eye(3, dtype=torch.float64).repeat(SIDE**2, 1) / SIDE
    basis = torch.linalg.svd(means, full_matrices=True)[0][:, 3:]  # all that has no mean
    for k in range(2):
        inside = torch.distributions.MultivariateNormal(
            torch.zeros(basis.shape[1], dtype=torch.float64), basis.T @ covariance(model, k) @ basis
        )
        wanted = model.log_weights[k] + inside.log_prob(windows @ basis)
        assert torch.allclose(found[:, k], wanted, atol=1e-6)


@pytest.mark.parametrize("channels", [1, 3])
def test_conditioning_is_exact(channels: int) -> None:
    """Mean and variance by the inverse of the whole covariance, means of channels and noise of messages included."""
    model = small_mixture()
    torch.set_default_dtype(torch.float64)
    try:
        windows = MixtureWindows(model, channels)
        values, variances = torch.randn(2, SIDE**2, channels), torch.rand(2, SIDE**2) + 1e-3
        variances[0, :5] = 1e-6
        found = windows.condition(values, variances, torch.tensor([1, 0]))
    finally:
        torch.set_default_dtype(torch.float32)
    mean_of_channels = torch.eye(3, dtype=torch.float64)[None].expand(SIDE**2, 3, 3)
    for row, k in enumerate((1, 0)):
        prior = covariance(model, k)
        if channels == 1:
            mix = torch.block_diag(*[torch.full((1, 3), 1 / 3, dtype=torch.float64)] * SIDE**2)
            prior = mix @ prior @ mix.T
            level = torch.ones(SIDE**2, 1, dtype=torch.float64)
        else:
            level = mean_of_channels.reshape(-1, 3)
        prior = prior + MEANS**2 * level @ level.T
        noise = torch.diag(variances[row].repeat_interleave(channels))
        gain = prior @ torch.linalg.inv(prior + noise)
        assert torch.allclose(found.mean[row].flatten(), gain @ values[row].flatten(), atol=1e-7)
        spread = (prior - gain @ prior).diagonal().view(-1, channels).mean(1)
        assert torch.allclose(found.variance[row], spread, atol=1e-7)


def test_the_component_with_the_highest_density_is_chosen() -> None:
    model = _single(small_mixture())
    torch.manual_seed(1)
    sizes = torch.tensor([0.3, 0.1, 0.03]).repeat_interleave(40)[:, None]
    windows = (model.factors[torch.arange(120) % 2] @ torch.randn(120, 4, 1))[..., 0] + sizes * torch.randn(120, 27)
    windows = (windows.view(-1, 9, 3) - windows.view(-1, 9, 3).mean(1, keepdim=True)).flatten(1)
    wanted = log_densities(model, windows, noise=0.03).argmax(1)
    found = MixtureWindows(model, 3).choose(windows.view(-1, 9, 3) + 0.4, 0.03)
    assert (found == wanted).all()
    assert set(found.tolist()) == {0, 1}


def _single(model: PatchMixture) -> PatchMixture:
    same = PatchMixture(SIDE, model.components, model.rank)
    same.load_tensors(model.tensors())
    return same


def test_the_best_factor_is_the_covariance_where_the_rank_suffices() -> None:
    wanted = covariance(small_mixture(1), 0)
    factor, noise = best_factor(wanted, 4)
    again = factor @ factor.T + noise**2 * torch.eye(len(wanted), dtype=torch.float64)
    assert torch.allclose(again, wanted, atol=1e-9)


def test_one_step_of_em_raises_the_likelihood() -> None:
    """On the same windows, as EM promises; the second component is far off at first."""
    torch.manual_seed(2)
    model = _single(small_mixture())
    truth = _single(small_mixture())
    windows = (truth.factors[1] @ torch.randn(4, 400)).T.contiguous() + 0.05 * torch.randn(400, 27)
    windows = (windows.view(-1, 9, 3) - windows.view(-1, 9, 3).mean(1, keepdim=True)).flatten(1)
    model.factors[1] *= 0.2
    pieces = {"images": ((windows + 0.5).clamp(0, 1) * 255).round().to(torch.uint8).view(-1, 3, 3, 3)}
    learner, trained = OnlineExpectationMaximisation(), model.trained()
    before = learner.validate(trained, _Source(pieces["images"]))["bits_per_pixel"]
    with torch.no_grad():
        _, shares, squares = sums_of(trained, windows_of(pieces))
        set_steps(trained, shares, squares)
        for tensor in (trained.log_weights, trained.factors, trained.log_noise):
            assert tensor.grad is not None
            tensor -= tensor.grad
    assert learner.validate(trained, _Source(pieces["images"]))["bits_per_pixel"] < before - 0.05


class _Source:
    def __init__(self, pieces: torch.Tensor) -> None:
        self.pieces = pieces

    def __len__(self) -> int:
        return len(self.pieces)

    def __getitem__(self, indices: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"images": self.pieces[indices]}


def test_a_folder_of_pictures_becomes_a_model_by_one_command(tmp_path: Path) -> None:
    folder, out = tmp_path / "pictures", tmp_path / "own.safetensors"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(3):
        Image.fromarray(rng.integers(0, 255, (40, 50, 3), np.uint8)).save(folder / f"{number}.png")
    small = {"pieces": 300, "components": 3, "rank": 5, "epochs": 2, "batch_size": 100}
    result = train_command("patches", None, f"images:{folder}", out, **small)
    assert (result["reason"], result["step"]) == ("finished", 6)
    model = open_model(out)
    assert (model.kind, model.side, model.components) == ("patches", 8, 3)
    assert math.isfinite(result["scores"]["bits_per_pixel"])
    with pytest.raises(StudioError, match="square pieces in colour"):
        train_command("patches", None, f"images:{folder}", out, **{**small, "pieces": 0})


def test_of_many_components_the_best_is_found_by_a_quick_look_and_a_close_one() -> None:
    torch.manual_seed(2)
    model = PatchMixture(6, 3 * CANDIDATES, 8)
    with torch.no_grad():
        sizes = torch.logspace(-2, -0.5, model.components)[:, None, None]
        shared = torch.linalg.qr(torch.randn(model.pixels, 20))[0]  # as smooth directions are of photographs
        model.factors.copy_(shared @ torch.linalg.qr(torch.randn(model.components, 20, 8))[0] * sizes)
        model.log_noise.fill_(math.log(0.01))
    of = torch.arange(300) % model.components
    windows = (model.factors[of] @ torch.randn(300, 8, 1))[..., 0] + 0.01 * torch.randn(300, model.pixels)
    windows = (windows.view(-1, 36, 3) - windows.view(-1, 36, 3).mean(1, keepdim=True)).flatten(1)
    densities = log_densities(model, windows, noise=0.02)
    found = MixtureWindows(model, 3).choose(windows.view(-1, 36, 3) + 0.4, 0.02)
    assert (found == densities.argmax(1)).float().mean() > 0.9
    lost = densities.amax(1) - densities.gather(1, found[:, None])[:, 0]
    assert lost.mean() < 0.5
