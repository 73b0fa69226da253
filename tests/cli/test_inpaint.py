"""`inpaint` as a person calls it: every kind of model of pictures, and every odd mask."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from mrfstudio.engine.families.grbm.model import GRBM
from mrfstudio.engine.families.patches.model import PatchMixture
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.files.model_file import save_model
from tests.cli.helpers import answer, refusal

Capture = pytest.CaptureFixture[str]
SIZE = (6, 4)  # height, width


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One hidden unit that makes a picture bright or dark: what is missing follows from what is seen."""
    grbm = GRBM(SIZE, 1)
    grbm.weights.fill_(6.0)
    grbm.visible_bias.fill_(-1.0)
    grbm.hidden_bias.fill_(0.0)
    grbm.log_precision.fill_(np.log(3.0))
    grbm.mean.fill_(0.5)
    grbm.deviation.fill_(0.25)
    path = tmp_path_factory.mktemp("models") / "tiny.safetensors"
    card = {"hyperparameters": grbm.hyperparameters(), "options": {"iterations": 7}}
    save_model(path, "grbm", grbm.tensors(), card)
    return path


def saved(folder: Path, name: str, levels: np.ndarray) -> Path:
    path = folder / name
    Image.fromarray(levels.astype(np.uint8)).save(path)
    return path


def half_mask(folder: Path) -> Path:
    mask = np.zeros(SIZE)
    mask[:3] = 255
    return saved(folder, "mask.png", mask)


@pytest.mark.parametrize(("seen", "filled"), [(191, 0.75), (64, 0.25)])
def test_the_hole_follows_from_what_is_seen(
    seen: int, filled: float, model: Path, tmp_path: Path, capsys: Capture
) -> None:
    image, out = saved(tmp_path, "image.png", np.full(SIZE, seen)), tmp_path / "out.png"
    found = answer(
        capsys, "inpaint", image, "--mask", half_mask(tmp_path), "--model", model, "--out", out, "--json", "-"
    )
    assert (found["unknown"], found["iterations"], found["kind"]) == (12, 50, "grbm")
    mean, deviation = np.array(found["mean"]), np.array(found["deviation"])
    assert mean[:3] == pytest.approx(filled, abs=0.01)
    assert mean[3:] == pytest.approx(seen / 255, abs=1e-5)
    assert (deviation[:3] > 0).all()
    assert not deviation[3:].any()
    with Image.open(out) as written:
        assert np.asarray(written) / 255 == pytest.approx(mean, abs=0.003)


def test_colours_become_grey(model: Path, tmp_path: Path, capsys: Capture) -> None:
    colours = np.zeros((*SIZE, 3))
    colours[..., 1] = 255
    image = saved(tmp_path, "colour.png", colours)
    found = answer(capsys, "inpaint", image, "--mask", half_mask(tmp_path), "--model", model, "--json", "-")
    assert np.array(found["mean"])[3:] == pytest.approx(0.587, abs=1e-3)


def test_a_full_mask_asks_for_what_the_model_expects(model: Path, tmp_path: Path, capsys: Capture) -> None:
    image, mask = saved(tmp_path, "image.png", np.full(SIZE, 9)), saved(tmp_path, "mask.png", np.full(SIZE, 255))
    found = answer(capsys, "inpaint", image, "--mask", mask, "--model", model, "--iterations", 20, "--json", "-")
    assert (found["unknown"], found["iterations"]) == (24, 20)
    assert np.ptp(np.array(found["mean"])) == pytest.approx(0, abs=1e-4)


def test_binary_machines_plug_in(tmp_path: Path, capsys: Capture) -> None:
    rbm = RBM(24, 2, image_shape=SIZE)
    path = save_model(tmp_path / "rbm.safetensors", rbm.kind, rbm.tensors(), {"hyperparameters": rbm.hyperparameters()})
    image = saved(tmp_path, "image.png", np.full(SIZE, 100))
    found = answer(capsys, "inpaint", image, "--mask", half_mask(tmp_path), "--model", path, "--json", "-")
    assert found["kind"] == "rbm"
    assert np.array(found["mean"])[:3] == pytest.approx(0.5, abs=1e-5)
    assert np.array(found["mean"])[3:] == pytest.approx(100 / 255, abs=1e-5)


def test_what_cannot_be_filled_in_is_refused_in_a_sentence(model: Path, tmp_path: Path, capsys: Capture) -> None:
    image, mask = saved(tmp_path, "image.png", np.full(SIZE, 90)), half_mask(tmp_path)
    black, other = saved(tmp_path, "black.png", np.zeros(SIZE)), saved(tmp_path, "other.png", np.full((4, 6), 255))
    assert "no white pixel" in refusal(capsys, "inpaint", image, "--mask", black, "--model", model)
    assert "6×4 pixels and" in refusal(capsys, "inpaint", image, "--mask", other, "--model", model)
    assert "no model 'nobody'" in refusal(capsys, "inpaint", image, "--mask", mask, "--model", "nobody")
    assert "does not exist" in refusal(capsys, "inpaint", tmp_path / "none.png", "--mask", mask, "--model", model)
    assert "does not exist" in refusal(capsys, "inpaint", image, "--mask", tmp_path / "none.png", "--model", model)
    assert "iterations is 0" in refusal(capsys, "inpaint", image, "--mask", mask, "--model", model, "--iterations", 0)
    assert "fills in no pictures" in refusal(capsys, "inpaint", image, "--mask", mask, "--model", "grid-border-16")


def test_a_larger_picture_is_cut_and_scaled_with_its_mask(model: Path, tmp_path: Path, capsys: Capture) -> None:
    levels, holes = np.full((60, 90), 191), np.zeros((60, 90))
    levels[:, :20] = 0  # beside the middle part, which has the model's proportions
    holes[:31, 30:50] = 255
    image, mask, out = saved(tmp_path, "large.png", levels), saved(tmp_path, "mask.png", holes), tmp_path / "out.png"
    found = answer(capsys, "inpaint", image, "--mask", mask, "--model", model, "--out", out, "--json", "-")
    assert found["scaled"]
    with Image.open(out) as written:
        assert written.size == (4, 6)
    assert found["unknown"] == 4 * 3  # rows 0 to 3, columns 0 to 2: a pixel that is unknown in part is unknown
    beside = np.zeros((60, 90))
    beside[:, :20] = 255
    where = saved(tmp_path, "beside.png", beside)
    assert "middle part" in refusal(capsys, "inpaint", image, "--mask", where, "--model", model)


def test_a_photograph_keeps_its_size_and_its_colours(tmp_path: Path, capsys: Capture) -> None:
    """A smooth slope of colours: what is missing of it follows, and everything else stays byte for byte."""
    mixture = PatchMixture(4, 1, 6)
    steps = torch.linspace(-0.5, 0.5, 4)
    for number, slope in enumerate((steps[:, None].expand(4, 4), steps[None].expand(4, 4))):
        for channel in range(3):
            mixture.factors[0].view(4, 4, 3, 6)[:, :, channel, 3 * number + channel] = 0.1 * slope
    mixture.log_noise.fill_(-6.0)
    path = tmp_path / "slopes.safetensors"
    save_model(path, mixture.kind, mixture.tensors(), {"hyperparameters": mixture.hyperparameters()})
    rows, columns = np.indices((30, 44))
    truth = np.stack([40 + 3 * columns, 200 - 2 * columns, 30 + 4 * rows], -1)
    holes = np.zeros((30, 44))
    holes[10:13, 20:40] = 255
    damaged = np.where(holes[..., None] > 0, 255, truth)
    image, mask = saved(tmp_path, "photo.png", damaged), saved(tmp_path, "mask.png", holes)
    out, doubt, draw = (tmp_path / f"{name}.png" for name in ("out", "doubt", "draw"))
    options = ("--mask", mask, "--model", path, "--out", out, "--deviation", doubt, "--sample", draw, "--json", "-")
    found = answer(capsys, "inpaint", image, *options)
    assert (found["width"], found["height"], found["unknown"], found["colour"]) == (44, 30, 60, True)
    pixels = np.asarray(Image.open(out)).astype(int)
    assert np.abs(pixels - truth).max() <= 3
    assert (pixels[holes == 0] == truth[holes == 0]).all()
    assert np.asarray(Image.open(doubt))[holes == 0].max() == 0
    assert np.asarray(Image.open(draw)).shape == (30, 44, 3)
    assert "--iterations is for" in refusal(capsys, "inpaint", image, *options[:4], "--iterations", 3)
