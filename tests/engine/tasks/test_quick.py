"""Small graphs are answered by `auto` without torch, with the same numbers and words as with it."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from mrfstudio.engine.files.graphs.graph import read_graph, write_graph
from mrfstudio.engine.files.graphs.uai import write_evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.words import arrays_of, graph_of, sketch_of
from mrfstudio.engine.inference.join import budget
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.tasks.infer import infer_file
from mrfstudio.engine.tasks.quick import quickly


def drawn(seed: int, zeros: float) -> FactorGraph:
    """Ten variables of two to four states under factors of up to three of them, some entries of which are zero."""
    draw = np.random.default_rng(seed)
    cards = draw.integers(2, 5, 10)
    hidden = [int(draw.integers(k)) for k in cards]  # stays possible
    factors: list[tuple[tuple[int, ...], np.ndarray]] = [((), np.array(0.3))]
    for number in range(16):
        scope = tuple(int(v) for v in draw.choice(10, 1 + number % 3, replace=False))
        table = draw.normal(0, 1.5, [cards[v] for v in scope])
        table[draw.random(table.shape) < zeros] = -np.inf
        table[tuple(hidden[v] for v in scope)] = 0.0
        factors.append((scope, table))
    return FactorGraph.from_factors(cards, factors)


def same(one: dict[str, object], other: dict[str, object]) -> None:
    assert one.keys() == other.keys()
    for key in one.keys() - {"seconds", "parameters", "marginals", "log_partition"}:
        assert one[key] == other[key], key
    assert one["log_partition"] == pytest.approx(other["log_partition"], abs=1e-9)
    for mine, theirs in zip(one["marginals"], other["marginals"], strict=True):  # type: ignore[call-overload]
        assert np.abs(np.subtract(mine, theirs)).max() < 1e-9


@pytest.mark.parametrize("ending", ["uai", "fg"])
@pytest.mark.parametrize(("seed", "zeros"), [(0, 0.0), (1, 0.3), (2, 0.5)])
def test_the_answer_is_the_one_of_auto(tmp_path: Path, seed: int, zeros: float, ending: str) -> None:
    path, given = tmp_path / f"drawn.{ending}", tmp_path / "drawn.evid"
    write_graph(path, drawn(seed, zeros))
    slow = infer_file(path, "auto")
    states = {1: int(np.argmax(slow["marginals"][1]))}
    write_evidence(given, states, read_graph(path))
    for evidence in (None, given):
        quick = quickly(path, evidence, {}).result
        assert quick is not None
        same(quick, infer_file(path, "auto", evidence_path=evidence))


@pytest.mark.parametrize("words", [["drawn.uai"], ["grid:3x4", "--coupling", "0.9", "--graph-seed", "2"]])
def test_the_command_loads_no_torch(tmp_path: Path, words: list[str]) -> None:
    write_graph(tmp_path / "drawn.uai", drawn(3, 0.2))
    code = (
        "import sys; from mrfstudio.cli import main\n"
        f"status = main(['infer', *{words}, '--algorithm', 'auto', '--seconds', '5', '--json', '-'])\n"
        "sys.exit(status or bool({'torch', 'scipy', 'networkx', 'PySide6'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    generated = sketch_of("grid:3x4", {"coupling": 0.9, "seed": 2})
    graph = generated if len(words) > 1 else tmp_path / "drawn.uai"
    same(json.loads(done.stdout), infer_file(graph, "auto", parameters={"seconds": 5.0}))


@pytest.mark.parametrize("word", ["ring:5", "grid:4x3", "torus:3x3", "complete:6", "erdos-renyi:9", "tree:7", "mimo:3"])
def test_graphs_in_words_are_those_of_auto(word: str) -> None:
    sketch = sketch_of(word, {"field": 0.3, "temperature": 0.7})
    for observed in ("", "2=1,0=0@0.5"):
        quick = quickly(sketch, None, {}, observed).result
        assert quick is not None
        same(quick, infer_file(sketch, "auto", observed=observed))


def test_a_graph_in_words_has_the_same_numbers_without_torch() -> None:
    sketch = sketch_of("grid:5x6", {"coupling": 1.37, "field": 0.11, "temperature": 0.83})
    slow, arrays = graph_of(sketch).to(dtype=torch.float64), arrays_of(sketch)
    for mine, theirs in zip(arrays.local({}), slow.unpack(slow.unary), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    ((tables, scopes),) = arrays.tables
    np.testing.assert_array_equal(tables, slow.groups[0].tables.numpy())
    np.testing.assert_array_equal(scopes, slow.groups[0].scopes.numpy())


def test_what_is_not_quick_is_not_looked_for_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "drawn.uai"
    write_graph(path, drawn(4, 0.2))
    expected = quickly(path, None, {}).result
    monkeypatch.setattr(budget, "QUICK", 0.0)
    tried = quickly(path, None, {})
    assert tried.result is None
    assert tried.begun is not None
    asked: list[object] = []
    monkeypatch.setattr("mrfstudio.engine.inference.join.propagation.best_order", lambda *given: asked.append(given))
    found = infer_file(path, "auto", tried=tried)
    assert not asked
    assert found["parameters"]["spent"] >= tried.spent > 0
    assert expected is not None
    assert found["log_partition"] == pytest.approx(expected["log_partition"], abs=1e-9)


def test_time_goes_by_the_clock_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "drawn.uai"
    write_graph(path, drawn(5, 0.0))
    monkeypatch.setattr(budget, "QUICK", 0.0)
    spent = {}
    for clock, seconds in (("processor", 3.0), ("wall", 5.0)):
        ticks = itertools.count(100.0, seconds)
        monkeypatch.setitem(budget.CLOCKS, clock, lambda ticks=ticks: next(ticks))
        spent[clock] = quickly(path, None, {"clock": clock, "seconds": 80_000.0}).spent
    assert spent["processor"] / 3.0 == spent["wall"] / 5.0 >= 2


def test_looking_ends_where_something_quicker_must_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "drawn.uai"
    write_graph(path, drawn(5, 0.0))
    ticks = itertools.count(100.0)
    monkeypatch.setitem(budget.CLOCKS, "wall", lambda: next(ticks))
    ended = quickly(path, None, {"seconds": 20.0, "clock": "wall"})
    assert ended.result is None
    assert ended.begun is None
    assert budget.ANSWERED * 20.0 <= ended.spent <= budget.ANSWERED * 20.0 + 2
    assert quickly(path, None, {"seconds": 20.0, "clock": "counted"}).result is not None


def test_named_networks_and_evidence_in_words(tmp_path: Path) -> None:
    path = tmp_path / "rain.bif"
    path.write_text(BIF)
    for observed in ("", "Wet=yes", "Rain=no,2=1@0.3"):
        quick = quickly(path, None, {}, observed).result
        assert quick is not None
        same(quick, infer_file(path, "auto", observed=observed))
    graph = read_graph(path)
    write_graph(tmp_path / "rain.uai", graph)  # and names beside it
    quick = quickly(tmp_path / "rain.uai", None, {}, "Wet=yes").result
    assert quick is not None
    assert quick["names"][0] == {"name": "Rain", "states": ["no", "yes"]}
    same(quick, infer_file(tmp_path / "rain.uai", "auto", observed="Wet=yes"))


BIF = """
variable Rain { type discrete [ 2 ] { no, yes }; }
variable Wet { type discrete [ 2 ] { no, yes }; }
variable Road { type discrete [ 3 ] { dry, damp, icy }; }
probability ( Rain ) { table 0.7, 0.3; }
probability ( Wet | Rain ) { (no) 0.9, 0.1; (yes) 0.2, 0.8; }
probability ( Road | Wet, Rain ) { default 0.2, 0.3, 0.5; (no, no) 1.0, 0.0, 0.0; }
"""


def test_complaints_are_those_of_infer(tmp_path: Path) -> None:
    table = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    apart = np.array([[-np.inf, 0.0], [0.0, -np.inf]])
    write_graph(tmp_path / "torn.uai", FactorGraph.from_factors([2, 2], [((0, 1), table), ((0, 1), apart)]))
    write_graph(tmp_path / "whole.uai", FactorGraph.from_factors([2, 2], [((0, 1), table)]))
    (tmp_path / "broken.uai").write_text("MARKOV 2 2")
    (tmp_path / "rain.bif").write_text(BIF)
    (tmp_path / "other.txt").write_text("words")
    cases = [("torn.uai", ""), ("broken.uai", ""), ("absent.uai", ""), ("other.txt", ""), ("rain.bif", "Wet=maybe")]
    for name, observed in [*cases, ("whole.uai", "0=0,1=1"), ("rain.bif", "Wet=no,Rain=no,Road=icy")]:
        with pytest.raises(StudioError) as quick:
            quickly(tmp_path / name, None, {}, observed)
        with pytest.raises(StudioError) as slow:
            infer_file(tmp_path / name, "auto", observed=observed)
        assert str(quick.value) == str(slow.value), name
        assert type(quick.value) is type(slow.value)
