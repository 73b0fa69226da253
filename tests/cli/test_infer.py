"""`mrfstudio infer` beside its graph: one α an edge, priors, and why a number is missing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mrfstudio.cli import main
from mrfstudio.engine.files.graphs.graph import write_graph
from mrfstudio.engine.graphs.ising import ising_grid

EDGES = [(0, 1), (1, 2), (2, 0), (2, 3)]
TABLES = [[2.0, 1.0, 1.0, 3.0], [1.0, 4.0, 2.0, 1.0], [3.0, 1.0, 2.0, 2.0], [1.0, 2.0, 5.0, 1.0]]


def uai(cards: list[int], scopes: list[tuple[int, ...]], tables: list[list[float]]) -> str:
    head = ["MARKOV", str(len(cards)), " ".join(map(str, cards)), str(len(scopes))]
    head += [" ".join(map(str, (len(scope), *scope))) for scope in scopes]
    return "\n".join([*head, *(f"{len(table)}\n{' '.join(map(str, table))}" for table in tables)])


@pytest.fixture
def triangle(tmp_path: Path) -> Path:
    """A triangle with a tail."""
    path = tmp_path / "triangle.uai"
    path.write_text(uai([2, 2, 2, 2], EDGES, TABLES))
    return path


def joint(priors: np.ndarray | None = None) -> np.ndarray:
    states = np.indices((2, 2, 2, 2))
    table = np.ones((2, 2, 2, 2))
    for (a, b), values in zip(EDGES, TABLES, strict=True):
        table = table * np.reshape(values, (2, 2))[states[a], states[b]]
    for variable, prior in enumerate(np.ones((4, 2)) if priors is None else priors):
        table = table * prior[states[variable]]
    return table


def infer(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    assert main(["infer", *map(str, words), "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main(["infer", *map(str, words)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_priors_are_one_more_factor_on_each_variable(
    triangle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    priors = np.array([[1.0, 3.0], [0.5, 0.5], [2.0, 1.0], [0.0, 1.0]])
    (tmp_path / "priors.txt").write_text("\n".join(" ".join(map(str, row)) for row in priors))
    found = infer(capsys, triangle, "--algorithm", "exact", "--priors", tmp_path / "priors.txt")
    table = joint(priors)
    assert found["log_partition"] == pytest.approx(np.log(table.sum()), abs=1e-9)
    for variable, marginal in enumerate(found["marginals"]):
        others = tuple(axis for axis in range(4) if axis != variable)
        np.testing.assert_allclose(marginal, table.sum(others) / table.sum(), atol=1e-9)


def test_an_alpha_for_each_edge_is_used_and_judged(
    triangle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "alphas.txt"
    file.write_text("0.7 0.7 0.7 0.7\n")
    equal = infer(capsys, triangle, "--algorithm", "alpha-bp", "--edge-alphas", file)
    one = infer(capsys, triangle, "--algorithm", "alpha-bp", "--alpha", "0.7")
    np.testing.assert_allclose(equal["marginals"], one["marginals"], atol=1e-9)
    assert equal["diagnostics"]["sigma_max"] == pytest.approx(one["diagnostics"]["sigma_max"], rel=1e-5)
    file.write_text("1 1 1 0.3")
    tail = infer(capsys, triangle, "--algorithm", "alpha-bp", "--edge-alphas", file)
    assert tail["diagnostics"]["sigma_max"] != pytest.approx(one["diagnostics"]["sigma_max"], rel=1e-3)


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("--edge-alphas", "0.5 0.5", "one α for each of 4 edges"),
        ("--edge-alphas", "0.5 0.5 3 0.5", 'an α is "3"'),
        ("--priors", "1 1 1", "one for each of 8 states"),
        ("--priors", "1 1 1 1 1 -1 1 1", "a probability was expected"),
        ("--priors", "1 1 1 1 0 0 1 1", "variable 2 forbids every state"),
    ],
)
def test_numbers_that_do_not_fit_the_graph_are_refused(
    triangle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, text: str, words: str
) -> None:
    (tmp_path / "numbers.txt").write_text(text)
    sentence = refusal(capsys, triangle, "--algorithm", "alpha-bp", option, tmp_path / "numbers.txt")
    assert words in sentence
    assert "numbers.txt" in sentence


def test_edge_alphas_need_an_algorithm_with_alpha(
    triangle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "alphas.txt").write_text("1 1 1 1")
    assert "alpha-bp" in refusal(capsys, triangle, "--algorithm", "bp", "--edge-alphas", tmp_path / "alphas.txt")


def test_where_there_is_no_contraction_matrix_the_reason_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    three = tmp_path / "three.uai"
    three.write_text(uai([3, 2], [(0, 1)], [[1, 2, 3, 4, 5, 6]]))
    found = infer(capsys, three, "--algorithm", "alpha-bp")
    assert "two states" in found["no_diagnostics"]
    assert "bp" in found["no_diagnostics"]
    assert "diagnostics" not in found
    triple = tmp_path / "triple.uai"
    triple.write_text(uai([2, 2, 2], [(0, 1, 2)], [[1, 2, 3, 4, 5, 6, 7, 8]]))
    assert "two variables" in infer(capsys, triple, "--algorithm", "bp")["no_diagnostics"]
    assert "no_diagnostics" not in infer(capsys, triple, "--algorithm", "exact")


@pytest.mark.parametrize("algorithm", ["alpha-bp", "trw"])
def test_factors_of_three_are_refused_with_an_algorithm_that_can(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], algorithm: str
) -> None:
    triple = tmp_path / "triple.uai"
    triple.write_text(uai([2, 2, 2], [(0, 1, 2)], [[1, 2, 3, 4, 5, 6, 7, 8]]))
    assert "bp covers factors of any order" in refusal(capsys, triple, "--algorithm", algorithm)


def test_a_graph_too_large_for_exact_is_refused_with_sizes_and_another_algorithm(
    triangle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [(a, b) for a in range(45) for b in range(a)]
    dense = tmp_path / "dense.uai"
    dense.write_text(uai([2] * 45, pairs, [[1.0, 2.0, 2.0, 1.0]] * len(pairs)))
    sentence = refusal(capsys, dense, "--algorithm", "exact")
    assert "memory" in sentence
    assert "use bp" in sentence
    small = refusal(capsys, triangle, "--algorithm", "exact", "--memory", "0.0000001")
    assert "may be used" in small


def test_auto_says_what_it_picked_and_is_exact_where_that_fits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = ising_grid(4, 4, coupling=0.8, seed=1)
    write_graph(tmp_path / "grid.uai", graph)
    answers = {}
    for algorithm in ("auto", "exact"):
        assert main(["infer", str(tmp_path / "grid.uai"), "--algorithm", algorithm, "--json", "-"]) == 0
        answers[algorithm] = json.loads(capsys.readouterr().out)
    np.testing.assert_allclose(answers["auto"]["marginals"], answers["exact"]["marginals"], atol=1e-9)
    assert answers["auto"]["log_partition"] == pytest.approx(answers["exact"]["log_partition"])
    assert answers["auto"]["estimated_error"] == 0
    assert "fits" in answers["auto"]["picked"]
    assert main(["infer", str(tmp_path / "grid.uai"), "--algorithm", "auto", "--seconds", "5"]) == 0
    assert "picked exact by a join tree" in capsys.readouterr().out
