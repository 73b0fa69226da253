"""A repair of a photograph as an algorithm of sessions: each step is one iteration of its windows.

Photograph and damage are evidence. A state holds the repair that it belongs to, so that a result can be shown while
newer strokes are on their way.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.families.repairs import NOTHING, Damaged, Repair, Repaired, repair_of
from mrfstudio.engine.graphs.evidence import AnyEvidence
from mrfstudio.engine.inference.algorithm import Algorithm, Kernel, Model, State, kernel
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.session.label_pictures import VisiblePart
from mrfstudio.engine.session.photo import Photo

DAMAGED, DOUBTFUL = 1, 2
"""What strokes hold."""
DOUBT = 0.2
"""How firmly a doubtful pixel is known, from 0 to 1."""


class RepairModel:
    """A trained model of windows in a session."""

    kind = "windows"

    def __init__(self, trained: Any) -> None:
        self.trained = trained


@dataclass(frozen=True, eq=False)
class DamageEvidence(AnyEvidence):
    """A photograph and strokes on it, (height, width); the component that is held, or None.

    A repair is of the part around the strokes alone: a photograph of any size costs what its damage does.
    """

    photo: Photo
    strokes: NDArray[np.uint8]
    held: int | None = None
    _repairs: dict[int, Repair] = field(default_factory=dict)

    def repair(self, model: RepairModel) -> Repair:
        """Made at the first step: cutting out what lies around the hole takes a moment."""
        if id(model) not in self._repairs:
            self._repairs[id(model)] = repair_of(model.trained, self.damaged())
        return self._repairs[id(model)]

    @cached_property
    def part(self) -> tuple[slice, slice]:
        """What a repair looks at."""
        return _around(self.strokes)

    def damaged(self) -> Damaged:
        strokes = self.strokes[self.part]
        unknown, doubtful = strokes == DAMAGED, strokes == DOUBTFUL
        colours = np.asarray(self.photo.rgb[self.part] / np.float32(255), np.float32)
        strength = np.where(doubtful, np.float32(DOUBT), np.float32(1)) if doubtful.any() else None
        held = None if self.held is None else np.full(unknown.shape, self.held, np.int16)
        return Damaged(colours, unknown, strength, held)


def _around(strokes: NDArray[np.uint8], margin: int = 64) -> tuple[slice, slice]:
    """The part of a photograph that holds all strokes, and a margin."""
    found = []
    for axis in (0, 1):
        lines = np.flatnonzero(strokes.any(1 - axis))
        first, last = (int(lines[0]), int(lines[-1])) if len(lines) else (0, 0)
        found.append(slice(max(first - margin, 0), last + margin + 1))
    return found[0], found[1]


@dataclass(frozen=True, eq=False)
class PlacedAnswer:
    """What is repaired of a part of a photograph whose top left pixel is `corner`."""

    found: Repaired
    corner: tuple[int, int]

    def seen(self, of_part: NDArray, window: VisiblePart, empty: float = 0) -> NDArray:
        """An array (h, w, …) of the part as the window shows it; `empty` beside the part."""
        views, sources = [], []
        for axis, first, count in ((0, window.top, window.height), (1, window.left, window.width)):
            places = np.arange(first, first + count, window.stride) - self.corner[axis]
            inside = np.flatnonzero((places >= 0) & (places < of_part.shape[axis]))
            begin, end = (int(inside[0]), int(inside[-1]) + 1) if len(inside) else (0, 0)
            views.append(slice(begin, end))
            start = int(places[begin]) if len(inside) else 0
            sources.append(slice(start, start + (end - begin) * window.stride, window.stride))
        shape = [-(-size // window.stride) for size in (window.height, window.width)]
        shown = np.full((*shape, *of_part.shape[2:]), empty, of_part.dtype)
        shown[views[0], views[1]] = of_part[sources[0], sources[1]]
        return shown

    def at(self, pixel: tuple[int, int]) -> tuple[int, int] | None:
        """Where a pixel of the photograph lies in the part; None beside it."""
        place = pixel[0] - self.corner[0], pixel[1] - self.corner[1]
        inside = all(0 <= where < size for where, size in zip(place, self.found.deviation.shape, strict=True))
        return place if inside else None


@ALGORITHMS.register
class WindowMessages(Algorithm):
    """Windows of a photograph that share pixels."""

    name = "windows"
    title = "Windows that share pixels"
    summary = (
        "For damaged photographs: every window that the damage touches says what is missing and how surely; what it "
        "says goes to the windows that overlap with it. Deep holes begin on a smaller copy."
    )

    @property
    def planned(self) -> int:
        return 1000  # more than any plan has: it ends by itself

    def supports(self, model: Model) -> str | None:
        if isinstance(model, RepairModel):
            return None
        return f"{self.name} repairs photographs and does not work on a {model.kind}: use bp."

    begins_anew = True

    def resume(self, model: Model, evidence: AnyEvidence, state: State) -> State:
        """Other strokes: from the coarsest level again, which is quick; iterations are counted on."""
        return self.counted(state)

    def counted(self, state: State) -> State:
        return RepairLaneState(state.iteration, torch.tensor(torch.inf))

    def remaining(self, state: State) -> int:
        assert isinstance(state, RepairLaneState)
        if state.work is None or state.at is None:
            return 0
        return max(state.work.planned - state.at.iteration, 0)


@dataclass(frozen=True, eq=False)
class RepairLaneState(State):
    """Where a repair is; `work` is None where nothing is damaged."""

    stored: ClassVar[bool] = False
    work: Repair | None = None
    corner: tuple[int, int] = (0, 0)
    at: Any = None
    tensors: tuple[Tensor, ...] = ()


@kernel(WindowMessages, RepairModel)
class RepairKernel(Kernel):
    """One iteration of the windows a step."""

    def init(self, algorithm: WindowMessages, model: RepairModel, evidence: DamageEvidence) -> RepairLaneState:
        return RepairLaneState(0, torch.tensor(torch.inf))

    def step(
        self, algorithm: WindowMessages, model: RepairModel, evidence: DamageEvidence, state: RepairLaneState
    ) -> RepairLaneState:
        if not (evidence.strokes == DAMAGED).any():
            return RepairLaneState(state.iteration + 1, torch.tensor(0.0))
        work, corner = state.work, state.corner
        if work is None:
            work, corner = evidence.repair(model), (evidence.part[0].start, evidence.part[1].start)
        # The first answer is smooth colours from around: it is there before any window was asked.
        at = work.start() if state.at is None else work.step(state.at)
        residual = torch.tensor(min(float(at.residual), 1.0))
        return replace(
            state, iteration=state.iteration + 1, residual=residual, work=work, corner=corner, at=at,
            tensors=tuple(at.tensors),
        )  # fmt: skip

    def beliefs(
        self, algorithm: WindowMessages, model: RepairModel, evidence: DamageEvidence, state: RepairLaneState
    ) -> Tensor:
        """Mean colour and deviation of the part around the damage, (height, width, channels + 1)."""
        placed = answer(state)
        if placed is None:
            return torch.zeros(1, 1, 4)
        found = placed.found
        return torch.from_numpy(np.concatenate([found.colours, found.deviation[..., None]], -1))


def answer(state: State) -> PlacedAnswer | None:
    """What a state says of the part around the damage; None before the first answer."""
    assert isinstance(state, RepairLaneState)
    if state.work is None or state.at is None:
        return None
    return PlacedAnswer(state.work.answer(state.at), state.corner)


__all__ = ["NOTHING", "DamageEvidence", "PlacedAnswer", "RepairModel", "WindowMessages", "answer"]
