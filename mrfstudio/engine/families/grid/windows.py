"""Which part of its images a batch of grid training sees, and for how many iterations.

The model is the same at every place, so that a window around a figure teaches as much as the whole canvas and costs
less. Images are unrolled in groups; a group has one window size and one number of iterations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from mrfstudio.engine.data.pictures.border_noise import OUT
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.training.learner import BatchContext
from mrfstudio.engine.training.learners.query import Query, iterations_now

Labels = NDArray[np.uint8]

_MARGIN = 4  # pixels around a figure, at least: its contour and some outside
_STEP = 8  # window sides are multiples of this, so that few shapes of memory are needed


class Group(NamedTuple):
    """Images that are unrolled together: labels, what is seen, and hints where there are some, each (B, H, W)."""

    labels: Labels
    noisy: Labels
    hints: Labels | None
    iterations: int
    coarse: bool = False


def groups(
    learner: Query, labels: Labels, noisy: Labels, hints: Labels | None, context: BatchContext
) -> Iterator[Group]:
    """The groups of a batch (B, H, W)."""
    if learner.window == "fitted":
        yield from _fitted(learner, labels, noisy, hints, context)
        return
    chance = float(_draws(context, "whole", 1)[0])
    images = [labels, noisy] if hints is None else [labels, noisy, hints]
    if context.progress < learner.full_images and chance >= learner.early_full_images:
        images = _cut(images, learner.crop, to_host(context.uniform(2, label="window")))
    iterations = iterations_now(learner, context)
    for start in range(0, len(labels), learner.images_at_once):
        part = [image[start : start + learner.images_at_once] for image in images]
        yield Group(part[0], part[1], part[2] if len(part) > 2 else None, iterations)


def _fitted(
    learner: Query, labels: Labels, noisy: Labels, hints: Labels | None, context: BatchContext
) -> Iterator[Group]:
    """Figures of like size together, each group in a window a little larger than its largest figure."""
    images = [labels, noisy] if hints is None else [labels, noisy, hints]
    extent = np.maximum(_extent((labels != OUT).any(2)), _extent((labels != OUT).any(1)))
    order = np.argsort(extent, kind="stable")
    draws = _draws(context, "fitted", len(labels), 5)
    last = len(order)
    while last:  # from the largest figure down: as many as have room in its window's share of pixels
        room, length, level, *places = draws[last - 1]
        widest = float(extent[order[last - 1]])
        side = widest + 2 * _MARGIN + room**2 * (widest + 16)
        side = min(max(math.ceil(side / _STEP) * _STEP, 3 * _STEP), *labels.shape[1:])
        first = max(0, last - max(1, learner.pixels_at_once // side**2))
        rows = order[first:last]
        last = first
        part = _cut([image[rows] for image in images], side, np.broadcast_to(np.array(places), (len(rows), 2)))
        least = max(learner.iterations, math.ceil(0.75 * side)) if learner.longest else learner.iterations
        iterations = round(least * (max(least, learner.longest) / least) ** float(length))
        coarse = bool(level < learner.coarse_starts)
        yield Group(part[0], part[1], part[2] if len(part) > 2 else None, iterations, coarse)


def windows(labels: Labels, noisy: Labels, side: int, context: BatchContext) -> tuple[Labels, Labels]:
    """Cut a random window of `side` × `side` pixels from each image, around the whole figure where it fits."""
    cut = _cut([labels, noisy], side, to_host(context.uniform(2, label="window")))
    return cut[0], cut[1]


def _cut(images: list[Labels], side: int, draws: NDArray[np.floating]) -> list[Labels]:
    labels = images[0]
    count, height, width = labels.shape
    tall, wide = min(side, height), min(side, width)
    figure = labels != OUT
    tops = _starts(figure.any(2), tall, draws[:, 0])
    lefts = _starts(figure.any(1), wide, draws[:, 1])
    rows, columns = tops[:, None] + np.arange(tall), lefts[:, None] + np.arange(wide)
    where = np.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]
    return [image[where] for image in images]


def _draws(context: BatchContext, label: str, *shape: int) -> NDArray[np.float32]:
    """Uniform numbers that do not depend on the rows of this process: one group is one decision."""
    return np.asarray(to_host(torch.rand(*shape, generator=context.generator(label), device="cpu")))


def _extent(occupied: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many rows (or columns) from the first to the last that is occupied; `occupied` (B, length)."""
    last = occupied.shape[1] - occupied[:, ::-1].argmax(1)
    return np.where(occupied.any(1), last - occupied.argmax(1), 0)


def _starts(occupied: NDArray[np.bool_], side: int, draws: NDArray[np.floating]) -> NDArray[np.int64]:
    """First row (or column) of each window; `occupied` (B, length) says where the figure is."""
    length = occupied.shape[1]
    last = length - side
    first_used = np.where(occupied.any(1), occupied.argmax(1), 0)
    end_used = np.where(occupied.any(1), length - occupied[:, ::-1].argmax(1), length)
    low, high = np.clip(end_used - side, 0, last), np.clip(first_used, 0, last)
    low, high = np.where(low <= high, low, 0), np.where(low <= high, high, last)  # a figure larger than the window
    starts: NDArray[np.int64] = np.minimum(low + (draws * (high - low + 1)).astype(np.int64), high)
    return starts
