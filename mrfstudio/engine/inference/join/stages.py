"""What `auto` tries, in order, judged by counting: how many table entries a method touches, at a rate that a slow
machine keeps. So the same graph gives the same stages everywhere.

Exact where a join tree fits, with a few variables held at each of their states where that saves memory, or as a tree of
possible states alone where zeros leave few of them. In front of it, or in its place, join graphs of growing size. Where
the smallest of them takes its time already, or where finding that out would, belief propagation goes first, and where
it swings residual belief propagation: there is an answer within a second or two, whatever happens. Stages are made as
they are reached: looking for them takes time as well, and may be interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.join.budget import (
    BEFORE,
    BY_TREE,
    RATE,
    WIDEST,
    allowed,
    allowed_for_trees,
    at_once,
    looks_long,
    most_for_a_tree,
    most_for_exact,
    seconds_of,
    tree_seconds,
    why_tree,
)
from mrfstudio.engine.inference.join.cutset import Conditioned, CutSet, chosen_cut, tables_along
from mrfstudio.engine.inference.join.join_tree import Answered, JoinTree, tree_of
from mrfstudio.engine.inference.join.orders import Order
from mrfstudio.engine.inference.join.propagation import ClusterMessages, JoinGraph, layout_of, order_of, problem_of
from mrfstudio.engine.inference.join.reduction import Reduced, Scope
from mrfstudio.engine.inference.join.sparse import SparseTree
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation, Messages
from mrfstudio.engine.inference.messages.residual_bp import ROUNDS as ROUNDS_EACH
from mrfstudio.engine.inference.messages.residual_bp import ResidualPropagation, Tries

LAYING = 1e-4
"""Seconds that it takes to lay out one cluster."""
FIRST, GROWTH, LARGEST = 8.0, 3.0, 27.0
"""Bits of the tables in the first stage, how many more the next has, and where that ends."""
ALIKE = 1.5
"""Times of the stage before that a larger one may take without being much longer."""
SWEEPS = 10
"""Iterations of a stage: join graphs hardly change after these."""
ROUNDS = 100
"""Iterations of belief propagation at most, where it goes first."""
ENOUGH = 4
"""Iterations of a stage after which its marginals count, where the time is over before it has ended."""
HALF = 0.5
"""Part of the messages that is kept in the second half of a stage, where they may swing."""
TRIES = 4
"""How often residual belief propagation begins in that time."""

ROWS = 5e5
"""Possible joint states that are listed in a second, at least …"""
LISTING = 0.1
"""… for which this part of the time is used …"""
UNSURE = 8.0
"""… where their number is not guessed to have so many bits more: guesses are rather too high."""
SAVED = 2.0
"""Bits by which zeros must make tables smaller at least: lists are slower than dense tables."""
ANY = 1000.0
"""Gigabytes: how many fit was asked already."""
HELD = 64
"""Joint states of held variables, at most."""

Carried = Messages | ClusterMessages | Tries | Answered | Conditioned
"""States of what a stage runs: all that they carry are messages."""


EXACT_WAYS: dict[type[Algorithm], str] = {
    JoinTree: BY_TREE,
    CutSet: "a join tree for every state of a cut-set",
    SparseTree: "a tree of possible states",
}


@dataclass(frozen=True)
class Attempt:
    """One thing to try: about how long an iteration takes, how many it gets, and in words why."""

    algorithm: Algorithm
    kind: type[Messages] | type[ClusterMessages] | type[Tries] | type[Answered] | type[Conditioned]
    seconds: float
    iterations: int
    why: str
    exact: bool = False
    laying: float = 0.0
    """Seconds before its first iteration."""
    calming: bool = False
    """Whether it is tried only where messages of the stage before still swing, and taken only if its own do less."""

    @property
    def name(self) -> str:
        return f"exact by {EXACT_WAYS[type(self.algorithm)]}" if self.exact else self.algorithm.name

    @property
    def whole(self) -> float:
        """Seconds of all its iterations."""
        return self.laying + self.seconds * self.iterations

    @property
    def in_words(self) -> str:
        """What is tried, and for how long."""
        how = f" of 2^{self.algorithm.bits:.0f} entries" if isinstance(self.algorithm, JoinGraph) else ""
        return f"{self.name}{how}, {'about' if self.whole >= 1 else 'less than'} {max(self.whole, 1):.0f} s"

    def first(self, model: FactorGraph, evidence: Evidence) -> Tensor:
        """The messages that it begins with; none where they are made as they are needed."""
        if self.exact:
            return torch.zeros(0, dtype=torch.float64)
        begun = self.algorithm.init(model, evidence)
        assert isinstance(begun, Carried)
        return begun.messages

    def state(self, iteration: int, residual: Tensor, messages: Tensor) -> Carried:
        """Messages (…, messages) as a state of its algorithm; the residual is a scalar."""
        return self.kind(iteration, residual, messages)

    def step(self, model: FactorGraph, evidence: Evidence, state: Carried) -> Carried:
        """One iteration."""
        chosen = self.algorithm
        if not self.exact and not self.calming and state.iteration >= self.iterations // 2:
            chosen = chosen.replace(damping=HALF)
        after = chosen.step(model, evidence, state)
        assert isinstance(after, Carried)
        return after


class Stages:
    """The stages of one graph and its evidence, made one after the other as they are asked for.

    `seconds` is the time there is, `counted` how much of it by counting: a clock ends what takes longer. `searched`
    says whether orders have been looked for long enough.
    """

    def __init__(
        self,
        model: FactorGraph,
        evidence: Evidence,
        seconds: float,
        counted: float,
        seed: int,
        effort: float,
        searched: Callable[[], bool],
    ) -> None:
        self.model, self.evidence, self.seed, self.effort = model, evidence, seed, effort
        self.seconds, self.counted, self.left = seconds, counted, counted
        self.searched = searched
        self.made: list[Attempt] = []
        self.hurried = False
        self.bits = FIRST
        self.best: Attempt | None = None
        # What is still to be found out, in order. Each may be interrupted, and is then asked again.
        self.open: list[Callable[[], None]] = [self._exactly]
        if looks_long(model.variables, model.factors, seconds):
            self.open.insert(0, self._quickly)

    def get(self, number: int) -> Attempt | None:
        """A stage; None behind the last."""
        while len(self.made) <= number and self.open:
            following = self.open[0]
            following()
            self.open.remove(following)
        return self.made[number] if number < len(self.made) else None

    def hurry(self) -> None:
        """Something quick goes before all that is made or looked for."""
        later, self.made, self.hurried = self.made, [], True
        self._quickly()
        self.made += later

    def give_up(self, left: float) -> None:
        """The tree is too slow: larger clusters in what is left, with as much hope as there was for all of the time."""
        self.best, self.left = None, left * self.counted / self.seconds
        self.open = [self._sparsely, self._larger]

    def _quickly(self) -> None:
        """An answer in any case, and a calmer one."""
        for stage in quick_stages(self.model, BEFORE * self.seconds):
            self._take(stage)

    def _exactly(self) -> None:
        """Whether an exact way fits; else, or before it, clusters are looked at."""
        order_of(self.model, self.evidence, self.seed, self.effort, self.searched)
        most, tree = most_for_exact(self.counted, self.seconds), most_for_a_tree(self.counted, self.seconds)
        self.best = exact_stage(self.model, self.evidence, self.seed, self.effort, most, tree)
        if self.best is not None and (self.made or at_once(self.best.whole, self.seconds)):
            self.made.append(self.best)
            return
        self.open.append(self._smallest)

    def _smallest(self) -> None:
        """The smallest clusters, with something quicker before them where they take their time."""
        if self.best is not None:
            self.left = BEFORE * self.seconds
        smallest = self._growing()
        slow = smallest.whole > BEFORE * self.seconds
        if slow and not self.made:
            self._quickly()
        if self.best is not None and (slow or smallest.whole > self.best.whole):  # the tree is the quick way
            self.made.append(self.best)
            return
        if not slow or smallest.laying + ENOUGH * smallest.seconds <= self.left:
            fitting = int((self.left - smallest.laying) / smallest.seconds)
            self._take(replace(smallest, iterations=min(fitting, SWEEPS)) if slow else smallest)
            self.bits += GROWTH
        self.open += [self._sparsely, self._larger]

    def _sparsely(self) -> None:
        """A tree of possible states, where zeros may leave few enough of them."""
        stage = sparse_stage(self.model, self.evidence, self.seed, self.effort, LISTING * self.counted)
        if self.best is None and stage is not None:
            self._take(stage)

    def _larger(self) -> None:
        """Larger clusters as long as they fit, then what is exact."""
        following = self._worthwhile() if self.bits <= LARGEST else None
        if following is not None and following.whole <= self.left and self._fits(following):
            self._take(following)
            self.bits += GROWTH
            self.open.append(self._larger)
        elif self.best is not None:
            self.made.append(self.best)

    def _worthwhile(self) -> Attempt:
        """The next size; one that takes hardly longer than the stage before is left out where the one after it does
        not take much longer either: where bookkeeping takes the time, larger tables cost nothing.
        """
        following = self._growing()
        before = max((stage.whole for stage in self.made[-1:] if not stage.exact), default=0.0)
        while before and self.bits + GROWTH <= LARGEST and following.whole <= ALIKE * before:
            self.bits += GROWTH
            larger = self._growing()
            if larger.whole > ALIKE * before or not self._fits(larger):
                self.bits -= GROWTH
                return following
            following = larger
        return following

    def _take(self, stage: Attempt) -> None:
        self.made.append(stage)
        self.left -= stage.whole

    def _growing(self) -> Attempt:
        """The join graph of the size that is next."""
        chosen = JoinGraph(bits=self.bits, seed=self.seed, effort=self.effort)
        layout = layout_of(self.model, self.evidence, chosen)
        why = "" if self.best is not None else "nothing exact fits; "
        words = f"{why}clusters of up to 2^{self.bits:.0f} entries"
        laying = LAYING * len(layout.clusters.scopes)
        return Attempt(chosen, ClusterMessages, seconds_of(layout), SWEEPS, words, laying=laying)

    def _fits(self, stage: Attempt) -> bool:
        assert isinstance(stage.algorithm, JoinGraph)
        return layout_of(self.model, self.evidence, stage.algorithm).memory <= allowed()


def exact_stage(
    model: FactorGraph, evidence: Evidence, seed: int, effort: float, seconds: float, for_a_tree: float
) -> Attempt | None:
    """A join tree, if it fits into the seconds for it; with variables held where it does not fit into memory otherwise,
    if that fits into the seconds.
    """
    order = order_of(model, evidence, seed, effort)
    if order.width > WIDEST:
        return None
    chosen = JoinTree(gigabytes=ANY, seed=seed, effort=effort)
    tree = tree_of(model, evidence, seed, effort)
    needed = tree_seconds(tree)
    if needed > for_a_tree:
        return None
    if tree.memory > allowed_for_trees():
        return cut_stage(model, evidence, order, chosen, seconds)
    return Attempt(chosen, Answered, needed, 1, why_tree(order), exact=True)


def cut_stage(model: FactorGraph, evidence: Evidence, order: Order, tree: JoinTree, seconds: float) -> Attempt | None:
    """A join tree for each state of a few variables, in the place of one that does not fit into memory."""
    for saved in range(1, HELD.bit_length()):
        bits = max(order.width - saved, 2.0)
        chosen = CutSet(bits=bits, assignments=HELD, seed=tree.seed, effort=tree.effort)
        cut = chosen_cut(chosen, model, evidence)
        if cut is None:
            return None
        part = cut.tree(problem_of(model, evidence), 0)
        needed = tree_seconds(part)
        if needed * cut.assignments > seconds:
            return None
        if part.memory <= allowed_for_trees():
            why = f"with {len(cut.variables)} variables held at each of their states its tables fit into memory"
            return Attempt(chosen, Conditioned, needed, cut.assignments, why, exact=True)
    return None


def sparse_stage(model: FactorGraph, evidence: Evidence, seed: int, effort: float, seconds: float) -> Attempt | None:
    """A tree of possible states, where zeros leave so few of them, by a guess, that the time may be enough."""
    order, rows = order_of(model, evidence, seed, effort), max(int(ROWS * seconds), 1)
    bits = possible_bits(problem_of(model, evidence), order)
    if bits > min(math.log2(rows) + UNSURE, order.width - SAVED):
        return None
    chosen = SparseTree(rows=rows, seed=seed, effort=effort)
    return Attempt(chosen, Answered, seconds, 1, "zeros leave few of the joint states of its tables", exact=True)


def possible_bits(problem: Reduced, order: Order) -> float:
    """About log2 of the possible joint states of the largest table along an order, as if zeros of the factors within it
    had nothing to do with each other.
    """
    density = {s: float(np.log2(max(np.isfinite(t).mean(), 1e-9))) for s, t in problem.factors.items()}
    of: dict[int, list[Scope]] = {v: [] for v in problem.unary}
    for scope, bits in density.items():
        if bits < 0:
            of[scope[0]].append(scope)
    largest = 0.0
    for table in tables_along(problem, order.variables):
        zeros = sum(density[scope] for v in table for scope in of[v] if table.issuperset(scope))
        largest = max(largest, problem.width(table) + zeros)
    return largest


def quick_stages(model: FactorGraph, seconds: float) -> list[Attempt]:
    """Belief propagation for about so long: all messages at once, and the largest changes first where that swings."""
    entries = sum(3.0 * group.order * group.tables.numel() for group in model.groups)
    each = entries / RATE + 1e-3
    why = "an answer in any case, before clusters are tried"
    iterations = int(min(max(seconds / each, ENOUGH), ROUNDS))
    flooding = Attempt(BeliefPropagation(kernel="generic"), Messages, each, iterations, why)
    each *= ROUNDS_EACH + 1
    iterations = int(min(max(seconds / each, ENOUGH), ROUNDS))
    chosen = ResidualPropagation(patience=max(iterations // TRIES, ENOUGH), restarts=TRIES - 1)
    why = "messages that are all sent at once swing on this graph"
    return [flooding, Attempt(chosen, Tries, each, iterations, why, calming=True)]
