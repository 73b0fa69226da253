"""`auto`: the best answer in the time there is. Exact where that fits, else join graphs of growing size.

What fits is judged by counting (`stages.py`), so the same graph gives the same plan everywhere. Each stage is a run of
its own; the marginals of the last one that finished are the answer, and how far they are from the stage before and
from the first is the estimate of their error. Where an exact stage takes its time, or clusters do, a quick one goes
first, so that there is an answer whatever happens.
"""

from __future__ import annotations

import math
import time
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
    State,
    kernel,
    nothing_changed,
)
from mrfstudio.engine.inference.join.layout import Clock, OutOfTime
from mrfstudio.engine.inference.join.propagation import ClusterMessages, JoinGraph
from mrfstudio.engine.inference.join.stages import ENOUGH, Attempt, Stages
from mrfstudio.engine.inference.messages.belief_propagation import Messages
from mrfstudio.engine.protocol.catalogue import choice, integer, number
from mrfstudio.engine.registry import ALGORITHMS

HOPE = 3.0
"""How many times longer than counted a plan may take where a clock ends it anyway: most machines are that quick."""
IN_TIME = 0.8
"""Part of the time after which no stage goes on: marginals are still to be taken from it, and written."""
SETTLED = 1e-6
SEARCH = 4.0
"""Seconds of the whole in which elimination orders are looked for with the usual effort."""
UNKNOWN = -1.0
CALM, WILD = 0.01, 0.1
"""Residuals: an answer below the first is not given up for one above the second."""
DONE = -1
"""The number of the stage behind the last."""
CLOCKS: dict[str, Clock] = {"wall": time.monotonic, "processor": time.process_time}


@ALGORITHMS.register
class Auto(Algorithm):
    """Parameters of the choice."""

    name = "auto"
    marginals_only = True
    title = "The best in the time"
    summary = "Exact where that fits into the time, else join graphs of growing size; says what it picked and why."

    seconds: float = number(20.0, "About how long it may take.", low=0.1, high=86_400.0, unit="s", logarithmic=True)
    seed: int = integer(0, "Draws ties of the elimination order.", low=0, advanced=True)
    clock: str = choice(
        "counted",
        ("counted", "wall", "processor"),
        "What ends the work: steps counted beforehand, which gives the same answer on every machine; the clock on the "
        "wall; or the time of the processor, for a machine that is busy otherwise.",
        advanced=True,
    )

    def remarks(self, state: State) -> dict[str, Any]:
        assert isinstance(state, AutoState)
        error = math.nan if state.error == UNKNOWN else state.error
        return {"picked": state.picked, "estimated_error": error, "stages": state.source + 1}

    def words(self, state: State) -> str:
        assert isinstance(state, AutoState)
        if not state.picked or state.error == 0:
            return state.picked and f"{state.picked[0].upper()}{state.picked[1:]}."
        error = "" if state.error == UNKNOWN else f", error about {state.error:.2g}"
        return f"So far {state.picked}{error}."


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
    """Packed marginals of the first join graph."""
    began: float
    """When the run began, by the algorithm's clock."""
    error: float = UNKNOWN
    """Mean Hellinger distance to the answer before or to the first join graph's, whichever is larger; 0 for an exact
    answer, `UNKNOWN` before there are two.
    """
    swing: float = 1.0
    """The residual at which the stage of the answer ended …"""
    moving: float = 1.0
    """… and that of the stage under way."""
    picked: str = ""
    log_z: float = 0.0
    log_z_kind: str = ""

    remembered: ClassVar[tuple[str, ...]] = ("messages", "finished")


def stages_of(algorithm: Auto, model: FactorGraph, evidence: Evidence) -> Stages:
    """What to try, in order. The last stage is the best one that fits into the time."""

    def make() -> Stages:
        counted = algorithm.seconds * (HOPE if algorithm.clock in CLOCKS else 1.0)
        return Stages(model, evidence, algorithm.seconds, counted, algorithm.seed, _effort(algorithm))

    return evidence.derived(model, f"stages {algorithm.seconds} {algorithm.seed} {algorithm.clock}", make)


def plan(algorithm: Auto, model: FactorGraph, evidence: Evidence) -> tuple[Attempt, ...]:
    """All stages; making the later ones takes a while."""
    stages = stages_of(algorithm, model, evidence)
    found: list[Attempt] = []
    while (stage := stages.get(len(found))) is not None:
        found.append(stage)
    return tuple(found)


def _effort(algorithm: Auto) -> float:
    """Good orders are looked for in about a tenth of the time."""
    return min(max(algorithm.seconds / SEARCH, 1.0), 20.0)


@kernel(Auto, FactorGraph)
class AutoOnGraph(Kernel):
    """Runs the plan, an iteration of the stage under way at a step."""

    def entries(self, model: FactorGraph, evidence: Evidence) -> int | None:
        return None

    def init(self, algorithm: Auto, model: FactorGraph, evidence: Evidence) -> AutoState:
        began = CLOCKS[algorithm.clock]() if algorithm.clock in CLOCKS else 0.0
        stage = stages_of(algorithm, model, evidence).get(0)
        assert stage is not None
        messages = stage.first(model, evidence)
        answer = model.packing.softmax(model.local_potentials(evidence))
        return AutoState(0, nothing_changed(answer), 0, 0, messages, answer, messages, 0, answer, began)

    def resume(self, algorithm: Auto, model: FactorGraph, evidence: Evidence, state: AutoState) -> AutoState:
        """Other evidence is another plan, which begins anew; what was shown stays until its first stage has ended."""
        begun = self.init(algorithm, model, evidence)
        return replace(begun, iteration=state.iteration, answer=state.answer, earliest=state.answer)

    def step(self, algorithm: Auto, model: FactorGraph, evidence: Evidence, state: AutoState) -> AutoState:
        stage = None if state.stage == DONE else stages_of(algorithm, model, evidence).get(state.stage)
        if stage is None:  # everything that fits into the time was done
            return _ended(state)
        clock = CLOCKS.get(algorithm.clock, time.monotonic)
        hurried = algorithm.clock in CLOCKS and state.stage > 0  # some answer there must be
        until = state.began + IN_TIME * algorithm.seconds if hurried else math.inf
        try:
            inner = stage.step(model, evidence, _inner(stage, state), until, clock)
        except OutOfTime:
            if state.sweeps >= ENOUGH:
                state = _finished(stage, None, model, evidence, state)
            return _ended(state)  # what the last finished stage said stays the answer
        change = inner.residual.to(state.residual)
        moved = replace(
            state,
            iteration=state.iteration + 1,
            residual=change,
            sweeps=inner.iteration,
            messages=inner.messages,
            moving=float(change),
        )
        over = algorithm.clock in CLOCKS and clock() > state.began + IN_TIME * algorithm.seconds
        if over or stage.exact or inner.iteration >= stage.iterations or float(change) < SETTLED:
            following = None if over else stages_of(algorithm, model, evidence).get(state.stage + 1)
            return _finished(stage, following, model, evidence, moved)
        # No stage is the answer before it has ended, and the last one ends by itself.
        return replace(moved, residual=torch.clamp(change, min=1.0))

    def beliefs(self, algorithm: Auto, model: FactorGraph, evidence: Evidence, state: AutoState) -> Tensor:
        return state.answer

    def factor_beliefs(self, algorithm: Auto, model: FactorGraph, evidence: Evidence, state: AutoState) -> list[Tensor]:
        stages = stages_of(algorithm, model, evidence)
        stage = stages.get(state.source) or stages.get(0)  # evidence may have changed since
        assert stage is not None
        return stage.algorithm.factor_beliefs(model, evidence, stage.state(1, state.residual, state.finished))

    def log_partition(self, algorithm: Auto, model: FactorGraph, evidence: Evidence, state: AutoState) -> LogPartition:
        if state.log_z_kind == "exact":
            return LogPartition(state.log_z, "exact")
        return LogPartition(state.log_z, "estimate") if state.log_z_kind else NO_LOG_PARTITION


def _ended(state: AutoState) -> AutoState:
    """Nothing is left to do."""
    return replace(state, iteration=state.iteration + 1, residual=torch.zeros_like(state.residual), stage=DONE)


def _finished(
    stage: Attempt, following: Attempt | None, model: FactorGraph, evidence: Evidence, state: AutoState
) -> AutoState:
    """A stage has ended: its marginals are the answer, and the next one begins.

    Where messages of larger clusters still swing and those of the answer did not, that stays: on dense graphs belief
    propagation is often nearer to the truth than small clusters.
    """
    onward = _onward(following, model, evidence, state)
    swing = 0.0 if stage.exact else state.moving
    if state.picked and state.swing < CALM and swing > WILD:
        gap = hellinger(model, state.answer, stage.algorithm.beliefs(model, evidence, _inner(stage, state)))
        return replace(onward, error=max(state.error, gap))
    inner = _inner(stage, state)
    answer = stage.algorithm.beliefs(model, evidence, inner)
    error = 0.0 if stage.exact else UNKNOWN
    clusters = state.picked.startswith(JoinGraph.name)
    if not stage.exact and state.picked:
        before = (state.answer, state.earliest) if clusters else (state.answer,)
        error = max(hellinger(model, each, answer) for each in before)
    log_z = stage.algorithm.log_partition(model, evidence, inner)
    return replace(
        onward,
        swing=swing,
        answer=answer,
        earliest=answer if isinstance(stage.algorithm, JoinGraph) and not clusters else state.earliest,
        finished=state.messages,
        source=state.stage,
        error=error,
        picked=f"{stage.name}: {stage.why}",
        log_z=0.0 if log_z.value is None else log_z.value,
        log_z_kind="" if log_z.value is None else log_z.kind or "",
    )


def _inner(stage: Attempt, state: AutoState) -> Messages | ClusterMessages:
    return stage.state(state.sweeps, state.residual, state.messages)


def _onward(following: Attempt | None, model: FactorGraph, evidence: Evidence, state: AutoState) -> AutoState:
    """Where the next stage begins."""
    if following is None:
        return replace(state, residual=torch.zeros_like(state.residual), stage=DONE)
    begun = following.first(model, evidence)
    ones = torch.ones_like(state.residual)
    return replace(state, residual=ones, stage=state.stage + 1, sweeps=0, messages=begun)


def hellinger(model: FactorGraph, one: Tensor, other: Tensor) -> float:
    """Mean over variables of the Hellinger distance √(½ Σ (√p - √q)²) between packed marginals (size,)."""
    squares = ((one.double().clamp(min=0).sqrt() - other.double().clamp(min=0).sqrt()) ** 2).cpu().numpy()
    sums = np.bincount(model.packing.owners(model.device).cpu().numpy(), squares, minlength=model.variables)
    return float(np.sqrt(sums / 2).mean())
