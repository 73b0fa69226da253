"""Is anything lost when the program is killed? It is, at random moments of painting, saving, training and exporting.

A child says what it has done; whatever it said must be there when it is dead, and every file must be whole. Children
are forks of one process that has loaded everything, so that most of the time goes into work that can be interrupted.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.bench.measure import Report

KILLS = 20
SIDE = 24
LATEST = 0.25
"""Seconds after something was done until the kill, at most."""
MOST_DONE = 12

Say = Callable[[int], None]


def run(kills: int = KILLS, first: int = 0) -> Report:
    """Kill so many children, each kind of work in turn; the random moments follow from the number of the kill."""
    report = Report("kill: what was done is there, and every file is whole")
    faults: list[str] = []
    works = {"painting": _painting, "saving": _saving, "training": _training, "exporting": _exporting}
    checks = {"painting": _painted, "saving": _saved, "training": _trained, "exporting": _exported}
    done = dict.fromkeys(works, 0)
    _warm_up()
    for number in range(first, first + kills):
        kind = list(works)[number % len(works)]
        folder = Path(tempfile.mkdtemp(prefix="mrfstudio-kill-"))
        try:
            said = _killed(works[kind], folder, random.Random(number))
            done[kind] += said
            found = [*checks[kind](folder, said), *_left(folder)]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        for fault in found:
            print(f"kill {number}, {kind}: {fault}", file=sys.stderr, flush=True)
        faults += found
    report.add("kills", float(kills))
    for kind, count in done.items():
        report.add(f"acts before the kills: {kind}", float(count))
    report.add("acts lost, or files half written", float(len(faults)), most=0.0)
    return report.finish()


def _killed(work: Callable[[Path, Say], None], folder: Path, rng: random.Random) -> int:
    """Fork, let the child work until it has done something, kill it; returns how much it said it had done."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(folder, lambda done: _tell(writing, done))
        finally:
            os._exit(0)
    os.close(writing)
    enough, said = rng.randint(0, MOST_DONE), 0
    with os.fdopen(reading, "rb") as lines:
        while said < enough and (line := lines.readline()):
            said = int(line)
        time.sleep(rng.uniform(0, LATEST))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for line in lines:
            said = int(line)
    return said


def _tell(writing: int, done: int) -> None:
    os.write(writing, b"%d\n" % done)


def _warm_up() -> None:
    """Load what all children use; a thread of ours in a fork would be one that never answers."""
    import torch

    import mrfstudio.engine.data.pictures.images
    import mrfstudio.engine.files.images
    import mrfstudio.engine.training.trainer  # noqa: F401

    torch.set_num_threads(1)


# Work -----------------------------------------------------------------------------------------------------------------


def _session(folder: Path) -> Any:
    from mrfstudio.engine.protocol.commands import SetImage
    from mrfstudio.engine.session.recovery import RecoveryKeeper
    from mrfstudio.engine.workspaces.studio import Studio

    studio = Studio(keeper=RecoveryKeeper(folder / "recovery"))
    studio.service("segment").begin()
    session = studio.session("segment")
    session.apply(SetImage(np.ones((SIDE, SIDE), np.uint8), None, "paper"))
    return studio, session


def _strokes(session: Any) -> Iterator[int]:
    """One pixel after the other."""
    from mrfstudio.engine.protocol.commands import Paint

    for number in range(SIDE * SIDE):
        row, column = divmod(number, SIDE)
        session.apply(Paint("observed", 0, ((column + 0.5, row + 0.5),), 0.3))
        yield number + 1


def _painting(folder: Path, say: Say) -> None:
    studio, session = _session(folder)
    for count in _strokes(session):
        for background in studio.keep():
            background.work()
        say(count)
        session.advance(0.0)


def _saving(folder: Path, say: Say) -> None:
    studio, session = _session(folder)
    for count in _strokes(session):
        studio.sessions.save(session, str(folder / f"{count % 2}.mrfs"))
        say(count)


def _exporting(folder: Path, say: Say) -> None:
    from mrfstudio.engine.files.graphs.graph import write_graph
    from mrfstudio.engine.files.images import write_labels
    from mrfstudio.engine.graphs.ising import ising_grid

    graph = ising_grid(12, 12)
    for count in range(1, 10_000):
        labels = np.full((200, 200), count % 3, np.uint8)
        write_labels(folder / f"{count % 3}.png", labels)
        write_graph(folder / f"{count % 3}.uai", graph)
        say(count)


def _training(folder: Path, say: Say) -> None:
    import torch

    from mrfstudio.engine.files.model_file import save_model
    from mrfstudio.engine.training.checkpoint import TrainingState, save_state, training_path

    for count in range(1, 10_000):
        state = TrainingState(
            identity={"model": "rbm"}, step=count, parameters={"w": torch.full((4000,), float(count))}
        )
        save_state(training_path(folder / "model.safetensors"), state)
        save_model(folder / "model.safetensors", "rbm", {"w": torch.full((4000,), float(count))}, {"step": count})
        say(count)


# Looking --------------------------------------------------------------------------------------------------------------


def _pixels(session: Any) -> int:
    return int((session.document.layers["observed"] == 0).sum())


def _painted(folder: Path, said: int) -> list[str]:
    from mrfstudio.engine.session.recovery import left_behind, recovered

    works = left_behind(folder / "recovery")
    if not works:
        return [f"nothing is left of {said} strokes"] if said else []
    found = _pixels(recovered(works[0].folder))
    return [] if found >= said else [f"{said} strokes were kept and {found} are there"]


def _saved(folder: Path, said: int) -> list[str]:
    from mrfstudio.engine.files.sessions.session_file import load_session
    from mrfstudio.engine.protocol.errors import StudioError

    newest = 0
    for path in folder.glob("*.mrfs"):
        try:
            newest = max(newest, _pixels(load_session(path)))
        except StudioError as problem:
            return [str(problem)]
    return [] if newest >= said else [f"save {said} was acknowledged and {newest} is there"]


def _exported(folder: Path, said: int) -> list[str]:
    from mrfstudio.engine.files.graphs.graph import read_graph
    from mrfstudio.engine.files.images import read_labels
    from mrfstudio.engine.protocol.errors import StudioError

    faults = []
    for count in range(max(1, said - 2), said + 1):
        try:
            read_labels(folder / f"{count % 3}.png")
            read_graph(folder / f"{count % 3}.uai")
        except StudioError as problem:
            faults.append(str(problem))
    return faults


def _trained(folder: Path, said: int) -> list[str]:
    from mrfstudio.engine.files.model_file import load_model
    from mrfstudio.engine.protocol.errors import StudioError
    from mrfstudio.engine.training.checkpoint import load_state, training_path

    if not said:
        return []
    try:
        step = load_state(training_path(folder / "model.safetensors"), {}).step
        model = load_model(folder / "model.safetensors")
    except StudioError as problem:
        return [str(problem)]
    whole = bool((model.tensors["w"] == float(model.card["step"])).all())
    return [] if step >= said and whole else [f"step {said} was acknowledged and {step} is there"]


def _left(folder: Path) -> list[str]:
    """Temporary files that stay after the next one who writes there."""
    from mrfstudio.engine.files import atomic

    old = time.time() - 2 * atomic.RECENT
    places = list(folder.rglob(".*.tmp"))
    for path in places:
        os.utime(path, (old, old))
    for place in {path.parent for path in places}:
        atomic.sweep(place)
    return [f"{path.name} stays" for path in folder.rglob(".*.tmp")]
