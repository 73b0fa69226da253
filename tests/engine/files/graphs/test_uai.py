"""UAI models and evidence: what is read, and every kind of file that is refused."""

from __future__ import annotations

import gzip
import itertools
import math
import re
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.files.graphs.text import GraphFileError, line_of
from mrfstudio.engine.files.graphs.uai import read_evidence, read_uai, write_evidence, write_uai
from mrfstudio.engine.graphs.checks import GraphError
from mrfstudio.engine.graphs.factor_graph import FactorGraph

GOOD = """MARKOV
3
2 3 1
4
1 0
2 1 0
3 0 1 2
0

2
 0.5 2
6
 1 2 3 4 5 6
6
 0 1 1
 1 1 7
1
 4
"""


def saved(folder: Path, text: str | bytes, name: str = "graph.uai") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_last_variable_of_a_scope_is_fastest(tmp_path: Path) -> None:
    graph = read_uai(saved(tmp_path, GOOD))
    first, second = [0.5, 2.0], np.arange(1.0, 7.0).reshape(3, 2)  # second: variable 1, then variable 0
    third = np.array([[0, 1, 1], [1, 1, 7]])
    for a, b in itertools.product(range(2), range(3)):
        weight = 4 * first[a] * second[b, a] * third[a, b]
        assert math.exp(graph.score([a, b, 0])) == pytest.approx(weight, rel=1e-12)


def test_scopes_and_positions_keep_the_file_order(tmp_path: Path) -> None:
    graph = read_uai(saved(tmp_path, GOOD))
    scopes = {int(group.positions[0]): group.scopes[:, 0].tolist() for group in graph.groups}
    assert scopes == {1: [1, 0], 2: [0, 1, 2]}
    assert graph.constant == pytest.approx(math.log(4))
    assert graph.labels == (0, 1, 2)


def test_a_bayesian_network_has_log_partition_zero(tmp_path: Path) -> None:
    text = "BAYES\n2\n2 2\n2\n1 0\n2 0 1\n\n2\n0.3 0.7\n4\n0.9 0.1\n0.2 0.8\n"
    graph = read_uai(saved(tmp_path, text))
    total = sum(math.exp(graph.score(x)) for x in itertools.product(range(2), repeat=2))
    assert total == pytest.approx(1, abs=1e-12)
    assert math.exp(graph.score([1, 0])) == pytest.approx(0.7 * 0.2)


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        "\ufeff" + GOOD,
        "\n\n  " + GOOD.replace("\n", " "),
        GOOD.replace("MARKOV", "Markov"),
        GOOD.replace("2 1 0", "2.0 1 0").replace(" 4\n", " +4.e0\n"),
    ],
    ids=["dos", "old mac", "byte order mark", "one line", "capitals", "ways to write a number"],
)
def test_layout_does_not_matter(tmp_path: Path, text: str) -> None:
    graph, plain = read_uai(saved(tmp_path, text)), read_uai(saved(tmp_path, GOOD))
    states = list(itertools.product(range(2), range(3), range(1)))
    assert [graph.score(x) for x in states] == [plain.score(x) for x in states]


BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "empty"),
    "blank": ("  \n\n", "empty"),
    "only the word": ("MARKOV\n", "ends where the number of variables was expected"),
    "no word": (GOOD.replace("MARKOV", ""), 'line 2: found "3" where the word MARKOV'),
    "unknown word": (GOOD.replace("MARKOV", "MARKOW"), 'line 1: found "MARKOW" where the word MARKOV'),
    "not a number": (GOOD.replace(" 4\n", " four\n"), 'line 18: found "four" where a number was expected'),
    "two points": (GOOD.replace("0.5", "0.5.1"), 'line 11: found "0.5.1" where a number'),
    "underscore": (GOOD.replace("0.5", "1_0"), 'found "1_0" where a number'),
    "cut exponent": (GOOD.replace("0.5", "1e"), 'found "1e" where a number'),
    "other digits": (GOOD.replace("0.5", "\u0663"), "where a number was expected"),
    "not a number value": (GOOD.replace("0.5", "nan"), 'line 11: found "nan" where a finite number'),
    "infinite": (GOOD.replace("0.5", "-INF"), 'found "-INF" where a finite number'),
    "overflow": (GOOD.replace("0.5", "1e999"), "too large for double precision"),
    "negative": (GOOD.replace(" 0.5", " -0.5"), 'line 11: a table has the entry "-0.5"'),
    "no variables": ("MARKOV 0 0", "0 variables"),
    "zero states": (GOOD.replace("2 3 1\n", "2 0 1\n"), "line 3: variable 1 has 0 states"),
    "half a state": (GOOD.replace("2 3 1\n", "2 2.5 1\n"), 'line 3: found "2.5" where a variable\'s number of states'),
    "negative states": (GOOD.replace("2 3 1\n", "2 -3 1\n"), 'found "-3" where'),
    "negative factors": (GOOD.replace("\n4\n", "\n-4\n"), 'found "-4" where the number of factors'),
    "too many variables": (GOOD.replace("\n3\n", "\n1000000000000\n", 1), "declares 1000000000000 variables, but only"),
    "too many factors": (GOOD.replace("\n4\n", "\n1000000000000\n", 1), "declares 1000000000000 factors, but only"),
    "scope out of range": (GOOD.replace("2 1 0\n", "2 1 3\n"), "line 6: factor 1 names variable 3"),
    "negative in scope": (GOOD.replace("2 1 0\n", "2 1 -1\n"), 'line 6: found "-1" where a variable'),
    "twice in scope": (
        GOOD.replace("2 1 0\n", "2 1 1\n"),
        "line 6: factor 1 names a variable twice in its scope (1, 1)",
    ),
    "scope too long": (GOOD.replace("3 0 1 2", "60 0 1 2"), "factor 2 joins 60 variables, where at most 24"),
    "wrong count": (GOOD.replace("6\n 1", "5\n 1"), 'line 12: the table of factor 1 starts with "5"'),
    "entry missing": (GOOD.replace(" 5 6", " 5"), "perhaps the table of factor 1 is too long or too short"),
    "entry too many": (GOOD.replace(" 5 6", " 5 6 7"), "perhaps the table of factor 1 is too long or too short"),
    "last entries missing": (GOOD.removesuffix("1\n 4\n").replace("1 7", ""), "ends after 4 of the 6 entries"),
    "last table missing": (GOOD.removesuffix("1\n 4\n"), "ends after 0 of the 1 entries in the table of factor 3"),
    "cut in the scopes": ("MARKOV 2 2 2 1 2 0 1", "ends after 0 of the 4 entries"),
    "cut within a scope": ("MARKOV 2 2 2 1 6 0 1", "ends within the scope of factor 0"),
    "cut between scopes": ("MARKOV 2 2 2 2 5 0 1 0 1 1", "ends after 1 scopes"),
    "more after the end": (GOOD + "17 18\n", 'line 19: 2 more numbers follow the last table, from "17" on'),
    "all zero": (GOOD.replace(" 0.5 2", " 0 0"), "every entry in the table of factor 0 is 0"),
    "zero constant": (GOOD.replace(" 4\n", " 0\n"), "every entry in the table of factor 3 is 0"),
    "not utf-8": (GOOD.encode() + b"\xff\xfe", "line 19: the text is not UTF-8"),
    "binary": (bytes(range(256)), "binary"),
    "utf-16": (GOOD.encode("utf-16"), "binary"),
    "compressed": (gzip.compress(GOOD.encode()), "binary"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_model_is_refused_in_one_sentence_that_names_the_file(tmp_path: Path, case: str) -> None:
    text, expected = BAD[case]
    path = saved(tmp_path, text)
    with pytest.raises(GraphFileError) as caught:
        read_uai(path)
    message = str(caught.value)
    assert expected in message
    assert re.fullmatch(re.escape(str(path)) + r"(, line \d+)?: .*\.", message)  # and no line break


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GraphFileError, match="no such file"):
        read_uai(tmp_path / "nothing.uai")
    with pytest.raises(GraphFileError, match="folder"):
        read_uai(tmp_path)
    with pytest.raises(GraphFileError, match="cannot be read"):
        read_uai("zero\0byte.uai")


HUGE = {
    "variables": "MARKOV 1000000000000 2 2 0",
    "factors": "MARKOV 1 2 1000000000000 1 0 2 1 1",
    "states of an unused variable": "MARKOV 2 2 1000000000000 1 1 0 2 1 1",
    "states of many unused variables": "MARKOV 20" + " 1000000" * 20 + " 0",
    "states beyond exactness": "MARKOV 1 99999999999999999999 0",
    "entries of a table": f"MARKOV 24 {'2 ' * 24} 1 24 {' '.join(map(str, range(24)))} 16777216 1 1 1",
    "entries beyond any number": f"MARKOV 24 {'600000 ' * 24} 1 24 {' '.join(map(str, range(24)))} 1 1 1 1",
}


@pytest.mark.parametrize("case", HUGE)
def test_huge_declared_sizes_are_refused_before_memory_is_taken(tmp_path: Path, case: str) -> None:
    path = saved(tmp_path, HUGE[case])
    tracemalloc.start()
    try:
        with pytest.raises(GraphFileError):
            read_uai(path)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_unary_factors_that_say_nothing_are_not_written(tmp_path: Path) -> None:
    graph = FactorGraph.from_factors([2, 2, 2], [((1,), np.log([0.25, 0.5])), ((0, 2), np.log([[1, 2], [3, 4]]))])
    write_uai(tmp_path / "graph.uai", graph)
    words = (tmp_path / "graph.uai").read_text().split()
    assert words[:11] == ["MARKOV", "3", "2", "2", "2", "2", "1", "1", "2", "0", "2"]
    assert [float(word) for word in words[11:]] == pytest.approx([2, 0.25, 0.5, 4, 1, 2, 3, 4], rel=1e-15)


# Evidence -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def graph() -> FactorGraph:
    return FactorGraph.from_factors([2, 3, 4], [((0, 1), np.zeros((2, 3)))])


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("0", {}),
        ("1 2 3", {2: 3}),
        ("2 0 1 1 2", {0: 1, 1: 2}),
        ("2\n0 1\n1 2\n", {0: 1, 1: 2}),
        ("1\n0\n", {}),
        ("1\n1 2 3\n", {2: 3}),
        ("1\n2 0 1 1 2\n", {0: 1, 1: 2}),
        ("2 1 2 1 2", {1: 2}),
    ],
)
def test_both_forms_of_evidence_are_read(tmp_path: Path, graph: FactorGraph, text: str, states: dict[int, int]) -> None:
    assert read_evidence(saved(tmp_path, text, "graph.evid"), graph) == states


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty"),
        ("1 3 0", "line 1: evidence names variable 3, where one of the graph's own, 0 to 2"),
        ("2\n0 1\n1 3", "line 3: evidence says variable 1 is in state 3, where 0 to 2"),
        ("2\n0 1\n0 0", "line 3: evidence says variable 0 is in state 1 and in state 0"),
        ("1 -1 0", 'found "-1"'),
        ("1 0 0.5", 'found "0.5"'),
        ("1 0 nan", 'found "nan" where a finite number'),
        ("1 0 x", 'found "x" where a number'),
        ("2 0 1", "declares 2 observed variables, but 2 numbers follow, where 4"),
        ("0 0", "declares 0 observed variables, but 1 numbers"),
        ("0 0 1", "declares 0 observed variables, but 2 numbers"),
        ("2 0 1 1", "declares 2 observed variables, but 3 numbers follow"),
        ("1\n2 0 1\n", "declares 2 observed variables, but 2 numbers follow"),
        ("3\n1 0 1\n1 0 0\n1 1 1", "line 1: the file holds 3 samples of evidence, where one"),
        ("1000000000000 0 1", "declares 1000000000000 observed variables"),
    ],
)
def test_bad_evidence_is_refused_in_one_sentence(tmp_path: Path, graph: FactorGraph, text: str, expected: str) -> None:
    path = saved(tmp_path, text, "graph.evid")
    with pytest.raises(GraphFileError) as caught:
        read_evidence(path, graph)
    message = str(caught.value)
    assert expected in message
    assert re.fullmatch(re.escape(str(path)) + r"(, line \d+)?: .*\.", message)  # and no line break


def test_evidence_comes_back_as_written(tmp_path: Path, graph: FactorGraph) -> None:
    for states in ({}, {1: 2}, {2: 3, 0: 1}):
        write_evidence(tmp_path / "graph.evid", states, graph)
        assert read_evidence(tmp_path / "graph.evid", graph) == states
    with pytest.raises(GraphError, match="state 2"):
        write_evidence(tmp_path / "graph.evid", {0: 2}, graph)


def test_evidence_on_a_labelled_graph_goes_by_label(tmp_path: Path) -> None:
    labelled = FactorGraph.from_factors([2, 3], [((0, 1), np.zeros((2, 3)))], labels=[4, 9])
    assert read_evidence(saved(tmp_path, "1 9 2", "graph.evid"), labelled) == {1: 2}
    with pytest.raises(GraphFileError, match="variable 1"):
        read_evidence(saved(tmp_path, "1 1 2", "graph.evid"), labelled)
    write_evidence(tmp_path / "graph.evid", {1: 2}, labelled)
    assert (tmp_path / "graph.evid").read_text().split() == ["1", "9", "2"]


@pytest.mark.parametrize(("bad", "wanted"), [("p", "a number"), ("1e+", "a number"), ("nan", "a finite number")])
def test_the_first_word_that_is_no_number_is_soon_found_among_millions(tmp_path: Path, bad: str, wanted: str) -> None:
    """Word by word it took eight times as long as the numbers themselves."""
    path, count = tmp_path / "a.uai", 1_000_000
    path.write_bytes(b"MARKOV\r\n" + b"10\n" * count + bad.encode())
    began = time.process_time()
    assert len(list(map(float, path.read_bytes().split()[1:-1]))) == count
    numbers, began = time.process_time() - began, time.process_time()
    with pytest.raises(GraphFileError, match=f'line {count + 2}: found "{re.escape(bad)}" where {wanted} was'):
        read_uai(path)
    assert time.process_time() - began < 5 * numbers


@pytest.mark.parametrize("text", [b"", b"a", b"a\nb", b"a\r\nb\n", b"\r\r\n\n\ra\n\n"])
def test_lines_are_counted_as_editors_do(text: bytes) -> None:
    assert [line_of(text + b"x", at) for at in (0, len(text))] == [1, len((text + b"x").splitlines())]
