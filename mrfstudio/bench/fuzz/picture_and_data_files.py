"""Readers of data sets, pictures and strokes."""

from __future__ import annotations

import gzip
import io
import struct
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.bench.fuzz import grammars
from mrfstudio.bench.fuzz.mutations import bytes_mutated, gz_mutated, npz_mutated, text_mutated
from mrfstudio.bench.fuzz.reader import Reader


def _npz(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def data_readers() -> list[Reader]:
    from mrfstudio.engine.data.dataset import DataError, dataset_class

    bits = np.eye(12, dtype=np.uint8)
    pictures = np.tile(bits[:4].reshape(1, 6, 8), (12, 1, 1))
    numbers = np.zeros(12, np.int64)
    digits = {"x_train": pictures, "y_train": numbers, "x_test": pictures[:3], "y_test": numbers[:3]}
    rows = {"train": bits, "valid": bits[:3], "test": bits[:3]}
    spins = {name: (2 * part.astype(np.int8) - 1).astype(np.int8) for name, part in rows.items()}
    names = np.array(["a", "b"])
    files: dict[str, dict[str, Any]] = {
        "mnist": digits,
        "silhouettes": {"x": pictures, "y": numbers, "classnames": names},
        "frey": {"x": np.zeros((6, 28, 20), np.uint8)},
        "binary": rows,
        "ising": {**spins, "J": np.zeros((12, 12)), "h": np.zeros(12)},
        "points": {"x": np.linspace(-1, 1, 24).reshape(12, 2)},
        "border": {"images_train": pictures, "noisy_images_train": pictures, "p_contour": np.array([0.8, 0.1, 0.1])},
    }
    found = []
    for name, arrays in files.items():
        options = {"validation": 2} if name == "mnist" else {}
        opened = dataset_class(name)().replace(**options)
        found.append(
            Reader(f"{name} data", "a.npz", opened.open, (DataError,), lambda a=arrays: [_npz(**a)], (npz_mutated,))  # type: ignore[misc]
        )
    series = b"@problemName a\n@classLabel true a b\n@data\n1,2,3:4,5,6:a\n2,1,0:4,4,4:b\n0,1:2,3:a\n"
    prose = b"The cat sat on the mat. It saw a dog, and ran.\n%\nWhere did it go? Nobody knew.\n" * 12
    for name, text in (("sequences", series), ("text", prose)):
        opened = dataset_class(name)()
        mutations = (text_mutated, bytes_mutated)
        found.append(Reader(f"{name} data", "a.txt", opened.open, (DataError,), lambda t=text: [t], mutations))  # type: ignore[misc]
    for ending, packed in (("", False), (".gz", True)):
        found.append(_idx_reader(f"train-images-idx3-ubyte{ending}", packed))
    return found


def _idx_reader(name: str, packed: bool) -> Reader:
    from mrfstudio.engine.data.dataset import DataError, dataset_class

    def idx(shape: tuple[int, ...]) -> bytes:
        head = bytes((0, 0, 8, len(shape))) + struct.pack(f">{len(shape)}I", *shape)
        return head + bytes(int(np.prod(shape)))

    def opened(path: Path) -> None:
        others = {"train-labels-idx1-ubyte": (4,), "t10k-images-idx3-ubyte": (2, 3, 3), "t10k-labels-idx1-ubyte": (2,)}
        for other, shape in others.items():
            (path.parent / other).write_bytes(idx(shape))
        dataset_class("mnist")().replace(validation=1).open(path.parent)

    whole = idx((4, 3, 3))
    made = (lambda rng: gzip.compress(grammars.idx(rng), 1)) if packed else grammars.idx
    seeds = [gzip.compress(whole)] if packed else [whole]
    mutation = gz_mutated if packed else bytes_mutated
    title = "idx.gz" if packed else "idx"
    return Reader(title, f"{title}/{name}", opened, (DataError,), lambda: seeds, (mutation,), made)


def picture_readers() -> list[Reader]:
    from mrfstudio.engine.files.images import ImageError, read_colour, read_grey, read_labels
    from mrfstudio.engine.files.photographs import decode, read_content
    from mrfstudio.engine.files.strokes import read_strokes

    rgb = np.zeros((20, 30, 3), np.uint8)

    def picture(path: Path) -> None:
        read_grey(path)
        read_colour(path)

    def photograph(path: Path) -> None:
        decode(read_content(path), path.name)

    def strokes(path: Path) -> None:
        read_strokes(path, rgb)

    errors = (ImageError,)
    svg = b'<svg viewBox="0 0 30 20"><g stroke="red"><path d="M1 1L9 9C1 2 3 4 5 6Z"/></g></svg>'
    return [
        Reader("picture", "a.png", picture, errors, _picture_files, made=grammars.png),
        Reader("photograph", "b.jpg", photograph, errors, _picture_files, made=grammars.png),
        Reader("labels", "l.png", read_labels, errors, _label_files, made=grammars.png),
        Reader("strokes", "s.png", strokes, errors, _label_files, made=grammars.png),
        Reader("svg", "s.svg", strokes, errors, lambda: [svg], (text_mutated, bytes_mutated), grammars.svg),
    ]


def _label_files() -> list[bytes]:
    from PIL import Image

    found, values = [], np.arange(20 * 30, dtype=np.uint8).reshape(20, 30) % 3
    for kind, mode in (("PNG", "L"), ("PNG", "P"), ("TIFF", "L"), ("BMP", "L")):
        out = io.BytesIO()
        image = Image.fromarray(values)
        if mode == "P":
            image.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0])
        image.save(out, kind)
        found.append(out.getvalue())
    return found


def _picture_files() -> list[bytes]:
    from PIL import Image

    found = []
    values = np.arange(20 * 30 * 3, dtype=np.uint8).reshape(20, 30, 3)
    for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "TGA", "ICO", "PCX", "JPEG2000", "QOI"):
        for mode in ("RGB", "L", "P", "RGBA"):
            out = io.BytesIO()
            try:
                Image.fromarray(values).convert(mode).save(out, kind)
            except (OSError, KeyError, ValueError):
                continue  # a format that has no such pictures, or that is not installed
            found.append(out.getvalue())
    return found
