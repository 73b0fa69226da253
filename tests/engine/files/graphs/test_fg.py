"""libDAI factor graph files: what is read, every kind of file that is refused, and libDAI's own files."""

from __future__ import annotations

import itertools
import json
import math
import re
import tracemalloc
from pathlib import Path

import numpy as np
import opt_einsum
import pytest
import torch

from mrfstudio.engine.files.graphs.fg import read_fg, write_fg
from mrfstudio.engine.files.graphs.text import GraphFileError
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from tests.engine.helpers.graphs import Factors, enumerate_all, random_factors
from tests.places import SHARED

GOOD = """# made by hand, größer als nichts
4

2
7 3
2 3
# a comment between
5
0 1
1 2    # a comment behind
2 3
4 5
5 6

1
3
3
2
0 0.5
2 2

3
3 20 7
3 1 2
2
1 8
5 0.25

0


1
0 4
"""

PEERS = SHARED / "peer_tests" / "libdai"


def saved(folder: Path, text: str | bytes) -> Path:
    path = folder / "graph.fg"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_first_variable_is_fastest_and_missing_entries_are_zero(tmp_path: Path) -> None:
    graph = read_fg(saved(tmp_path, GOOD))
    assert graph.labels == (3, 7, 20)
    assert graph.cardinalities.tolist() == [3, 2, 1]
    first = {(0, 0): 1, (1, 0): 2, (0, 1): 3, (0, 2): 5, (1, 2): 6}  # by states of (7, 3)
    second = {0: 0.5, 2: 2}
    third = {(1, 0): 8, (2, 1): 0.25}  # by states of (3, 7)
    for a, b in itertools.product(range(3), range(2)):
        weight = 4 * first.get((b, a), 0) * second.get(a, 0) * third.get((a, b), 0)
        assert math.exp(graph.score([a, b, 0])) == pytest.approx(weight, rel=1e-12)


def test_scopes_keep_the_file_order(tmp_path: Path) -> None:
    graph = read_fg(saved(tmp_path, GOOD))
    scopes = {int(group.positions[0]): group.scopes[:, 0].tolist() for group in graph.groups}
    assert scopes == {0: [1, 0], 2: [0, 2, 1]}
    assert graph.constant == pytest.approx(math.log(4))


BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "empty"),
    "only comments": ("# nothing\n#\n", "only comments"),
    "no factors": ("0\n", "line 1: the file declares 0 factors"),
    "no variables": ("1\n0\n1\n0 3\n", "the factors name no variable"),
    "not a number": (GOOD.replace("5 6", "5 six"), 'line 13: found "six" where a number'),
    "not a number value": (GOOD.replace("5 6", "5 NaN"), 'line 13: found "NaN" where a finite number'),
    "infinite": (GOOD.replace("5 6", "5 inf"), 'found "inf" where a finite number'),
    "overflow": (GOOD.replace("5 6", "5 1e400"), "too large for double precision"),
    "negative": (GOOD.replace("5 6", "5 -6"), 'line 13: factor 0 has the value "-6"'),
    "negative label": (GOOD.replace("7 3\n", "7 -3\n"), 'line 5: found "-3" where a variable\'s label'),
    "broken label": (GOOD.replace("7 3\n", "7 3.5\n"), 'line 5: found "3.5" where a variable\'s label'),
    "label beyond exactness": (GOOD.replace("7 3\n", "7 9007199254740994\n"), "a variable's label"),
    "zero states": (GOOD.replace("3 1 2\n", "3 0 2\n"), "line 24: variable 20 has 0 states"),
    "states that disagree": (GOOD.replace("3 1 2\n", "3 1 4\n"), "line 23: variable 7 has 4 states here, where 2"),
    "twice in scope": (GOOD.replace("7 3\n", "7 7\n"), "line 5: factor 0 names a variable twice in its scope (7, 7)"),
    "index too large": (GOOD.replace("5 6", "6 6"), "line 13: factor 0 has an entry 6, where 0 to 5"),
    "index negative": (GOOD.replace("5 6", "-1 6"), 'found "-1" where the index of an entry'),
    "index broken": (GOOD.replace("5 6", "4.5 6"), 'found "4.5" where the index of an entry'),
    "index twice": (GOOD.replace("5 6", "4 6"), "line 13: factor 0 gives entry 4 twice"),
    "no entry": (GOOD.replace("2\n0 0.5\n2 2\n", "0\n"), "factor 1 has no nonzero entry"),
    "all zero": (GOOD.replace("0 0.5\n2 2", "0 0\n2 0"), "every entry in the table of factor 1 is 0"),
    "more entries than states": (GOOD.replace("0 4\n", "0 4\n1 4\n").replace("\n1\n0 4", "\n2\n0 4"), "at most 1 were"),
    "too many factors": (GOOD.replace("4\n", "5\n", 1), "the file ends within factor 4, where 5 factors"),
    "too few factors": (
        GOOD.replace("4\n", "3\n", 1),
        'line 29: 4 more numbers follow the last of 3 factors, from "0"',
    ),
    "cut in an entry": (GOOD.removesuffix(" 4\n"), "factor 3 declares 1 entries, but only 1 numbers follow"),
    "cut before the entries": (GOOD[: GOOD.index("1 8")], "factor 2 declares 2 entries, but only 0 numbers follow"),
    "cut in a scope": (GOOD[: GOOD.index("20")], "the file ends within factor 2"),
    "order too high": (GOOD.replace("3\n3 20 7", "60\n3 20 7"), "factor 2 joins 60 variables, where at most 24"),
    "negative order": (GOOD.replace("3\n3 20 7", "-3\n3 20 7"), 'found "-3" where the number of variables of factor 2'),
    "not utf-8": (GOOD.encode("latin-1"), "line 1: the text is not UTF-8"),
    "binary": (bytes(range(256)), "binary"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_in_one_sentence_that_names_it(tmp_path: Path, case: str) -> None:
    text, expected = BAD[case]
    path = saved(tmp_path, text)
    with pytest.raises(GraphFileError) as caught:
        read_fg(path)
    message = str(caught.value)
    assert expected in message
    assert re.fullmatch(re.escape(str(path)) + r"(, line \d+)?: .*\.", message)  # and no line break


MANY = " ".join(map(str, range(24)))
HUGE = {
    "factors": "1000000000000 1 0 2 1 0 1",
    "states": "1 1 0 1000000000000 1 0 1",
    "entries": f"1 24 {MANY} {'2 ' * 23} 4 1 0 1",
    "entries beyond any number": f"1 24 {MANY} {'9007199254740992 ' * 24} 1 0 1",
    "entries of many factors": "100" + " 1 0 1000000 1 0 1" * 100,
    "nonzero entries": "1 1 0 2 1000000000000 0 1",
}


@pytest.mark.parametrize("case", HUGE)
def test_huge_declared_sizes_are_refused_before_memory_is_taken(tmp_path: Path, case: str) -> None:
    path = saved(tmp_path, HUGE[case])
    tracemalloc.start()
    try:
        with pytest.raises(GraphFileError):
            read_fg(path)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_lone_variables_and_labels_survive_writing(tmp_path: Path) -> None:
    graph = FactorGraph.from_factors([2, 3, 4, 1], [((2, 0), np.zeros((4, 2)))], labels=[1, 5, 6, 90])
    write_fg(tmp_path / "graph.fg", graph)
    again = read_fg(tmp_path / "graph.fg")
    assert again.labels == (1, 5, 6, 90)
    assert again.cardinalities.tolist() == [2, 3, 4, 1]


def test_a_constant_is_a_factor_of_order_zero(tmp_path: Path) -> None:
    graph = FactorGraph([2], [], [[0.0, 1.0]], constant=2.0)
    write_fg(tmp_path / "graph.fg", graph)
    words = [float(word) for word in (tmp_path / "graph.fg").read_text().split()]
    assert words == pytest.approx([2, 0, 1, 0, math.exp(2), 1, 0, 2, 2, 0, 1, 1, math.e], rel=1e-14)


def test_labels_the_format_cannot_hold_are_refused(tmp_path: Path) -> None:
    for labels in ([1, 1], [-1, 2]):
        graph = FactorGraph.from_factors([2, 2], [((0, 1), np.zeros((2, 2)))], labels=labels)
        with pytest.raises(GraphFileError, match="labels"):
            write_fg(tmp_path / "graph.fg", graph)
    assert not list(tmp_path.iterdir())


def linear_marginal(graph: FactorGraph, variable: int) -> np.ndarray:
    """Unnormalised marginal of one variable by contracting linear tables."""
    operands: list[object] = []
    for number, vector in enumerate(graph.unpack(graph.unary)):
        operands += [np.exp(vector), [number]]
    for group in graph.groups:
        for scope, table in zip(group.scopes.T.tolist(), torch.exp(group.tables).movedim(-1, 0).numpy(), strict=True):
            operands += [table, scope]
    return np.asarray(opt_einsum.contract(*operands, [variable], optimize="greedy")) * math.exp(graph.constant)


def as_libdai_writes(cards: list[int], factors: Factors, labels: list[int]) -> str:
    """A graph by the description of the format alone: the first variable is fastest, zeros are left out."""
    blocks = [str(len(factors))]
    for scope, table in factors:
        weights = np.exp(np.asarray(table)).ravel(order="F")
        entries = [f"{index}\t{weight:.17g}" for index, weight in enumerate(weights) if weight]
        names, states = (
            " ".join(map(str, numbers)) for numbers in ([labels[v] for v in scope], [cards[v] for v in scope])
        )
        blocks.append("\n".join([str(len(scope)), names, states, str(len(entries)), *entries]))
    return "\n\n".join(blocks) + "\n"


def same_answers(path: Path, labels: list[int], log_z: float, marginals: list[list[float]]) -> None:
    graph = read_fg(path)
    assert list(graph.labels) == labels
    for variable, expected in enumerate(marginals):
        marginal = linear_marginal(graph, variable)
        assert math.log(marginal.sum()) == pytest.approx(log_z, abs=1e-9)
        assert marginal / marginal.sum() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_any_graph_is_read_as_what_it_says(seed: int, tmp_path: Path) -> None:
    """Higher orders, mixed numbers of states, zeros, and labels in no order: the answers are those of enumeration."""
    cards, factors = random_factors(seed, zeros=0.15)
    factors = [*factors, *(((v,), np.full(card, 0.5)) for v, card in enumerate(cards))]  # every variable is in a scope
    truth = enumerate_all(cards, factors)
    labels = np.random.default_rng(seed).choice(99, len(cards), replace=False).tolist()
    order = np.argsort(labels)
    path = saved(tmp_path, as_libdai_writes(cards, factors, labels))
    same_answers(path, sorted(labels), truth.log_z, [truth.marginals[v].tolist() for v in order])


@pytest.mark.skipif(not PEERS.exists(), reason="libDAI's files, not ours to copy, are not beside this checkout")
@pytest.mark.parametrize("name", ["alarm", "hoi1", "hoi2", "hoi3", "hoi4", "testfast", "twofactors"])
def test_graphs_of_libdai_have_the_answers_of_libdai(name: str) -> None:
    answers = json.loads((PEERS / f"{name}.json").read_text())
    same_answers(PEERS / f"{name}.fg", answers["labels"], answers["logz"], answers["exact"])
