"""What every script of a peer shares: its own environment, the same inputs for both, agreement, and ratios of one run.

A peer is another library that does a task the studio does. Its script holds two halves. The *rival* half runs inside
the peer's own environment and needs numpy and that library alone: `python SCRIPT rival TASK INPUTS.npz ANSWERS.npz`
reads the inputs, does the task, times it and writes `answers` and `seconds`. The *studio* half makes the inputs, does
the same task here, starts the rival in turns with it, checks that both agree and reports the ratio of times.

    python benchmarks/peers/beside_PEER.py [--install] [--only TASK …] [--out FOLDER]

`--install` makes the environment in the folder of peers (`MRFSTUDIO_PEERS`, else one in the system's place for caches)
with pip, from the package registries. Nothing of a peer is imported here, and no number of an earlier run is used.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, Any]
ROUNDS = 3
"""How often studio and rival take turns; each keeps its best time, so that one busy moment decides nothing."""
PATIENCE = 240.0
"""Seconds after which a peer's process is ended without an answer, imports, compiling and timing included."""


def largest_difference(mine: np.ndarray, theirs: np.ndarray) -> float:
    """Of any two numbers: for answers that are the same quantity."""
    return float(np.abs(mine - theirs).max())


def mean_difference(mine: np.ndarray, theirs: np.ndarray) -> float:
    """Over all numbers: for pictures, of which some pixels may differ."""
    return float(np.abs(mine - theirs).mean())


@dataclass(frozen=True)
class Task:
    """One task: inputs, what the studio makes of them (answers, seconds), and how far answers may differ."""

    name: str
    title: str
    inputs: Callable[[], Arrays]
    studio: Callable[[Arrays], tuple[np.ndarray, float]]
    tolerance: float
    least: float | None = None
    """How many times faster the studio should be, where that is a promise."""
    apart: Callable[[np.ndarray, np.ndarray], float] = largest_difference


class NoAnswer(Exception):
    """A peer that was ended before it answered; says after how long, and in the middle of what."""


@dataclass(frozen=True)
class Peer:
    """A rival library: what pip installs for it, its script, and the tasks."""

    name: str
    packages: tuple[str, ...]
    script: str
    tasks: tuple[Task, ...]

    @property
    def environment(self) -> Path:
        return peers_folder() / self.name

    @property
    def python(self) -> Path:
        return self.environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    @property
    def installed(self) -> bool:
        return self.python.exists() and (self.environment / "ready").exists()

    @property
    def how_to_install(self) -> str:
        """The command that makes its environment."""
        return f"python {self.script} --install"

    def install(self) -> None:
        """Make its environment; one that is there already stays."""
        if self.installed:
            return
        venv.create(self.environment, with_pip=True, clear=True)
        for package in self.packages:  # one by one: an exact version must be there before what would take another
            subprocess.run([self.python, "-m", "pip", "install", "--quiet", package], check=True)
        (self.environment / "ready").touch()

    def ready(self, install: bool) -> None:
        """Make its environment where that is wanted; without one there is nothing to compare with."""
        if install:
            self.install()
        if not self.installed:
            raise SystemExit(f"{self.name} is not installed in {self.environment}: add --install.")

    def version(self) -> str:
        """What is installed there, as pip names it."""
        names = [package.split("==")[0] for package in self.packages]
        code = "import importlib.metadata as m, sys; print(', '.join(f'{n} {m.version(n)}' for n in sys.argv[1:]))"
        found = subprocess.run([self.python, "-c", code, *names], capture_output=True, text=True, check=True)
        return found.stdout.strip()

    def asked(self, task: str, inputs: Arrays) -> tuple[np.ndarray, np.ndarray]:
        """What its script answers to a task, and seconds; it runs in a process of its own environment."""
        with tempfile.TemporaryDirectory() as folder:
            given, made = Path(folder, "inputs.npz"), Path(folder, "answers.npz")
            np.savez(given, **inputs)
            line = [str(self.python), self.script, "rival", task, str(given), str(made)]
            run_peer(f"{self.name}, {task}", line, env=_rival_environment())
            with np.load(made) as answers:
                return answers["answers"], answers["seconds"]

    def measured(self, only: Sequence[str] = ()) -> dict[str, Any]:
        """Every task, or those that are named, with versions and the machine."""
        rows = [compare(self, task) for task in self.tasks if not only or task.name in only]
        return {"peer": self.name, "version": self.version(), "machine": asdict(machine()), "rows": rows}

    def in_words(self, found: dict[str, Any]) -> str:
        """What `measured` found, for a terminal."""
        return in_words(found)


def peers_folder() -> Path:
    """Where environments of peers lie."""
    from mrfstudio.engine.tasks import arena_peers

    return arena_peers.peers_folder()


def run_peer(named: str, line: Sequence[str], env: dict[str, str] | None = None) -> str:
    """What a peer's program prints; `NoAnswer` where it takes longer than `PATIENCE`."""
    try:
        done = subprocess.run(line, capture_output=True, text=True, env=env, timeout=PATIENCE)
    except subprocess.TimeoutExpired as late:
        said = [line.removeprefix(STAGE) for line in _text(late.stderr).splitlines() if line.startswith(STAGE)]
        raise NoAnswer(f"no answer in {PATIENCE:g} s" + (f", still {said[-1]}" if said else "")) from None
    if done.returncode:
        raise SystemExit(f"{named}: the peer failed.\n{done.stderr[-2000:]}")
    return done.stdout


def _text(written: str | bytes | None) -> str:
    """What a process that was ended had written: bytes, whatever was asked for."""
    return written.decode(errors="replace") if isinstance(written, bytes) else written or ""


STAGE = "stage: "


def stage(doing: str) -> None:
    """The rival half says what it is doing: "compiling" …"""
    print(STAGE + doing, file=sys.stderr, flush=True)


def compare(peer: Peer, task: Task) -> dict[str, Any]:
    """Studio and rival in turns on the same inputs: best seconds of each, their ratio, the largest difference.

    Where the peer does not answer in time the row says so and has no ratio. One that needs long to begin takes fewer
    turns.
    """
    inputs = task.inputs()
    mine, theirs, apart, began = [], [], 0.0, time.perf_counter()
    for turn in range(ROUNDS):
        if turn and time.perf_counter() - began > PATIENCE / ROUNDS:
            break
        answers, spent = task.studio(inputs)
        try:
            others, taken = rival_answers(peer, task, inputs)
        except NoAnswer as late:
            return {"task": task.title, "studio_seconds": spent, "no_answer": str(late)}
        if answers.shape != others.shape:
            raise SystemExit(f"{peer.name}, {task.name}: answers of shape {others.shape}, here {answers.shape}")
        mine.append(spent)
        theirs.append(taken)
        apart = max(apart, task.apart(answers, others))
    found = {"studio_seconds": min(mine), "peer_seconds": min(theirs), "ratio": min(theirs) / min(mine)}
    return {
        "task": task.title,
        **found,
        "apart": apart,
        "agree": apart <= task.tolerance,
        "tolerance": task.tolerance,
        "least": task.least,
    }


def rival_answers(peer: Peer, task: Task, inputs: Arrays) -> tuple[np.ndarray, float]:
    """What the peer makes of the inputs, and its seconds."""
    answers, seconds = peer.asked(task.name, inputs)
    return answers, float(seconds)


def _rival_environment() -> dict[str, str]:
    """This process's, without what points Python at the studio's packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def rival_main(tasks: dict[str, Callable[[Any], tuple[np.ndarray, Any]]]) -> None:
    """The rival half's command line, within the peer's environment."""
    _, _, name, given, made = sys.argv
    with np.load(given) as inputs:
        answers, seconds = tasks[name](dict(inputs))
    np.savez(made, answers=np.asarray(answers, np.float64), seconds=seconds)


def best_seconds(work: Callable[[], Any], repeats: int = 20, warm: int = 3, most: float = 8.0) -> float:
    """The median time of one call after some that do not count; stops after `most` seconds."""
    import statistics

    for _ in range(warm):
        work()
    taken, began = [], time.perf_counter()
    while len(taken) < repeats and (len(taken) < 3 or time.perf_counter() - began < most):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


@dataclass(frozen=True)
class Machine:
    """What a ratio was measured on."""

    system: str
    processor: str
    cores: int  # that this process may use
    python: str
    torch: str
    studio: str


def machine() -> Machine:
    import torch

    import mrfstudio

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Machine(
        platform.system(), _processor(), cores, platform.python_version(), torch.__version__, mrfstudio.__version__
    )


def _processor() -> str:
    """Its name where the system tells it, else its kind."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8", errors="replace").splitlines() if told.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def in_words(found: dict[str, Any]) -> str:
    """A line a task."""
    on = found["machine"]
    lines = [
        f"{found['version']} beside the studio {on['studio']}, in turns on the same inputs",
        f"  on {on['processor']}, {on['cores']} cores, {on['system']}; Python {on['python']}, torch {on['torch']}",
    ]
    for row in found["rows"]:
        if "no_answer" in row:
            lines.append(f"  {row['task']:<52} {1e3 * row['studio_seconds']:.3g} ms here; {row['no_answer']} there")
            continue
        agree = f"agree to {row['apart']:.1e}" if row["agree"] else f"DIFFER by {row['apart']:.1e}"
        promise = "" if row["least"] is None else f"  ({_kept(row)}: at least {row['least']:g})"
        times = f"{1e3 * row['studio_seconds']:.3g} ms here, {1e3 * row['peer_seconds']:.3g} ms there"
        lines.append(f"  {row['task']:<52} {row['ratio']:>8.2f}×  {times}, {agree}{promise}")
    return "\n".join(lines)


def _kept(row: dict[str, Any]) -> str:
    return "ok" if row["ratio"] >= row["least"] else "MISSED"


def main(peer: Peer) -> None:
    """The studio half's command line."""
    parser = argparse.ArgumentParser(description=f"The studio beside {peer.name}, in one run.")
    parser.add_argument("--install", action="store_true", help="make the peer's environment first")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help=f"write {peer.name}.json there")
    names = [task.name for task in peer.tasks]
    parser.add_argument("--only", nargs="+", choices=names, default=(), metavar="TASK", help=", ".join(names))
    options = parser.parse_args()
    peer.ready(options.install)
    report(peer, options.only, options.out)


def report(peer: Peer, only: Sequence[str], out: Path | None) -> None:
    """Measure, print, and write what was found into a folder where one is given."""
    found = peer.measured(only)
    print(in_words(found))
    if out:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{peer.name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
