"""Tables of factors between graphs, which hold logarithms, and files, which hold linear values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mrfstudio.engine.files.graphs.text import AnyPath, GraphFileError, NumberFile

if TYPE_CHECKING:
    from mrfstudio.engine.graphs.factor_graph import FactorGraph

LARGEST_LOG = 700.0  # exp of it and of its negative are normal double precision numbers, with all their digits


@dataclass(frozen=True, eq=False)
class TableGroup:
    """Factors of one shape to be written: `values` (n, k_1, …, k_r), `scopes` (n, r), `ranks` (n,) in the file."""

    ranks: np.ndarray
    scopes: np.ndarray
    values: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape[1:])


def log_values(values: np.ndarray) -> np.ndarray:
    """Natural logarithms, of zero -inf; of negative numbers, which no table has when it is used, not a number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(values))


def equal_rows(rows: np.ndarray) -> list[np.ndarray]:
    """Indices of the rows (n, r) that are equal, one array for each different row."""
    if not len(rows):
        return []
    if (rows == rows[0]).all():
        return [np.arange(len(rows))]
    order = np.lexsort(rows.T)
    ordered = rows[order]
    borders = np.flatnonzero((ordered[1:] != ordered[:-1]).any(axis=1)) + 1
    return np.split(order, borders)


def check_some_possible(file: NumberFile, members: np.ndarray, places: np.ndarray, logs: np.ndarray) -> None:
    """Refuse a table (n, entries) without a nonzero entry. `places` (n,) say where the tables are."""
    impossible = np.isneginf(logs.max(axis=1))
    if impossible.any():
        row = int(impossible.argmax())
        raise file.error(
            f"every entry in the table of factor {members[row]} is 0, where at least one nonzero entry was expected",
            int(places[row]),
        )


def listed(numbers: Iterable[int]) -> str:
    return "(" + ", ".join(str(int(number)) for number in numbers) + ")"


def amount(number: float) -> str:
    """A whole number for a message; a rough one where it has more digits than a person reads."""
    return f"{number:.0f}" if number < 1e15 else f"about {number:.0e}"


def linear_tables(
    path: AnyPath, graph: FactorGraph, *, name_every_variable: bool = False, empty_scope: bool = False
) -> list[TableGroup]:
    """What to write of a graph: unary factors that say something, then its factors in their order, as linear values.

    Logarithms beyond ±`LARGEST_LOG` are moved into that range, each table by a number of its own; what was moved and
    the graph's constant go to the first tables with room for it, or to a factor of order 0 with `empty_scope`.
    With `name_every_variable` a variable without factors gets one of ones, since nothing else would mention it.
    """
    groups = [*_unary_groups(graph, name_every_variable), *_factor_groups(graph)]
    if empty_scope and graph.constant != 0:
        groups.append(TableGroup(np.array([-1]), np.zeros((1, 0), dtype=np.int64), np.zeros(1)))
    elif not groups and graph.constant != 0:
        first = np.zeros((1, int(graph.cardinalities[0])))
        groups.append(TableGroup(np.array([0]), np.zeros((1, 1), dtype=np.int64), first))
    if graph.variables == 0:
        raise GraphFileError(f"{path}: a graph without variables cannot be written.")
    if not groups:
        return []
    keys = np.concatenate([group.ranks for group in groups])
    order = np.argsort(keys, kind="stable")
    ranks = np.empty(len(keys), dtype=np.int64)
    ranks[order] = np.arange(len(keys))
    highest, lowest = _extremes(path, groups)
    shifts = np.empty(len(keys))
    shifts[order] = _shifts(path, graph.constant, lowest[order], highest[order])
    stops = np.cumsum([len(group.ranks) for group in groups])[:-1]
    return [
        replace(group, ranks=rank, values=np.exp(group.values + shift.reshape(-1, *[1] * (group.values.ndim - 1))))
        for group, rank, shift in zip(groups, np.split(ranks, stops), np.split(shifts, stops), strict=True)
    ]


def _unary_groups(graph: FactorGraph, name_every_variable: bool) -> list[TableGroup]:
    unary = graph.unary.detach().cpu().double().numpy()
    named = np.zeros(graph.variables, dtype=bool)
    for group in graph.groups:
        named[group.scopes.cpu().numpy().reshape(-1)] = True
    groups = []
    for states in np.unique(graph.cardinalities):
        variables = np.flatnonzero(graph.cardinalities == states)
        vectors = unary[graph.packing.entries(variables, int(states))].T
        wanted = (vectors != 0).any(axis=1)
        if name_every_variable:
            wanted |= ~named[variables]
        if wanted.any():
            groups.append(TableGroup(variables[wanted], variables[wanted, None], vectors[wanted]))
    return groups


def _factor_groups(graph: FactorGraph) -> list[TableGroup]:
    return [
        TableGroup(
            graph.variables + group.positions.cpu().numpy(),
            group.scopes.cpu().numpy().T,
            np.moveaxis(group.tables.detach().cpu().double().numpy(), -1, 0),
        )
        for group in graph.groups
    ]


def _extremes(path: AnyPath, groups: list[TableGroup]) -> tuple[np.ndarray, np.ndarray]:
    """Largest and smallest finite logarithm of every table. Refuses tables that no file can hold."""
    highs, lows = [], []
    for group in groups:
        flat = group.values.reshape(len(group.ranks), -1)
        high = flat.max(axis=1)
        low = np.where(np.isneginf(flat), np.inf, flat).min(axis=1)
        wrong = ~np.isfinite(high)
        if wrong.any():
            row = int(wrong.argmax())
            fault = "forbids every state" if np.isneginf(high[row]) else "has an entry that is not a finite number"
            raise GraphFileError(f"{path}: the factor over variables {listed(group.scopes[row])} {fault}.")
        wide = high - low > 2 * LARGEST_LOG
        if wide.any():
            row = int(wide.argmax())
            raise GraphFileError(
                f"{path}: the factor over variables {listed(group.scopes[row])} has logarithms from {low[row]:.6g} to "
                f"{high[row]:.6g}, where the file's linear values can span {2 * LARGEST_LOG:g} at most."
            )
        highs.append(high)
        lows.append(low)
    return np.concatenate(highs), np.concatenate(lows)


def _shifts(path: AnyPath, constant: float, lowest: np.ndarray, highest: np.ndarray) -> np.ndarray:
    """What to add to each table's logarithms, (m,): together `constant`, each as far as its table has room."""
    least, most = -LARGEST_LOG - lowest, LARGEST_LOG - highest
    shifts = np.clip(0.0, least, most)
    rest = constant - shifts.sum()
    room = most - shifts if rest > 0 else shifts - least
    if not abs(rest) <= room.sum():  # written so that a constant that is not a number is refused too
        raise GraphFileError(
            f"{path}: the graph's scale needs a factor exp({rest:.6g}), where its {len(room)} tables of linear values "
            f"have room for exp({np.sign(rest) * room.sum():.6g})."
        )
    before = np.cumsum(room) - room
    return np.asarray(shifts + np.sign(rest) * np.clip(abs(rest) - before, 0.0, room))
