"""`segment` on photographs with three labels: strokes of every kind, models that are kept, folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from mrfstudio.engine.files.images import read_labels
from tests.cli.helpers import answer, refusal

Capture = pytest.CaptureFixture[str]
LINES = {"sky": (10, 8, 80, 9), "ball": (42, 32, 56, 40), "grass": (8, 66, 88, 68)}
COLOURS = {"sky": (255, 0, 255), "ball": (255, 255, 0), "grass": (0, 255, 255)}


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    """A red ball before a blue sky and green grass, 96 × 72 with noise."""
    image = Image.new("RGB", (96, 72), (90, 140, 200))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 50, 96, 72), fill=(60, 120, 50))
    draw.ellipse((30, 20, 66, 56), fill=(190, 60, 50))
    noise = np.random.default_rng(1).normal(0, 8, (72, 96, 3))
    path = tmp_path / "scene.png"
    Image.fromarray((np.asarray(image) + noise).clip(0, 255).astype(np.uint8)).save(path)
    return path


def drawn(image: Image.Image, colours: Mapping[str, Any]) -> Image.Image:
    draw = ImageDraw.Draw(image)
    for name, line in LINES.items():
        draw.line(line, fill=colours[name], width=4)
    return image


def transparent(scene: Path) -> Path:
    layer = drawn(Image.new("RGBA", (96, 72)), {name: (*colour, 200) for name, colour in COLOURS.items()})
    layer.save(scene.with_name("strokes.png"))
    return scene.with_name("strokes.png")


def grey(scene: Path) -> Path:
    layer = drawn(Image.new("L", (96, 72)), {"sky": 80, "ball": 255, "grass": 160})
    layer.save(scene.with_name("grey.tif"))
    return scene.with_name("grey.tif")


def copied(scene: Path) -> Path:
    drawn(Image.open(scene).convert("RGB"), COLOURS).save(scene.with_name("copy.png"))
    return scene.with_name("copy.png")


def svg(scene: Path) -> Path:
    lines = (
        f'<line x1="{a}" y1="{b}" x2="{c}" y2="{d}" stroke="rgb{COLOURS[name]}" stroke-width="4"/>'
        for name, (a, b, c, d) in LINES.items()
    )
    path = scene.with_name("strokes.svg")
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 72">{"".join(lines)}</svg>')
    return path


def parts(labels: np.ndarray) -> tuple[int, int, int]:
    """Labels of sky, ball and grass, each in its middle."""
    return int(labels[3, 5]), int(labels[38, 48]), int(labels[70, 5])


@pytest.mark.parametrize("strokes", [transparent, grey, copied, svg])
def test_three_labels_come_out_whatever_strokes_were_painted_with(
    strokes: Callable[[Path], Path], scene: Path, capsys: Capture
) -> None:
    out = scene.with_name("labels.png")
    told = answer(capsys, "segment", scene, "--scribbles", strokes(scene), "--out", out, "--json", "-")
    assert told["labels"] == 3
    assert told["residual"] < 1e-2  # settled
    sky, ball, grass = parts(read_labels(out, 4))
    assert len({sky, ball, grass}) == 3
    assert np.isclose(told["pixels"][str(ball)], np.pi * 18**2, rtol=0.1)


def test_names_of_a_kept_model_follow_the_numbers_of_the_labels(scene: Path, capsys: Capture) -> None:
    mine, out = scene.with_name("mine.safetensors"), scene.with_name("labels.png")
    names = ["sky", "ball", "grass"]  # top to bottom, as strokes are numbered
    asked = ("--scribbles", transparent(scene), "--keep-model", mine, "--names", ",".join(names), "--out", out)
    answer(capsys, "segment", scene, *asked, "--json", "-")
    assert parts(read_labels(out, 4)) == (1, 2, 3)
    told = answer(capsys, "segment", scene, "--model", mine, "--out", out, "--json", "-")
    assert parts(read_labels(out, 4)) == (1, 2, 3)
    assert np.isclose(told["pixels"]["ball"], np.pi * 18**2, rtol=0.1)
    wrong = refusal(capsys, "segment", scene, "--scribbles", transparent(scene), "--keep-model", mine, "--names", "a,b")
    assert "3 labels" in wrong


def test_a_folder_is_cut_by_a_kept_model_and_what_cannot_be_read_is_named(scene: Path, capsys: Capture) -> None:
    mine, folder, out = scene.with_name("mine.safetensors"), scene.with_name("many"), scene.with_name("out")
    answer(capsys, "segment", scene, "--scribbles", transparent(scene), "--keep-model", mine, "--json", "-")
    folder.mkdir()
    picture = Image.open(scene)
    exif = Image.Exif()
    exif[0x112] = 6  # taken upright
    picture.save(folder / "upright.jpg", exif=exif)
    picture.convert("CMYK").save(folder / "print.jpg")
    Image.fromarray(np.asarray(picture.convert("L")).astype(np.uint16) * 257).save(folder / "deep.png")
    (folder / "cut-short.jpg").write_bytes((folder / "print.jpg").read_bytes()[:900])
    told = answer(capsys, "segment", folder, "--model", mine, "--out", out, "--json", "-")
    sizes = {path.name: read_labels(path, 4).shape for path in out.iterdir()}
    wide, tall = (72, 96), (96, 72)
    assert sizes == {"upright-labels.png": tall, "print-labels.png": wide, "deep-labels.png": wide}
    assert len(told["images"]) == 3
    assert [Path(each).name for each in told["failed"]] == ["cut-short.jpg"]
