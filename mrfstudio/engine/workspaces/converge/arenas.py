"""The arena for the window: the work in a child process, its scores as they come, at most one at a time."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from statistics import fmean

from mrfstudio.engine.protocol.answers import ArenaScore, ArenaScores
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests.base import NotYet
from mrfstudio.engine.protocol.requests.converge import RunArena
from mrfstudio.engine.tasks.arena import Row, arena, graphs_of, log_z_errors

KEPT = "arena.jsonl"
"""The file of results, in the folder of the graphs."""
LOOK = 0.2


class Arenas:
    """Another arena takes the place of the one that runs."""

    def __init__(self) -> None:
        self._serial = 0

    def stop(self) -> None:
        self._serial += 1

    def run(self, asked: RunArena) -> Generator[object, None, ArenaScores | None]:
        """Scores as they come, all of them at the end; None where it was stopped."""
        folder = Path(asked.folder)
        if not asked.algorithms:
            raise StudioError("Name at least one algorithm for the arena, such as auto or bp.")
        total = len(graphs_of(folder)) * len(asked.algorithms)
        self._serial += 1
        return self._work(asked, folder, total, self._serial)

    def _work(
        self, asked: RunArena, folder: Path, total: int, serial: int
    ) -> Generator[object, None, ArenaScores | None]:
        from mrfstudio.engine.runtime.jobs import Job

        file = folder / KEPT
        arguments = {
            "folder": str(folder),
            "algorithms": list(asked.algorithms),
            "out": str(file),
            "seconds": asked.seconds,
        }
        rows: list[Row] = []
        with Job(arena, arguments) as job:
            while True:
                ended = job.poll() != "running"
                arrived = job.messages()
                rows += arrived
                if arrived:
                    yield scored(rows, folder, total)
                if self._serial != serial:
                    return None
                if ended:
                    break
                yield NotYet(LOOK)
            if job.error:
                raise StudioError(job.error)
        return scored(rows, folder, total)


def scored(rows: Sequence[Row], folder: Path, total: int) -> ArenaScores:
    """Rows as plain values; log Z is compared with what is known so far."""
    errors = log_z_errors(rows, folder)
    scores = tuple(
        ArenaScore(
            row["graph"],
            row["algorithm"],
            row["hellinger"],
            errors.get((row["graph"], row["algorithm"])),
            row.get("estimated_error"),
            row["wall"],
            row["said"],
        )
        for row in rows
    )
    names = dict.fromkeys(score.algorithm for score in scores)
    means = ((name, fmean(score.hellinger for score in scores if score.algorithm == name)) for name in names)
    return ArenaScores(scores, total, str(folder / KEPT), tuple(means))
