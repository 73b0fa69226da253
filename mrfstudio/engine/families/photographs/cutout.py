"""Scribble, and the object comes out: scores from colours and distances, a contrast grid, refitted while it iterates.

Scores of label c at a pixel, u = log p(colour | c) and d_c the geodesic distance to c's strokes:

    s(c) = max(u_c - max_k u_k, -cap) - weight · d_c / (d_c + min_{k≠c} d_k)

A round finds colours and distances on a small level of the picture, then belief propagation runs coarse to fine up to
that level. The next round takes colours from the field's beliefs instead of the strokes (the M-step of EM; the field is
the E-step), and distances along a picture in which the new colour probabilities make the walls. Last come the finer
levels; on the finest, messages that still move go on until they rest (`moving`). A state is a value and `step` one
iteration of messages, so that a session can show, keep and compare each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.families.photographs.evidence import Clues
from mrfstudio.engine.families.photographs.moving import AT_ONCE, SETTLED, moving_pixels, step_tiles
from mrfstudio.engine.families.photographs.photograph import Photograph, doubled, halved
from mrfstudio.engine.families.photographs.rules import SumProduct
from mrfstudio.engine.families.photographs.settings import CutoutSettings
from mrfstudio.engine.protocol.commands.photographs import LEANING
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.recycling import recycled
from mrfstudio.engine.runtime.threads import fitting_threads


@dataclass(frozen=True)
class CutStage:
    """A block of iterations: in which round and on which level, 0 the finest."""

    round: int
    level: int


@dataclass(frozen=True, eq=False)
class CutoutState:
    """Where a cut-out is. `local` and `messages` are what its rule iterates: see `rules`."""

    stage: int
    level: int
    round: int
    iteration: int
    """Iterations of messages so far, over all stages."""
    in_stage: int
    residual: float
    scores: Tensor
    """Node scores of the thinking level, or of this level where it is finer: (labels, height, width)."""
    clues: Clues
    local: Tensor
    gains: list[Tensor]
    messages: Tensor
    moving: Tensor | None = None
    """Where messages of the last stage still move, (height, width); None where every step is of the whole picture."""
    whole: bool = True
    """Whether the last step was of the whole picture, and so its residual."""


class Cutout:
    """A photograph with strokes (height, width): 0 nothing, 1 … labels, soft ones + LEANING."""

    def __init__(
        self,
        photograph: Photograph,
        strokes: NDArray[np.uint8],
        labels: int = 2,
        settings: CutoutSettings | None = None,
        rule: SumProduct | None = None,
        learned: NDArray[np.float32] | None = None,
    ) -> None:
        """`learned` are scores of a network (labels, height, width) at the photograph's thinking level."""
        self.settings, self.rule = settings or CutoutSettings(), rule or SumProduct()
        self.photograph, self.labels, self.given, self.learned = photograph, labels, strokes, learned
        check_strokes(photograph.size, strokes, labels if learned is None else 0)
        self.strokes = photograph.strokes(strokes, labels)
        thinking, last = photograph.thinking, len(photograph.levels) - 1
        rounds = range(self.settings.rounds + 1)
        self.stages = [CutStage(r, level) for r in rounds for level in range(last, thinking - 1, -1)]
        self.stages += [CutStage(self.settings.rounds, level) for level in range(thinking - 1, -1, -1)]

    def start(self) -> CutoutState:
        """The state before the first iteration: the coarsest level with the strokes' own colours."""
        clues = Clues.of_strokes(self.photograph, self.strokes, self.settings, self.learned)
        return self._enter(0, 0, clues, clues.scores, None)

    def step(self, state: CutoutState) -> CutoutState:
        """One iteration of messages, a few where only tiles go on; at the end of a stage first on to the next one."""
        if state.in_stage >= self.settings.iterations and state.stage + 1 < len(self.stages):
            state = self._next(state)
        moving, whole, count = state.moving, state.moving is None or state.residual < SETTLED, 1
        with fitting_threads(state.messages.numel()):
            if moving is not None and not whole:
                new, residual, moving, count = step_tiles(self.rule, state.local, state.gains, state.messages, moving)
            else:  # also when all tiles rest: whether the whole picture does is then measured
                new = recycled(state.messages.shape, state.messages)
                residual = float(self.rule.step(state.local, state.gains, state.messages, new))
                moving = self._moving(state, new) if residual >= SETTLED else None
        return replace(
            state,
            messages=new,
            residual=residual,
            iteration=state.iteration + count,
            in_stage=state.in_stage + count,
            moving=moving,
            whole=whole,
        )

    def _moving(self, state: CutoutState, new: Tensor) -> Tensor | None:
        """What moves, (height, width), after a step of the whole picture to messages `new`, where only that goes on."""
        last = state.stage == len(self.stages) - 1 and state.in_stage + 1 >= self.settings.iterations
        if not last or not self.rule.in_tiles:
            return None
        return moving_pixels(self.rule, state.local, new, state.messages)

    def remaining(self, state: CutoutState) -> int:
        """Steps to come at most; 0 when it has settled, or has had all that it may have."""
        each, a_step = self.settings.iterations, AT_ONCE if self.rule.in_tiles else 1
        later = -(-self.settings.patience // a_step)
        if state.stage < len(self.stages) - 1 or state.in_stage < each:
            return each * (len(self.stages) - state.stage) - state.in_stage + later
        return 0 if self.rests(state) else max(-(-(each + self.settings.patience - state.in_stage) // a_step), 0)

    def rests(self, state: CutoutState) -> bool:
        """Whether no message of the whole picture moved by more than SETTLED in the last iteration."""
        return state.whole and state.residual < SETTLED

    def settled(self, state: CutoutState) -> bool:
        """Whether nothing is left to do."""
        return self.remaining(state) == 0

    def states(self) -> Iterator[CutoutState]:
        """Every state from the first iteration to the last."""
        state = self.start()
        while not self.settled(state):
            state = self.step(state)
            yield state

    def run(self) -> CutoutState:
        """The last state; none of those before is kept."""
        state = self.start()
        while not self.settled(state):
            state = self.step(state)
        return state

    def beliefs(self, state: CutoutState) -> Tensor:
        """Beliefs of labels at the state's level, (labels, height, width)."""
        return self.rule.beliefs(state.local, state.messages)

    def _next(self, state: CutoutState) -> CutoutState:
        stage, thinking = self.stages[state.stage + 1], self.photograph.thinking
        if stage.round != state.round:
            clues = state.clues.refitted(self.beliefs(state))
            return self._enter(state.stage + 1, state.iteration, clues, clues.scores, None)
        size = self.photograph.levels[stage.level].size
        carried = doubled(state.messages, size)
        if stage.level >= thinking:
            return self._enter(state.stage + 1, state.iteration, state.clues, state.scores, carried)
        clues = state.clues.finer(stage.level)
        return self._enter(state.stage + 1, state.iteration, clues, clues.scores, carried)

    def _enter(self, at: int, iteration: int, clues: Clues, scores: Tensor, carried: Tensor | None) -> CutoutState:
        """The beginning of a stage; scores (labels, height, width), `carried` are messages of the coarser level."""
        stage, thinking = self.stages[at], self.photograph.thinking
        steps = max(stage.level - thinking, 0)
        here = scores
        for _ in range(steps):
            here = 4 * halved(here)  # a block's evidence is the sum of its pixels'
        gains = self.photograph.levels[stage.level].gains(
            self.settings.field * self.settings.smoothness * 2**steps, int(self.settings.neighbours)
        )
        local = self.rule.local(here)
        if carried is None:
            carried = self.rule.start(gains, local)
        return CutoutState(
            at, stage.level, stage.round, iteration, 0, float("inf"), scores, clues, local, gains, carried
        )


def check_strokes(size: tuple[int, int], strokes: NDArray[np.uint8], labels: int) -> None:
    """Strokes have the photograph's size, and every label has one."""
    if strokes.shape != size:
        found, wanted = (f"{w}×{h}" for h, w in (strokes.shape[:2], size))
        raise StudioError(
            f"The scribbles are {found} pixels: the photograph is {wanted}, and both must be the same size."
        )
    present = set(np.unique(strokes % LEANING).tolist())
    missing = [k for k in range(1, labels + 1) if k not in present]
    if missing:
        names = ", ".join(map(str, missing))
        raise StudioError(f"The scribbles have no stroke of label {names}: each of the {labels} labels needs one.")
