"""Contour images to segment: found in a person's picture, or made from a figure of a data set."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.data.dataset import Dataset, dataset_class
from mrfstudio.engine.data.drawn.generated import Generated
from mrfstudio.engine.data.fetch import fetched
from mrfstudio.engine.data.pictures.border_noise import CONTOUR, SEEN, UNSEEN, labels_from_silhouettes, seeded_noise
from mrfstudio.engine.files.images import Ink, read_grey, to_contours
from mrfstudio.engine.protocol.answers import FigureSource, Picture
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import DATASETS
from mrfstudio.engine.workspaces.segment.lines import thinned

LONGEST_SIDE = 256
"""Larger pictures are made smaller before the window works on them."""
SIDES = (48, 64, 96, 128, 192, 256)
"""Sizes to choose from where nobody says how large a picture should become."""
SMALLEST_REGION = 0.0005
"""Part of a picture from which on a region between lines is worth to be kept when it is made smaller."""
WIDEST_PEN = 0.16
"""Part of a picture's longer side: what is wider is a filled figure."""
PAPER_SIDE = 64
"""Pixels on the longer side of a picture of the light on the paper."""
UNEVEN = 0.15
"""Part of the brightest paper that is missing where it is darkest, from which on light is uneven."""
STEEPEST = 0.3
"""What may be missing so within the width of the widest pen: more is no shade but a thing."""
FRAME = 2  # labels of silhouettes come with one pixel of OUT on every side


def contour_picture(
    source: str | os.PathLike[str] | NDArray,
    *,
    name: str = "picture",
    ink: Ink = "auto",
    threshold: float | None = None,
    longest: int | None = LONGEST_SIDE,
    filled: bool | None = False,
    thin: bool = False,
) -> Picture:
    """Find contours in a file, or in grey levels (h, w) from 0 to 1.

    Without a threshold, paper on which light falls off gradually is made even first (`evenly_lit`).
    `filled` says that the ink is a figure whose outline is meant, not a line, and None leaves that to be seen;
    `thin` makes lines one pixel wide, as models know them. The threshold is applied at the picture's own size, so
    that thin lines survive when it is made smaller. `longest` is the longer side that a larger picture is brought
    to; None takes the smallest that keeps every region apart.
    """
    grey = read_grey(source) if isinstance(source, str | os.PathLike) else np.asarray(source, np.float32)
    found = to_contours(evenly_lit(grey) if threshold is None and ink != "light" else grey, ink, threshold)
    filled = looks_filled(found.seen) if filled is None else filled
    longest = fitting_side(found.seen) if longest is None else longest
    size = _fitted(grey.shape, longest - FRAME if filled else longest)
    if filled:
        figure = shrunk(found.seen.astype(np.float32), size) > 0.5
        labels = labels_from_silhouettes(figure[None])[0]
        observed, truth = np.where(labels == CONTOUR, SEEN, UNSEEN).astype(np.uint8), labels
        small = np.pad(shrunk(grey, size), 1, constant_values=0.0 if found.ink == "light" else 1.0)
    else:
        seen = shrunk(found.seen, size)
        observed, truth = np.where(thinned(seen) if thin else seen, SEEN, UNSEEN).astype(np.uint8), None
        small = shrunk(grey, size)
    title = Path(source).name if isinstance(source, str | os.PathLike) else name
    full_size = (int(grey.shape[0]), int(grey.shape[1]))
    return Picture(title, observed, truth, small, found.ink or "dark", found.threshold, full_size)


def evenly_lit(grey: NDArray[np.float32]) -> NDArray[np.float32]:
    """Grey levels (h, w) beside those of the paper around them, where its light is uneven and changes gradually.

    The paper is what is left when everything dark that is narrower than the widest pen is covered by what is beside it.
    """
    from PIL import Image
    from scipy import ndimage  # later than the first picture of the window

    small = shrunk(grey, _fitted(grey.shape, PAPER_SIDE))
    pen = max(3, round(WIDEST_PEN * max(small.shape)))
    paper = ndimage.gaussian_filter(ndimage.grey_closing(small, pen), 1.0)
    steep = ndimage.maximum_filter(paper, pen) - ndimage.minimum_filter(paper, pen)
    brightest = float(paper.max())
    if np.ptp(paper) < UNEVEN * brightest or steep.max() > STEEPEST * brightest or paper.min() <= 0:
        return grey
    light = Image.fromarray(paper.astype(np.float32)).resize(grey.shape[::-1], Image.Resampling.BILINEAR)
    return np.clip(grey / np.asarray(light), 0, 1)


def looks_filled(ink: NDArray[np.bool_]) -> bool:
    """Whether ink (h, w) is somewhere wider than any pen would draw on such a sheet: a figure, not lines."""
    from scipy import ndimage  # later than the first picture of the window

    small = shrunk(ink, _fitted(ink.shape, LONGEST_SIDE))
    deepest = float(ndimage.distance_transform_edt(np.pad(small, 1)).max())
    return deepest > WIDEST_PEN / 2 * max(small.shape)


def fitting_side(ink: NDArray[np.bool_]) -> int:
    """The smallest of `SIDES` from which on lines (h, w) keep as many regions apart as at the largest.

    Lines that run into each other lose regions, cut paper into new ones, or are fewer. Small pictures stay as they are.
    """
    whole = max(ink.shape)
    if whole <= SIDES[1]:
        return whole
    fitting = [side for side in SIDES if side < whole] + [min(whole, SIDES[-1])]
    counts = [_regions_and_lines(shrunk(ink, _fitted(ink.shape, side))) for side in fitting]
    differing = [number for number, count in enumerate(counts) if count != counts[-1]]
    return fitting[max(differing, default=-1) + 1]


def _regions_and_lines(ink: NDArray[np.bool_]) -> tuple[int, int]:
    """Regions between lines that are large enough to matter, and pieces of ink that keep two or more of them apart.

    Paper that touches ink at corners only is apart; ink that touches at corners is one piece.
    """
    from scipy import ndimage  # later than the first picture of the window

    ink = np.asarray(ink, np.bool_)
    regions, count = ndimage.label(~ink)
    sizes = np.bincount(regions.ravel(), minlength=count + 1)[1:]
    large = np.append(False, sizes >= SMALLEST_REGION * ink.size)
    pieces, _ = ndimage.label(ink, np.ones((3, 3)))
    sides = [(pieces[1:], regions[:-1]), (pieces[:-1], regions[1:])]
    sides += [(pieces[:, 1:], regions[:, :-1]), (pieces[:, :-1], regions[:, 1:])]
    beside = np.concatenate([np.stack([one.ravel(), other.ravel()], 1) for one, other in sides])
    beside = np.unique(beside[(beside[:, 0] > 0) & large[beside[:, 1]]], axis=0)
    return int(large.sum()), int((np.bincount(beside[:, 0]) > 1).sum())


def figure_picture(
    dataset: str, *, kind: str = "", seed: int = 0, size: int = 28, edges: int = 8, deletion: float = 0.2
) -> Picture:
    """A figure of a data set as noisy contours with their true labels; `kind` empty takes any."""
    source = dataset_class(dataset)
    figure, shown = _figure(source, kind, seed, size)
    labels = labels_from_silhouettes(figure[None])
    observed = seeded_noise(labels, seed, indices=[0], spurious=edges, deletion=deletion)[0]
    return Picture(f"{dataset} {shown}", observed, labels[0])


def figure_sources() -> tuple[FigureSource, ...]:
    """Every data set that holds silhouettes, generated ones first."""
    sources = []
    for cls in DATASETS:
        if not issubclass(cls, Dataset) or cls.figures is Dataset.figures:
            continue
        needs_file = cls.path == "required" and fetched(cls.name) is None
        missing = f"Fetch it first: mrfstudio data fetch {cls.name}" if needs_file else ""
        kinds = cls().kinds() if issubclass(cls, Generated) else ()
        sources.append(FigureSource(cls.name, cls.title or cls.name, cls.summary, kinds, missing))
    return tuple(sorted(sources, key=lambda source: (bool(source.missing), not source.kinds, source.name)))


def shrunk(image: NDArray, size: tuple[int, int]) -> NDArray:
    """The image at a size no larger than its own: the mean over each target pixel; for bool, whether any is true."""
    for axis, target in enumerate(size):
        length = image.shape[axis]
        if target >= length:
            continue
        starts = np.arange(target) * length // target
        if image.dtype == np.bool_:
            image = np.logical_or.reduceat(image, starts, axis)
        else:
            counts = np.diff(np.append(starts, length)).astype(np.float32)
            shape = (-1, 1) if axis == 0 else (1, -1)
            image = np.add.reduceat(image, starts, axis) / counts.reshape(shape)
    return image


def _fitted(shape: tuple[int, ...], longest: int) -> tuple[int, int]:
    scale = min(1.0, longest / max(shape))
    return max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))


def _figure(source: type[Dataset], kind: str, seed: int, size: int) -> tuple[NDArray[np.bool_], str]:
    if issubclass(source, Generated):
        kinds = source().kinds()
        if kind and kind not in kinds:
            raise StudioError(f"{source.name} has no figure {kind!r}: expected one of {', '.join(kinds)}.")
        index = kinds.index(kind) if kind else seed % len(kinds)
        mask, _ = source(size=size, seed=seed).picture("test", index)
        return mask, kinds[index]
    figures = _stored_figures(source.name)
    index = seed % len(figures)
    return figures[index], str(index)


@lru_cache(maxsize=2)
def _stored_figures(dataset: str) -> NDArray[np.bool_]:
    """The test silhouettes of a data set that lies in a file."""
    instance = dataset_class(dataset)()
    splits = instance.open(instance.located(None))
    return instance.figures(splits["test"])
