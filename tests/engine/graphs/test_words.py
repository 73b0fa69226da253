"""Graphs in words: what a command line says is what the window shows."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import numpy as np
import pytest
import torch

from mrfstudio.cli import main
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.names import Names
from mrfstudio.engine.graphs.sketch import Strengths
from mrfstudio.engine.graphs.sources import SOURCES, make_source
from mrfstudio.engine.graphs.words import evidence_of, graph_of, is_words, option_fields, sketch_of, words_of
from mrfstudio.engine.protocol.catalogue import ParameterError

TAKEN = ("seed", "temperature")


@pytest.mark.parametrize(
    ("source", "parameters", "strengths"),
    [
        ("ring", {"nodes": 7}, {"coupling": 2.0}),
        ("grid", {"rows": 3, "columns": 4, "couplings": "equal", "seed": 5}, {"field": 0.25, "temperature": 1.5}),
        ("erdos-renyi", {"nodes": 9, "probability": 0.4}, {}),
        ("mimo", {"antennas": 2, "snr": 4.0}, {}),
        ("torus", {"rows": 3, "columns": 3}, {"coupling": 0.1}),
    ],
)
def test_words_make_the_same_graph_again(source: str, parameters: dict, strengths: dict) -> None:
    made = make_source(source, parameters)
    sketch = made.sketch(made.first.replace(**strengths))
    words = words_of(sketch, TAKEN)
    assert words is not None
    known = option_fields(words[0], TAKEN)
    values = {
        known[option].name: known[option].check(value) for option, value in zip(words[1::2], words[2::2], strict=True)
    }
    again = sketch_of(words[0], values)
    assert again.same_graph(sketch)
    np.testing.assert_array_equal(graph_of(again).unary.numpy(), graph_of(sketch).unary.numpy())


def test_options_that_the_algorithm_has_too_are_told_apart() -> None:
    assert {"--graph-seed", "--graph-temperature", "--coupling"} <= set(option_fields("ring:5", TAKEN))
    assert is_words("ring:5")
    assert not is_words("drawn")
    assert not is_words("ring.uai")


def test_a_graph_that_was_edited_has_no_words() -> None:
    sketch = SOURCES["ring"]().sketch(Strengths())
    moved = sketch.couplings.copy()
    moved[0] += 1
    assert words_of(replace(sketch, couplings=moved), TAKEN) is None
    assert words_of(SOURCES["drawn"]().sketch(), TAKEN) is None


def test_evidence_in_words_is_checked() -> None:
    graph = graph_of(sketch_of("ring:5", {}))
    vectors = graph.unpack(evidence_of("3=1,0=0@0.5", graph).log_potentials)
    assert vectors[3].tolist() == [-np.inf, 0.0]
    assert vectors[0].tolist() == [0.0, -5.0]
    for wrong in ("9=0", "3=2", "3", "3=1@2"):
        with pytest.raises(ParameterError, match="--observe"):
            evidence_of(wrong, graph)
    with pytest.raises(ParameterError, match="sizes"):
        sketch_of("ring:5x6", {})


def test_a_line_of_words_prints_marginals(capsys: pytest.CaptureFixture[str]) -> None:
    line = "infer ring:5 --coupling 2 --field 0.5 --couplings equal --graph-seed 3 --observe 2=1 --algorithm exact"
    assert main([*shlex.split(line), "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["variables"] == [0, 1, 2, 3, 4]
    assert told["marginals"][2] == pytest.approx([0.0, 1.0])
    assert told["marginals"][1][1] > 0.9  # equal couplings of strength 2 pull neighbours along


def test_evidence_in_words_takes_names_where_the_graph_has_some() -> None:
    names = Names(("Rain", "Grass"), (("no", "yes"), ("dry", "damp", "soaked")))
    graph = FactorGraph.from_factors([2, 3], [((0, 1), np.zeros((2, 3)))], names=names)
    by_name = evidence_of("Grass=soaked,Rain=yes@0.5", graph)
    by_number = evidence_of("1=2,0=1@0.5", graph)
    assert torch.equal(by_name.log_potentials, by_number.log_potentials)
    for wrong in ("Grass=wet", "Snow=yes", "Grass=3"):
        with pytest.raises(ParameterError, match="such as Rain=no"):
            evidence_of(wrong, graph)
