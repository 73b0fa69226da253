"""The child's side of a job: `jobs.py` starts this module with MODULE:FUNCTION and a FOLDER."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import shutil
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mrfstudio.engine.protocol.errors import StudioError

MESSAGES = "messages.jsonl"
ARGUMENTS = "arguments.json"
GIVING_WAY = 10
"""How far the child steps back in the queue for a core: a stroke in the window comes before a step of training."""
NICE = "MRFSTUDIO_NICE"
"""The variable that says another number, such as 0 on a machine that others keep busy."""


def write_arguments(folder: Path, arguments: Mapping[str, Any]) -> None:
    """The parent's part of the agreement: arguments as a file, because they may be long."""
    (folder / ARGUMENTS).write_text(json.dumps(dict(arguments)), encoding="utf-8")


def main(function: str, folder: Path) -> int:
    """Run the function and tell its result or its error; the status is that of a command."""
    if hasattr(os, "nice"):
        given = os.environ.get(NICE, "")
        os.nice(int(given) if given.isdigit() else GIVING_WAY)
    commands: deque[dict[str, Any]] = deque()
    # A daemon, because a read of standard input cannot be interrupted when the work is done.
    threading.Thread(target=_listen, args=(commands, folder), daemon=True).start()
    handle = os.open(folder / MESSAGES, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))

    def tell(kind: str, value: Any) -> None:
        os.write(handle, json.dumps({"kind": kind, "value": value}).encode() + b"\n")

    def poll() -> list[dict[str, Any]]:
        return [commands.popleft() for _ in range(len(commands))]

    try:
        work = _find(function)
        arguments = json.loads((folder / ARGUMENTS).read_text(encoding="utf-8"))
        offered = {"report": lambda message: tell("report", message), "poll": poll}
        wanted = inspect.signature(work).parameters
        result = work(**arguments, **{name: value for name, value in offered.items() if name in wanted})
        tell("result", result)
        return 0
    except StudioError as problem:
        tell("error", {"sentence": str(problem), "refused": True})
        return 2
    except Exception as problem:
        traceback.print_exc()
        tell("error", {"sentence": _sentence(problem), "refused": False})
        return 1


def _find(function: str) -> Callable[..., Any]:
    module, _, name = function.partition(":")
    work: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return work


def _sentence(problem: Exception) -> str:
    """One line about a fault of the program; the log has the whole story."""
    if isinstance(problem, MemoryError):
        return "There was not enough memory for this: use a smaller input."
    first = (str(problem).splitlines() or [""])[0].rstrip(".")
    return f"{type(problem).__name__}: {first}." if first else f"{type(problem).__name__}."


def _listen(commands: deque[dict[str, Any]], folder: Path) -> None:
    """Gather commands from standard input until it ends, which happens only when the parent is gone."""
    rest = b""
    # Below the buffered layers of Python, whose locks would trouble the end of the program.
    while block := os.read(0, 65536):
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            try:
                commands.append(dict(json.loads(line)))
            except (ValueError, TypeError):
                print(f"not a command: {line!r}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)  # the parent can no longer do it
    if os.name == "posix" and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
