"""What holds for every graph format: nothing is lost by writing and reading, and no damage gets through."""

from __future__ import annotations

import gzip
import itertools
import math
import random
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mrfstudio.engine.files.graphs import text
from mrfstudio.engine.files.graphs.graph import FORMATS, read_graph, write_graph
from mrfstudio.engine.files.graphs.text import GraphFileError
from mrfstudio.engine.files.graphs.uai import read_evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph

ENDINGS = [*FORMATS, *(f"{ending}.gz" for ending in FORMATS)]


def scores(graph: FactorGraph) -> np.ndarray:
    """Log of the unnormalised probability of every assignment."""
    return np.array([graph.score(x) for x in itertools.product(*(range(k) for k in graph.cardinalities))])


def random_graph(seed: int) -> FactorGraph:
    """Mixed numbers of states, orders 0 to 3, zeros, duplicate scopes, a lone variable."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 4, size=5)
    factors = []
    for order in (0, 1, 1, 2, 2, 2, 3):
        scope = tuple(int(v) for v in rng.permutation(4)[:order])
        table = rng.normal(scale=3, size=tuple(cards[list(scope)]))
        factors.append((scope, np.where(rng.random(table.shape) < 0.15, -np.inf, table) if order > 1 else table))
        if np.isneginf(factors[-1][1]).all():
            factors[-1] = (scope, table)
    factors.append((factors[3][0], factors[3][1] * 0.5))
    return FactorGraph.from_factors(cards, factors)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("seed", range(6))
def test_writing_and_reading_keeps_every_score(tmp_path: Path, ending: str, seed: int) -> None:
    graph = random_graph(seed)
    write_graph(tmp_path / f"graph{ending}", graph)
    again = read_graph(tmp_path / f"graph{ending}")
    assert again.cardinalities.tolist() == graph.cardinalities.tolist()
    assert scores(again) == pytest.approx(scores(graph), abs=1e-12)
    assert ordered_scopes(again) == ordered_scopes(graph)


def ordered_scopes(graph: FactorGraph) -> list[list[int]]:
    found = [
        pair for group in graph.groups for pair in zip(group.positions.tolist(), group.scopes.T.tolist(), strict=True)
    ]
    return [scope for _, scope in sorted(found)]


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize(
    ("tables", "constant"),
    [
        ([[[0, 900], [800, 5]]], 0.0),
        ([[[0, -900], [-800, -5]]], 0.0),
        ([[[2000, 2100], [2050, 2001]], [[-2000, -2100], [-2050, -2001]]], 3.5),
        ([[[0, 1], [2, -math.inf]]], 1000.0),
        ([[[0, 1], [2, -math.inf]]], -1000.0),
        ([[[600, 0], [0, -600]], [[0, 0], [0, 1]]], 1100.0),
    ],
)
def test_logarithms_beyond_exp_are_kept(tmp_path: Path, ending: str, tables: list[object], constant: float) -> None:
    graph = FactorGraph.from_factors([2, 2], [((0, 1), np.array(table)) for table in tables])
    graph = FactorGraph(graph.cardinalities, graph.groups, [[0.25, 0.0], [0.0, 0.0]], constant=constant)
    write_graph(tmp_path / f"graph{ending}", graph)
    assert scores(read_graph(tmp_path / f"graph{ending}")) == pytest.approx(scores(graph), rel=1e-13, abs=1e-12)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_constant_alone_is_kept(tmp_path: Path, ending: str) -> None:
    graph = FactorGraph([2, 3], [], constant=-2.5)
    write_graph(tmp_path / f"graph{ending}", graph)
    assert scores(read_graph(tmp_path / f"graph{ending}")) == pytest.approx(np.full(6, -2.5), abs=1e-14)


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize(
    ("table", "constant", "expected"),
    [
        ([[0, -1500], [0, 0]], 0.0, "from -1500 to 0"),
        ([[0, 0], [0, 1]], 1e5, "exp\\(100000\\)"),
        ([[0, 0], [0, 1]], -1e5, "exp\\(-100000\\)"),
        ([[0, 0], [0, 1]], math.nan, "exp\\(nan\\)"),
        ([[-math.inf, -math.inf], [-math.inf, -math.inf]], 0.0, "forbids every state"),
    ],
)
def test_what_linear_values_cannot_hold_is_refused(
    tmp_path: Path, ending: str, table: list[list[float]], constant: float, expected: str
) -> None:
    graph = FactorGraph.from_factors([2, 2], [((0, 1), np.array(table))])
    graph = FactorGraph(graph.cardinalities, graph.groups, constant=constant)
    with pytest.raises(GraphFileError, match=expected):
        write_graph(tmp_path / f"graph{ending}", graph)
    assert not list(tmp_path.iterdir())


def test_the_ending_chooses_the_format_and_others_are_refused(tmp_path: Path) -> None:
    write_graph(tmp_path / "GRAPH.UAI", random_graph(0))
    assert (tmp_path / "GRAPH.UAI").read_text().startswith("MARKOV")
    for name in ("graph.txt", "graph", "graph.gz", "graph.evid"):
        with pytest.raises(GraphFileError, match=r"\.uai, \.fg, \.bif"):
            read_graph(tmp_path / name)
    with pytest.raises(GraphFileError, match=r"\.uai or \.fg"):
        write_graph(tmp_path / "graph.png", random_graph(0))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GraphFileError, match="cannot be written"):
        write_graph(tmp_path / "nowhere" / "graph.uai", random_graph(0))


def test_damaged_and_oversized_compressed_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "graph.fg.gz"
    write_graph(path, random_graph(0))
    whole = path.read_bytes()
    for damaged in (whole[:-20], b"plain text", whole[:20] + b"!!!!" + whole[24:]):
        path.write_bytes(damaged)
        with pytest.raises(GraphFileError, match="damaged"):
            read_graph(path)
    monkeypatch.setattr(text, "MAX_BYTES", 1 << 20)
    path.write_bytes(gzip.compress(b" " * (1 << 20) + b"1"))
    with pytest.raises(GraphFileError, match="more than 1 MB"):
        read_graph(path)
    plain = tmp_path / "graph.fg"
    plain.write_bytes(b" " * (1 << 20) + b"1")
    with pytest.raises(GraphFileError, match="more than 1 MB"):
        read_graph(plain)


def test_files_longer_than_one_piece_are_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_graph(tmp_path / "graph.uai", random_graph(1))
    expected = scores(read_graph(tmp_path / "graph.uai"))
    for size in (1, 2, 7):
        monkeypatch.setattr(text, "CHUNK", size)
        assert (scores(read_graph(tmp_path / "graph.uai")) == expected).all()


# Damage -------------------------------------------------------------------------------------------------------------

WORDS = [
    b"0",
    b"1",
    b"-1",
    b"3",
    b"99",
    b"1e12",
    b"1000000000000",
    b"1e-400",
    b"nan",
    b"inf",
    b"0.5",
    b"#",
    b"\xff",
    b"\0",
]


def mutations(good: bytes, count: int, seed: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    for _ in range(count):
        data = good
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            data = mutated(data, rng)
        yield data


def mutated(data: bytes, rng: random.Random) -> bytes:
    kind, at = rng.randrange(7), rng.randrange(len(data) + 1)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    if kind == 2:
        return data[:at] + data[at + rng.randrange(1, 20) :]
    if kind == 3:
        return data[:at] + data[max(0, at - rng.randrange(1, 20)) :]
    words = data.split(b" ")
    place = rng.randrange(len(words))
    if kind == 4:
        words[place] = rng.choice(WORDS)
    elif kind == 5:
        words.insert(place, rng.choice(WORDS))
    else:
        del words[place]
    return b" ".join(words)


def assert_valid(graph: FactorGraph) -> None:
    assert (graph.cardinalities >= 1).all()
    assert len(set(graph.labels)) == graph.variables
    assert not math.isnan(graph.score(np.zeros(graph.variables)))
    for group in graph.groups:
        scopes = group.scopes.numpy()
        assert ((scopes >= 0) & (scopes < graph.variables)).all()
        assert (graph.cardinalities[scopes] == np.array(group.shape)[:, None]).all()
        assert bool((group.tables < math.inf).all())  # and no entry that is not a number


def one_sentence(error: GraphFileError, path: Path) -> bool:
    return re.fullmatch(re.escape(str(path)) + r"(, line \d+)?: .*\.", str(error)) is not None


@pytest.mark.parametrize("ending", FORMATS)
def test_no_damage_gives_anything_but_a_graph_or_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    path = tmp_path / f"graph{ending}"
    write_graph(path, random_graph(3))
    refusals, graphs = [], 0
    for data in mutations(path.read_bytes(), 1000, seed=5):
        monkeypatch.setattr(text, "_read_bytes", lambda _, data=data: data)
        try:
            assert_valid(read_graph(path))
            graphs += 1
        except GraphFileError as error:
            refusals.append(one_sentence(error, path))
    assert all(refusals)
    assert min(graphs, len(refusals)) > 40


def test_no_damage_to_evidence_gives_anything_but_states_or_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    path, graph = Path("graph.evid"), random_graph(3)
    good = f"3 0 {graph.cardinalities[0] - 1} 2 0 4 0\n".encode()
    refusals, accepted = [], 0
    for data in mutations(good, 1000, seed=6):
        monkeypatch.setattr(text, "_read_bytes", lambda _, data=data: data)
        try:
            graph.evidence(read_evidence(path, graph))
            accepted += 1
        except GraphFileError as error:
            refusals.append(one_sentence(error, path))
    assert all(refusals)
    assert min(accepted, len(refusals)) > 25
