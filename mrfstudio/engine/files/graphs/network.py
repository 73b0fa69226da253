"""What BIF, XMLBIF and XDSL have in common: named variables with named states, and conditional tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mrfstudio.engine.files.graphs.tables import amount, log_values
from mrfstudio.engine.files.graphs.text import MAX_IMPLIED, AnyPath, GraphFileError
from mrfstudio.engine.graphs.arrays import GraphArrays
from mrfstudio.engine.graphs.checks import MAX_ORDER
from mrfstudio.engine.graphs.names import Names
from mrfstudio.engine.protocol.errors import StudioError

if TYPE_CHECKING:
    from mrfstudio.engine.graphs.factor_graph import FactorGraph


@dataclass(eq=False)
class Network:
    """A network as it is read: variables first, then tables. Every complaint names the file and the variable."""

    path: AnyPath
    variables: list[str] = field(default_factory=list)
    states: list[tuple[str, ...]] = field(default_factory=list)
    factors: list[tuple[tuple[int, ...], np.ndarray]] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)
    _entries: int = 0

    def error(self, message: str) -> GraphFileError:
        return GraphFileError(f"{self.path}: {message}.")

    def add_variable(self, name: str, states: Sequence[str]) -> None:
        if name in self._numbers:
            raise self.error(f'the variable "{name}" is declared twice')
        if not states:
            raise self.error(f'the variable "{name}" has no states, where at least one was expected')
        self._numbers[name] = len(self.variables)
        self.variables.append(name)
        self.states.append(tuple(states))

    def number(self, name: str, where: str) -> int:
        if name not in self._numbers:
            raise self.error(f'{where} names the variable "{name}", which is not declared')
        return self._numbers[name]

    def state(self, variable: int, name: str, where: str) -> int:
        if name not in self.states[variable]:
            raise self.error(f'{where} names the state "{name}", which "{self.variables[variable]}" does not have')
        return self.states[variable].index(name)

    def scope(self, names: Sequence[str], where: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Variables and numbers of states of a table; refuses what would not fit into memory before it is made."""
        scope = tuple(self.number(name, where) for name in names)
        if len(set(scope)) != len(scope):
            raise self.error(f"{where} names a variable twice")
        if len(scope) > MAX_ORDER:
            raise self.error(f"{where} joins {len(scope)} variables, where at most {MAX_ORDER} are supported")
        shape = tuple(len(self.states[variable]) for variable in scope)
        size = math.prod(shape)
        self._entries += size
        if self._entries > MAX_IMPLIED:
            raise self.error(f"{where} would have {amount(size)} entries, where {MAX_IMPLIED} together are the most")
        return scope, shape

    def add_table(self, scope: tuple[int, ...], table: np.ndarray, where: str) -> None:
        """A table of linear values whose axes follow the scope."""
        if not np.isfinite(table).all() or (table < 0).any():
            raise self.error(f"{where} has an entry that is missing, negative or too large")
        if not table.any():
            raise self.error(f"every entry of {where} is 0, where at least one nonzero entry was expected")
        self.factors.append((scope, log_values(table)))

    def filled(self, numbers: Sequence[float], shape: tuple[int, ...], where: str) -> np.ndarray:
        """Numbers as a table, the last axis fastest."""
        if len(numbers) != math.prod(shape):
            raise self.error(f"{where} has {len(numbers)} numbers, where {math.prod(shape)} were expected")
        return np.array(numbers, np.float64).reshape(shape)

    def graph(self) -> FactorGraph:
        """The network as a factor graph."""
        from mrfstudio.engine.graphs.factor_graph import FactorGraph

        return FactorGraph.from_factors([len(states) for states in self.states], self.factors, names=self.names())

    def arrays(self) -> GraphArrays:
        """The same without torch."""
        names, shapes = self.names(), dict[tuple[int, ...], list[int]]()
        for place, (_, table) in enumerate(self.factors):
            shapes.setdefault(table.shape, []).append(place)
        groups = [
            (
                np.array([self.factors[place][0] for place in places], np.int64),
                np.stack([self.factors[place][1] for place in places]),
                np.array(places),
            )
            for places in shapes.values()
        ]
        cards = np.array([len(states) for states in self.states])
        return GraphArrays(cards, groups, tuple(range(len(cards))), names)

    def names(self) -> Names:
        """What variables and states are called, checked."""
        if not self.variables:
            raise self.error("the file declares no variable, where at least one was expected")
        try:
            return Names.checked(self.variables, self.states, [len(states) for states in self.states])
        except StudioError as error:
            raise GraphFileError(f"{self.path}: {error}") from None


def as_number(network: Network, word: str, where: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise network.error(f'{where} has "{word[:40]}" where a number was expected') from None
