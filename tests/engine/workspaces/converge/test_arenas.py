"""The arena for the window: scores as they come, stopped and gone on with."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from mrfstudio.engine.protocol.answers import ArenaScores
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests.converge import RunArena
from mrfstudio.engine.workspaces.converge.arenas import KEPT, Arenas, scored
from tests.engine.tasks.test_arena import put


def drained(work: Generator[object, None, ArenaScores | None]) -> tuple[list[ArenaScores], ArenaScores | None]:
    """The scores that came on the way, and the answer."""
    seen = []
    while True:
        try:
            said = next(work)
        except StopIteration as ended:
            return seen, ended.value
        if isinstance(said, ArenaScores):
            seen.append(said)


def row(graph: str, algorithm: str, error: float, log_z: float, kind: str) -> dict[str, object]:
    return {
        "graph": graph,
        "algorithm": algorithm,
        "hellinger": error,
        "log_partition": log_z,
        "log_partition_kind": kind,
        "wall": 1.0,
        "said": "converged",
    }


def test_scores_have_means_and_errors_of_log_z(tmp_path: Path) -> None:
    rows = [
        row("a", "auto", 0.0, 2.0, "exact"),
        row("a", "bp", 0.2, 2.5, "estimate"),
        row("b", "bp", 0.4, 1.0, "estimate"),
    ]
    found = scored(rows, tmp_path, 4)
    assert found.means == (("auto", 0.0), ("bp", pytest.approx(0.3)))
    assert [score.log_z_error for score in found.scores] == [0.0, 0.5, None]
    assert found.total == 4


def test_a_child_runs_the_folder_and_keeps_what_it_found(tmp_path: Path) -> None:
    put(tmp_path)
    work = Arenas().run(RunArena(str(tmp_path), ("auto",), 60.0))
    seen, last = drained(work)
    assert isinstance(last, ArenaScores)
    assert len(seen) == 1
    assert last.scores[0].hellinger == pytest.approx(0.0, abs=1e-7)
    assert (tmp_path / KEPT).exists()


def test_a_stopped_arena_has_no_answer_and_its_child_is_gone(tmp_path: Path) -> None:
    put(tmp_path)
    arenas = Arenas()
    work = arenas.run(RunArena(str(tmp_path), ("auto",), 60.0))
    next(work)
    arenas.stop()
    assert drained(work)[1] is None


def test_what_cannot_run_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="no graph"):
        Arenas().run(RunArena(str(tmp_path), ("bp",), 1.0))
    put(tmp_path)
    with pytest.raises(StudioError, match="at least one algorithm"):
        Arenas().run(RunArena(str(tmp_path), (), 1.0))
