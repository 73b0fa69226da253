"""What `auto` tries, in order, judged by counting: how many table entries a method touches, at a rate that a slow
machine keeps. So the same graph gives the same stages everywhere.

Exact where a join tree fits; in front of it, or in its place, join graphs of growing size. Where the smallest of them
takes its time already, belief propagation goes first: there is an answer within a second or two, whatever happens.
Stages are made as they are reached: looking for them takes time as well.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.join.layout import Clock, Layout
from mrfstudio.engine.inference.join.propagation import ClusterMessages, JoinGraph, layout_of, order_of, swept
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation, Messages
from mrfstudio.engine.runtime.memory import available_bytes

RATE = 6.0e7
"""Table entries that are touched in a second, at least."""
MESSAGE = 5e-5
"""Seconds that the bookkeeping of one message takes …"""
LAYING = 1e-4
"""… and that it takes to lay out one cluster."""
FIRST, GROWTH, LARGEST = 8.0, 3.0, 27.0
"""Bits of the tables in the first stage, how many more the next has, and where that ends."""
WIDEST = 32.0
"""Bits of a cluster beyond which an exact way is not looked at: what is made of it may be smaller."""
SWEEPS = 10
"""Iterations of a stage: join graphs hardly change after these."""
ROUNDS = 100
"""Iterations of belief propagation at most, where it goes first."""
ENOUGH = 4
"""Iterations of a stage after which its marginals count, where the time is over before it has ended."""
QUICK = 1.0
"""Seconds that an exact stage may take without a quicker answer in front of it …"""
BEFORE = 0.1
"""… for which this part of the time is used."""
SHARE = 0.25
"""Part of the free memory that a join graph may take; a tree, which keeps its messages once, takes twice as much."""
HALF = 0.5
"""Part of the messages that is kept in the second half of a stage, where they may swing."""


@dataclass(frozen=True)
class Attempt:
    """One thing to try: about how long an iteration takes, how many it gets, and in words why."""

    algorithm: Algorithm
    seconds: float
    iterations: int
    why: str
    exact: bool = False
    laying: float = 0.0
    """Seconds before its first iteration."""

    @property
    def name(self) -> str:
        return "exact by a join tree" if self.exact else self.algorithm.name

    @property
    def whole(self) -> float:
        """Seconds of all its iterations."""
        return self.laying + self.seconds * self.iterations

    def first(self, model: FactorGraph, evidence: Evidence) -> Tensor:
        """The messages that it begins with; none where they are made as they are needed."""
        if self.exact:
            return torch.zeros(0, dtype=torch.float64)
        begun = self.algorithm.init(model, evidence)
        assert isinstance(begun, Messages | ClusterMessages)
        return begun.messages

    def state(self, iteration: int, residual: Tensor, messages: Tensor) -> Messages | ClusterMessages:
        """Messages (…, messages) as a state of its algorithm; the residual is a scalar."""
        kind = ClusterMessages if isinstance(self.algorithm, JoinGraph) else Messages
        return kind(iteration, residual, messages)

    def step(
        self,
        model: FactorGraph,
        evidence: Evidence,
        state: Messages | ClusterMessages,
        until: float = math.inf,
        clock: Clock = time.monotonic,
    ) -> Messages | ClusterMessages:
        """One iteration; raises `OutOfTime` where the clock says so before it has ended."""
        chosen = self.algorithm
        if not self.exact and state.iteration >= self.iterations // 2:
            chosen = chosen.replace(damping=HALF)
        if isinstance(chosen, JoinGraph):
            assert isinstance(state, ClusterMessages)
            return swept(chosen, model, evidence, state, until, clock)
        after = chosen.step(model, evidence, state)
        assert isinstance(after, Messages)
        return after


class Stages:
    """The stages of one graph and its evidence, made one after the other as they are asked for.

    `seconds` is the time there is, `counted` how much of it by counting: a clock ends what takes longer.
    """

    def __init__(
        self, model: FactorGraph, evidence: Evidence, seconds: float, counted: float, seed: int, effort: float
    ) -> None:
        self.model, self.evidence, self.seed, self.effort = model, evidence, seed, effort
        self.made: list[Attempt] = []
        self.ended = False
        self.bits = FIRST
        self.best = exact_stage(model, evidence, seed, effort, counted)
        if self.best is not None and self.best.seconds <= min(QUICK, seconds / 10):
            self._end()
            return
        self.left = counted if self.best is None else BEFORE * seconds
        smallest = self._growing()
        slow = smallest.whole > BEFORE * seconds
        if slow:
            self._take(flooding(model, BEFORE * seconds))
        if self.best is not None and (slow or smallest.whole > self.best.seconds):  # the tree is the quick way
            self._end()
        elif not slow or smallest.laying + ENOUGH * smallest.seconds <= self.left:
            fitting = int((self.left - smallest.laying) / smallest.seconds)
            self._take(replace(smallest, iterations=min(fitting, SWEEPS)) if slow else smallest)
            self.bits += GROWTH

    def get(self, number: int) -> Attempt | None:
        """A stage; None behind the last."""
        while len(self.made) <= number and not self.ended:
            following = self._growing() if self.bits <= LARGEST else None
            if following is None or following.whole > self.left or not self._fits(following):
                self._end()
            else:
                self._take(following)
                self.bits += GROWTH
        return self.made[number] if number < len(self.made) else None

    def _take(self, stage: Attempt) -> None:
        self.made.append(stage)
        self.left -= stage.whole

    def _end(self) -> None:
        self.ended = True
        if self.best is not None:
            self.made.append(self.best)

    def _growing(self) -> Attempt:
        """The join graph of the size that is next."""
        chosen = JoinGraph(bits=self.bits, seed=self.seed, effort=self.effort)
        layout = layout_of(self.model, self.evidence, chosen)
        why = "" if self.best is not None else "nothing exact fits; "
        words = f"{why}clusters of up to 2^{self.bits:.0f} entries"
        return Attempt(chosen, seconds_of(layout), SWEEPS, words, laying=LAYING * len(layout.clusters.scopes))

    def _fits(self, stage: Attempt) -> bool:
        assert isinstance(stage.algorithm, JoinGraph)
        return layout_of(self.model, self.evidence, stage.algorithm).memory <= SHARE * available_bytes()


def exact_stage(model: FactorGraph, evidence: Evidence, seed: int, effort: float, seconds: float) -> Attempt | None:
    """A join tree, if one fits into time and memory."""
    order = order_of(model, evidence, seed, effort)
    if order.width > WIDEST:
        return None
    chosen = JoinGraph(bits=max(order.width + 1e-6, 2.0), seed=seed, effort=effort)
    layout = layout_of(model, evidence, chosen)
    needed = seconds_of(layout)
    if needed > seconds or layout.memory > 2 * SHARE * available_bytes():
        return None
    return Attempt(chosen, needed, 1, f"its largest table has 2^{order.width:.0f} entries, which fits", exact=True)


def flooding(model: FactorGraph, seconds: float) -> Attempt:
    """Belief propagation, all messages at once, for about so long."""
    entries = sum(3.0 * group.order * group.tables.numel() for group in model.groups)
    each = entries / RATE + 1e-3
    iterations = int(min(max(seconds / each, ENOUGH), ROUNDS))
    why = "an answer in any case, before clusters are tried"
    return Attempt(BeliefPropagation(kernel="generic"), each, iterations, why)


def seconds_of(layout: Layout) -> float:
    """About how long an iteration takes."""
    return layout.work / RATE + MESSAGE * 2 * len(layout.clusters.edges)
