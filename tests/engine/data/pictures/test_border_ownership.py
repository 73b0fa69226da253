"""Labels from silhouettes, the noise that hides them, and the file that holds both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import ndimage

from mrfstudio.engine.data.dataset import DataError
from mrfstudio.engine.data.drawn.glyphs import Glyphs
from mrfstudio.engine.data.pictures.border_ownership import (
    CONTOUR,
    IN,
    OUT,
    SEEN,
    BorderData,
    emission,
    labels_from_silhouettes,
    make_border,
    resample_noise,
    seeded_noise,
)
from tests.places import SHARED

DATA = SHARED / "data"

EDGES = {((0, 0), (1, 0), (2, 0)), ((0, 0), (0, 1), (0, 2)), ((0, 0), (1, 1), (2, 2)), ((0, 2), (1, 1), (2, 0))}


@pytest.fixture(scope="module")
def labels() -> np.ndarray:
    return labels_from_silhouettes(Glyphs(count=120, validation=0, test=0).open()["train"]["images"])


def spurious(labels: np.ndarray, noisy: np.ndarray) -> np.ndarray:
    return (noisy == SEEN) & (labels == OUT)


@settings(deadline=None, max_examples=50)
@given(arrays.arrays(np.bool_, st.tuples(st.just(2), st.integers(1, 9), st.integers(1, 9))))
def test_contour_is_what_a_four_neighbour_dilation_adds(figures: np.ndarray) -> None:
    labels = labels_from_silhouettes(figures)
    for figure, label in zip(figures, labels, strict=True):
        grown = ndimage.binary_dilation(figure)
        assert np.array_equal(label[1:-1, 1:-1] == IN, figure)
        assert np.array_equal(label[1:-1, 1:-1] == CONTOUR, grown & ~figure)
        frame = np.ones(label.shape, bool)
        frame[1:-1, 1:-1] = False
        assert (label[frame] == OUT).all()


def test_spurious_edges_are_eight_three_pixel_lines_that_touch_nothing(labels: np.ndarray) -> None:
    noisy = resample_noise(labels, np.random.default_rng(3))
    directions = set()
    for label, edges in zip(labels, spurious(labels, noisy), strict=True):
        pieces, count = ndimage.label(edges, np.ones((3, 3)))
        assert count == 8
        for piece in ndimage.find_objects(pieces):
            form = tuple(zip(*(axis.tolist() for axis in np.nonzero(pieces[piece])), strict=True))
            assert form in EDGES
            directions.add(form)
            # the window of 5×5 around the middle is inside the image and all OUT
            middle = [(axis.start + axis.stop - 1) // 2 for axis in piece]
            window = label[middle[0] - 2 : middle[0] + 3, middle[1] - 2 : middle[1] + 3]
            assert window.shape == (5, 5)
            assert (window == OUT).all()
    assert directions == EDGES


def test_noise_deletes_a_fifth_of_the_contour_and_shows_nothing_inside(labels: np.ndarray) -> None:
    noisy = np.concatenate([resample_noise(labels, np.random.default_rng(seed)) for seed in range(4)])
    seen = emission([(np.tile(labels, (4, 1, 1)), noisy)])
    contours = 4 * (labels == CONTOUR).sum()
    assert seen[CONTOUR] == pytest.approx(0.8, abs=4 * (0.16 / contours) ** 0.5)
    assert seen[OUT] == pytest.approx(24 * len(labels) / (labels == OUT).sum())
    assert seen[IN] == 1e-10


def test_deletion_and_spurious_edges_follow_their_parameters(labels: np.ndarray) -> None:
    clean = resample_noise(labels, np.random.default_rng(0), spurious=0, deletion=0.0)
    assert np.array_equal(clean == SEEN, labels == CONTOUR)
    blank = resample_noise(labels, np.random.default_rng(0), spurious=0, deletion=1.0)
    assert not (blank == SEEN).any()


def test_places_of_spurious_edges_are_uniform_where_they_may_be() -> None:
    empty = np.full((4000, 7, 8), OUT, np.uint8)  # middles: 3 × 4 places
    noisy = resample_noise(empty, np.random.default_rng(1), spurious=1)
    middles = np.zeros((3, 4))
    for image in noisy:
        rows, columns = np.nonzero(image == SEEN)
        assert len(rows) == 3
        middles[int(rows.mean()) - 2, int(columns.mean()) - 2] += 1
    expected = 4000 / 12
    assert np.abs(middles - expected).max() < 5 * expected**0.5


def test_a_crowded_or_tiny_image_gets_fewer_edges() -> None:
    assert (resample_noise(np.full((3, 4, 30), OUT, np.uint8), np.random.default_rng(0)) != SEEN).all()
    one = resample_noise(np.full((3, 5, 5), OUT, np.uint8), np.random.default_rng(0))
    assert (spurious(np.full((3, 5, 5), OUT), one).sum((1, 2)) == 3).all()
    assert resample_noise(np.zeros((0, 30, 30), np.uint8), np.random.default_rng(0)).shape == (0, 30, 30)


def test_seeded_noise_depends_on_seed_stream_and_index_alone(labels: np.ndarray) -> None:
    many = np.tile(labels, (5, 1, 1))  # several chunks
    whole = seeded_noise(many, seed=5)
    some = np.array([590, 3, 256, 4])
    assert np.array_equal(seeded_noise(many[some], seed=5, indices=some), whole[some])
    assert not np.array_equal(seeded_noise(many, seed=6), whole)
    assert not np.array_equal(seeded_noise(many, seed=5, stream=1), whole)
    assert not np.array_equal(whole[0], whole[len(labels)])  # the same labels at another index


def test_seeded_noise_does_not_depend_on_the_number_of_processes(labels: np.ndarray) -> None:
    many = np.tile(labels, (3, 1, 1))
    heard: list[tuple[int, int]] = []
    two = seeded_noise(many, seed=5, workers=2, progress=lambda done, total: heard.append((done, total)))
    assert np.array_equal(two, seeded_noise(many, seed=5))
    assert heard == [(256, 360), (360, 360)]


def test_border_data_survives_a_file(tmp_path: Path) -> None:
    figures = Glyphs(count=12, validation=4, test=3).open()
    data = make_border({split: figures[split]["images"] for split in figures}, seed=1)
    data.save(tmp_path / "border")  # no ending is added
    again = BorderData.load(tmp_path / "border")
    assert again.sizes == {"train": 12, "val": 4, "test": 3}
    for split in data:
        assert np.array_equal(again.images(split), data.images(split))
        assert np.array_equal(again.noisy_images(split), data.noisy_images(split))
    assert np.array_equal(again.p_contour, data.p_contour)
    assert again.p_contour == pytest.approx(emission([(data.images("train"), data.noisy_images("train"))]))
    assert [path.name for path in tmp_path.iterdir()] == ["border"]


def border_arrays() -> dict[str, np.ndarray]:
    ones = np.ones((2, 6, 6), np.uint8)
    return {"images_train": ones, "noisy_images_train": ones, "p_contour": np.array([0.8, 0.03, 1e-10])}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda a: a.pop("p_contour"), "expected border data"),
        (lambda a: a.pop("images_train"), "has no 'images_train'"),
        (lambda a: a.update(images_train=np.full((2, 6, 6), 3)), "values from 3 to 3, expected 0 to 2"),
        (lambda a: a.update(noisy_images_train=np.full((2, 6, 6), 2)), "expected 0 to 1"),
        (lambda a: a.update(images_train=np.ones((2, 6, 6))), "is float64 of shape"),
        (lambda a: a.update(images_train=np.ones((2, 6, 5), int)), "expected the same shape"),
        (lambda a: a.update(p_contour=np.array([0.8, 0.0, 0.1])), "expected three probabilities"),
        (lambda a: a.update(p_contour=np.array([0.8, 0.1])), "expected three probabilities"),
    ],
)
def test_bad_border_files_are_refused_with_a_sentence(tmp_path: Path, change: Callable, sentence: str) -> None:
    arrays = border_arrays()
    change(arrays)
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    with pytest.raises(DataError, match=sentence) as caught:
        BorderData.load(path)
    assert str(path) in str(caught.value)


def test_a_split_that_is_not_there_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", **border_arrays())
    with pytest.raises(DataError, match="no 'val' split: expected one of train"):
        BorderData.load(tmp_path / "one.npz").images("val")


def test_silhouettes_must_be_bool() -> None:
    with pytest.raises(DataError, match="uint8 of shape"):
        labels_from_silhouettes(np.ones((1, 4, 4), np.uint8))  # type: ignore[arg-type]


@pytest.mark.skipif(not (DATA / "border_ownership.npz").exists(), reason="reference data are not here")
def test_labels_equal_the_reference_and_noise_has_its_statistics() -> None:
    reference = BorderData.load(DATA / "border_ownership.npz")
    with np.load(DATA / "mnist.npz", allow_pickle=False) as mnist:
        labels = labels_from_silhouettes(mnist["x_test"] > 127)
    assert np.array_equal(labels, reference.images("test"))
    labels, noisy = labels[:3000], reference.noisy_images("test")[:3000]
    redrawn = resample_noise(labels, np.random.default_rng(0))
    ours, theirs = (spurious(labels, images).mean(0) for images in (redrawn, noisy))
    deviation = np.sqrt((ours + theirs + 2 / len(labels)) / len(labels))
    assert np.abs((ours - theirs) / deviation).max() < 5
    assert emission([(labels, redrawn)]) == pytest.approx(emission([(labels, noisy)]), rel=0.006)
