"""How a family repairs photographs: what `mrfstudio inpaint`, the library and a canvas need of it.

A family says it in a module of its folder:

    @repairs("patches")
    def repair_with_patches(model, photograph, settings): ...

Colours are float32 from 0 (black) to 1 (white), (height, width, channels) with one channel or three.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import Parts

Colours = NDArray[np.float32]
NOTHING = -1
"""In a map of components: nothing was filled in here."""


@dataclass(frozen=True, eq=False)
class Damaged:
    """A photograph and what is wrong with it.

    colours (height, width, channels); `unknown` (height, width) bool; `strength` (height, width) from 0 to 1, or None:
    how firmly known pixels are known, 1 exactly; `held` (height, width) int16, or None: the component that must fill a
    place, `NOTHING` where any may.
    """

    colours: Colours
    unknown: NDArray[np.bool_]
    strength: NDArray[np.float32] | None = None
    held: NDArray[np.int16] | None = None

    def __post_init__(self) -> None:
        shape = self.colours.shape
        if len(shape) != 3 or shape[2] not in (1, 3) or not self.colours.size:
            raise StudioError(f"The photograph has shape {shape}: expected (height, width, 3) or (height, width, 1).")
        for name, layer in (("mask", self.unknown), ("strength", self.strength), ("held", self.held)):
            if layer is not None and layer.shape != shape[:2]:
                raise StudioError(f"The {name} has shape {layer.shape}: expected that of the picture, {shape[:2]}.")
        if not np.isfinite(self.colours[~self.unknown]).all():
            raise StudioError("The photograph holds values that are not finite: expected colours from 0 to 1.")


@dataclass(frozen=True, eq=False)
class Repaired:
    """The answer at the photograph's own size.

    colours (height, width, channels), known pixels as they were; `deviation` (height, width) of unknown pixels, 0 of
    known ones; `component` (height, width) int16: what filled each unknown pixel, `NOTHING` elsewhere.
    """

    colours: Colours
    deviation: NDArray[np.float32]
    component: NDArray[np.int16]
    remarks: Mapping[str, Any] = field(default_factory=dict)


class Repair(Protocol):
    """One damaged photograph. States are values; a step is one iteration, so that each can be shown and kept.

    A state has its `iteration`, its `residual`, the largest change of a colour in the last one, and its `tensors`.
    """

    @property
    def planned(self) -> int:
        """Iterations until it is settled."""
        ...

    def start(self) -> Any: ...

    def step(self, state: Any) -> Any: ...

    def answer(self, state: Any) -> Repaired: ...

    def sample(self, state: Any, seed: int) -> Colours:
        """One draw for the whole picture, seamless, (height, width, channels)."""
        ...


RepairMaker = Callable[[Any, Damaged], Repair]
REPAIRS: Parts[RepairMaker] = Parts()
repairs = REPAIRS.register
"""Decorator: models of these kinds repair photographs."""


def repair_of(model: Any, damaged: Damaged) -> Repair:
    """A repair by a model. Raises `StudioError` for one that repairs no photographs."""
    found = REPAIRS.of(model)
    if found is None:
        kinds = ", ".join(REPAIRS.kinds())
        raise StudioError(f"A {model.kind} repairs no photographs: choose one of {kinds}.")
    return found(model, damaged)


def repaired(model: Any, damaged: Damaged, on_step: Callable[[Any], None] | None = None) -> Repaired:
    """The settled answer."""
    with torch.inference_mode():
        work = repair_of(model, damaged)
        state = work.start()
        for _ in range(work.planned):
            state = work.step(state)
            if on_step is not None:
                on_step(state)
        return work.answer(state)
