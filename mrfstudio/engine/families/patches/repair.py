"""A photograph repaired by windows that share pixels: what they say of a pixel goes from window to window.

    1. every window that the hole touches asks which component explains it, seen through some noise;
    2. given that component and what is known, it says what its unknown pixels are, and how surely (`windows.py`);
    3. what several windows say of a pixel is weighed by how sure each is, and is the message to all of them.

A message has a variance: large at first, so that windows go by what is known, then smaller, until all agree. This is
the alternation of [ZW11] with masks conditioned on exactly. How sure they are is what they say in an iteration without
such messages: what they told one another they must not count twice. Deep holes begin on a smaller copy of the picture,
whose answer and doubt are the first message of the next one, together with the smoothest picture (`smooth.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.families.patches.levels import Pyramid, RepairLevel, enlarged, filled
from mrfstudio.engine.families.patches.machine import PatchMachine
from mrfstudio.engine.families.patches.machine_windows import MachineWindows
from mrfstudio.engine.families.patches.model import PatchMixture
from mrfstudio.engine.families.patches.smooth import depth_of, roughness, thin_plate, unknown_share
from mrfstudio.engine.families.patches.windows import MixtureWindows, Places, WindowAnswer
from mrfstudio.engine.families.repairs import NOTHING, Colours, Damaged, Repaired, repairs

UNSURE = 1.0
"""Variance of a message that says nothing."""
TRUST, TRUSTED = 1.0, (0.01, 1.0)
"""Deviation of the smoothest picture, in units of the roughness around it times the depth, and its ends."""
FAR, THIN, NEAR = 3.0, 1.0, 0.45
"""Deviation of what windows do not know of, by the roughness around: times the root of the depth beyond one pixel, in
deep holes and in thin ones; and everywhere."""
SHARE = 0.9
"""What the square of the share of unknown pixels around counts beside the depth."""
WIDER = 4.0
"""How much the variance of a smaller copy grows on the way to the larger one: it chose its components once."""
STILL = 0.006
"""Change of a colour below which windows keep their components."""
DETAIL = 0.02
"""Deviation of what a copy of half the size cannot show."""


class Windows(Protocol):
    """A model of windows: the mixture, or the machine."""

    side: int
    channels: int
    calibration: float

    def choose(self, values: Tensor, noise: float) -> Tensor:
        """The component (N,) of each window (N, places, channels), seen through even noise."""
        ...

    def condition(
        self,
        values: Tensor,
        variances: Tensor,
        component: Tensor,
        unknown: Tensor | None = None,
        held: Tensor | None = None,
    ) -> WindowAnswer:
        """What each window (N, places, channels) is.

        `variances` and `unknown` (N, places), `component` and `held` (N,).
        """
        ...

    def draw(self, noise: Tensor, component: Tensor) -> Tensor:
        """Windows (N, places, channels) drawn from components (N,) with white noise (N, places, channels)."""
        ...


@dataclass(frozen=True)
class RepairRound:
    """One iteration: on which level, the noise through which components are chosen, the deviation of messages.

    A message of None is what the smaller copy said, or nothing: such an iteration says how sure the windows are.
    """

    level: int
    noise: float
    message: float | None = None


MOST_STRETCH, FARTHEST = 1.0, 2.0
"""How much a draw may be stretched: not at all, only made fainter; and the deviations that a pixel may lie off."""

NARROW, WIDE, MOSTLY = 2, 3, 0.1
"""Pixels from window to window, in thin damage and where more than this part is deep: there half as many say the same
to 0.2 dB."""
SPARSE, MANY, LITTLE = 4, 8000, 0.1
"""Pixels from window to window in more than so many windows of which less than this part is damaged: dust."""
ROUNDS = ((0.05, None), (0.02, 0.05))
"""(noise, message) of the iterations on each level."""


@dataclass(frozen=True, eq=False)
class PatchState:
    """Where a repair is: values (M, channels) and variance (M,) of the pixels of a level.

    `message` (M,) is the variance of what the smaller level said, `component` (N,) are those of the windows; `moved`
    (M,) is how far colours went in the last iteration, None before the first one of a level.
    """

    iteration: int
    level: int
    residual: float
    values: Tensor
    variance: Tensor
    message: Tensor
    component: Tensor
    moved: Tensor | None = None

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self.values, self.variance, self.message, self.component


class PatchRepair:
    """One damaged photograph and a model of windows."""

    def __init__(self, windows: Windows, damaged: Damaged) -> None:
        self.windows, self.damaged = windows, damaged
        self.pyramid = Pyramid.around(damaged, windows.side)
        depth = len(self.pyramid.levels)
        self._deep_parts: dict[int, Tensor] = {}
        self.stride = self._fitting_stride()
        self.stages = tuple(RepairRound(level, *stage) for level in reversed(range(depth)) for stage in ROUNDS)
        self._places: dict[int, Places] = {}

    def _fitting_stride(self) -> int:
        level = self.pyramid.levels[0]
        if len(self.pyramid.levels) > 1:
            inside = int((level.unknown & self._deep(0)).sum())
            return WIDE if inside > MOSTLY * int(level.unknown.sum()) else NARROW
        places = level.places(self.windows.side, SPARSE)
        # Many windows with little damage each: fewer of them say nearly as much.
        scattered = len(places.windows) > MANY and int(places.unknown.sum()) < LITTLE * len(places.pixels)
        return SPARSE if scattered else NARROW

    @property
    def planned(self) -> int:
        return len(self.stages) if self.damaged.unknown.any() else 0

    def places(self, level: int) -> Places:
        """The windows of a level."""
        if level not in self._places:
            self._places[level] = self.pyramid.levels[level].places(self.windows.side, self.stride)
        return self._places[level]

    def _deep(self, level: int) -> Tensor:
        """Where a smaller copy is asked, (height, width); nowhere if there is none."""
        if level not in self._deep_parts:
            found = self.pyramid.levels[level]
            none = len(self.pyramid.levels) == 1
            self._deep_parts[level] = torch.zeros_like(found.unknown) if none else found.deep(self.windows.side)
        return self._deep_parts[level]

    def start(self) -> PatchState:
        """The first answer: smooth colours through what lies around the hole, trusted as far as that is smooth."""
        last = len(self.pyramid.levels) - 1
        first = filled(self.pyramid.levels[last])
        return self._enter(0, last, first, None) if last else self._with_plate(0, first, None)

    def _enter(self, iteration: int, level: int, dense: Tensor, message: Tensor | None) -> PatchState:
        """The first state of a level from colours and variances (height, width, …) of all its pixels."""
        places = self.places(level)
        values = dense.flatten(0, 1)[places.pixels]
        said = torch.full((len(values),), UNSURE) if message is None else message.flatten()[places.pixels]
        component = torch.full((len(places.windows),), NOTHING)
        return PatchState(iteration, level, float("inf"), values, said, said, component)

    def step(self, state: PatchState) -> PatchState:
        """One iteration; at the end of a level first on to the next one. After the last there is nothing to do."""
        if state.iteration >= self.planned:
            return replace(state, iteration=state.iteration + 1, residual=0.0)
        stage = self.stages[state.iteration]
        if stage.level != state.level:
            state = self._finer(state, stage.level)
        return self._moved(state, stage)

    def _finer(self, state: PatchState, level: int) -> PatchState:
        """The first state of the next level: what the smaller copy says counts in deep parts of the hole alone."""
        finer = self.pyramid.levels[level]
        dense, variance = self._dense(state)
        message = WIDER * enlarged(variance[..., None], finer.shape)[..., 0] + DETAIL**2
        message = torch.where(self._deep(level), message, UNSURE)
        larger = enlarged(dense, finer.shape)
        if level == 0:
            return self._with_plate(state.iteration, larger, message)
        return self._enter(state.iteration, level, larger, message)

    def _with_plate(self, iteration: int, dense: Tensor, message: Tensor | None) -> PatchState:
        """The first state of the finest level: what the smaller copy says and the smoothest picture, by their doubt.

        `dense` (height, width, channels) and its variance `message` (height, width).
        """
        level = self.pyramid.levels[0]
        plate = thin_plate(level.colours, level.unknown, dense)
        if plate is dense or message is None:  # where all is near what is known, windows need no such help
            return self._enter(iteration, 0, plate, message)
        rough = self._roughness * self._depth.clamp_min(1)
        own = (TRUST * rough).clamp(*TRUSTED).square()
        both = 1 / (1 / own + 1 / message)
        mixed = (both / own)[..., None] * plate + (both / message)[..., None] * dense
        deep = self._deep(0)
        return self._enter(iteration, 0, torch.where(deep[..., None], mixed, plate), torch.where(deep, both, UNSURE))

    def _moved(self, state: PatchState, stage: RepairRound) -> PatchState:
        places, level = self.places(state.level), self.pyramid.levels[state.level]
        said = state.message if stage.message is None else state.message.clamp_max(stage.message**2)
        values = state.values[places.windows]
        component, held = self._chosen(state, values, places, stage.noise), self._held(places, level)
        if held is not None:
            component = torch.where(held == NOTHING, component, held)
        hidden = places.unknown[places.windows]
        answer = self.windows.condition(
            values, self._variances(places, level, said), component, hidden, None if held is None else held != NOTHING
        )
        mean, variance = places.gathered(answer)
        if stage.message is not None:  # what windows told one another they must not count twice
            variance = state.variance
        new = torch.where(places.unknown[:, None], mean, state.values)
        moved = (new - state.values).abs().amax(1)
        residual = float(moved.max()) if moved.numel() else 0.0
        return replace(
            state, iteration=state.iteration + 1, residual=residual, values=new, variance=variance,
            component=component, moved=moved,
        )  # fmt: skip

    def _chosen(self, state: PatchState, values: Tensor, places: Places, noise: float) -> Tensor:
        """The component (N,) of each window; one whose colours hardly moved in the last iteration keeps its own."""
        if state.moved is None:
            return self.windows.choose(values, noise)
        again = (state.moved[places.windows].amax(1) > STILL).nonzero()[:, 0]
        return state.component.index_copy(0, again, self.windows.choose(values[again], noise))

    def _variances(self, places: Places, level: RepairLevel, said: Tensor) -> Tensor:
        """Variances (N, places) of windows: `said` (M,) where a pixel is unknown, else the level's own."""
        known = level.variance.flatten()[places.pixels]
        return torch.where(places.unknown, said, known)[places.windows]

    def _held(self, places: Places, level: RepairLevel) -> Tensor | None:
        """Components (N,); a window whose middle a person gave to a component has that one."""
        if level.held is None:
            return None
        side = self.windows.side
        middle = places.corners + side // 2 * level.shape[1] + side // 2
        return level.held.flatten()[middle].to(torch.int64)

    def _dense(self, state: PatchState) -> tuple[Tensor, Tensor]:
        """Colours (height, width, channels) and variances (height, width) of the whole level; known pixels have 0."""
        level, places = self.pyramid.levels[state.level], self.places(state.level)
        colours, variance = level.colours.flatten(0, 1).clone(), torch.zeros(level.unknown.numel())
        rows = places.pixels[places.unknown]
        colours[rows] = state.values[places.unknown]
        variance[rows] = state.variance[places.unknown]
        return colours.view_as(level.colours), variance.view_as(level.unknown)

    # Answers ----------------------------------------------------------------------------------------------------------

    def answer(self, state: PatchState) -> Repaired:
        """Colours, deviation and components at the photograph's own size, of any state."""
        level, places = state.level, self.places(state.level)
        dense, variance = self._dense(state)
        component = self._component(state, places)
        while level > 0:
            level -= 1
            finer = self.pyramid.levels[level]
            dense = torch.where(finer.unknown[..., None], enlarged(dense, finer.shape), finer.colours)
            variance = torch.where(finer.unknown, enlarged(variance[..., None], finer.shape)[..., 0], 0.0)
            component = component.repeat_interleave(2, 0).repeat_interleave(2, 1)[: finer.shape[0], : finer.shape[1]]
        colours = np.array(self.damaged.colours, np.float32)
        deviation = np.zeros(self.damaged.unknown.shape, np.float32)
        fillers = np.full(self.damaged.unknown.shape, NOTHING, np.int16)
        part, hole = self._part()
        colours[part][hole] = dense.numpy()[: hole.shape[0], : hole.shape[1]][hole].clip(0, 1)
        variance = variance * self.windows.calibration**2
        # The first answer knows nothing of its doubt yet, and must be there in the next frame.
        wide = (variance if state.iteration == 0 else variance + self._far).sqrt().numpy()
        deviation[part][hole] = wide[: hole.shape[0], : hole.shape[1]][hole]
        fillers[part][hole] = component.numpy()[: hole.shape[0], : hole.shape[1]][hole]
        return Repaired(colours, deviation, fillers)

    @cached_property
    def _far(self) -> Tensor:
        """Variance (height, width) that windows do not know of, which chose their components by what they filled in.

        It grows with the depth in the hole, with how little is known around and with the roughness there; how much was
        found on validation pictures.
        """
        level = self.pyramid.levels[0]
        far = torch.where(self._deep(0), FAR**2, THIN**2)
        beyond = far * (self._depth - 1).clamp_min(0) + SHARE * unknown_share(level.unknown).square()
        return self._roughness.square() * (beyond + NEAR**2)

    @cached_property
    def _roughness(self) -> Tensor:
        return roughness(self.pyramid.levels[0].colours, self.pyramid.levels[0].unknown)

    @cached_property
    def _depth(self) -> Tensor:
        return depth_of(self.pyramid.levels[0].unknown)

    def _part(self) -> tuple[tuple[slice, slice], np.ndarray]:
        """Where the finest level lies in the photograph, and its hole."""
        (top, left), shape = self.pyramid.corner, self.pyramid.levels[0].shape
        part = slice(top, top + shape[0]), slice(left, left + shape[1])
        return part, self.damaged.unknown[part]

    def _component(self, state: PatchState, places: Places) -> Tensor:
        """The component (height, width) int16 that filled each pixel of a level: that of the nearest window's."""
        level = self.pyramid.levels[state.level]
        found = torch.full((level.unknown.numel(),), NOTHING, dtype=torch.int16)
        side = self.windows.side
        # Windows one after the other: where several overlap, the one whose middle is nearest comes last.
        rim = torch.maximum(
            (torch.arange(side) - side / 2 + 0.5).abs()[:, None], (torch.arange(side) - side / 2 + 0.5).abs()
        )
        for place in rim.flatten().argsort(descending=True, stable=True).tolist():
            found[places.pixels[places.windows[:, place]]] = state.component.to(torch.int16)
        return found.view_as(level.unknown)

    def sample(self, state: PatchState, seed: int) -> Colours:
        """One draw of the whole picture; of a state on a smaller copy, its mean."""
        found = self.answer(state).colours
        if state.level == 0 and self.damaged.unknown.any():
            part, hole = self._part()
            rest = self._drawn_rest(state, seed)
            found[part][hole] = (found[part][hole] + rest[: hole.shape[0], : hole.shape[1]][hole]).clip(0, 1)
        return found

    def _drawn_rest(self, state: PatchState, seed: int) -> np.ndarray:
        """What a drawn picture has in the hole beyond what is around it ([HR91]), (height, width, channels).

        A picture is drawn from one field of white noise, so that windows agree where they overlap. Its own hole is then
        repaired with the same components, which is linear; the difference is as likely here as there.
        """
        places, level = self.places(0), self.pyramid.levels[0]
        noise = torch.randn(state.values.shape, generator=torch.Generator().manual_seed(seed))
        drawn = self.windows.draw(noise[places.windows], state.component)
        truth, _ = places.gathered(WindowAnswer(drawn, torch.ones(drawn.shape[:2]), state.component))
        guess, hidden = torch.where(places.unknown[:, None], 0.0, truth), places.unknown[places.windows]
        for _, message in ROUNDS:
            said = state.message if message is None else state.message.clamp_max(message**2)
            answer = self.windows.condition(
                guess[places.windows], self._variances(places, level, said), state.component, hidden
            )
            guess = torch.where(places.unknown[:, None], places.gathered(answer)[0], truth)
        rest = (truth - guess)[places.unknown]
        # No rougher than the answer says: a rough window beside an even one would leave blots.
        far = self._far.flatten()[places.pixels[places.unknown]]
        said = (state.variance[places.unknown] * self.windows.calibration**2 + far).sqrt()
        rest = rest * (said.square().mean().sqrt() / rest.square().mean().sqrt().clamp_min(1e-6)).clamp_max(
            MOST_STRETCH
        )
        rest = rest.clamp(-FARTHEST * said[:, None], FARTHEST * said[:, None])
        dense = torch.zeros(level.unknown.numel(), rest.shape[1])
        dense[places.pixels[places.unknown]] = rest
        return dense.view_as(level.colours).numpy()


@repairs("patches", "patch-rbm")
def repair_with_windows(model: PatchMixture | PatchMachine, damaged: Damaged) -> PatchRepair:
    """Tables are made once for a model and a number of channels."""
    known, channels = _made.setdefault(model, {}), damaged.colours.shape[2]
    if channels not in known:
        if isinstance(model, PatchMixture):
            known[channels] = MixtureWindows(model, channels)
        else:
            known[channels] = MachineWindows(model, channels)
    return PatchRepair(known[channels], damaged)


_made: WeakKeyDictionary[Any, dict[int, Windows]] = WeakKeyDictionary()
