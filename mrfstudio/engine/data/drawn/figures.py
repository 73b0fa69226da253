"""Figures from 6 to more than 100 pixels, drawn cleanly, noisily or by hand: what a person may draw on a canvas.

Labels are those of border ownership: CONTOUR (the 4-neighbour dilation of the figure without the figure), OUT and IN.
A ring's hole is OUT. A figure that the canvas cuts has no contour along the cut. All of a shaky line is contour, also
where it meets itself, and what it encloses is IN, however little; a doubled line and an open stroke bound nothing and
keep the label of their place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.data.dataset import SPLITS, Array, Dataset, Progress, Splits
from mrfstudio.engine.data.drawn.drawing import Mask, fill, smooth
from mrfstudio.engine.data.drawn.figure_drawing import (
    Draw,
    FigureScene,
    Outlines,
    any_kind,
    pixels_along,
    scene,
    several,
    shaken,
)
from mrfstudio.engine.data.drawn.sharp_figures import sharp_kind
from mrfstudio.engine.data.pictures.border_noise import (
    CONTOUR,
    DELETION,
    IN,
    OUT,
    SEEN,
    Labels,
    emission,
    resample_noise,
)
from mrfstudio.engine.protocol.catalogue import integer, number
from mrfstudio.engine.registry import DATASETS
from mrfstudio.engine.runtime.workers import map_chunks

NO_HINT = 3
DENSITY = 8 / 900
"""Spurious edges a pixel: the digits have eight on 30×30."""

_CHUNK = 32
_WORTHWHILE = 200
_FIRST_STREAM = 10  # apart from the streams of other generated pictures with the same seed
_AROUND = np.array([[False, True, False], [True, True, True], [False, True, False]])
_EIGHT = np.ones((3, 3), np.bool_)


class HintedFigure(NamedTuple):
    """Labels, what is seen (0) of them, and hints (3: none, else the label), each (H, W) uint8."""

    labels: Labels
    noisy: Labels
    hints: Labels


def labelled(figure: Mask) -> Labels:
    """Labels (H, W) of a figure (H, W), which may touch the canvas' border: nothing is added around it."""
    from scipy import ndimage  # later than the first picture of the window

    near = ndimage.binary_dilation(figure, _AROUND)
    return np.where(figure, IN, np.where(near, CONTOUR, OUT)).astype(np.uint8)


def seen_of(labels: Labels, draw: Draw, deletion: float, density: float) -> Labels:
    """The digits' noise: each contour pixel missing with probability `deletion`, and spurious edges by area."""
    count = round(density * labels.size)
    return resample_noise(labels[None], draw, spurious=count, deletion=deletion)[0]


def by_hand(drawn: FigureScene, draw: Draw, size: float, doubled: bool = True, gaps: int = 3) -> tuple[Labels, Labels]:
    """Labels and what is seen, of a pencil line that shakes, has gaps of up to 2 pixels, and is partly drawn twice."""
    canvas = len(drawn.figure)
    outlines = shaken(drawn.outlines, draw, size)
    lines = np.logical_or.reduce([pixels_along(outline, canvas) for outline in outlines])
    labels = labelled(fill(outlines, canvas) & ~lines)
    labels[lines] = CONTOUR
    seen = lines.copy()
    for _ in range(int(draw.integers(0, gaps + 1))):
        cut_gap(seen, outlines, draw, int(draw.integers(1, 3)))
    if doubled and draw.random() < 0.4:
        seen |= _again(outlines, draw, canvas)
    return labels, np.where(seen, SEEN, 1).astype(np.uint8)


def cut_gap(seen: Mask, outlines: Outlines, draw: Draw, width: int) -> tuple[int, int]:
    """Erase the line in a square of `width` pixels around one of its points, in place; where (row, column)."""
    outline = outlines[int(draw.integers(len(outlines)))]
    x, y = np.floor(outline[int(draw.integers(len(outline)))] - (width - 1) / 2).astype(int)
    seen[max(y, 0) : max(y + width, 0), max(x, 0) : max(x + width, 0)] = False
    return int(y), int(x)


def hints_for(labels: Labels, draw: Draw, which: tuple[int, ...]) -> Labels:
    """A few small discs of hints with the labels of their places, for each label of `which`."""
    hints = np.full(labels.shape, NO_HINT, np.uint8)
    row, column = np.indices(labels.shape)
    for label in which:
        places = np.flatnonzero(labels.ravel() == label)
        for place in draw.choice(places, min(int(draw.integers(1, 4)), len(places)), replace=False):
            y, x = divmod(int(place), labels.shape[1])
            near = (row - y) ** 2 + (column - x) ** 2 <= draw.integers(0, 3) ** 2
            hints[near & (labels == label)] = label
    return hints


@DATASETS.register
class Figures(Dataset):
    """Figures of all sizes on one canvas, each with a noise of its own between none and that of the digits."""

    name = "figures"
    title = "Figures of any size"
    summary = (
        "Contour images of generated figures whose sizes differ by a factor of twenty, clean, noisy or hand-drawn."
    )
    path = "none"
    path_text = ""
    grey = False
    yields = (
        "images (N, H, W) uint8: 0 contour, 1 OUT, 2 IN; noisy_images (N, H, W) uint8: 0 seen, 1 not; "
        "hints (N, H, W) uint8: 3 none, else a label; p_contour (3,)"
    )

    count: int = integer(4000, "Training images to make.", low=1, high=1_000_000, logarithmic=True)
    validation: int = integer(200, "Validation images to make.", low=0, high=1_000_000)
    test: int = integer(200, "Test images to make.", low=0, high=1_000_000)
    canvas: int = integer(128, "Height and width of an image.", low=24, high=1024, unit="pixels")
    smallest: float = number(6.0, "Longer side of the smallest figures.", low=4.0, unit="pixels")
    largest: float = number(110.0, "Longer side of the largest figures, cut where they leave the canvas.", low=4.0)
    hand_drawn: float = number(0.3, "Part of the images that are drawn by a shaky hand.", low=0.0, high=1.0)
    sharp: float = number(
        0.0, "Part of the images with sharp points, thin arms or narrow bays.", low=0.0, high=1.0, advanced=True
    )
    hinted: float = number(0.25, "Part of the images with hints: a few pixels whose label is given.", low=0.0, high=1.0)
    deletion: float = number(DELETION, "The most likely that a contour pixel is missing.", low=0.0, high=1.0)
    density: float = number(DENSITY, "The most spurious edges a pixel.", low=0.0, high=0.1)
    seed: int = integer(0, "The same seed makes the same images.", low=0)

    def picture(self, split: str, index: int) -> HintedFigure:
        """Picture number `index` of a split; it depends on the parameters, the split and the index alone."""
        key = (_FIRST_STREAM + SPLITS.index(split), index)
        draw = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))
        hinted = draw.random() < self.hinted
        if hinted and draw.random() < 0.15:
            return _divided(draw, self.canvas)
        size = float(np.exp(draw.uniform(math.log(self.smallest), math.log(self.largest))))
        sharp = self.sharp > 0 and draw.random() < self.sharp
        drawn = _any_scene(draw, size, self.canvas, sharp_kind if sharp else any_kind)
        if draw.random() < self.hand_drawn:
            labels, noisy = by_hand(drawn, draw, size)
        else:
            labels = labelled(drawn.figure)
            noisy = np.where(labels == CONTOUR, SEEN, 1).astype(np.uint8)
        noise = _level(draw)
        kept = seen_of(labels, draw, noise * self.deletion, _level(draw) * self.density)
        # Deleted contour goes; spurious edges come; a doubled line, which is no contour, stays.
        noisy = np.where(labels == CONTOUR, np.maximum(noisy, kept), np.minimum(noisy, kept)).astype(np.uint8)
        if draw.random() < 0.1:
            noisy[_stray(draw, labels)] = SEEN
        which = ((IN,), (OUT,), (IN, OUT), (IN, OUT))[int(draw.integers(4))] if hinted else ()
        if len(which) == 2:
            seen = noisy == SEEN
            cut_gap(seen, drawn.outlines, draw, int(draw.integers(3, 7)))
            noisy = np.where(seen, SEEN, 1).astype(np.uint8)
        return HintedFigure(labels, noisy, hints_for(labels, draw, which))

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        wanted = {"train": self.count, "val": self.validation, "test": self.test}
        counts = {split: count for split, count in wanted.items() if count}
        tasks = [
            (self, split, first, min(first + _CHUNK, count))
            for split, count in counts.items()
            for first in range(0, count, _CHUNK)
        ]
        chunks = map_chunks(_draw_chunk, tasks, sum(counts.values()), workers, progress, worthwhile=_WORTHWHILE)
        parts: dict[str, dict[str, Array]] = {}
        for split in counts:
            mine = [p for chunk, task in zip(chunks, tasks, strict=True) if task[1] == split for p in chunk]
            parts[split] = {
                "images": np.stack([picture.labels for picture in mine]),
                "noisy_images": np.stack([picture.noisy for picture in mine]),
                "hints": np.stack([picture.hints for picture in mine]),
            }
        pairs = [(parts[s]["images"], parts[s]["noisy_images"]) for s in (["train"] if "train" in parts else parts)]
        return Splits(parts, {"p_contour": emission(pairs)})


def _any_scene(draw: Draw, size: float, canvas: int, kind: Callable[[Draw], str]) -> FigureScene:
    chance = draw.random()
    if chance < 0.15 and size >= 24:
        return several(draw, min(size, canvas - 4.0), canvas)
    if chance < 0.3:  # cut by the border
        middle = draw.uniform(0.0, canvas, 2)
        middle[int(draw.integers(2))] = draw.choice([0.0, float(canvas)]) + draw.uniform(-0.3, 0.3) * size
        return scene(kind(draw), draw, size, canvas, (float(middle[0]), float(middle[1])))
    return scene(kind(draw), draw, size, canvas)


def _divided(draw: Draw, canvas: int) -> HintedFigure:
    """A line from border to border. Only hints can say which of its sides is the figure, and both have some."""
    x = np.linspace(-0.1, 1.1, 6)
    line = smooth(np.stack([x, 0.5 + draw.normal(0, 0.12, 6)], -1), samples=24) * canvas
    below = np.arange(canvas)[:, None] + 0.5 > np.interp(np.arange(canvas) + 0.5, line[:, 0], line[:, 1])[None]
    figure = below if draw.random() < 0.5 else ~below
    figure = figure.T if draw.random() < 0.5 else figure
    labels = labelled(np.ascontiguousarray(figure))
    noisy = seen_of(labels, draw, _level(draw) * DELETION, _level(draw) * DENSITY)
    return HintedFigure(labels, noisy, hints_for(labels, draw, (IN, OUT)))


def _level(draw: Draw) -> float:
    """How much of the most noise: none or all of it in a third of the pictures each, else anything between."""
    return float(np.clip(draw.uniform(-1.0, 2.0), 0.0, 1.0))


def _again(outlines: Outlines, draw: Draw, canvas: int) -> Mask:
    """A part of an outline drawn a second time, one to three pixels beside it."""
    outline = outlines[int(draw.integers(len(outlines)))]
    count = len(outline)
    length = max(3, int(count * draw.uniform(0.08, 0.3)))
    part = outline[(int(draw.integers(count)) + np.arange(length)) % count]
    return pixels_along(part + draw.uniform(-2.5, 2.5, 2), canvas, closed=False)


def _stray(draw: Draw, labels: Labels) -> NDArray[np.bool_]:
    """An open stroke that bounds nothing, where it stays clear of every figure."""
    from scipy import ndimage  # later than the first picture of the window

    canvas = len(labels)
    length = draw.uniform(5, 0.4 * canvas)
    x = np.linspace(0, 1, 5)
    line = smooth(np.stack([x, draw.uniform(-0.25, 0.25, 5)], -1), samples=12) * length
    angle = draw.uniform(0, 2 * math.pi)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    drawn = pixels_along(line @ turn.T + draw.uniform(0, canvas, 2), canvas, closed=False)
    far = ~ndimage.binary_dilation(labels != OUT, _EIGHT, iterations=3)
    return drawn & far


class _FigureChunk(list[HintedFigure]):
    """Some pictures; its length is what progress counts."""


def _draw_chunk(task: tuple[Figures, str, int, int]) -> _FigureChunk:
    source, split, first, last = task
    return _FigureChunk(source.picture(split, index) for index in range(first, last))
