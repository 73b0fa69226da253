"""What strokes say about every pixel of a photograph: colours and distances, as node scores."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.families.photographs.colours import colour_scores
from mrfstudio.engine.families.photographs.geodesic import FAR, distances
from mrfstudio.engine.families.photographs.photograph import SOFT, Photograph, smoothly_doubled
from mrfstudio.engine.families.photographs.settings import CutoutSettings

Floats = NDArray[np.float32]
HELD = 20.0
"""Score by which a stroke holds its pixels."""
LEANS = 3.0
"""Score that a soft stroke adds."""
BLUR = 1.0
"""Pixels by which the picture is smoothed before walls are looked for: noise is no wall."""
SOFTEST = 3.0
"""Colour probabilities of walls come from scores within this range, so that a rare colour is not a wall by itself."""
OUTSIDE = 0.65
"""Part of the frame that a label must be nearest to, to count as what lies around everything."""


@dataclass(frozen=True, eq=False)
class Clues:
    """Colours of labels and scores that follow from them, at one level."""

    photograph: Photograph
    strokes: list[Tensor]
    settings: CutoutSettings
    level: int
    tables: list[Floats]
    learned: Floats | None
    """Scores of a network, (labels, height, width) of the thinking level, where there is one."""
    near: Tensor
    """Scores of distances, and of a network where there is one, (labels, height, width)."""
    scores: Tensor
    """Node scores of colours, distances and strokes, (labels, height, width)."""

    @classmethod
    def of_strokes(
        cls, photograph: Photograph, strokes: list[Tensor], settings: CutoutSettings, learned: Floats | None = None
    ) -> Clues:
        """Colours of the strokes (labels, height, width) alone. A label without any needs `learned` scores."""
        return _think(photograph, strokes, settings, strokes[photograph.thinking].numpy(), learned)

    def refitted(self, beliefs: Tensor) -> Clues:
        """Colours of the field's beliefs (labels, height, width) on the thinking level."""
        clues = _think(self.photograph, self.strokes, self.settings, beliefs.numpy(), self.learned)
        alone = islands(beliefs.numpy(), self.strokes[clues.level].numpy())
        return clues.lowered(torch.from_numpy(alone * np.float32(self.settings.islands)))

    def finer(self, level: int) -> Clues:
        """The same colours at the next finer level, distances carried over."""
        near = smoothly_doubled(self.near, self.photograph.levels[level].size)
        seen = colour_scores(self.photograph.levels[level].cells, self.tables, self.settings.colour_cap)
        scores = node_scores(torch.from_numpy(seen), near, self.strokes[level])
        return replace(self, level=level, near=near, scores=scores)

    def lowered(self, by: Tensor) -> Clues:
        """The same with scores (labels, height, width) taken away where no stroke holds."""
        return replace(self, near=self.near - by, scores=self.scores - by)


def islands(beliefs: Floats, marks: Floats) -> NDArray[np.bool_]:
    """Where a label is believed in a connected part that none of its strokes touches, (labels, height, width).

    Holes in an object are such parts of what lies around it, and right: that label has no islands.
    """
    from scipy import ndimage  # scipy: loaded with the first stroke, not with the families

    winner, around = beliefs.argmax(0), outside(marks)[0]
    found = np.zeros(beliefs.shape, bool)
    for label, strokes in enumerate(marks):
        if label == around or not strokes.any():  # without strokes a label is known by a network alone
            continue
        parts, count = ndimage.label(winner == label)
        touched = np.zeros(count + 1, bool)
        touched[np.unique(parts[strokes > 0])] = True
        touched[0] = True
        found[label] = ~touched[parts]
    return found


def node_scores(colours: Tensor, near: Tensor, strokes: Tensor) -> Tensor:
    """The sum of both; hard strokes hold their pixels, soft ones add to it: (labels, height, width)."""
    scores = colours + near
    strongest = strokes.amax(0)
    return torch.where(strongest > SOFT, HELD * strokes, scores + LEANS / SOFT * strokes * (strongest > 0))


def _think(
    photograph: Photograph, strokes: list[Tensor], settings: CutoutSettings, weights: Floats, learned: Floats | None
) -> Clues:
    """Clues from strokes (labels, height, width) a level, and colours weighted by (labels, height, width)."""
    level = photograph.levels[photograph.thinking]
    marks = strokes[photograph.thinking]
    tables = [level.cells.table(w, settings.colour_blur) for w in weights]
    seen = colour_scores(level.cells, tables, max(settings.colour_cap, SOFTEST))
    if bool(marks.flatten(1).any(1).all()):
        near = _distance_scores(level.picture.numpy(), seen, marks.numpy(), settings)
    else:  # a label without strokes is known by a network alone: it has no colours and no distance to compare with
        seen, near = np.zeros_like(seen), torch.zeros(seen.shape)
    if learned is not None:
        near = near + torch.from_numpy(learned)
    seen = np.maximum(seen, -settings.colour_cap)
    scores = node_scores(torch.from_numpy(seen), near, marks)
    return Clues(photograph, strokes, settings, photograph.thinking, tables, learned, near, scores)


def _distance_scores(picture: Floats, seen: Floats, marks: Floats, settings: CutoutSettings) -> Tensor:
    """Scores (labels, height, width) of distances along a picture in which colour scores make walls too."""
    from scipy.ndimage import gaussian_filter

    chance = np.exp(np.maximum(seen, -SOFTEST))
    chance /= chance.sum(0)
    features = np.concatenate([picture, (settings.walls / np.sqrt(2)) * chance]).astype(np.float32)
    features = gaussian_filter(features, (0, BLUR, BLUR))
    far = distances(features, _sources(marks, settings.frame), settings.length)
    return torch.from_numpy(-settings.distance_weight * _share(far))


def _sources(marks: Floats, frame: float) -> Floats:
    """0 on each label's strokes, FAR elsewhere, and `frame` on the picture's frame for the label outside.

    Soft strokes only lean: ways begin at them where a label has no hard ones.
    """
    hard = marks > SOFT
    sources = np.where(np.where(hard.any((1, 2), keepdims=True), hard, marks > 0), np.float32(0.0), FAR)
    label, rim = outside(marks)
    if label is not None:
        outer = sources[label]
        outer[rim] = np.minimum(outer[rim], np.float32(frame))
    made: Floats = sources
    return made


def outside(marks: Floats) -> tuple[int | None, NDArray[np.bool_]]:
    """The label whose strokes are the nearest to most of the picture's frame, and the frame's pixels.

    marks (labels, height, width). Where no label has OUTSIDE of the frame nobody is outside.
    """
    from scipy.ndimage import distance_transform_edt

    rim = np.ones(marks.shape[1:], bool)
    rim[1:-1, 1:-1] = False
    if not marks.any((1, 2)).all():
        return None, rim
    nearest = np.argmin([distance_transform_edt(m == 0) for m in marks], 0)
    shares = np.bincount(nearest[rim], minlength=len(marks)) / rim.sum()
    label = int(shares.argmax())
    if shares[label] < OUTSIDE:
        return None, rim
    return label, rim


def _share(far: Floats) -> Floats:
    """d_c / (d_c + min_{k≠c} d_k), in [0, 1]; ½ where both are 0."""
    order = np.sort(far, 0)
    others = np.where(far == order[0], order[1], order[0])
    made: Floats = ((far + 1e-6) / (far + others + 2e-6)).astype(np.float32)
    return made
