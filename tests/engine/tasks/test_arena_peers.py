"""Other libraries in the arena: how they are found, asked and read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.tasks import arena_peers
from mrfstudio.engine.tasks.answers_of_libdai import last_answer
from mrfstudio.engine.tasks.answers_of_pgmpy import read
from mrfstudio.engine.tasks.arena import arena
from tests.engine.tasks.test_arena import put


def test_a_peer_that_is_not_there_is_said_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MRFSTUDIO_PEERS", str(tmp_path))
    monkeypatch.delenv("MRFSTUDIO_LIBDAI", raising=False)
    put(tmp_path)
    assert arena_peers.installed() == []
    for name in arena_peers.NAMES:
        with pytest.raises(StudioError, match=f"^{name} cannot answer here: .*\\.$"):
            arena(tmp_path, [name], tmp_path / "out.jsonl")


def test_the_last_whole_answer_of_libdai_counts() -> None:
    first, better = "\n1\n2 2 0.5 0.5 3 0.2 0.3 0.5\n", "-BEGIN-\n1\n2 2 0.4 0.6 3 0.1 0.3 0.6\n"
    assert last_answer("MAR" + first) == [[0.5, 0.5], [0.2, 0.3, 0.5]]
    assert last_answer("MAR" + first + better) == [[0.4, 0.6], [0.1, 0.3, 0.6]]
    assert last_answer("MAR" + first + better[:-8]) == [[0.5, 0.5], [0.2, 0.3, 0.5]]
    assert last_answer("MAR\n") == []


@pytest.mark.skipif(sys.platform == "win32", reason="the solver that stands in is a script with a first line")
def test_libdais_solver_is_given_graph_and_evidence_and_its_answer_is_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver = tmp_path / "dai" / "examples" / arena_peers.SOLVER
    solver.parent.mkdir(parents=True)
    lines = [
        f"#!{sys.executable}",
        "import pathlib, sys",
        "graph, evidence, seed, task = sys.argv[1:]",
        "assert pathlib.Path(evidence).read_text().split() == ['1', '1', '0', '1']",
        "pathlib.Path(pathlib.Path(graph).name + '.' + task).write_text('MAR 1 2 2 0 1 2 0.6 0.4')",
    ]
    solver.write_text("\n".join(lines))
    solver.chmod(0o755)
    graphs = tmp_path / "graphs"
    graphs.mkdir()
    put(graphs, truth="MAR\n2 2 0 1 2 0.6 0.4\n")
    (graphs / "pair.uai.evid").write_text("1 0 1\n")
    monkeypatch.setenv("MRFSTUDIO_LIBDAI", str(tmp_path / "dai"))
    row = arena(graphs, ["libdai"], tmp_path / "out.jsonl", seconds=60.0)[0]
    assert row["hellinger"] == pytest.approx(0.0, abs=1e-7)
    assert row["said"] == "ended"


def test_the_script_for_pgmpy_reads_uai_files(tmp_path: Path) -> None:
    put(tmp_path)
    assert read(str(tmp_path / "pair.uai")) == ([2, 2], [([0, 1], [4.0, 1.0, 2.0, 3.0])])
