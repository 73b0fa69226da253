from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter

from mrfstudio.engine.files.images import ImageError
from mrfstudio.engine.files.strokes import read_strokes

HEIGHT, WIDTH = 40, 60


@pytest.fixture
def photo() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3)).astype(np.uint8)


def painted(ground: np.ndarray, first: tuple[int, ...], second: tuple[int, ...]) -> np.ndarray:
    made = ground.copy()
    made[5:9, 10:50] = first
    made[30:34, 20:40] = second
    return made


def expected() -> np.ndarray:
    return painted(np.zeros((HEIGHT, WIDTH), np.uint8), (1,), (2,))


def save(folder: Path, pixels: np.ndarray | Image.Image, name: str = "strokes.png") -> Path:
    path = folder / name
    (pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)).save(path)
    return path


def test_values_of_grey_and_indexed_pictures_are_labels(tmp_path: Path, photo: np.ndarray) -> None:
    values = expected()
    for image in (Image.fromarray(values), Image.fromarray(values.astype(np.uint16))):
        found = read_strokes(save(tmp_path, image), photo)
        assert found.count == 2
        assert found.colours is None
        assert (found.values == values).all()
    indexed = Image.frombytes("P", (WIDTH, HEIGHT), values.tobytes())
    indexed.putpalette([9, 9, 9, 200, 0, 0, 0, 200, 0])
    assert (read_strokes(save(tmp_path, indexed), photo, 2).values == values).all()


def test_grey_levels_are_labels_on_the_commonest_one(tmp_path: Path, photo: np.ndarray) -> None:
    grey = painted(np.full((HEIGHT, WIDTH), 128, np.uint8), (255,), (0,))
    found = read_strokes(save(tmp_path, grey), photo)
    assert (found.values == expected()).all()
    assert found.colours == ((255, 255, 255), (0, 0, 0))


@pytest.mark.parametrize("ground", [(0, 0, 0, 0), (255, 255, 255, 255), (0, 0, 0, 255)])
def test_colours_are_labels_in_reading_order(ground: tuple[int, ...], tmp_path: Path, photo: np.ndarray) -> None:
    layer = painted(np.full((HEIGHT, WIDTH, 4), ground, np.uint8), (0, 200, 30, 255), (200, 0, 30, 255))
    found = read_strokes(save(tmp_path, layer), photo)
    assert (found.values == expected()).all()
    assert found.colours == ((0, 200, 30), (200, 0, 30))


def test_strokes_painted_on_a_copy_of_the_photograph(tmp_path: Path) -> None:
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    photo = np.stack([2 * rows + 40, columns + 60, 90 + 0 * rows], -1).astype(np.uint8)
    path = save(tmp_path, painted(photo, (255, 0, 255), (0, 255, 255)), "painted.png")
    assert (read_strokes(path, photo).values == expected()).all()


def test_blends_at_the_rim_of_a_soft_brush_are_no_labels(tmp_path: Path, photo: np.ndarray) -> None:
    hard = painted(np.full((HEIGHT, WIDTH, 3), 255, np.uint8), (255, 0, 0), (0, 0, 255))
    soft = Image.fromarray(hard).filter(ImageFilter.GaussianBlur(0.7))
    found = read_strokes(save(tmp_path, soft), photo)
    assert found.count == 2
    wrong = (found.values > 0) & (found.values != expected())
    assert not wrong.any()
    assert (found.values > 0).sum() > 0.4 * (expected() > 0).sum()


SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 80">
<g transform="translate(0, 10)" stroke="blue" stroke-width="6" fill="none">
<line x1="10" y1="5" x2="110" y2="5"/><polyline points="10,5 10,60"/></g>
<path style="stroke:#ff0000;stroke-width:8" d="M 40 40 h 20 C 65 40 70 42 80 50 l -5 5"/>
<path d="M0 0 L 120 80" stroke="none"/></svg>"""


def test_svg_strokes_are_drawn_over_the_whole_photograph(tmp_path: Path, photo: np.ndarray) -> None:
    path = tmp_path / "strokes.svg"
    path.write_text(SVG)
    found = read_strokes(path, photo)
    assert found.colours == ((0, 0, 255), (255, 0, 0))
    assert found.values[7, 30] == found.values[20, 5] == 1
    assert found.values[20, 25] == found.values[25, 39] == 2
    assert found.values[0, 0] == 0
    assert found.values[35, 55] == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<svg", "no SVG drawing"),
        ("<html></html>", "begins with <html>"),
        ('<!DOCTYPE svg [<!ENTITY a "b">]><svg/>', "entities"),
        ('<svg viewBox="0 0 9 9"/>', "no strokes"),
        ('<svg viewBox="0 0 9 9"><path stroke="red" d="M 1 1 L 2"/></svg>', "sets of 2"),
        ('<svg viewBox="0 0 9 9"><path stroke="url(#x)" d="M 1 1 L 2 2"/></svg>', "colour 'url"),
    ],
)
def test_svg_that_is_none_is_refused_in_a_sentence(text: str, words: str, tmp_path: Path, photo: np.ndarray) -> None:
    path = tmp_path / "strokes.svg"
    path.write_text(text)
    with pytest.raises(ImageError, match=words):
        read_strokes(path, photo)


def test_pictures_without_strokes_or_of_another_size_are_refused(tmp_path: Path, photo: np.ndarray) -> None:
    with pytest.raises(ImageError, match="only zeros"):
        read_strokes(save(tmp_path, np.zeros((HEIGHT, WIDTH), np.uint8)), photo)
    with pytest.raises(ImageError, match="no strokes"):
        read_strokes(save(tmp_path, np.zeros((HEIGHT, WIDTH, 4), np.uint8)), photo)
    with pytest.raises(ImageError, match="50×40 pixels: the photograph is 60×40"):
        read_strokes(save(tmp_path, np.zeros((HEIGHT, 50), np.uint8)), photo)
    with pytest.raises(ImageError, match="2 colours"):
        read_strokes(
            save(tmp_path, painted(np.zeros((HEIGHT, WIDTH, 3), np.uint8), (250, 0, 0), (0, 250, 0))), photo, 3
        )


@pytest.mark.parametrize("ground", ["plain", "photograph"])
def test_strokes_that_a_jpeg_has_blurred_are_refused(tmp_path: Path, photo: np.ndarray, ground: str) -> None:
    """Blurred colours would come out as other labels, or as none."""
    below = np.full_like(photo, 255) if ground == "plain" else photo
    path = tmp_path / "strokes.jpg"
    Image.fromarray(painted(below, (0, 160, 0), (200, 0, 200))).save(path, quality=95)
    with pytest.raises(ImageError, match=r"strokes\.jpg is a JPEG.*save them as PNG"):
        read_strokes(path, photo)
