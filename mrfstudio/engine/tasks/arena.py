"""Every algorithm on every graph of a folder, against published marginals: who is nearest in the time?

    H = mean over variables of √(½ Σ_x (√b(x) - √p(x))²),        |log Z - log Z of an exact answer|

A folder holds NAME.uai, NAME.uai.evid and NAME.uai.MAR, the files of the UAI competitions. Each run is a process of its
own with the time as its limit; a graph without an answer counts as 1. Results go to a file, a line each: what is there
already is not run again. pgmpy and libDAI answer beside where they are installed (`arena_peers.py`). Log Z is compared
with NAME.uai.PR (log10 Z), else with an exact answer of some algorithm.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.engine.files.distrust import parsed, regular_bytes
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.tasks import arena_peers

GRACE = 10.0
"""Seconds on top of the limit for start-up, reading and writing, before a run is ended."""
CLOCKS = ("wall", "processor")
NONE = {"hellinger": 1.0, "log_partition": None, "log_partition_kind": None, "estimated_error": None}

Row = dict[str, Any]
Key = tuple[str, str]
"""A graph and an algorithm."""


def arena(
    folder: str | Path,
    algorithms: Sequence[str],
    out: str | Path,
    *,
    seconds: float = 20.0,
    clock: str = "wall",
    only: Sequence[str] = (),
    report: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Run what `out` does not have yet, `report` each row, and return all rows that were asked for."""
    if clock not in CLOCKS:
        raise StudioError(f"The clock is wall or processor, not {clock}.")
    graphs = graphs_of(Path(folder), only)
    for name in algorithms:
        if name in arena_peers.NAMES:
            arena_peers.require(name)
    done = {_key(row): row for row in read_rows(Path(out))}
    rows = []
    for path in graphs:
        for algorithm in algorithms:
            asked = {"graph": path.stem, "algorithm": algorithm, "seconds_given": seconds, "clock": clock}
            row = done.get(_key(asked))
            if row is None:
                row = asked | _run(path, algorithm, seconds, clock)
                _keep(Path(out), row)
            if report is not None:
                report(row)
            rows.append(row)
    return rows


def graphs_of(folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """The graphs of a folder, by name; refuses a folder without any."""
    graphs = [path for path in sorted(folder.glob("*.uai")) if not only or path.stem in only]
    if not graphs:
        raise StudioError(f"{folder} has no graph to run: it should hold files such as NAME.uai and NAME.uai.MAR.")
    return graphs


def _key(row: Row) -> tuple[Any, ...]:
    return row["graph"], row["algorithm"], row["seconds_given"], row.get("clock", "wall")


def _keep(path: Path, row: Row) -> None:
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    except OSError as problem:
        raise StudioError(f"Results cannot be written to {path}: {problem.strerror}.") from None


def read_rows(path: Path) -> list[Row]:
    """The rows of a file; lines that are none are left out, as the last one of a run that was killed while it wrote.

    Raises `StudioError`.
    """
    try:
        lines = regular_bytes(path).splitlines() if path.exists() else []
    except (OSError, ValueError) as problem:
        raise StudioError(f"Results cannot be read from {path}: {problem}.") from None
    found = []
    for line in lines:
        try:
            row = parsed(line)
        except ValueError:
            continue
        if isinstance(row, dict) and row.keys() >= {"graph", "algorithm", "seconds_given", "hellinger"}:
            found.append(row)
    return found


def _run(path: Path, algorithm: str, seconds: float, clock: str) -> Row:
    """One answer of `mrfstudio infer`, scored; an answer that does not come in time is none."""
    command = _command(path, algorithm, seconds, clock)
    most = math.ceil(seconds + GRACE)
    truth = read_marginals(path.with_name(path.name + ".MAR"))
    try:
        ended, used = _timed(command, most, clock)
    except subprocess.TimeoutExpired:
        return NONE | {"wall": most, "said": "no answer in time"}
    if ended.returncode < 0:
        return NONE | {"wall": used, "said": "no answer in time"}
    if ended.returncode != 0:
        said = (ended.stderr.strip().splitlines() or ["?"])[-1]
        return NONE | {"wall": used, "said": said[:160]}
    answer = json.loads(ended.stdout)
    return {
        "hellinger": distance(answer["marginals"], truth),
        "wall": used,
        "said": answer.get("picked") or answer["ending"],
        "log_partition": answer["log_partition"],
        "log_partition_kind": answer["log_partition_kind"],
        "estimated_error": answer.get("estimated_error"),
        "converged": answer["converged"],
    }


def _command(path: Path, algorithm: str, seconds: float, clock: str) -> list[str]:
    """What prints the answer of one of our algorithms, or of a peer."""
    evidence = path.with_name(path.name + ".evid")
    if algorithm in arena_peers.NAMES:
        return arena_peers.command(algorithm, path, _observed(evidence), seconds)
    command = [sys.executable, "-m", "mrfstudio", "infer", str(path), "--algorithm", algorithm, "--json", "-"]
    if _observed(evidence):
        command += ["--evidence", str(evidence)]
    if algorithm == "auto":
        command += ["--seconds", str(seconds), "--clock", clock]
    return command


def _observed(path: Path) -> dict[int, int]:
    """Variables and their states; of the two forms of the file the older has a 1 in front."""
    words = [int(word) for word in path.read_text(encoding="ascii").split()] if path.exists() else []
    pairs = words[2:] if len(words) % 2 == 0 else words[1:]
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


def _timed(command: list[str], most: int, clock: str) -> tuple[subprocess.CompletedProcess[str], float]:
    """A command that is ended after so long, and the seconds that it took by a clock."""
    if clock == "wall":
        began = time.monotonic()
        ended = subprocess.run(command, capture_output=True, text=True, timeout=most)
        return ended, time.monotonic() - began
    if sys.platform == "win32":
        raise StudioError("The processor's time cannot be a limit on Windows: use the clock on the wall.")
    import resource

    def used() -> float:
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    before = used()
    limited = ["sh", "-c", f'ulimit -t {most}; exec "$@"', "sh", *command]
    ended = subprocess.run(limited, capture_output=True, text=True)
    return ended, used() - before


def read_marginals(path: Path) -> list[np.ndarray]:
    """A solution: how many variables, then for each how many states and their probabilities (states,).

    Raises `StudioError`.
    """
    if not path.exists():
        raise StudioError(f"{path.name} is not there: answers are compared with the marginals in it.")
    try:
        words = regular_bytes(path).decode("ascii").split()
        words = words[1:] if words[:1] == ["MAR"] else words
        found, at = [], 1
        for _ in range(int(words[0])):
            states = int(words[at])
            row = np.array(words[at + 1 : at + 1 + states], float)
            if states < 1 or len(row) < states or not ((row >= 0) & (row <= 1)).all():
                raise ValueError("a variable's probabilities are missing, or none")
            found.append(row)
            at += 1 + states
        return found
    except (OSError, ValueError, IndexError) as problem:
        raise StudioError(f"{path.name} is no file of marginals ({problem}): answers are compared with it.") from None


def distance(marginals: Sequence[Sequence[float | None]], truth: Sequence[np.ndarray]) -> float:
    """Mean Hellinger distance; a marginal that is no number counts as 1."""
    total = 0.0
    for found, right in zip(marginals, truth, strict=True):
        if None in found:
            total += 1.0
            continue
        gap = np.sqrt(np.array(found, float)) - np.sqrt(right)
        total += math.sqrt(float(gap @ gap) / 2)
    return total / len(truth)


def log_z_errors(rows: Iterable[Row], folder: Path) -> dict[Key, float]:
    """|log Z - right| for every row of a graph whose log Z is known: from its .PR, else from an exact answer."""
    rows = list(rows)
    right = {r["graph"]: r["log_partition"] for r in rows if r.get("log_partition_kind") == "exact"}
    for name in {row["graph"] for row in rows}:
        published = folder / f"{name}.uai.PR"
        if published.exists():
            right[name] = float(published.read_text(encoding="ascii").split()[-1]) * math.log(10)
    known = (row for row in rows if row["log_partition"] is not None and row["graph"] in right)
    return {(row["graph"], row["algorithm"]): abs(row["log_partition"] - right[row["graph"]]) for row in known}


def table(rows: Sequence[Row], folder: Path) -> str:
    """Hellinger distances, a line a graph and a column an algorithm; their means, those of log Z, and how many
    estimates of the error were too small.
    """
    algorithms = list(dict.fromkeys(row["algorithm"] for row in rows))
    scores = {(row["graph"], row["algorithm"]): row["hellinger"] for row in rows}
    errors = log_z_errors(rows, folder)
    lines = ["", _line("graph", algorithms)]
    lines += [
        _line(graph, [_number(scores.get((graph, name))) for name in algorithms])
        for graph in dict.fromkeys(row["graph"] for row in rows)
    ]
    lines.append(_line("mean", [_mean(scores, name) for name in algorithms]))
    lines.append(_line("mean |Δ log Z|", [_mean(errors, name) for name in algorithms]))
    for name in algorithms:
        said = [row for row in rows if row["algorithm"] == name and row.get("estimated_error") is not None]
        if said:
            below = sum(row["hellinger"] > row["estimated_error"] + ROUNDED for row in said)
            lines.append(f"{name}: the error was larger than its estimate on {below} of {len(said)} graphs")
    return "\n".join(lines)


ROUNDED = 1e-3
"""What six digits of a published marginal can make of a distance."""


def _line(first: str, rest: Iterable[str]) -> str:
    return f"{first:<24}" + "".join(f"{each:>12}" for each in rest)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _mean(scores: dict[Key, float], algorithm: str) -> str:
    values = [value for (_, name), value in scores.items() if name == algorithm]
    return _number(float(np.mean(values)) if values else None)
