"""Frames and reference pictures for tests of the window."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import numpy as np
from PySide6.QtGui import QImage

from mrfstudio.engine.protocol.frames import NO_HINT, Frame, LaneFrame, Scalars
from tests.places import REFERENCES

WRITE = "MRFSTUDIO_WRITE_REFERENCES"
"""Set this variable to make the references again; look at them before they are committed."""


def ring(size: int = 16) -> np.ndarray:
    """True labels of a disc with a contour around it: 0 contour, 1 OUT, 2 IN; (size, size) uint8."""
    y, x = np.indices((size, size)) + 0.5 - size / 2
    distance = np.hypot(x, y)
    return np.where(distance < size / 4, 2, np.where(distance < size / 4 + 1.5, 0, 1)).astype(np.uint8)


def beliefs(labels: np.ndarray, certainty: float = 0.9) -> np.ndarray:
    """(h, w, 3) float32 that favour `labels`."""
    return (certainty * np.eye(3)[labels] + (1 - certainty) / 3).astype(np.float32)


def given(shape: tuple[int, int] = (16, 16)) -> dict[str, np.ndarray]:
    """The layers of a document on which nothing was drawn; read-only, as frames have them."""
    layers = {
        "observed": np.ones(shape, np.uint8),
        "hints": np.full(shape, NO_HINT, np.uint8),
        "hints_strength": np.ones(shape, np.float32),
    }
    for layer in layers.values():
        layer.setflags(write=False)
    return layers


def lane(
    iteration: int = 0,
    *,
    number: int = 0,
    pictures: Mapping[str, np.ndarray] | None = None,
    scalars: Iterable[Scalars] = (),
    **more: object,
) -> LaneFrame:
    values = dict(model="grid-border-16", algorithm="bp", status="running", residual=None, limit=15)
    return LaneFrame(
        lane=number, iteration=iteration, pictures=pictures or {}, scalars=tuple(scalars), **{**values, **more}
    )  # type: ignore[arg-type]


def frame(
    *lanes: LaneFrame,
    shape: tuple[int, int] = (16, 16),
    layers: Mapping[str, np.ndarray] | None = None,
    applied: int = 0,
    **more: object,
) -> Frame:
    values = dict(serial=1, workspace="segment", rectangle=(0, 0, *shape))
    return Frame(shape=shape, layers=layers or given(shape), lanes=lanes, applied=applied, **{**values, **more})  # type: ignore[arg-type]


def pixels(image: QImage) -> np.ndarray:
    """(h, w, 3) uint8."""
    image = image.convertToFormat(QImage.Format.Format_RGB888)
    flat = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return flat[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()


def assert_looks_like(image: QImage, name: str, *, most: float = 0.01) -> None:
    """The picture equals its reference, but for at most `most` of its pixels: edges may be smoothed differently."""
    path = REFERENCES / f"{name}.png"
    if os.environ.get(WRITE):
        REFERENCES.mkdir(exist_ok=True)
        assert image.save(str(path))
    reference = QImage(str(path))
    assert not reference.isNull(), f"{path.name} is missing: set {WRITE}=1 to make it, then look at it."
    assert (image.width(), image.height()) == (reference.width(), reference.height())
    apart = np.abs(pixels(image).astype(int) - pixels(reference)).max(axis=2) > 24
    assert apart.mean() <= most, f"{apart.mean():.1%} of the pixels differ from {path.name}"
