"""Pictures of label beliefs: plain arrays for frames. Beliefs are (h, w, labels) float32, probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.session.document import frozen

BINS = 20
THUMBNAIL = 64
"""Longest side of a strip's pictures in pixels."""

LABEL_PICTURES = frozenset({"belief", "decoded", "entropy", "difference", "histogram"})

Beliefs = NDArray[np.float32]


@dataclass(frozen=True)
class VisiblePart:
    """The part of an image that the canvas shows, and every how many pixels it is sampled."""

    top: int
    left: int
    height: int
    width: int
    stride: int = 1

    @classmethod
    def fitting(cls, rectangle: tuple[int, int, int, int] | None, stride: int, shape: tuple[int, int]) -> VisiblePart:
        """A rectangle kept inside an image; None, or one that lies beside it, is everything."""
        stride = max(1, int(stride))
        if rectangle is not None:
            top, left = max(rectangle[0], 0), max(rectangle[1], 0)
            bottom = min(rectangle[0] + rectangle[2], shape[0])
            right = min(rectangle[1] + rectangle[3], shape[1])
            if bottom > top and right > left:
                return cls(int(top), int(left), int(bottom - top), int(right - left), stride)
        return cls(0, 0, shape[0], shape[1], stride)

    @property
    def rectangle(self) -> tuple[int, int, int, int]:
        return self.top, self.left, self.height, self.width

    @property
    def slices(self) -> tuple[slice, slice]:
        """Rows and columns."""
        rows = slice(self.top, self.top + self.height, self.stride)
        return rows, slice(self.left, self.left + self.width, self.stride)

    def cut(self, image: np.ndarray) -> np.ndarray:
        """The part of an image (H, W, …), in memory of its own that nobody writes to."""
        return frozen(np.array(image[self.slices], order="C"))


def entropy_bits(beliefs: Beliefs) -> Beliefs:
    """-Σ p log2 p over labels, (h, w)."""
    return -(beliefs * np.log2(np.maximum(beliefs, np.finfo(np.float32).tiny))).sum(-1) + np.float32(0)


def difference(beliefs: Beliefs, other: Beliefs) -> Beliefs:
    """Total variation ½ Σ |p - q| of two beliefs, (h, w); labels that only one of them has count as 0."""
    shared = min(beliefs.shape[-1], other.shape[-1])
    total = np.abs(beliefs[..., :shared] - other[..., :shared]).sum(-1)
    total += beliefs[..., shared:].sum(-1) + other[..., shared:].sum(-1)
    return np.minimum(total / 2, 1).astype(np.float32)


def histogram(beliefs: Beliefs) -> Beliefs:
    """The fraction of pixels whose probability of each label falls into each of `BINS` equal parts, (labels, BINS)."""
    labels = beliefs.shape[-1]
    flat = beliefs.reshape(-1, labels)
    bins = np.clip((flat * BINS).astype(np.int64), 0, BINS - 1) + np.arange(labels) * BINS
    counts = np.bincount(bins.ravel(), minlength=labels * BINS).reshape(labels, BINS)
    return (counts / max(len(flat), 1)).astype(np.float32)


def thumbnail(beliefs: Beliefs) -> NDArray[np.uint8]:
    """255 × belief, sampled so that no side is longer than `THUMBNAIL`, (h, w, labels) uint8."""
    stride = -(-max(beliefs.shape[:2]) // THUMBNAIL)
    return frozen(np.rint(beliefs[::stride, ::stride] * 255).astype(np.uint8))


def label_pictures(
    names: tuple[str, ...], beliefs: Beliefs, window: VisiblePart, first: Beliefs | None
) -> Mapping[str, np.ndarray]:
    """Those of `LABEL_PICTURES` that are asked for, cut to the window; the histogram is of the whole image.

    `first` are the beliefs of the first lane, None on the first lane itself.
    """
    pictures: dict[str, np.ndarray] = {}
    shown = window.cut(beliefs)
    if "belief" in names:
        pictures["belief"] = shown
    if "decoded" in names:
        pictures["decoded"] = frozen(shown.argmax(-1).astype(np.uint8))
    if "entropy" in names:
        pictures["entropy"] = frozen(entropy_bits(shown))
    if "difference" in names and first is not None:
        pictures["difference"] = frozen(difference(shown, first[window.slices]))
    if "histogram" in names:
        pictures["histogram"] = frozen(histogram(beliefs))
    return pictures
