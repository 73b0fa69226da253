"""The arena: scores against published marginals, what is there is not run again, log Z and estimates."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.tasks import arena as task
from mrfstudio.engine.tasks.arena import arena, distance, log_z_errors, read_marginals, read_rows, table

PAIR = "MARKOV\n2\n2 2\n1\n2 0 1\n4\n4 1 2 3\n"


def put(folder: Path, name: str = "pair", truth: str = "MAR\n2 2 0.5 0.5 2 0.6 0.4\n") -> None:
    (folder / f"{name}.uai").write_text(PAIR)
    (folder / f"{name}.uai.evid").write_text("0\n")
    (folder / f"{name}.uai.MAR").write_text(truth)


def test_every_algorithm_is_scored_by_a_run_of_its_own(tmp_path: Path) -> None:
    put(tmp_path)
    rows = arena(tmp_path, ["auto"], tmp_path / "out.jsonl", seconds=60.0)
    assert rows[0]["hellinger"] == pytest.approx(0.0, abs=1e-7)
    assert rows[0]["log_partition"] == pytest.approx(math.log(10))
    assert rows[0]["estimated_error"] == 0.0


def test_what_is_there_is_not_run_again_and_half_a_line_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "one")
    put(tmp_path, "two")
    ran: list[str] = []

    def run(path: Path, algorithm: str, *_: Any) -> dict[str, Any]:
        ran.append(path.stem)
        return {"hellinger": 0.5, "wall": 1.0, "said": algorithm, "log_partition": None}

    monkeypatch.setattr(task, "_run", run)
    out, seen = tmp_path / "out.jsonl", []
    first = arena(tmp_path, ["bp"], out, only=["one"])
    with open(out, "a", encoding="utf-8") as file:
        file.write('{"graph": "two", "algor')
    with open(out, "a", encoding="utf-8") as file:
        file.write("\n")
    both = arena(tmp_path, ["bp"], out, report=seen.append)
    assert ran == ["one", "two"]
    assert both[0] == first[0]
    assert seen == both
    assert [row["graph"] for row in read_rows(out)] == ["one", "two"]
    arena(tmp_path, ["bp"], out, seconds=5.0)
    assert ran == ["one", "two", "one", "two"]  # another time is another run


def test_a_run_that_is_refused_counts_as_one_and_says_why(tmp_path: Path) -> None:
    put(tmp_path)
    (tmp_path / "pair.uai").write_text("MARKOV\n2\n2 2\n1\n2 0 1\n4\n4 1 2\n")
    (row,) = arena(tmp_path, ["bp"], tmp_path / "out.jsonl", seconds=60.0)
    assert row["hellinger"] == 1.0
    assert row["said"]
    assert row["said"] != "no answer in time"


def test_distances_are_those_of_hellinger_and_no_number_counts_as_one() -> None:
    truth = [np.array([1.0, 0.0]), np.array([0.5, 0.5])]
    assert distance([[1.0, 0.0], [0.5, 0.5]], truth) == 0.0
    assert distance([[0.0, 1.0], [0.5, 0.5]], truth) == pytest.approx(0.5)
    assert distance([[1.0, 0.0], [None, None]], truth) == pytest.approx(0.5)


def row(graph: str, algorithm: str, hellinger: float, log_z: float | None, kind: str, estimate: float | None) -> Any:
    return {
        "graph": graph,
        "algorithm": algorithm,
        "hellinger": hellinger,
        "log_partition": log_z,
        "log_partition_kind": kind,
        "estimated_error": estimate,
    }


def test_log_z_is_compared_with_the_published_one_or_an_exact_answer(tmp_path: Path) -> None:
    rows = [
        row("a", "auto", 0.0, 3.0, "exact", 0.0),
        row("a", "bp", 0.1, 3.5, "estimate", None),
        row("b", "bp", 0.1, 7.0, "estimate", None),
        row("c", "bp", 0.1, 2.0, "estimate", None),
    ]
    (tmp_path / "c.uai.PR").write_text("PR\n1.0\n")
    found = log_z_errors(rows, tmp_path)
    assert found == {("a", "auto"): 0.0, ("a", "bp"): 0.5, ("c", "bp"): pytest.approx(math.log(10) - 2.0)}


def test_the_table_has_means_and_says_which_estimates_were_too_small(tmp_path: Path) -> None:
    rows = [row("a", "auto", 0.3, 3.0, "estimate", 0.1), row("b", "auto", 0.1, 3.0, "estimate", 0.2)]
    shown = table(rows, tmp_path)
    assert "0.2000" in next(line for line in shown.splitlines() if line.startswith("mean "))
    assert "on 1 of 2 graphs" in shown


def test_a_folder_without_graphs_and_a_graph_without_truth_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="no graph"):
        arena(tmp_path, ["bp"], tmp_path / "out.jsonl")
    (tmp_path / "pair.uai").write_text(PAIR)
    with pytest.raises(StudioError, match="MAR"):
        arena(tmp_path, ["bp"], tmp_path / "out.jsonl")
    assert json.dumps(read_rows(tmp_path / "out.jsonl")) == "[]"


@pytest.mark.parametrize(
    "text", ["", "MAR", "x", "1000000000000 -1", "1 2 0.5", "1 2 0.5 nan", "1 2 0.5 é", "1 0", "1 2 9 9"]
)
def test_a_damaged_solution_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.uai.MAR"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StudioError, match="no file of marginals") as refused:
        read_marginals(path)
    assert "\n" not in str(refused.value)


def test_lines_of_results_that_are_no_results_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    whole = {"graph": "a", "algorithm": "bp", "seconds_given": 1.0, "hellinger": 0.5}
    path.write_text("\n".join(["[" * 100_000, "3", "{}", json.dumps(whole), '{"graph": "b"']), encoding="utf-8")
    assert read_rows(path) == [whole]
    path.write_bytes(b"\xff\n" + json.dumps(whole).encode())
    assert read_rows(path) == [whole]
