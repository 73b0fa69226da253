"""Whether anything is possible at all: zeros of tables and evidence alone, true or false, no numbers that underflow.

Arc consistency (`possible.py`) follows zeros from neighbour to neighbour; it decides trees, and misses contradictions
on loops: three variables of two states that must all differ. A search then takes the variable with the fewest states
left, tries one, follows what that excludes, and goes back where nothing is left. It ends with an assignment that is
possible, with the proof that there is none, or undecided after `MOST_WORK`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.possible import possible_states
from mrfstudio.engine.runtime.device import to_host

Verdict = Literal["possible", "impossible", "undecided"]

MOST_WORK = 8_000_000
"""Table entries looked at in one search, with `OVERHEAD` for each table: about a third of a second."""
MOST_ROUNDS = 10
"""How often a search may look at every table, where that is more."""
OVERHEAD = 300
MOST_ROWS = 64
"""Different rows of a batch of evidence that are searched; the rest has arc consistency alone."""

UNDECIDED = (
    "Zeros in the factors leave it open whether any assignment is possible at all: the search was given up. "
    "If none is, these beliefs mean nothing; exact would tell."
)


@dataclass(frozen=True, eq=False)
class Support:
    """What zeros say: the verdict, states left by arc consistency (…, size), one possible assignment, a place."""

    verdict: Verdict
    alive: Tensor
    witness: np.ndarray | None
    node: int | None = None


def support_of(graph: FactorGraph, evidence: Evidence) -> Support:
    """Computed once for a graph and its evidence."""
    return evidence.derived(graph, "support", lambda: _support(graph, evidence))


def require_possible(graph: FactorGraph, evidence: Evidence) -> None:
    """Raise `ContradictoryEvidence` where it is proven that no assignment is possible."""
    graph.local_potentials(evidence)  # names the variable that evidence alone leaves no state
    if graph.has_zeros:
        found = support_of(graph, evidence)
        if found.verdict == "impossible":
            assert found.node is not None
            raise ContradictoryEvidence(graph.labels[found.node])


def undecided(graph: FactorGraph, evidence: Evidence) -> bool:
    """Whether the search was given up."""
    return graph.has_zeros and support_of(graph, evidence).verdict == "undecided"


def possible_assignment(graph: FactorGraph, evidence: Evidence, preference: Tensor) -> np.ndarray | None:
    """A possible assignment (variables,) that follows `preference` (size,), the surest variables first; None where the
    search finds none within its bounds.
    """
    local = graph.local_potentials(evidence)
    alive = possible_states(graph, local) if graph.has_zeros else ~local.isneginf()
    search = _SupportSearch.of(graph, graph.unpack(alive), graph.unpack(preference))
    return search.run() if search.verdict != "impossible" else None


def _support(graph: FactorGraph, evidence: Evidence) -> Support:
    local = graph.local_potentials(evidence).detach()
    if not graph.has_zeros:
        return Support("possible", ~local.isneginf(), None)
    alive = possible_states(graph, local)
    rows = alive.reshape(-1, alive.shape[-1]).unique(dim=0)
    verdict: Verdict = "possible" if len(rows) <= MOST_ROWS else "undecided"
    witness = None
    for row in rows[:MOST_ROWS]:
        domains = graph.unpack(row)
        dead = [variable for variable, states in enumerate(domains) if not states.any()]
        if dead:
            return Support("impossible", alive, None, dead[0])
        search = _SupportSearch.of(graph, domains, graph.unpack(local.reshape(-1, local.shape[-1])[0]))
        witness = search.run()
        if search.verdict == "impossible":
            return Support("impossible", alive, None, search.first)
        if search.verdict == "undecided":
            verdict = "undecided"
    return Support(verdict, alive, witness)


@dataclass
class _SupportSearch:
    """Depth-first search with arc consistency kept after every choice.

    `domains` are the states left of each variable; of factors only those that still forbid something take part.
    """

    domains: list[np.ndarray]
    preferences: Sequence[np.ndarray]
    scopes: list[tuple[int, ...]]
    tables: list[np.ndarray]
    around: list[list[int]]
    rank: np.ndarray  # (variables,) 0 for the surest
    counts: np.ndarray  # (variables,) states left
    verdict: Verdict = "undecided"
    first: int = 0
    work: int = 0
    trail: list[tuple[int, np.ndarray]] = field(default_factory=list)

    @classmethod
    def of(cls, graph: FactorGraph, alive: list[np.ndarray], preferences: Sequence[np.ndarray]) -> _SupportSearch:
        domains = [states.astype(bool) for states in alive]
        scopes: list[tuple[int, ...]] = []
        tables: list[np.ndarray] = []
        around: list[list[int]] = [[] for _ in domains]
        for group in graph.groups:
            allowed = ~torch.isneginf(group.tables.detach()).cpu()
            forbidding = (~allowed.reshape(-1, group.count).all(0)).nonzero().squeeze(1)
            members = group.scopes.cpu()
            for number in forbidding.tolist():
                scope = tuple(members[:, number].tolist())
                table = to_host(allowed[..., number])
                if not table[np.ix_(*(domains[v] for v in scope))].all():
                    for variable in scope:
                        around[variable].append(len(scopes))
                    scopes.append(scope)
                    tables.append(table)
        sureness = np.array([_gap(values[states]) for values, states in zip(preferences, domains, strict=True)])
        rank = np.argsort(np.argsort(-sureness, kind="stable"))
        counts = np.array([int(states.sum()) for states in domains])
        found = cls(domains, preferences, scopes, tables, around, rank, counts)
        found.first = min((scope[0] for scope in scopes), default=0)
        return found

    @cached_property
    def _free(self) -> np.ndarray:
        """(variables,) Which of them no table forbids anything."""
        return np.array([not near for near in self.around])

    def run(self) -> np.ndarray | None:
        """The first possible assignment, (variables,); `verdict` says what a None means."""
        choices: list[tuple[int, list[int], int]] = []  # variable, states not tried yet, length of the trail
        most = max(MOST_WORK, MOST_ROUNDS * sum(table.size + OVERHEAD for table in self.tables))
        backwards = False
        while True:
            if self.work > most:
                self.verdict = "undecided"
                return None
            if not backwards:
                variable = self._next()
                if variable is None:
                    self.verdict = "possible"
                    return np.array([self._best(v)[0] for v in range(len(self.domains))])
                choices.append((variable, self._best(variable), len(self.trail)))
            if not choices:
                self.verdict = "impossible"
                return None
            variable, states, length = choices[-1]
            self._undo(length)
            if not states:
                choices.pop()
                backwards = True
                continue
            chosen = np.zeros_like(self.domains[variable])
            chosen[states.pop(0)] = True
            self._set(variable, chosen)
            backwards = not self._consistent(variable)

    def _next(self) -> int | None:
        """The variable to choose for: fewest states first, then the surest; None when no table forbids any more."""
        key = self.counts + self.rank / (len(self.rank) + 1)
        key[(self.counts < 2) | self._free] = np.inf
        chosen = int(key.argmin())
        return None if np.isinf(key[chosen]) else chosen

    def _best(self, variable: int) -> list[int]:
        """States left of a variable, the preferred ones first."""
        left = np.flatnonzero(self.domains[variable])
        return [int(s) for s in left[np.argsort(-self.preferences[variable][left], kind="stable")]]

    def _consistent(self, changed: int) -> bool:
        """Follow a change through the tables around it; False where a variable has no state left."""
        waiting = list(self.around[changed])
        queued = set(waiting)
        while waiting:
            number = waiting.pop()
            queued.discard(number)
            scope, table = self.scopes[number], self.tables[number]
            self.work += table.size + OVERHEAD
            joint = table
            for axis, variable in enumerate(scope):
                shape = [1] * len(scope)
                shape[axis] = -1
                joint = joint & self.domains[variable].reshape(shape)
            for axis, variable in enumerate(scope):
                left = np.asarray(joint.any(tuple(other for other in range(len(scope)) if other != axis)))
                if not left.any():
                    return False
                if int(left.sum()) < int(self.domains[variable].sum()):
                    self._set(variable, left)
                    fresh = [f for f in self.around[variable] if f != number and f not in queued]
                    waiting += fresh
                    queued.update(fresh)
        return True

    def _set(self, variable: int, states: np.ndarray) -> None:
        self.trail.append((variable, self.domains[variable]))
        self.domains[variable] = states
        self.counts[variable] = states.sum()

    def _undo(self, length: int) -> None:
        while len(self.trail) > length:
            variable, states = self.trail.pop()
            self.domains[variable] = states
            self.counts[variable] = states.sum()


def _gap(values: np.ndarray) -> float:
    """By how much the first choice is preferred to the second."""
    if len(values) < 2:
        return 0.0
    top = np.sort(values)[-2:]
    return 0.0 if np.isneginf(top[0]) else float(top[1] - top[0])
