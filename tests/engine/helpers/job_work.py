"""What the tests of jobs run in a child process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mrfstudio.engine.files.atomic import write_text
from mrfstudio.engine.protocol.catalogue import ParameterError
from mrfstudio.engine.runtime.jobs import Job

Report = Callable[[dict[str, Any]], None]


def add(a: int, b: int) -> int:
    return a + b


def count(to: int, report: Report) -> str:
    for number in range(to):
        report({"number": number})
    return "counted"


def chatter(report: Report) -> None:
    print("a line on standard output")
    print('{"kind": "report", "value": {"number": 0}}')
    print("a warning", file=sys.stderr)
    report({"number": 1})
    sys.stdout.write("no end of line")


def environment() -> dict[str, str | None]:
    names = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    return {name: os.environ.get(name) for name in names}


def refuse() -> None:
    raise ParameterError("alpha is 7: expected a number in (0, 1].")


def fail_on_a_graph(graph: str, options: str, out: str) -> None:
    raise RuntimeError("no answer today")


def break_down() -> None:
    raise ZeroDivisionError("division by zero\nand a second line")


def vanish() -> None:
    print("about to vanish")
    os._exit(3)


def write_and_hang(path: str, report: Report) -> None:
    """Leave one finished file and be interrupted while the next would be written."""
    write_text(path, "whole")
    hang(report)


def hang(report: Report) -> None:
    report({"hanging": True})
    while True:
        time.sleep(60)


def hang_deaf(report: Report) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    hang(report)


def listen(poll: Callable[[], list[dict[str, Any]]], report: Report) -> list[Any]:
    """Report each command until told to stop."""
    heard: list[Any] = []
    report({"listening": True})
    while "stop" not in heard:
        for command in poll():
            heard.append(command["do"])
            report(command)
        time.sleep(0.005)
    return heard


def hold(path: str, report: Report) -> None:
    """Hold a lock on a file as long as this process lives."""
    _lock(Path(path))
    hang(report)


def hold_in_grandchild(path: str, report: Report) -> None:
    """Let a process of our own, deaf to polite signals, hold the lock."""
    code = f"from tests.engine.helpers import job_work; job_work.hold_deaf({path!r})"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        hang(report)


def hold_deaf(path: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _lock(Path(path))
    print("held", flush=True)
    time.sleep(60)


def _lock(path: Path) -> None:
    import fcntl

    handle = os.open(path, os.O_CREAT | os.O_RDWR)
    fcntl.flock(handle, fcntl.LOCK_EX)


def parent_of_holder(path: str) -> None:
    """Start a job that holds the lock, say so, and wait to be killed."""
    job = Job(hold, {"path": path})
    while not job.messages():
        time.sleep(0.01)
    print(job._folder.name, flush=True)
    time.sleep(60)
