"""`auto`: the best answer in the time there is. Exact where that fits, else join graphs of growing size.

What fits is judged by counting (`stages.py`), so the same graph gives the same plan everywhere. Each stage is a run of
its own; the marginals of the last one that finished are the answer. How far they are from the stage before and from the
first, and more where that does not shrink, is the estimate of their error. Where an exact stage takes its time, or
clusters do, a quick one goes first, so that there is an answer whatever happens.

With a clock, looking for the next stage and the stage itself end where the time does.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import (
    NO_LOG_PARTITION,
    Algorithm,
    Kernel,
    LogPartition,
    PlanEnd,
    State,
    Unsupported,
    kernel,
    nothing_changed,
)
from mrfstudio.engine.inference.join.budget import ANSWERED, Budget, OutOfTime, TooSlow, too_slow
from mrfstudio.engine.inference.join.join_tree import JoinTree
from mrfstudio.engine.inference.join.propagation import JoinGraph
from mrfstudio.engine.inference.join.stages import ENOUGH, Attempt, Carried, Stages
from mrfstudio.engine.protocol.frames import SO_FAR
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.runtime.interruption import ending, followed

IN_TIME = 0.8
"""Part of the time after which no stage goes on: marginals are still to be taken from it, and written …"""
TREE_IN_TIME = 0.9
"""… unless it is a tree, which ends with its marginals."""
SETTLED = 1e-6
UNKNOWN = -1.0
CALM, WILD = 0.01, 0.1
"""Residuals: an answer below the first is not given up for one above the second."""
SLACK = 2.0
"""By how many times itself the distance of answers is added to the estimate where it does not shrink: answers that
share a mistake are nearer to each other than to the truth. Chosen so that grids and pedigrees are covered.
"""
FINEST = 1e-3
"""The smallest error that answers of different clusters can tell: some that agreed to 1e-5 and 1e-6 were wrong by .0002
and .0008.
"""
HALVES = 0.5
"""The part of the answer so far in the next one where steps do not become shorter."""
DONE = -1
"""The number of the stage behind the last."""


@ALGORITHMS.register
class Auto(Budget, Algorithm):
    """The choice."""

    marginals_only = True
    staged = True

    def decides(self, state: State) -> bool:
        assert isinstance(state, AutoState)
        return state.error == 0 and bool(state.picked)

    def remaining(self, state: State) -> int | None:
        """The number of iterations is known at the end alone."""
        assert isinstance(state, AutoState)
        return 0 if state.stage == DONE else None

    def plan_end(self, state: State) -> PlanEnd:
        """Converged where the messages of the answer have; time may be over before that, or stages."""
        assert isinstance(state, AutoState)
        mixed = not torch.equal(state.answer, state.latest)
        return "iteration limit" if mixed or state.swing >= SETTLED else "converged"

    def remarks(self, state: State) -> dict[str, Any]:
        assert isinstance(state, AutoState)
        error = math.nan if state.error == UNKNOWN else state.error
        return {"picked": state.picked, "estimated_error": error, "stages": state.source + 1}

    def words(self, state: State) -> str:
        assert isinstance(state, AutoState)
        trying = f" Trying {state.trying}." if state.trying else ""
        if not state.picked:
            return f"{SO_FAR} no answer.{trying}" if trying else ""
        error = f", error about {state.error:.2g}" if state.error > 0 else ""
        if state.stage == DONE or state.error == 0:
            return f"{state.picked[0].upper()}{state.picked[1:]}{error}."
        return f"{SO_FAR} {state.picked}{error}.{trying}"


@dataclass(frozen=True, eq=False)
class AutoState(State):
    """Where the plan is: `stage` is under way, with `messages` after `sweeps` iterations of it."""

    stage: int
    sweeps: int
    messages: Tensor
    answer: Tensor
    """Packed marginals of the last stage that has ended: number `source`, with the messages `finished`."""
    finished: Tensor
    source: int
    earliest: Tensor
    """Packed marginals of the first join graph …"""
    latest: Tensor
    """… and of the last stage alone: the answer may be a mean (`settled_between`)."""
    began: float
    """When the run began, by the algorithm's clock."""
    error: float = UNKNOWN
    """The mean Hellinger error that is expected (`expected_error`); 0 for an exact answer, `UNKNOWN` before there are
    two.
    """
    moved: float = UNKNOWN
    """How far the answer is from the one before."""
    swing: float = 1.0
    """The residual at which the stage of the answer ended …"""
    moving: float = 1.0
    """… and that of the stage under way."""
    picked: str = ""
    trying: str = ""
    """The stage under way, in words."""
    log_z: float = 0.0
    log_z_kind: str = ""

    remembered: ClassVar[tuple[str, ...]] = ("messages", "finished")


def stages_of(algorithm: Auto, model: FactorGraph, evidence: Evidence) -> Stages:
    """What to try, in order. The last stage is the best one that fits into the time."""

    def make() -> Stages:
        seconds, counted, searched = algorithm.seconds, algorithm.hoped, algorithm.searched()
        return Stages(model, evidence, seconds, counted, algorithm.seed, algorithm.effort, searched)

    return evidence.derived(model, f"stages {algorithm.seconds} {algorithm.seed} {algorithm.clock}", make)


def plan(algorithm: Auto, model: FactorGraph, evidence: Evidence) -> tuple[Attempt, ...]:
    """All stages; making the later ones takes a while."""
    stages = stages_of(algorithm, model, evidence)
    found: list[Attempt] = []
    while (stage := stages.get(len(found))) is not None:
        found.append(stage)
    return tuple(found)


@kernel(Auto, FactorGraph)
class AutoOnGraph(Kernel):
    """Runs the plan, an iteration of the stage under way at a step."""

    def entries(self, model: FactorGraph, evidence: Evidence) -> int | None:
        return None

    def init(self, algorithm: Auto, model: FactorGraph, evidence: Evidence) -> AutoState:
        began = algorithm.now() - algorithm.spent
        answer = model.packing.softmax(model.local_potentials(evidence))
        nothing = torch.zeros(0, dtype=torch.float64)
        return AutoState(0, nothing_changed(answer), 0, 0, nothing, answer, nothing, 0, answer, answer, began)

    def resume(self, algorithm: Auto, model: FactorGraph, evidence: Evidence, state: AutoState) -> AutoState:
        """Other evidence is another plan, which begins anew; what was shown stays until its first stage has ended."""
        begun = self.init(algorithm, model, evidence)
        shown = state.answer
        return replace(begun, iteration=state.iteration, answer=shown, earliest=shown, latest=shown)

    def step(self, algorithm: Auto, model: FactorGraph, evidence: Evidence, state: AutoState) -> AutoState:
        if state.stage == DONE:
            return _ended(state)
        try:
            with _in_time(algorithm, model, evidence, state):
                state, stage = _begun(algorithm, model, evidence, state)
                if stage is None:  # everything that fits into the time was done
                    return _ended(state)
                with _watched(algorithm, stage, state):
                    inner = stage.step(model, evidence, _inner(stage, state))
        except TooSlow:
            left = state.began + IN_TIME * algorithm.seconds - algorithm.now()
            stages_of(algorithm, model, evidence).give_up(left)
            return _onward(replace(state, iteration=state.iteration + 1))
        except Unsupported:  # it turned out larger than it looked
            return _onward(replace(state, iteration=state.iteration + 1))
        except OutOfTime:
            if not state.picked:
                return _hurried(algorithm, model, evidence, state)
            return _ended(_cut_short(algorithm, model, evidence, state))
        change = inner.residual.to(state.residual)
        moved = replace(
            state,
            iteration=state.iteration + 1,
            residual=change,
            sweeps=inner.iteration,
            messages=inner.messages,
            moving=float(change),
        )
        over = algorithm.clocked and algorithm.now() > state.began + IN_TIME * algorithm.seconds
        done = inner.iteration >= stage.iterations or (not stage.exact and float(change) < SETTLED)
        if over and stage.exact and not done:
            return _ended(moved)
        if over or done:
            finished = _finished(stage, model, evidence, moved)
            return _ended(finished) if over or stage.exact else _onward(finished)
        # No stage is the answer before it has ended, and the last one ends by itself.
        return replace(moved, residual=torch.clamp(change, min=1.0))

    def beliefs(self, algorithm: Auto, model: FactorGraph, evidence: Evidence, state: AutoState) -> Tensor:
        return state.answer

    def factor_beliefs(self, algorithm: Auto, model: FactorGraph, evidence: Evidence, state: AutoState) -> list[Tensor]:
        stages = stages_of(algorithm, model, evidence)
        stage = stages.get(state.source) or stages.get(0)  # evidence may have changed since
        assert stage is not None
        messages = state.finished if state.finished.numel() else stage.first(model, evidence)
        return stage.algorithm.factor_beliefs(model, evidence, stage.state(1, state.residual, messages))

    def log_partition(self, algorithm: Auto, model: FactorGraph, evidence: Evidence, state: AutoState) -> LogPartition:
        if state.log_z_kind == "exact":
            return LogPartition(state.log_z, "exact")
        return LogPartition(state.log_z, "estimate") if state.log_z_kind else NO_LOG_PARTITION


def _in_time(algorithm: Auto, model: FactorGraph, evidence: Evidence, state: AutoState) -> AbstractContextManager[None]:
    """Ends what takes too long by the clock. Once something quick goes first, nothing does until it has an answer."""
    if not algorithm.clocked:
        return nullcontext()
    stages = stages_of(algorithm, model, evidence)
    if not state.picked and stages.hurried:
        return nullcontext()

    def over() -> bool:
        left = (each for each in stages.made[state.stage :] if not _left_out(each, state))
        under_way = next(left, None)
        last = TREE_IN_TIME if under_way is not None and isinstance(under_way.algorithm, JoinTree) else IN_TIME
        return algorithm.now() > state.began + (last if state.picked else ANSWERED) * algorithm.seconds

    return ending(over, OutOfTime)


def _watched(algorithm: Auto, stage: Attempt, state: AutoState) -> AbstractContextManager[None]:
    """Gives up a tree that will not end in its time, while there still is time for something else."""
    if not algorithm.clocked or not isinstance(stage.algorithm, JoinTree):
        return nullcontext()
    begun, end = algorithm.now(), state.began + TREE_IN_TIME * algorithm.seconds

    def told(part: float) -> None:
        now = algorithm.now()
        if too_slow(part, now - begun, end - now, algorithm.seconds):
            raise TooSlow

    return followed(told)


def _hurried(algorithm: Auto, model: FactorGraph, evidence: Evidence, state: AutoState) -> AutoState:
    """A good part of the time is over, and there is no answer yet: on with something quick."""
    stages_of(algorithm, model, evidence).hurry()
    return replace(state, iteration=state.iteration + 1, stage=0, sweeps=0, messages=state.messages[:0])


def _left_out(stage: Attempt, state: AutoState) -> bool:
    return stage.calming and state.swing < CALM


def _begun(
    algorithm: Auto, model: FactorGraph, evidence: Evidence, state: AutoState
) -> tuple[AutoState, Attempt | None]:
    """The stage under way, with the messages that it begins with; None where nothing is left to try."""
    stages = stages_of(algorithm, model, evidence)
    stage = stages.get(state.stage)
    while stage is not None and _left_out(stage, state):
        state = replace(state, stage=state.stage + 1)
        stage = stages.get(state.stage)
    if stage is not None and state.sweeps == 0:
        state = replace(state, messages=stage.first(model, evidence), trying=stage.in_words)
    return state, stage


def _cut_short(algorithm: Auto, model: FactorGraph, evidence: Evidence, state: AutoState) -> AutoState:
    """The time is over within a stage: it counts where it had gone on for long enough."""
    if state.sweeps < ENOUGH:
        return state
    stage = stages_of(algorithm, model, evidence).get(state.stage)
    assert stage is not None
    return state if stage.exact else _finished(stage, model, evidence, state)


def _ended(state: AutoState) -> AutoState:
    """Nothing is left to do: the residual is that of the answer."""
    residual = torch.full_like(state.residual, state.swing)
    return replace(state, iteration=state.iteration + 1, residual=residual, stage=DONE)


def _onward(state: AutoState) -> AutoState:
    """On to the next stage."""
    ones = torch.ones_like(state.residual)
    return replace(state, residual=ones, stage=state.stage + 1, sweeps=0, messages=state.messages[:0], trying="")


def _finished(stage: Attempt, model: FactorGraph, evidence: Evidence, state: AutoState) -> AutoState:
    """A stage has ended: its marginals are the answer.

    Where messages of larger clusters still swing and those of the answer did not, that stays: on dense graphs belief
    propagation is often nearer to the truth than small clusters.
    """
    inner = _inner(stage, state)
    found = stage.algorithm.beliefs(model, evidence, inner)
    swing = 0.0 if stage.exact else state.moving
    wilder = swing >= state.swing if stage.calming else state.swing < CALM and swing > WILD
    if state.picked and wilder:
        return replace(state, error=max(state.error, hellinger(model, state.answer, found)))
    error = 0.0 if stage.exact else UNKNOWN
    moved = hellinger(model, state.latest, found) if state.picked else UNKNOWN
    clusters = state.picked.startswith(JoinGraph.name)
    if not stage.exact and state.picked:
        furthest = max(moved, hellinger(model, state.earliest, found)) if clusters else moved
        error = expected_error(furthest, moved, state.moved)
    log_z = stage.algorithm.log_partition(model, evidence, inner)
    if error == 0 and log_z.kind != "exact":  # clusters of both sizes were the same: that says nothing
        error = UNKNOWN
    return replace(
        state,
        swing=swing,
        answer=found if stage.exact or not clusters else settled_between(found, moved, state),
        latest=found,
        earliest=found if isinstance(stage.algorithm, JoinGraph) and not clusters else state.earliest,
        finished=state.messages,
        source=state.stage,
        error=error,
        moved=moved,
        picked=f"{stage.name}: {stage.why}",
        log_z=0.0 if log_z.value is None else log_z.value,
        log_z_kind="" if log_z.value is None else log_z.kind or "",
    )


def settled_between(found: Tensor, moved: float, state: AutoState) -> Tensor:
    """Marginals (size,) of a stage, or a mean of them and the answer so far where answers come no nearer to each other.

    Which clusters a graph is cut into is a matter of chance: where larger ones change as much as the step before did,
    their mistakes are as large, and others.
    """
    share = HALVES * shrinking(moved, state.moved) if state.moved > 0 else 0.0
    return torch.lerp(found, state.answer, share) if share else found


def shrinking(moved: float, before: float) -> float:
    """How much shorter a step is than the one before, at most 1; 1 where there was none."""
    return min(moved / before, 1.0) if before > 0 else 1.0


def expected_error(furthest: float, moved: float, before: float) -> float:
    """The error to expect of an answer that is at most so far from earlier ones and has `moved` from the last; `before`
    is what that one had moved, or `UNKNOWN`. Where steps become shorter, what is left is about the last of them.
    0 where all answers were the same.
    """
    if furthest == 0:
        return 0.0
    return min(max(furthest * (1 + SLACK * shrinking(moved, before)), FINEST), 1.0)


def _inner(stage: Attempt, state: AutoState) -> Carried:
    residual = state.residual.new_tensor(state.moving if state.sweeps else math.inf)  # of this stage alone
    return stage.state(state.sweeps, residual, state.messages)


def hellinger(model: FactorGraph, one: Tensor, other: Tensor) -> float:
    """Mean over variables of the Hellinger distance √(½ Σ (√p - √q)²) between packed marginals (size,)."""
    roots = [np.sqrt(to_host(each).astype(np.float64).clip(min=0)) for each in (one, other)]  # no MPS has 64 bits
    owners = to_host(model.packing.owners(model.device))
    sums = np.bincount(owners, (roots[0] - roots[1]) ** 2, minlength=model.variables)
    return float(np.sqrt(sums / 2).mean())
