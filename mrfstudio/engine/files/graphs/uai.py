"""UAI files: models (`MARKOV`, `BAYES`) and evidence.

A model is a word, the number of variables, their numbers of states, the number of factors, their scopes, then for
each factor its number of entries and the entries, potentials or probabilities, the scope's last variable fastest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mrfstudio.engine.files.graphs.tables import (
    TableGroup,
    amount,
    check_some_possible,
    equal_rows,
    linear_tables,
    listed,
    log_values,
)
from mrfstudio.engine.files.graphs.text import AnyPath, GraphFileError, NumberFile, read_numbers, write_text
from mrfstudio.engine.graphs.arrays import GraphArrays
from mrfstudio.engine.graphs.checks import MAX_ORDER

if TYPE_CHECKING:
    from mrfstudio.engine.graphs.factor_graph import FactorGraph

MAX_UNUSED = 1 << 20  # states together that a file may declare beyond the numbers in it, for variables without factors
KINDS = {"MARKOV": "a Markov network", "BAYES": "a Bayesian network"}


def read_uai(path: AnyPath) -> FactorGraph:
    """Read a model."""
    from mrfstudio.engine.graphs.factor_graph import FactorGraph

    found = uai_arrays(path)
    return FactorGraph.from_arrays(found.cardinalities, found.groups)


def uai_arrays(path: AnyPath) -> GraphArrays:
    """The same without torch. A `BAYES` file's conditional tables are factors like any other."""
    file = read_numbers(path, keyword=KINDS)
    cards = _cardinalities(file)
    place = 1 + len(cards)
    starts, orders, place = _scope_places(file, place)
    sizes = np.zeros(len(starts))
    members_of_shape: list[tuple[np.ndarray, np.ndarray]] = []
    for order in np.unique(orders):
        members = np.flatnonzero(orders == order)
        scopes = _scopes(file, members, starts[members, None] + 1 + np.arange(order), len(cards))
        with np.errstate(over="ignore"):
            sizes[members] = cards[scopes].prod(axis=1, dtype=np.float64)
        members_of_shape += [(members[part], scopes[part]) for part in equal_rows(cards[scopes])]
    tables = _table_places(file, place, sizes)
    logs = log_values(file.values)
    groups = []
    for members, scopes in members_of_shape:
        shape = tuple(int(k) for k in cards[scopes[0]])
        entries = tables[members, None] + np.arange(int(np.prod(shape)))
        check_some_possible(file, members, entries[:, 0], logs[entries])
        groups.append((scopes, logs[entries].reshape(-1, *shape), members))
    return GraphArrays(cards, groups, tuple(range(len(cards))))


def write_uai(path: AnyPath, graph: FactorGraph) -> None:
    """Write a graph as `MARKOV`: unary factors that say something, then the others in the graph's order.

    A constant is multiplied into the first table with room for it.
    """
    groups = linear_tables(path, graph)
    scopes, tables = [""] * sum(len(g.ranks) for g in groups), [""] * sum(len(g.ranks) for g in groups)
    for group in groups:
        for rank, scope, table in zip(group.ranks.tolist(), group.scopes.tolist(), _rows(group), strict=True):
            scopes[rank] = " ".join(map(str, (len(scope), *scope)))
            tables[rank] = f"{len(table)}\n {' '.join(map(repr, table))}\n"
    head = ["MARKOV", str(graph.variables), " ".join(map(str, graph.cardinalities.tolist())), str(len(scopes))]
    write_text(path, "\n".join([*head, *scopes, "", *tables]))


def read_evidence(path: AnyPath, graph: FactorGraph | GraphArrays) -> dict[int, int]:
    """Observed states by variable number. The file names variables as the graph's own file does, by label.

    Both forms are read: the number of observations, then a pair (variable, state) for each; and the older one in which
    the number of samples, 1, comes before that. They differ in how many numbers there are, odd or even.
    """
    file = read_numbers(path)
    first = file.whole(0, "the number of observed variables")
    older = len(file) % 2 == 0 and first == 1
    count = file.whole(1, "the number of observed variables") if older else first
    given = len(file) - 1 - older
    if given != 2 * count:
        if _is_several_samples(file, first):
            raise file.error(f"the file holds {first} samples of evidence, where one was expected", 0)
        raise file.error(
            f"the file declares {count} observed variables, but {given} numbers follow, where {2 * count} were "
            f"expected, a variable and its state for each"
        )
    places = np.arange(1 + older, len(file)).reshape(-1, 2)
    pairs = file.whole_at(places, "a variable or its state")
    return _observations(file, places, pairs, graph)


def write_evidence(path: AnyPath, states: Mapping[int, int], graph: FactorGraph) -> None:
    """Write observed states by variable number, in the newer form, naming variables by label."""
    graph.evidence(states)  # refuses variables and states that the graph does not have
    pairs = [f" {graph.labels[variable]} {state}" for variable, state in sorted(states.items())]
    write_text(path, f"{len(pairs)}{''.join(pairs)}\n")


def _rows(group: TableGroup) -> list[list[float]]:
    rows: list[list[float]] = group.values.reshape(len(group.ranks), -1).tolist()
    return rows


def _cardinalities(file: NumberFile) -> np.ndarray:
    variables = file.whole(0, "the number of variables")
    if variables == 0:
        raise file.error("the file declares 0 variables, where at least one was expected", 0)
    if variables > len(file) - 1:
        raise file.error(f"the file declares {variables} variables, but only {len(file) - 1} numbers follow", 0)
    cards = file.whole_at(np.arange(1, 1 + variables), "a variable's number of states")
    if (cards == 0).any():
        bad = int((cards == 0).argmax())
        raise file.error(f"variable {bad} has 0 states, where at least one was expected", 1 + bad)
    if cards.sum(dtype=np.float64) > max(MAX_UNUSED, len(file)):
        most = int(cards.argmax())
        raise file.error(
            f"the variables have {amount(cards.sum(dtype=np.float64))} states together (variable {most} alone "
            f"{cards[most]}), far more than the file's {len(file)} numbers can describe",
            1 + most,
        )
    return cards


def _scope_places(file: NumberFile, place: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Places of the scopes' lengths (m,), those lengths (m,), and the place after the scopes."""
    factors = file.whole(place, "the number of factors")
    left = len(file) - place - 1
    if 3 * factors > left:  # a scope's length, a table's length and at least one entry
        raise file.error(f"the file declares {factors} factors, but only {left} numbers follow", place)
    starts, orders = np.empty(factors, dtype=np.int64), np.empty(factors, dtype=np.int64)
    values = file.fast
    place += 1
    for factor in range(factors):
        if place >= len(values):
            raise file.error(f"the file ends after {factor} scopes, where {factors} were expected")
        order = values[place]
        if not (0 <= order <= MAX_ORDER and order == int(order)):
            raise _bad_order(file, factor, place)
        starts[factor], orders[factor] = place, order
        place += 1 + int(order)
    if place > len(values):
        raise file.error(f"the file ends within the scope of factor {factors - 1}")
    return starts, orders, place


def _bad_order(file: NumberFile, factor: int, place: int) -> GraphFileError:
    order = file.whole(place, f"the number of variables of factor {factor}")
    return file.error(f"factor {factor} joins {order} variables, where at most {MAX_ORDER} are supported", place)


def _scopes(file: NumberFile, members: np.ndarray, places: np.ndarray, variables: int) -> np.ndarray:
    """Scopes (n, r) of the factors `members` from their places (n, r)."""
    scopes = file.whole_at(places, "a variable of a scope")
    if (scopes >= variables).any():
        row, column = np.argwhere(scopes >= variables)[0]
        raise file.error(
            f"factor {members[row]} names variable {scopes[row, column]}, where 0 to {variables - 1} were expected",
            int(places[row, column]),
        )
    ordered = np.sort(scopes, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if repeated.any():
        row = int(repeated.argmax())
        raise file.error(
            f"factor {members[row]} names a variable twice in its scope {listed(scopes[row])}, "
            f"where different ones were expected",
            int(places[row, 0]),
        )
    return scopes


def _table_places(file: NumberFile, place: int, sizes: np.ndarray) -> np.ndarray:
    """Place of each table's first entry (m,). `sizes` (m,) are floats, so that they cannot overflow."""
    left = len(file) - place
    ends = np.cumsum(sizes + 1)
    begins = np.r_[0.0, ends][: len(ends)]
    here = np.flatnonzero(begins < left)
    counts = place + begins[here].astype(np.int64)
    wrong = file.values[counts] != sizes[here]
    if wrong.any():
        factor = int(here[wrong.argmax()])
        at = int(counts[wrong.argmax()])
        before = "" if factor == 0 else f"; perhaps the table of factor {factor - 1} is too long or too short"
        raise file.error(
            f"the table of factor {factor} starts with {file.found(at)}, where its number of entries, "
            f"{amount(sizes[factor])}, was expected{before}",
            at,
        )
    if len(sizes) and ends[-1] > left:
        factor = int((ends > left).argmax())
        given = max(0, left - int(begins[factor]) - 1) if begins[factor] < left else 0
        raise file.error(
            f"the file ends after {given} of the {amount(sizes[factor])} entries in the table of factor {factor}, "
            f"of {len(sizes)} factors"
        )
    stop = place + int(ends[-1] if len(sizes) else 0)
    if stop < len(file):
        raise file.error(
            f"{len(file) - stop} more numbers follow the last table, from {file.found(stop)} on, "
            f"where the end of the file was expected",
            stop,
        )
    if left and file.values[place:].min() < 0:
        at = place + int((file.values[place:] < 0).argmax())
        raise file.error(f"a table has the entry {file.found(at)}, where a number from 0 was expected", at)
    return np.asarray(counts + 1)


def _is_several_samples(file: NumberFile, samples: int) -> bool:
    """Whether the older form with this number of samples fits the file."""
    place = 1
    for _ in range(samples):
        if place >= len(file) or not 0 <= file.values[place] < len(file):
            return False
        place += 1 + 2 * int(file.values[place])
    return samples > 1 and place == len(file)


def _observations(
    file: NumberFile, places: np.ndarray, pairs: np.ndarray, graph: FactorGraph | GraphArrays
) -> dict[int, int]:
    numbers = {label: variable for variable, label in enumerate(graph.labels)}
    states: dict[int, int] = {}
    for (label, state), (place, _) in zip(pairs.tolist(), places.tolist(), strict=True):
        if label not in numbers:
            known = f"{min(numbers)} to {max(numbers)}"
            raise file.error(
                f"evidence names variable {label}, where one of the graph's own, {known}, was expected", place
            )
        variable = numbers[label]
        top = int(graph.cardinalities[variable]) - 1
        if state > top:
            raise file.error(
                f"evidence says variable {label} is in state {state}, where 0 to {top} were expected", place
            )
        if states.setdefault(variable, state) != state:
            raise file.error(
                f"evidence says variable {label} is in state {states[variable]} and in state {state}", place
            )
    return states
