"""`segment`, `evaluate`, `data` and `train` as a person calls them."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mrfstudio.cli import main
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.files.images import read_labels
from mrfstudio.engine.files.model_file import save_model
from mrfstudio.engine.protocol.requests.segment import MakeFigure
from mrfstudio.engine.workspaces.segment.pictures import figure_picture
from tests.cli.helpers import answer, refusal

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny grid model in which contours keep IN and OUT apart."""
    grid = GridMRF((2, 1, 1), emission=[0.8, 0.03, 1e-6])
    grid.randomise(0, [0.1, 0.7, 0.2])
    path = tmp_path_factory.mktemp("models") / "tiny.safetensors"
    save_model(path, "grid", grid.tensors(), {"hyperparameters": grid.hyperparameters()})
    return path


def ring(height: int, width: int) -> np.ndarray:
    """A dark ellipse on white."""
    rows, columns = np.mgrid[:height, :width]
    radius = np.hypot((rows - height / 2) / (height / 3), (columns - width / 2) / (width / 3))
    return np.where(np.abs(radius - 1) < 0.12, 0, 255).astype(np.uint8)


def pictures() -> dict[str, Image.Image]:
    grey = ring(30, 30)
    alpha = np.zeros((30, 30, 4), np.uint8)
    alpha[..., 3] = 255 - grey
    return {
        "plain": Image.fromarray(grey),
        "larger": Image.fromarray(ring(90, 90)),
        "smaller": Image.fromarray(ring(9, 9)),
        "not square": Image.fromarray(ring(20, 47)),
        "coloured": Image.fromarray(np.stack([grey, grey // 2, 255 - grey // 3], -1)),
        "alpha": Image.fromarray(alpha),
        "16-bit": Image.fromarray(grey.astype(np.uint16) * 257),
        "palette": Image.fromarray(grey).convert("P"),
        "two levels": Image.fromarray(grey).convert("1"),
        "one pixel": Image.new("L", (1, 1), 0),
        "black": Image.new("L", (12, 7), 0),
        "white": Image.new("L", (12, 7), 255),
    }


@pytest.mark.parametrize("name", list(pictures()))
def test_any_picture_is_segmented_at_its_own_size(name: str, model: Path, tmp_path: Path, capsys: Capture) -> None:
    picture = pictures()[name]
    image, out = tmp_path / "image.png", tmp_path / "labels.png"
    picture.save(image)
    result = answer(capsys, "segment", image, "--model", model, "--out", out, "--iterations", 3, "--json", "-")
    assert (result["width"], result["height"]) == picture.size
    labels = read_labels(out)
    assert labels.shape == picture.size[::-1]
    counts = [int((labels == k).sum()) for k in range(3)]
    assert list(result["pixels"].values()) == counts
    if name in ("black", "white", "one pixel"):
        assert result["contour_seen"] == 0
    else:
        assert 0.02 < result["contour_seen"] / labels.size < 0.5


def test_ink_can_be_named(model: Path, tmp_path: Path, capsys: Capture) -> None:
    image = tmp_path / "image.png"
    Image.fromarray(ring(30, 30)).save(image)
    dark = answer(capsys, "segment", image, "--model", model, "--ink", "dark", "--json", "-")
    light = answer(capsys, "segment", image, "--model", model, "--ink", "light", "--json", "-")
    assert dark["contour_seen"] + light["contour_seen"] == 900


def test_thick_lines_of_a_large_drawing_are_thinned_so_that_a_shipped_model_knows_them(
    tmp_path: Path, capsys: Capture
) -> None:
    rows, columns = np.mgrid[:300, :200]
    outside, inside = ((abs(rows - 150) < y) & (abs(columns - 100) < x) for y, x in ((120, 40), (96, 16)))
    image = tmp_path / "bar.png"  # the outline of a tall bar, in a line of 24 pixels
    Image.fromarray(np.where(outside & ~inside, 0, 255).astype(np.uint8)).save(image)
    drawn = ("segment", image, "--model", "grid-border-16", "--side", 40, "--json", "-")
    thick, thin = answer(capsys, *drawn), answer(capsys, *drawn, "--thin")
    assert (thin["width"], thin["height"]) == (27, 40)
    assert thin["contour_seen"] < 0.5 * thick["contour_seen"]
    assert thin["pixels"]["in"] > 100  # 6 by 28 or so lie within the middle of the line
    assert "--side is 0" in refusal(capsys, "segment", image, "--side", 0)


def test_bad_pictures_and_models_are_refused_in_one_sentence(model: Path, tmp_path: Path, capsys: Capture) -> None:
    good, corrupt, text = tmp_path / "good.png", tmp_path / "corrupt.png", tmp_path / "text.png"
    Image.fromarray(ring(30, 30)).save(good)
    corrupt.write_bytes(good.read_bytes()[:60])
    text.write_text("no picture at all")
    assert "corrupt.png" in refusal(capsys, "segment", corrupt, "--model", model)
    assert "text.png" in refusal(capsys, "segment", text, "--model", model)
    assert "nowhere.png" in refusal(capsys, "segment", tmp_path / "nowhere.png", "--model", model)
    assert "iterations is 0" in refusal(capsys, "segment", good, "--model", model, "--iterations", 0)
    assert "--scribbles" in refusal(capsys, "segment", good, "--labels", 2)
    assert "no option --colour" in refusal(capsys, "segment", good, "--model", model, "--colour", 3)
    other = tmp_path / "rbm.safetensors"
    save_model(other, "rbm", GridMRF((1, 1, 1)).tensors(), {"hyperparameters": {}})
    assert "rbm" in refusal(capsys, "segment", good, "--model", other)
    truncated = tmp_path / "cut.safetensors"
    truncated.write_bytes(model.read_bytes()[:-9])
    assert "cut.safetensors" in refusal(capsys, "segment", good, "--model", truncated)
    assert "grid-border-16" in refusal(capsys, "segment", good, "--model", "grid-border-15")
    broken = tmp_path / "broken.safetensors"
    save_model(broken, "grid", GridMRF((2, 1, 1)).tensors(), {"hyperparameters": {"clones": [5, 1, 1]}})
    assert "broken.safetensors" in refusal(capsys, "segment", good, "--model", broken)


def test_the_shipped_model_fills_a_closed_contour(tmp_path: Path, capsys: Capture) -> None:
    from mrfstudio.engine.data.pictures.border_ownership import labels_from_silhouettes

    rows, columns = np.mgrid[:28, :28]
    stroke = (abs(rows - 14) < 9) & (abs(columns - rows // 3 - 9) < 3)  # as wide as a digit's, which the model knows
    truth = labels_from_silhouettes(stroke[None])[0]
    image, out = tmp_path / "stroke.png", tmp_path / "labels.png"
    Image.fromarray(np.where(truth == 0, 0, 255).astype(np.uint8)).save(image)
    assert main(["segment", str(image), "--out", str(out)]) == 0
    capsys.readouterr()
    assert (read_labels(out) == truth).mean() > 0.95


def test_a_photograph_is_cut_by_strokes_of_two_colours(tmp_path: Path, capsys: Capture) -> None:
    rows, columns = np.mgrid[:60, :80]
    disc = (rows - 30) ** 2 + (columns - 40) ** 2 < 18**2
    photo, strokes = tmp_path / "photo.png", tmp_path / "strokes.png"
    Image.fromarray(np.where(disc[..., None], (200, 90, 40), (40, 90, 120)).astype(np.uint8)).save(
        photo, icc_profile=b"a profile"
    )
    layer = np.zeros((60, 80, 4), np.uint8)
    layer[3:5, 5:75] = 0, 0, 255, 255
    layer[29:32, 30:50] = 255, 0, 0, 255
    Image.fromarray(layer).save(strokes)
    out, cut = tmp_path / "labels.png", tmp_path / "cut.png"
    told = answer(
        capsys, "segment", photo, "--scribbles", strokes, "--out", out, "--cutout", cut, "--rounds", 1, "--json", "-"
    )
    assert told["labels"] == 2
    assert told["colours"] == ["#0000ff", "#ff0000"]
    assert ((read_labels(out) == 2) == disc).mean() > 0.99
    with Image.open(cut) as written:
        assert written.info["icc_profile"] == b"a profile"
        alpha = np.asarray(written)[..., 3]
    assert ((alpha > 128) == disc).mean() > 0.99
    answer(capsys, "segment", photo, "--scribbles", strokes, "--cutout", cut, "--keep", 1, "--json", "-")
    assert ((np.asarray(Image.open(cut))[..., 3] > 128) == ~disc).mean() > 0.99
    assert "from 1 to 2" in refusal(capsys, "segment", photo, "--scribbles", strokes, "--cutout", cut, "--keep", 3)
    assert ".png" in refusal(capsys, "segment", photo, "--scribbles", strokes, "--cutout", tmp_path / "cut.jpg")
    assert "2 colours" in refusal(capsys, "segment", photo, "--scribbles", strokes, "--labels", 3)
    Image.fromarray(layer[1:]).save(strokes)
    assert "80×59 pixels: the photograph is 80×60" in refusal(capsys, "segment", photo, "--scribbles", strokes)


def test_data_is_made_and_a_model_is_evaluated_on_it(model: Path, tmp_path: Path, capsys: Capture) -> None:
    data = tmp_path / "border.npz"
    made = answer(
        capsys,
        "data",
        "make",
        "border",
        "--from",
        "shapes",
        "--count",
        6,
        "--test",
        5,
        "--seed",
        3,
        "--out",
        data,
        "--json",
        "-",
    )
    assert made["images"]["train"] == 6
    scores = answer(capsys, "evaluate", model, "--data", f"border:{data}", "--limit", 4, "--json", "-")
    assert scores["images"] == 4
    for name in ("nce_bits", "iou", "pixel_accuracy"):
        assert scores[name] >= 0
        assert scores[name + "_without_evidence"] >= 0
    assert "no option --demping" in refusal(capsys, "evaluate", model, "--data", f"border:{data}", "--demping", "0.5")
    assert "leave --queries out" in refusal(
        capsys, "evaluate", model, "--data", f"border:{data}", "--queries", "uniform:0.5"
    )
    assert "nowhere.npz" in refusal(capsys, "evaluate", model, "--data", f"border:{tmp_path}/nowhere.npz")
    assert "at least 1" in refusal(capsys, "evaluate", model, "--data", f"border:{data}", "--limit", 0)


def test_data_list_names_every_data_set(capsys: Capture) -> None:
    names = {line["name"] for line in answer(capsys, "data", "list", "--json", "-")["data"]}
    assert {"border", "mnist", "glyphs", "shapes", "silhouettes"} <= names


def test_training_writes_a_model_that_segment_takes(tmp_path: Path, capsys: Capture) -> None:
    out, image = tmp_path / "mine.safetensors", tmp_path / "image.png"
    words = ["train", "grid", "--clones", "2", "--count", "20", "--validation", "4", "--epochs", "1", "--out", str(out)]
    status = main(words)
    printed = capsys.readouterr()
    assert status == 0, printed.err
    assert "model written to" in printed.out
    Image.fromarray(ring(30, 30)).save(image)
    result = answer(capsys, "segment", image, "--model", out, "--json", "-")
    assert result["iterations"] == 15
    assert json.loads((tmp_path / "mine.curves.json").read_text())


def test_a_drawing_of_thick_lines_is_doubted_and_the_same_thinned_is_not(tmp_path: Path, capsys: Capture) -> None:
    rows, columns = np.mgrid[:96, :96]
    thick = np.abs(np.hypot(rows - 48, columns - 48) - 26) < 2.5
    Image.fromarray(np.where(thick, 0, 255).astype(np.uint8)).save(tmp_path / "ring.png")
    asked = ["segment", tmp_path / "ring.png", "--json", "-"]
    assert "unlike what the model learned" in answer(capsys, *asked)["said"]
    assert answer(capsys, *asked, "--thin")["said"] is None


def test_a_figure_in_words_is_the_one_that_the_window_draws(model: Path, tmp_path: Path, capsys: Capture) -> None:
    asked = MakeFigure("glyphs", "5", 3, edges=4)
    assert asked.words == "figure:glyphs:5,seed=3,edges=4"
    assert MakeFigure.from_words(asked.words) == asked
    drawn = figure_picture("glyphs", kind="5", seed=3, edges=4)
    Image.fromarray(np.where(drawn.observed == 0, 0, 255).astype(np.uint8)).save(tmp_path / "five.png")
    told = []
    for image in (asked.words, str(tmp_path / "five.png")):
        out = tmp_path / "labels.png"
        words = ["segment", image, "--model", str(model), "--iterations", "9", "--ink", "dark", "--out", str(out)]
        told.append((answer(capsys, *words, "--json", "-"), read_labels(out)))
    (in_words, labels), (from_file, others) = told
    assert in_words["image"] == asked.words
    assert np.array_equal(labels, others)
    assert in_words["residual"] == from_file["residual"]
    assert in_words["contour_seen"] == int((drawn.observed == 0).sum()) > 20


@pytest.mark.parametrize("words", ["figure:glyphs:5,sed=3", "figure:glyphs:5,seed=x", "figure:no-such-set:5"])
def test_words_that_mean_no_figure_are_refused(words: str, model: Path, capsys: Capture) -> None:
    assert words.split(",")[0].split(":")[1] in refusal(capsys, "segment", words, "--model", model)
