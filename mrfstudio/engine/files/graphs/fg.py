"""libDAI's factor graph files.

After the number of factors comes for each factor: its number of variables, their labels, their numbers of states, the
number of nonzero entries, and for each of those its index, the first variable fastest, and its value. Blank lines mean
nothing, `#` starts a comment. Labels are any whole numbers; variables are numbered by ascending label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mrfstudio.engine.files.graphs.tables import (
    amount,
    check_some_possible,
    equal_rows,
    linear_tables,
    listed,
    log_values,
)
from mrfstudio.engine.files.graphs.text import (
    MAX_IMPLIED,
    AnyPath,
    GraphFileError,
    NumberFile,
    read_numbers,
    write_text,
)
from mrfstudio.engine.graphs.arrays import GraphArrays
from mrfstudio.engine.graphs.checks import MAX_ORDER

if TYPE_CHECKING:
    from mrfstudio.engine.graphs.factor_graph import FactorGraph


@dataclass(frozen=True, eq=False)
class FactorHeads:
    """Where the factors are: places of their first numbers, their orders and their numbers of entries, all (m,)."""

    starts: np.ndarray
    orders: np.ndarray
    counts: np.ndarray

    def labels(self, members: np.ndarray, order: int) -> np.ndarray:
        """Places (n, r) of the labels of factors that all have this order; the numbers of states follow them."""
        return np.asarray(self.starts[members, None] + 1 + np.arange(order))

    @property
    def entries(self) -> np.ndarray:
        """Places of the first entries' indices (m,)."""
        return np.asarray(self.starts + 2 + 2 * self.orders)


def read_fg(path: AnyPath) -> FactorGraph:
    """Read a factor graph; its `labels` are the file's."""
    from mrfstudio.engine.graphs.factor_graph import FactorGraph

    found = fg_arrays(path)
    return FactorGraph.from_arrays(found.cardinalities, found.groups, labels=found.labels)


def fg_arrays(path: AnyPath) -> GraphArrays:
    """The same without torch."""
    file = read_numbers(path, comments=True)
    heads = _heads(file)
    shapes: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # members (n,), labels (n, r), cardinalities (r,)
    for order in np.unique(heads.orders):
        members = np.flatnonzero(heads.orders == order)
        scopes, cards = _scopes(file, heads, members, int(order))
        shapes += [(members[part], scopes[part], cards[part[0]]) for part in equal_rows(cards)]
    labels, states = _variables(file, heads)
    _check_sizes(file, heads, shapes)
    groups = [
        (np.searchsorted(labels, scopes), _log_tables(file, heads, members, cards), members)
        for members, scopes, cards in shapes
    ]
    return GraphArrays(states, groups, tuple(labels.tolist()))


def write_fg(path: AnyPath, graph: FactorGraph) -> None:
    """Write a graph: unary factors that say something or name a lone variable, then the others in the graph's order.

    A constant is a factor of order 0. The reader numbers variables by ascending label.
    """
    labels = graph.labels
    if len(set(labels)) < len(labels) or min(labels, default=0) < 0:
        raise GraphFileError(
            f"{path}: the graph's labels are not different whole numbers from 0, which the format needs."
        )
    groups = linear_tables(path, graph, name_every_variable=True, empty_scope=True)
    blocks = [""] * sum(len(group.ranks) for group in groups)
    for group in groups:
        cards = " ".join(map(str, group.shape))
        first_fastest = group.values.transpose(0, *range(group.values.ndim - 1, 0, -1)).reshape(len(group.ranks), -1)
        for rank, scope, table in zip(group.ranks.tolist(), group.scopes.tolist(), first_fastest.tolist(), strict=True):
            lines = [f"{index} {value!r}" for index, value in enumerate(table) if value != 0]
            names = " ".join(str(labels[variable]) for variable in scope)
            blocks[rank] = "\n".join([str(len(scope)), names, cards, str(len(lines)), *lines, ""])
    write_text(path, "\n".join([str(len(blocks)), "", *blocks]))


def _heads(file: NumberFile) -> FactorHeads:
    factors = file.whole(0, "the number of factors")
    if factors == 0:
        raise file.error("the file declares 0 factors, where at least one was expected", 0)
    if 4 * factors > len(file) - 1:  # even a factor of order 0 has two counts, an index and a value
        raise file.error(f"the file declares {factors} factors, but only {len(file) - 1} numbers follow", 0)
    starts, orders, counts = (np.empty(factors, dtype=np.int64) for _ in range(3))
    values = file.fast
    place, size = 1, len(values)
    for factor in range(factors):
        order = values[place] if place < size else 0.0
        if not (0 <= order <= MAX_ORDER and order == int(order)):
            raise _bad_order(file, factor, place)
        after = place + 1 + 2 * int(order)
        if after >= size:
            raise file.error(f"the file ends within factor {factor}, where {factors} factors were expected")
        count = values[after]
        if not (1 <= count <= (size - after - 1) // 2 and count == int(count)):
            raise _bad_count(file, factor, after)
        starts[factor], orders[factor], counts[factor] = place, order, count
        place = after + 1 + 2 * int(count)
    if place < size:
        raise file.error(
            f"{size - place} more numbers follow the last of {factors} factors, from {file.found(place)} on, "
            f"where the end of the file was expected",
            place,
        )
    return FactorHeads(starts, orders, counts)


def _bad_order(file: NumberFile, factor: int, place: int) -> GraphFileError:
    order = file.whole(place, f"the number of variables of factor {factor}")
    return file.error(f"factor {factor} joins {order} variables, where at most {MAX_ORDER} are supported", place)


def _bad_count(file: NumberFile, factor: int, place: int) -> GraphFileError:
    count = file.whole(place, f"the number of nonzero entries of factor {factor}")
    if count == 0:
        return file.error(f"factor {factor} has no nonzero entry, where at least one was expected", place)
    left = len(file) - place - 1
    return file.error(
        f"factor {factor} declares {count} entries, but only {left} numbers follow, where an index and a value "
        f"for each were expected",
        place,
    )


def _scopes(file: NumberFile, heads: FactorHeads, members: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n, r) and numbers of states (n, r) of factors of one order."""
    places = heads.labels(members, order)
    labels = file.whole_at(places, "a variable's label")
    cards = file.whole_at(places + order, "a variable's number of states")
    ordered = np.sort(labels, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if repeated.any():
        row = int(repeated.argmax())
        raise file.error(
            f"factor {members[row]} names a variable twice in its scope {listed(labels[row])}, "
            f"where different ones were expected",
            int(places[row, 0]),
        )
    if (cards == 0).any():
        row, column = np.argwhere(cards == 0)[0]
        place = int(places[row, column]) + order
        raise file.error(f"variable {labels[row, column]} has 0 states, where at least one was expected", place)
    return labels, cards


def _variables(file: NumberFile, heads: FactorHeads) -> tuple[np.ndarray, np.ndarray]:
    """All labels, ascending, and the numbers of states they have in every factor, (variables,) each."""
    total = int(heads.orders.sum())
    if total == 0:
        raise file.error("the factors name no variable, where at least one was expected")
    begins = np.cumsum(heads.orders) - heads.orders
    places = np.repeat(heads.starts + 1 - begins, heads.orders) + np.arange(total)
    cards = file.values[places + np.repeat(heads.orders, heads.orders)].astype(np.int64)
    labels, first, where = np.unique(file.values[places].astype(np.int64), return_index=True, return_inverse=True)
    other = cards != cards[first][where]
    if other.any():
        at = int(other.argmax())
        raise file.error(
            f"variable {labels[where[at]]} has {cards[at]} states here, where {cards[first[where[at]]]} "
            f"were expected from an earlier factor",
            int(places[at]),
        )
    return labels, cards[first]


def _check_sizes(file: NumberFile, heads: FactorHeads, shapes: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> None:
    """Refuse tables that the file does not fill and that would not fit into memory, and counts above a table's size."""
    total = 0.0
    for members, _, cards in shapes:
        with np.errstate(over="ignore"):
            size = float(np.prod(cards, dtype=np.float64))
        total += size * len(members)
        if total > max(MAX_IMPLIED, len(file)):
            raise file.error(
                f"the tables up to that of factor {members[0]} over {len(cards)} variables would have {amount(total)} "
                f"entries, far more than the file's {len(file)} numbers describe",
                int(heads.starts[members[0]]),
            )
        many = heads.counts[members] > size
        if many.any():
            factor = int(members[many.argmax()])
            raise file.error(
                f"factor {factor} declares {heads.counts[factor]} entries, where at most {size:.0f} were expected",
                int(heads.entries[factor]) - 1,
            )


def _log_tables(file: NumberFile, heads: FactorHeads, members: np.ndarray, cards: np.ndarray) -> np.ndarray:
    """Log-tables (n, k_1, …, k_r) of factors of one shape."""
    size, counts = int(np.prod(cards)), heads.counts[members]
    begins = np.cumsum(counts) - counts
    places = np.repeat(heads.entries[members] - 2 * begins, counts) + 2 * np.arange(int(counts.sum()))
    indices = file.whole_at(places, "the index of an entry")
    values = file.values[places + 1]
    row = np.repeat(np.arange(len(members)), counts)
    if (indices >= size).any():
        at = int((indices >= size).argmax())
        factor = members[row[at]]
        raise file.error(
            f"factor {factor} has an entry {indices[at]}, where 0 to {size - 1} were expected", int(places[at])
        )
    if (values < 0).any():
        at = int((values < 0).argmax())
        raise file.error(
            f"factor {members[row[at]]} has the value {file.found(int(places[at]) + 1)}, "
            f"where a number from 0 was expected",
            int(places[at]),
        )
    flat = row * size + indices
    given = np.zeros(len(members) * size, dtype=bool)
    given[flat] = True
    if np.count_nonzero(given) < len(flat):
        raise _given_twice(file, members[row], indices, flat, places)
    tables = np.zeros(len(members) * size)
    tables[flat] = values
    logs = log_values(tables).reshape(len(members), size)
    check_some_possible(file, members, heads.starts[members], logs)
    # The first variable is fastest: axes come out in reverse.
    return logs.reshape(-1, *cards[::-1].tolist()).transpose(0, *range(len(cards), 0, -1))


def _given_twice(
    file: NumberFile, factors: np.ndarray, indices: np.ndarray, flat: np.ndarray, places: np.ndarray
) -> GraphFileError:
    order = np.argsort(flat, kind="stable")
    at = int(order[1:][flat[order][1:] == flat[order][:-1]].min())
    return file.error(f"factor {factors[at]} gives entry {indices[at]} twice, where once was expected", int(places[at]))
