"""A graph as its file has it, in plain arrays: what readers give, and all that small graphs need to be answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mrfstudio.engine.graphs.names import Names

Group = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Factors of one shape: scopes (n, r), log-tables (n, k_1, …, k_r), and their places (n,) in the file."""


@dataclass(frozen=True, eq=False)
class GraphArrays:
    """Numbers of states (variables,), factors of every order, and what the file calls the variables."""

    cardinalities: np.ndarray
    groups: Sequence[Group]
    labels: tuple[int, ...]
    names: Names | None = None

    @property
    def factors(self) -> int:
        """Factors of order 2 and more."""
        return sum(len(scopes) for scopes, _, _ in self.groups if scopes.shape[1] > 1)

    @property
    def constant(self) -> float:
        """What factors of no variable add."""
        return float(sum(tables.sum() for scopes, tables, _ in self.groups if scopes.shape[1] == 0))

    @property
    def tables(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Log-tables (k_1, …, k_r, n) and scopes (r, n) of every shape of order 2 and more."""
        return [
            (np.moveaxis(tables, 0, -1), np.ascontiguousarray(scopes.T))
            for scopes, tables, _ in self.groups
            if scopes.shape[1] > 1
        ]

    def local(self, observed: Mapping[int, int]) -> list[np.ndarray]:
        """What factors of one variable and observed states say, a log-vector for each variable."""
        found = [np.zeros(int(states)) for states in self.cardinalities]
        for scopes, tables, _ in self.groups:
            if scopes.shape[1] == 1:
                for variable, table in zip(scopes[:, 0].tolist(), tables, strict=True):
                    found[variable] = found[variable] + table
        for variable, state in observed.items():
            found[variable] = np.where(np.arange(len(found[variable])) == state, found[variable], -np.inf)
        return found
