"""BIF, the Interchange Format for Bayesian networks, as pgmpy, bnlearn and the Bayesian network repository write it.

    variable Rain { type discrete [ 2 ] { no, yes }; }
    probability ( Wet | Rain ) { (no) 0.9, 0.1; (yes) 0.2, 0.8; }

Rows in brackets give the child's states for one configuration of the parents; `table` gives all numbers, the last of
the declared variables fastest; `default` stands for rows that are not given. Properties are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfstudio.engine.files.graphs.network import Network, as_number
from mrfstudio.engine.files.graphs.text import AnyPath, GraphFileError, line_of, quoted, read_text

if TYPE_CHECKING:
    from mrfstudio.engine.graphs.factor_graph import FactorGraph

TOKEN = re.compile(r'"((?:[^"\\\n]|\\.)*)"|([{}()\[\],;|])|([^\s{}()\[\],;|"]+)')
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class _Words:
    """The words of a file one after the other; complaints name the line."""

    def __init__(self, path: AnyPath, text: str) -> None:
        self.path, self.text = path, text
        self._found: Iterator[re.Match[str]] = TOKEN.finditer(text)
        self._next: re.Match[str] | None = next(self._found, None)
        self._last = 0

    @property
    def peek(self) -> str | None:
        return None if self._next is None else self._value(self._next)

    @staticmethod
    def _value(match: re.Match[str]) -> str:
        return next(group for group in match.groups() if group is not None)

    def take(self, expected: str | None = None) -> str:
        if self._next is None:
            raise GraphFileError(f"{self.path}: the file ends where {expected or 'more'} was expected.")
        value, self._last = self._value(self._next), self._next.start()
        if expected is not None and value != expected:
            raise self.error(f"found {quoted(value.encode())} where {quoted(expected.encode())} was expected")
        self._next = next(self._found, None)
        return value

    def error(self, message: str) -> GraphFileError:
        line = line_of(self.text.encode(), len(self.text[: self._last].encode()))
        return GraphFileError(f"{self.path}, line {line}: {message}.")

    def until(self, end: str) -> list[str]:
        """The words up to one, without commas."""
        found = []
        while (word := self.take()) != end:
            if word != ",":
                found.append(word)
        return found

    def skip_block(self) -> None:
        self.take("{")
        depth = 1
        while depth:
            word = self.take()
            depth += (word == "{") - (word == "}")


def read_bif(path: AnyPath) -> FactorGraph:
    """Read a network; its variables and states have the file's names."""
    return bif_network(path).graph()


def bif_network(path: AnyPath) -> Network:
    """What the file declares."""
    text = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), read_text(path).decode())
    words, network = _Words(path, text), Network(path)
    later: list[tuple[list[str], list[list[str]]]] = []
    while words.peek is not None:
        kind = words.take()
        if kind == "network":
            while words.peek not in (None, "{"):
                words.take()
            words.skip_block()
        elif kind == "variable":
            _variable(words, network)
        elif kind == "probability":
            later.append(_probability(words))
        else:
            raise words.error(f"found {quoted(kind.encode())} where network, variable or probability was expected")
    for scope, rows in later:  # a table may come before its variables
        _add(network, scope, rows)
    return network


def _variable(words: _Words, network: Network) -> None:
    name, states = words.take(), None
    words.take("{")
    while (word := words.take()) != "}":
        if word == "type":
            words.take("discrete")
            words.take("[")
            count = words.take()
            words.take("]")
            words.take("{")
            states = words.until("}")
            if not count.isdigit() or int(count) != len(states):
                raise words.error(f'variable "{name}" declares {count} states and names {len(states)}')
        while word != ";" and words.peek not in (None, "}"):
            word = words.take()
    network.add_variable(name, states or ())


def _probability(words: _Words) -> tuple[list[str], list[list[str]]]:
    """The scope, the child first, and statements such as `["table", "0.1", …]` and `["(", "no", ")", "0.9", …]`."""
    words.take("(")
    scope = [word for word in words.until(")") if word != "|"]
    words.take("{")
    rows = []
    while words.peek != "}":
        row = words.until(";")
        if row and row[0] != "property":
            rows.append(row)
    words.take("}")
    return scope, rows


def _add(network: Network, names: list[str], rows: list[list[str]]) -> None:
    if not names:
        raise network.error("a probability names no variable")
    where = f'the table of "{names[0]}"'
    scope, shape = network.scope(names, where)
    table = np.full(shape, np.nan)
    default = None
    for row in rows:
        if row[0] == "table":
            table = network.filled([as_number(network, word, where) for word in row[1:]], shape, where)
        elif row[0] == "default":
            default = [as_number(network, word, where) for word in row[1:]]
        elif row[0] == "(" and ")" in row:
            stop = row.index(")")
            given, numbers = row[1:stop], [as_number(network, word, where) for word in row[stop + 1 :]]
            if len(given) != len(scope) - 1 or len(numbers) != shape[0]:
                raise network.error(f"{where} has a row of {len(given)} states and {len(numbers)} numbers, where "
                                    f"{len(scope) - 1} and {shape[0]} were expected")  # fmt: skip
            place: tuple[Any, ...] = tuple(
                network.state(v, name, where) for v, name in zip(scope[1:], given, strict=True)
            )
            table[(slice(None), *place)] = numbers
        else:
            raise network.error(f"{where} has {quoted(row[0].encode())} where table, default or a row was expected")
    if default is not None:
        if len(default) != shape[0]:
            raise network.error(f"{where} has a default of {len(default)} numbers, where {shape[0]} were expected")
        missing = np.isnan(table)
        table = np.where(missing, np.array(default).reshape(-1, *[1] * (len(shape) - 1)), table)
    network.add_table(scope, table, where)
