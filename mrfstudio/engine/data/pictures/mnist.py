"""MNIST: handwritten digits, from one npz file or from a folder with the four IDX files, zipped or not."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.data.dataset import Array, DataError, Dataset, Progress, Splits, hold_out
from mrfstudio.engine.data.npz_file import read_npz, require
from mrfstudio.engine.files.distrust import unpacked_limit
from mrfstudio.engine.protocol.catalogue import integer
from mrfstudio.engine.registry import DATASETS

_EXPECTED = "MNIST as an npz file with x_train, y_train, x_test and y_test"
_NAMES = ("x_train", "y_train", "x_test", "y_test")
_IDX_STEMS = ("train-images", "train-labels", "t10k-images", "t10k-labels")
_IDX_ENDINGS = ("-idx{}-ubyte", ".idx{}-ubyte")
_LARGEST = 1 << 31  # bytes an IDX file may unpack to
_UNSUSPECTED = 384 << 20  # bytes that a small one may unpack to


@DATASETS.register
class Mnist(Dataset):
    """Digits of 28×28 grey levels; silhouettes are the pixels above half intensity."""

    name = "mnist"
    title = "MNIST digits"
    summary = "Handwritten digits, 28×28 grey levels: 60,000 to train, 10,000 to test, as npz or IDX files."
    path_text = "FILE.npz|FOLDER"
    yields = "images (N, 28, 28) uint8; classes (N,) uint8"
    picture_shape = (28, 28)

    validation: int = integer(2000, "Training images, from the end, that become the validation split.", low=0)

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        path = self.located(path)
        arrays = _read_folder(path) if path.is_dir() else read_npz(path, _EXPECTED)
        require(arrays, _NAMES, path)
        for images, classes in (_NAMES[:2], _NAMES[2:]):
            _check(arrays[images], arrays[classes], images, path)
        train = {"images": arrays["x_train"], "classes": arrays["y_train"]}
        parts = hold_out(train, self.validation)
        parts["test"] = {"images": arrays["x_test"], "classes": arrays["y_test"]}
        return Splits(parts)

    def figures(self, arrays: Mapping[str, Array]) -> NDArray[np.bool_]:
        return arrays["images"] > 127  # intensity above 0.5


def _check(images: Array, classes: Array, name: str, path: Path) -> None:
    if images.ndim != 3 or images.dtype != np.uint8 or len(images) == 0:
        found = f"{images.dtype} of shape {images.shape}"
        raise DataError(f"{path}: {name} is {found}, expected uint8 of shape (images, height, width).")
    if classes.shape != (len(images),) or classes.dtype.kind not in "ui":
        found = f"{classes.dtype} of shape {classes.shape}"
        raise DataError(f"{path}: y{name[1:]} is {found}, expected {len(images)} whole numbers.")


def _read_folder(folder: Path) -> dict[str, Array]:
    return {
        name: _read_idx(_find(folder, stem, dimensions), dimensions)
        for name, stem, dimensions in zip(_NAMES, _IDX_STEMS, (3, 1, 3, 1), strict=True)
    }


def _find(folder: Path, stem: str, dimensions: int) -> Path:
    names = [stem + ending.format(dimensions) + zipped for ending in _IDX_ENDINGS for zipped in ("", ".gz")]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder} has no {names[0]}: expected the four IDX files of MNIST, zipped (.gz) or not.")


def _read_idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """One IDX file: two zero bytes, the type (8 = uint8), the number of dimensions, the sizes, the values."""
    header = 4 + 4 * dimensions
    try:
        most = min(_LARGEST, unpacked_limit(path, _UNSUSPECTED))
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            head = file.read(header)
            shape = _shape(path, head, dimensions, most)
            content = file.read(math.prod(shape) + 1)
    except (OSError, EOFError, zlib.error) as problem:
        raise DataError(f"{path} cannot be read ({type(problem).__name__}): expected an IDX file.") from None
    if len(content) != math.prod(shape):
        found = f"{len(content)} bytes" if len(content) < math.prod(shape) else "more bytes"
        raise DataError(f"{path} has {found} of values: expected {math.prod(shape)} for shape {shape}.")
    return np.frombuffer(content, np.uint8).reshape(shape)


def _shape(path: Path, head: bytes, dimensions: int, most: int) -> tuple[int, ...]:
    """What the first bytes promise, before any memory is taken for it."""
    if len(head) < 4 + 4 * dimensions or head[:4] != bytes((0, 0, 8, dimensions)):
        raise DataError(
            f"{path} starts with {head[:4].hex(' ')}: expected 00 00 08 0{dimensions}, an IDX file of bytes."
        )
    shape = tuple(int(size) for size in np.frombuffer(head, ">u4", dimensions, 4))
    if math.prod(shape) > most:
        raise DataError(f"{path} promises {math.prod(shape) >> 20} MB, far more than a file of its size can hold.")
    return shape
