"""What a photograph's workspace shows: a state as plain arrays at the screen's resolution.

overlay      (h, w, 2) uint8      the place of the most probable label among the labels, and how certain it is
boundary     (h, w) uint8         that label alone
cutout:K     (h, w) uint8         alpha of label K: 0 or 255; `cutout:Ks` with soft edges
entropy      (h, w) float32       bits
scores:K     (h, w) float32       node score of label K minus that of the best other, nats
walls        (h, w) float32       how little neighbours want the same label, 0 to 1
residual     (h, w) float32       largest change of a message in the last iteration, as a probability
difference   (h, w) float32       how far two lanes' beliefs are apart, 0 to 1
next         (3,) float32         row, column and radius of the place where a stroke would help most
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from mrfstudio.engine.families.photographs.cutout import CutoutState
from mrfstudio.engine.families.photographs.sensitivity import expected_error, settled_by_a_stroke
from mrfstudio.engine.families.photographs.soft_edges import refined
from mrfstudio.engine.session.document import frozen
from mrfstudio.engine.session.label_pictures import VisiblePart, difference, entropy_bits
from mrfstudio.engine.workspaces.photograph.algorithm import PhotoState
from mrfstudio.engine.workspaces.workspace import LaneView

LOOK_AROUND = 0.03
"""Radius of the mark where a stroke helps most, in parts of the longer side."""
SMALL = 12_000
"""Pixels of the level at which that place is looked for."""
WORTH = 0.2
"""Wrong pixels of that level that a stroke must be expected to settle to be worth it."""

Floats = NDArray[np.float32]


def pictures(
    names: tuple[str, ...], view: LaneView, window: VisiblePart, first: LaneView | None
) -> dict[str, np.ndarray]:
    """Those asked for; nothing where no label has been decided yet."""
    wanted = dict(name.partition(":")[::2] for name in names)
    state = view.state
    assert isinstance(state, PhotoState)
    beliefs = beliefs_in(view, window)
    if beliefs is None or state.at is None:
        return {}
    found: dict[str, np.ndarray] = {}
    if {"overlay", "boundary"} & wanted.keys():
        found["overlay"] = overlay(beliefs)
        found["boundary"] = frozen(np.ascontiguousarray(found["overlay"][..., 0]))
    if "entropy" in wanted:
        found["entropy"] = frozen(entropy_bits(np.moveaxis(beliefs, 0, -1)))
    if "difference" in wanted and first is not None:
        other = beliefs_in(first, window)
        if other is not None:
            found["difference"] = frozen(difference(np.moveaxis(beliefs, 0, -1), np.moveaxis(other, 0, -1)))
    if "cutout" in wanted:
        label, soft = _chosen(view, wanted["cutout"])
        longer = max(view.document.shape) // window.stride
        found["cutout"] = frozen(alpha(beliefs, label, _colours(view, window) if soft else None, longer))
    if "scores" in wanted:
        found["scores"] = scores_in(view, state.at, window, _chosen(view, wanted["scores"])[0])
    if "walls" in wanted:
        found["walls"] = _sampled(walls(state.at), window, _factor(state, state.at.level))
    if "residual" in wanted:
        found["residual"] = _residual(view, state, window)
    if "next" in wanted and view.algorithm.remaining(state) == 0:  # looking for it takes as long as an iteration
        place = where_next(view)
        if place is not None:
            found["next"] = place
    return found


def _chosen(view: LaneView, word: str) -> tuple[int, bool]:
    """The place of a label among the labels, and whether its edges are soft, from `2` or `2s`."""
    number = int(word.rstrip("s") or 0)
    numbers = [each.number for each in view.document.labels]
    return (numbers.index(number) if number in numbers else 0), word.endswith("s")


def beliefs_in(view: LaneView, window: VisiblePart) -> Floats | None:
    """(labels, h, w) of what a window shows, all labels in order; None before the first iteration."""
    state = view.state
    assert isinstance(state, PhotoState)
    if state.cutout is None or state.at is None:
        return None
    key = f"beliefs {window}"
    if key not in view.kept:
        factor = _factor(state, state.at.level)
        if state.full is None:
            seen = _sampled(view.beliefs.numpy(), window, factor).astype(np.float32, copy=False)
        else:  # only what is seen is turned into numbers
            seen = np.divide(_sampled(state.full.numpy(), window, 1), np.float32(255), dtype=np.float32)
        numbers = [each.number for each in view.document.labels]
        view.kept[key] = seen if numbers == list(state.present) else _in_order(numbers, state.present, seen)
    found: Floats = view.kept[key]
    return found


def _in_order(numbers: Sequence[int], present: Sequence[int], seen: Floats) -> Floats:
    """Beliefs (present, h, w) as those of all labels, (labels, h, w), 0 where an answer says nothing of one."""
    made = np.zeros((len(numbers), *seen.shape[1:]), np.float32)
    for number, belief in zip(present, seen, strict=True):
        if number in numbers:  # a label that was just deleted is still in the last answer
            made[numbers.index(number)] = belief
    return made


def overlay(beliefs: Floats) -> NDArray[np.uint8]:
    """(h, w, 2): the most probable label and its certainty, 255 where there is no doubt."""
    best, top = np.zeros(beliefs.shape[1:], np.uint8), beliefs[0]
    for label in range(1, len(beliefs)):
        better = beliefs[label] > top
        top = np.where(better, beliefs[label], top)
        best[better] = label
    labels = len(beliefs)
    certainty = np.clip((top * labels - 1) / max(labels - 1, 1), 0, 1)
    return frozen(np.stack([best, (certainty * 255 + 0.5).astype(np.uint8)], -1))


def alpha(beliefs: NDArray[np.floating], label: int, rgb: NDArray[np.uint8] | None, longer: int) -> NDArray[np.uint8]:
    """(h, w) opacity of one label: 0 or 255, with colours (h, w, 3) soft at its border; see `soft_edges`.

    `longer` is the longer side of the whole picture, in samples like these.
    """
    wins = beliefs.argmax(0) == label
    if rgb is None:
        return wins.astype(np.uint8) * np.uint8(255)
    belief = np.asarray(beliefs[label], np.float32)
    # With more than two labels one may win with less than a half.
    belief = np.where(wins, np.maximum(belief, 0.501), np.minimum(belief, 0.5))
    return np.rint(refined(rgb, belief, longer) * 255).astype(np.uint8)


def _colours(view: LaneView, window: VisiblePart) -> NDArray[np.uint8]:
    assert view.document.photo is not None
    return np.ascontiguousarray(view.document.photo.rgb[window.slices])


def scores_in(view: LaneView, at: CutoutState, window: VisiblePart, label: int) -> Floats:
    """Node score of a label minus the best other, (h, w)."""
    state, number = view.state, view.document.labels[label].number
    assert isinstance(state, PhotoState)
    assert state.cutout is not None
    seen = _sampled(at.scores.numpy(), window, _factor(state, _level_of_scores(state, at)))
    if number not in state.present:
        return frozen(np.zeros(seen.shape[1:], np.float32))
    own = state.present.index(number)
    return frozen(seen[own] - np.delete(seen, own, 0).max(0))


def walls(at: CutoutState) -> Floats:
    """1 - w / max w over the edges to the right and down, (height, width) of the state's level."""
    made = np.zeros((at.gains[1].shape[0] + 1, at.gains[0].shape[1] + 1), np.float32)
    strongest = max((float(gain.max()) for gain in at.gains[:2] if gain.numel()), default=0.0)
    if strongest <= 0:
        return made
    for gain, place in zip(at.gains[:2], (np.s_[:, :-1], np.s_[:-1, :]), strict=True):
        wall = 1 - torch.log1p(gain).numpy() / np.float32(np.log1p(strongest))
        made[place] = np.maximum(made[place], wall)
    return made


def _residual(view: LaneView, state: PhotoState, window: VisiblePart) -> Floats:
    before = view.previous
    assert state.at is not None
    messages = state.at.messages
    if not isinstance(before, PhotoState) or before.at is None or before.at.messages.shape != messages.shape:
        height, width = messages.shape[-2:]
        change = torch.ones(height, width)
    else:
        assert state.cutout is not None
        change = state.cutout.rule.change(state.at.local, messages, before.at.messages)
    return _sampled(change.numpy(), window, _factor(state, state.at.level))


def where_next(view: LaneView) -> Floats | None:
    """Row, column and radius of the place where a stroke would lower the expected error most; None where none would.

    Found on a small level from beliefs, scores and sensitivities of messages: see `sensitivity`.
    """
    if "next" not in view.kept:
        view.kept["next"] = _where_next(view)
    found: Floats | None = view.kept["next"]
    return found


def _level_of_scores(state: PhotoState, at: CutoutState) -> int:
    """Scores are those of the level where colours and distances were found, or of a finer one."""
    assert state.cutout is not None
    size = tuple(at.scores.shape[1:])
    return next(k for k, each in enumerate(state.cutout.photograph.levels) if each.size == size)


def _where_next(view: LaneView) -> Floats | None:
    state = view.state
    assert isinstance(state, PhotoState)
    if state.cutout is None or state.at is None:
        return None
    levels, settings = state.cutout.photograph.levels, state.cutout.settings
    small = next((k for k, each in enumerate(levels) if math.prod(each.size) <= SMALL), len(levels) - 1)
    size = levels[small].size
    beliefs = state.cutout.beliefs(state.at)
    error = expected_error(_at_size(beliefs, size), _at_size(state.at.scores, size))
    error[state.cutout.strokes[small].amax(0) > 0] = 0  # what a person said is not asked again
    gains = levels[small].gains(settings.field * settings.smoothness, int(settings.neighbours))
    settled = settled_by_a_stroke(error, gains)
    settled[error <= 0] = 0
    best = int(settled.argmax())
    if float(settled.reshape(-1)[best]) < WORTH:
        return None
    row, column = divmod(best, size[1])
    factor = _factor(state, small)
    radius = LOOK_AROUND * max(view.document.shape)
    return frozen(np.array([(row + 0.5) * factor, (column + 0.5) * factor, radius], np.float32))


def _at_size(values: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """(labels, height, width) averaged to a smaller size, or as it is."""
    return torch.nn.functional.adaptive_avg_pool2d(values[None], size)[0]


def _factor(state: PhotoState, level: int) -> int:
    """Pixels of the photograph, in each direction, that make one of a level."""
    assert state.cutout is not None
    return int(state.cutout.photograph.reduction * 2**level)


def _sampled(array: np.ndarray, window: VisiblePart, factor: int) -> np.ndarray:
    """What a window shows of an array (…, height, width), one entry of which is `factor` pixels wide and high."""
    if factor == 1:
        return frozen(np.ascontiguousarray(array[(..., *window.slices)]))
    height, width = array.shape[-2:]
    rows, columns = (np.arange(part.start, part.stop, part.step) // factor for part in window.slices)
    # Columns first: what is repeated then is whole rows.
    return frozen(array.take(np.minimum(columns, width - 1), -1).take(np.minimum(rows, height - 1), -2))
