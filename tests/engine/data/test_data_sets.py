"""Data sets by name: generated silhouettes, loaders, and what is said about files that are not what they should be."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from mrfstudio.engine.data.dataset import SPLITS, DataError, dataset_class, parse_data
from mrfstudio.engine.data.drawn.drawing import fill, smooth, stroke
from mrfstudio.engine.data.drawn.generated import Generated, largest_piece
from mrfstudio.engine.data.drawn.glyphs import DIGITS, Glyphs
from mrfstudio.engine.data.drawn.shapes import Shapes
from mrfstudio.engine.registry import DATASETS
from tests.places import SHARED

DATA = SHARED / "data"
GENERATED = [Shapes, Glyphs]


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MRFSTUDIO_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("MRFSTUDIO_DATA_URL", raising=False)


# Drawing ------------------------------------------------------------------------------------------------------------


def test_fill_is_even_odd() -> None:
    outer = np.array([(1, 1), (9, 1), (9, 9), (1, 9)], float)
    hole = np.array([(3, 3), (6, 3), (6, 6), (3, 6)], float)
    expected = np.zeros((10, 10), bool)
    expected[1:9, 1:9] = True
    expected[3:6, 3:6] = False
    assert np.array_equal(fill([outer, hole], 10), expected)


def test_stroke_covers_what_is_near_the_line() -> None:
    rows, columns = np.mgrid[0:20, 0:20] + 0.5
    line = np.array([(3.2, 5.1), (3.2, 5.1), (15.7, 11.3)])  # a step of no length is allowed
    along = np.clip(((columns - 3.2) * 12.5 + (rows - 5.1) * 6.2) / (12.5**2 + 6.2**2), 0, 1)
    distance = np.hypot(columns - 3.2 - along * 12.5, rows - 5.1 - along * 6.2)
    assert np.array_equal(stroke([line], [3.0], 20), distance <= 1.5)


def test_smooth_goes_through_its_points_and_two_give_a_line() -> None:
    points = [(0.0, 0.0), (1.0, 2.0), (3.0, 1.0)]
    assert smooth(points, samples=4)[[0, 4, 8]] == pytest.approx(np.array(points))
    assert smooth(points, closed=True, samples=4)[[0, 4, 8, 12]] == pytest.approx(np.array([*points, points[0]]))
    assert smooth(points[:2], samples=4)[:, 1] == pytest.approx(2 * smooth(points[:2], samples=4)[:, 0])


# Generated silhouettes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", GENERATED)
def test_every_kind_of_figure_is_one_piece_with_room_around_it(kind: type[Generated]) -> None:
    every = {"characters": "all"} if kind is Glyphs else {}
    source = kind(count=3 * len(kind.classes), validation=0, test=0, seed=2, **every)
    train = source.open()["train"]
    assert np.array_equal(np.bincount(train["classes"]), np.full(len(kind.classes), 3))
    for image in train["images"]:
        assert ndimage.label(image, np.ones((3, 3)))[1] == 1
        assert 0.03 < image.mean() < 0.7
        assert not image[[0, -1]].any()
        assert not image[:, [0, -1]].any()


def test_specks_beside_a_figure_are_removed() -> None:
    mask = np.zeros((6, 6), bool)
    mask[1:3, 1:3] = mask[3, 3] = mask[5, 0] = True  # a square, a pixel at its corner, a speck
    expected = mask.copy()
    expected[5, 0] = False
    assert np.array_equal(largest_piece(mask), expected)


@pytest.mark.parametrize("kind", GENERATED)
def test_a_picture_depends_on_seed_split_and_index_alone(kind: type[Generated]) -> None:
    large = kind(count=30, validation=30, test=0, seed=4).open()
    small = kind(count=7, validation=0, test=2, seed=4).open()
    assert np.array_equal(small["train"]["images"], large["train"]["images"][:7])
    assert not np.array_equal(large["train"]["images"], large["val"]["images"])
    other = kind(count=7, validation=0, test=0, seed=5).open()
    assert not np.array_equal(other["train"]["images"], small["train"]["images"])


def test_pictures_can_have_any_size() -> None:
    for size in (12, 60):
        images = Shapes(count=21, validation=0, test=0, size=size).open()["train"]["images"]
        assert images.shape == (21, size, size)
        assert 0.05 < images.mean() < 0.6


def test_glyphs_are_digits_unless_letters_are_wanted() -> None:
    constants = Glyphs(count=20, validation=0, test=0).open()
    names = constants.constants["classnames"][constants["train"]["classes"]]
    assert names.tolist() == [*DIGITS, *DIGITS]
    letters = Glyphs(count=3, validation=0, test=0, characters="letters").open()
    assert letters.constants["classnames"][letters["train"]["classes"]].tolist() == ["A", "B", "C"]


# Loaders ------------------------------------------------------------------------------------------------------------


def mnist_arrays() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    arrays = {}
    for part, count in (("train", 20), ("test", 5)):
        arrays[f"x_{part}"] = generator.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        arrays[f"y_{part}"] = generator.integers(0, 10, count, dtype=np.uint8)
    return arrays


def write_idx(path: Path, array: np.ndarray) -> None:
    content = bytes((0, 0, 8, array.ndim)) + np.array(array.shape, ">u4").tobytes() + array.tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def write_idx_folder(folder: Path) -> None:
    arrays = mnist_arrays()
    write_idx(folder / "train-images-idx3-ubyte", arrays["x_train"])
    write_idx(folder / "train-labels-idx1-ubyte.gz", arrays["y_train"])
    write_idx(folder / "t10k-images.idx3-ubyte", arrays["x_test"])
    write_idx(folder / "t10k-labels.idx1-ubyte.gz", arrays["y_test"])


def test_mnist_from_npz_and_from_idx_are_the_same(tmp_path: Path) -> None:
    np.savez(tmp_path / "mnist.npz", **mnist_arrays())
    write_idx_folder(tmp_path)
    one, other = (parse_data(f"mnist:{path}").open(validation=4) for path in (tmp_path / "mnist.npz", tmp_path))
    assert one.sizes == {"train": 16, "val": 4, "test": 5}
    for split in one:
        for name in one[split]:
            assert np.array_equal(one[split][name], other[split][name])
    assert np.array_equal(one["val"]["images"], mnist_arrays()["x_train"][16:])


def test_mnist_silhouettes_are_pixels_above_half_intensity() -> None:
    levels = np.array([[[0, 127, 128, 255]]], np.uint8)
    assert dataset_class("mnist")().figures({"images": levels}).tolist() == [[[False, False, True, True]]]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda folder: (folder / "train-images-idx3-ubyte").unlink(), "has no train-images-idx3-ubyte"),
        (
            lambda folder: write_idx(folder / "train-images-idx3-ubyte", np.zeros(3, np.uint8)),
            "starts with 00 00 08 01",
        ),
        (lambda folder: (folder / "t10k-images.idx3-ubyte").write_bytes(b"\0\0\x08\x03" + bytes(7)), "starts with"),
        (lambda folder: (folder / "train-labels-idx1-ubyte.gz").write_bytes(b"no gzip"), "cannot be read"),
        (
            lambda folder: (folder / "t10k-images.idx3-ubyte").write_bytes(
                b"\0\0\x08\x03" + b"\0\0\0\x02" * 3 + bytes(7)
            ),
            "has 7 bytes of values: expected 8",
        ),
        (
            lambda folder: write_idx(folder / "t10k-labels.idx1-ubyte", np.zeros(2, np.uint8)),
            "y_test is uint8 of shape .2,., expected 5 whole numbers",
        ),
    ],
)
def test_damaged_idx_folders_are_refused(tmp_path: Path, damage: Callable[[Path], Any], sentence: str) -> None:
    write_idx_folder(tmp_path)
    damage(tmp_path)
    with pytest.raises(DataError, match=sentence):
        parse_data(f"mnist:{tmp_path}").open(validation=0)


def test_silhouettes_follow_the_order_that_the_file_suggests(tmp_path: Path) -> None:
    x = np.zeros((100, 3, 3), np.uint8)
    x[np.arange(100) % 2 == 0, 1, 1] = 1
    order = np.random.default_rng(1).permutation(100)
    np.savez(tmp_path / "s.npz", x=x, y=np.arange(100), classnames=np.array(["dot"]), suggested_perm=order)
    splits = parse_data(f"silhouettes:{tmp_path / 's.npz'}").open(validation=0.2, test=0.3)
    assert splits.sizes == {"train": 50, "val": 20, "test": 30}
    assert np.array_equal(np.concatenate([splits[split]["classes"] for split in splits]), order)
    assert np.array_equal(splits["val"]["images"][:, 1, 1], splits["val"]["classes"] % 2 == 0)


def test_frey_is_split_four_to_one_in_the_published_order(tmp_path: Path) -> None:
    x = np.random.default_rng(2).integers(0, 256, (1965, 28, 20), dtype=np.uint8)
    np.savez(tmp_path / "f.npz", x=x)
    splits = parse_data(f"frey:{tmp_path / 'f.npz'}").open()
    order = np.random.default_rng(0).permutation(1965)
    assert splits.sizes == {"train": 1572, "test": 393}
    assert np.array_equal(splits["test"]["images"], x[order[1572:]])
    assert splits.constants["mean"] == pytest.approx(x[order[:1572]].mean())


def test_binary_digits_are_scaled_and_the_last_tenth_validates(tmp_path: Path) -> None:
    train = np.arange(40, dtype=np.uint8).reshape(20, 2)
    np.savez(tmp_path / "d.npz", qt_train=train, qt_test=train[:3], scale_max=np.array([40.0, 80.0], np.float32))
    splits = parse_data(f"binary:{tmp_path / 'd.npz'}").open()
    assert splits.sizes == {"train": 18, "val": 2, "test": 3}
    assert splits["val"]["x"] == pytest.approx(train[18:] / [40.0, 80.0])


def save(path: Path, **arrays: np.ndarray) -> str:
    np.savez(path, **arrays)
    return str(path)


BITS = np.ones((4, 3), np.uint8)


@pytest.mark.parametrize(
    ("name", "arrays", "sentence"),
    [
        ("binary", {"train": BITS, "valid": BITS, "test": 2 * BITS}, "test has values from 2 to 2, expected 0 and 1"),
        ("binary", {"train": BITS, "valid": BITS, "test": BITS[:, :2]}, "rows of different lengths"),
        ("binary", {"train": BITS}, "holds train: expected train, valid and test"),
        (
            "binary",
            {"qt_train": BITS, "qt_test": BITS, "scale_max": np.zeros(3)},
            "expected .N, D., .M, D. and .D,. > 0",
        ),
        ("ising", {"train": BITS, "valid": BITS, "test": BITS}, "expected spins -1 and"),
        ("frey", {"x": np.zeros((9, 20, 28), np.uint8)}, "expected uint8 of shape .faces, 28, 20."),
        ("frey", {"y": BITS}, "has no 'x'"),
        ("silhouettes", {"x": np.full((4, 3, 3), 255)}, "values from 255 to 255, expected 0 and 1"),
        ("silhouettes", {"x": np.ones((4, 3, 3), int), "suggested_perm": np.zeros(4, int)}, "not a permutation"),
        ("mnist", {"x_train": BITS}, "has no 'y_train': expected x_train, y_train, x_test, y_test"),
    ],
)
def test_files_with_other_contents_are_refused(
    tmp_path: Path, name: str, arrays: dict[str, np.ndarray], sentence: str
) -> None:
    path = save(tmp_path / "bad.npz", **arrays)
    with pytest.raises(DataError, match=sentence) as caught:
        parse_data(f"{name}:{path}").open()
    assert path in str(caught.value)


@pytest.mark.parametrize("name", [name for name in DATASETS.names() if dataset_class(name).path != "none"])
@pytest.mark.parametrize("content", ["empty", "text", "pickle", "array", "cut", "zip of text"])
def test_no_file_is_read_as_what_it_is_not(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / "odd.npz"
    if content == "array":
        with open(path, "wb") as file:
            np.save(file, BITS)
    elif content in ("cut", "pickle"):
        np.savez(path, x=np.array([{}]) if content == "pickle" else BITS, allow_pickle=True)
        if content == "cut":
            path.write_bytes(path.read_bytes()[:90])
    elif content == "zip of text":
        import zipfile

        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.txt", "hello")
    else:
        path.write_text("" if content == "empty" else "hello\n")
    with pytest.raises(DataError, match=r"odd\.npz") as caught:
        parse_data(f"{name}:{path}").open()
    assert "\n" not in str(caught.value)


# Names --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DATASETS.names())
def test_every_data_set_says_what_it_is(name: str) -> None:
    kind = dataset_class(name)
    assert kind.title
    assert kind.summary.endswith(".")
    assert kind.yields
    assert kind.spelling().startswith(name)


def test_only_the_first_colon_separates_name_and_path(tmp_path: Path) -> None:
    path = tmp_path / "a:b.npz"
    np.savez(path, x=np.ones((9, 3, 3), np.uint8))
    assert parse_data(f"silhouettes:{path}").path == path


def test_names_and_paths_that_do_not_fit_get_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "x.npz").touch()
    for text, sentence in (
        ("mnst:x", "did you mean 'mnist'"),
        (str(tmp_path / "x.npz"), "a path follows a name, as in border:"),
        ("mnist", "needs a path: write mnist:FILE.npz"),
        ("mnist:", "needs a path"),
        ("frey:nowhere.npz", "nowhere.npz does not exist"),
        ("shapes:x", "takes no path"),
        ("", "no data set ''"),
    ):
        with pytest.raises(DataError, match=sentence):
            parse_data(text)


def test_border_without_a_file_is_made_from_glyphs() -> None:
    data = parse_data("border").open(count=20, validation=3, test=0, seed=7)
    assert data.sizes == {"train": 20, "val": 3}
    figures = Glyphs(count=20, validation=0, test=0, seed=7).open()["train"]["images"]
    assert np.array_equal(data["train"]["images"][:, 1:-1, 1:-1] == 2, figures)


@pytest.mark.skipif(not DATA.exists(), reason="reference data are not here")
def test_the_reference_files_open() -> None:
    kinds = {"binary_*": "binary", "ising_*": "ising", "caltech*": "silhouettes", "frey*": "frey", "border*": "border"}
    opened = 0
    for pattern, name in kinds.items():
        for path in DATA.glob(f"{pattern}.npz"):
            splits = parse_data(f"{name}:{path}").open()
            assert set(splits) <= set(SPLITS)
            assert {"train", "test"} <= set(splits)
            opened += 1
    assert opened == 13
