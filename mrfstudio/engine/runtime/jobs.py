"""Long work in a child process, without ever making the caller wait.

    job = Job(train_command, {"model_name": "grid", ...})
    for message in job.messages(): ...      # what has arrived since the last call
    job.send({"do": "pause"})               # for work that listens
    job.cancel()

The child runs the same function as the command line. If the function has a parameter `report`, it gets a callable that
takes one JSON object and passes it on; if it has `poll`, a callable that gives the commands sent with `send`. Results
of any size are files that appear by an atomic rename; what the function returns arrives as `job.result`.

Messages travel through a file, not a pipe: a caller that looks away never blocks the child, and reading needs neither a
thread nor platform code. The child's standard input is the way back; its end means that the parent is gone, by
whatever death, and then the child ends itself.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import mrfstudio
from mrfstudio.engine.runtime.job_child import MESSAGES, write_arguments

LOG = logging.getLogger(__name__)
OUTPUT = "output.txt"
# A child that caught the polite signal is killed after this time, well before 100 ms.
PATIENCE_SECONDS = 0.04
# Enough to see why something failed, little enough to keep.
LOG_LINES = 200

Status = Literal["running", "done", "failed", "cancelled"]


class Job:
    """The caller's handle on one child. No method waits, except `wait` and `close`.

    `result` is what the function returned, `error` one sentence if it failed, `refused` whether that was for what it
    was given (exit status 2 of the command) and not by a fault of the program, `log` its last other output.
    """

    def __init__(self, function: Callable[..., Any], arguments: Mapping[str, Any], threads: int = 1) -> None:
        """`function` is one of a module's own, which the child imports; `arguments` are plain values and arrays."""
        if not function.__qualname__.isidentifier():
            raise ValueError(
                f"{function.__qualname__} is not a function of its own in a module: the child cannot find it"
            )
        self.function = f"{function.__module__}:{function.__qualname__}"
        self.result: Any = None
        self.error = ""
        self.refused = False
        self.log: deque[str] = deque(maxlen=LOG_LINES)
        self._arrived: list[dict[str, Any]] = []
        self._returned = False
        self._ended = False
        self._cancelled_at: float | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="mrfstudio-job-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        write_arguments(folder, arguments)
        self._messages, self._output = _Lines(folder / MESSAGES), _Lines(folder / OUTPUT)
        with open(folder / OUTPUT, "ab") as output:
            self._process = subprocess.Popen(
                # -P: a file in the current folder must not stand in for a module.
                [sys.executable, "-P", "-m", "mrfstudio.engine.runtime.job_child", self.function, str(folder)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=_environment(threads),
                bufsize=0,
                start_new_session=os.name == "posix",
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )

    @property
    def process_id(self) -> int:
        return self._process.pid

    def poll(self) -> Status:
        """How it stands now."""
        self._look()
        if not self._ended:
            return "running"
        if self._cancelled_at is not None and not self._returned:
            return "cancelled"
        return "failed" if self.error else "done"

    def messages(self) -> list[dict[str, Any]]:
        """The reports that have arrived since the last call, in order."""
        self._look()
        arrived, self._arrived = self._arrived, []
        return arrived

    def send(self, command: Mapping[str, Any]) -> None:
        """Send one command to work that listens. After the end this does nothing."""
        stream = self._process.stdin
        if stream is None or stream.closed:
            return
        try:
            stream.write(json.dumps(dict(command)).encode() + b"\n")
        except OSError:
            LOG.debug("job %s no longer listens", self.process_id)

    def cancel(self) -> None:
        """End it, with all processes it started. Returns at once; files it had renamed into place stay."""
        if not self._ended and self._cancelled_at is None:
            self._cancelled_at = time.monotonic()
            self._signal_group("SIGTERM")

    def wait(self, seconds: float | None = None) -> Status:
        """Wait for the end, at most so long."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while (status := self.poll()) == "running" and (deadline is None or time.monotonic() < deadline):
            time.sleep(0.005)
        return status

    def close(self) -> None:
        """Cancel it if it still runs, and remove its temporary files."""
        self.cancel()
        self.wait()
        self._folder.cleanup()

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _look(self) -> None:
        """Take in what has arrived, and notice the end."""
        if self._ended:
            return
        if self._cancelled_at is not None and time.monotonic() - self._cancelled_at > PATIENCE_SECONDS:
            self._signal_group("SIGKILL")
        # First the state, then the files: what it wrote before its end is then read in full.
        status = self._process.poll()
        for line in self._messages.new():
            self._take(line)
        for line in self._output.new():
            self._write_log(line)
        if status is not None:
            self._end(status)

    def _end(self, status: int) -> None:
        self._ended = True
        # Whatever it started and left behind goes too.
        self._signal_group("SIGKILL")
        if self._process.stdin is not None:
            self._process.stdin.close()
        for lines in (self._messages, self._output):
            self._write_log(lines.close())
        if not self._returned and not self.error and self._cancelled_at is None:
            last = f"; its last words were {self.log[-1]!r}" if self.log else ""
            self.error = f"The work ended unexpectedly ({_in_words(status)}){last}."

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
            kind, value = message["kind"], message["value"]
        except (ValueError, TypeError, KeyError):
            self._write_log(line)
            return
        if kind == "report":
            self._arrived.append(value)
        elif kind == "result":
            self.result, self._returned = value, True
        elif kind == "error":
            self.error, self.refused = value["sentence"], value["refused"]

    def _write_log(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip()
        if text:
            self.log.append(text)
            LOG.info("job %s: %s", self.process_id, text)

    def _signal_group(self, name: str) -> None:
        if os.name != "posix":
            self._process.kill()
            return
        # macOS refuses permission for a group of dead processes.
        with suppress(ProcessLookupError, PermissionError):
            # The child leads a session of its own, so its process number is that of the group.
            os.killpg(self.process_id, getattr(signal, name))


class _Lines:
    """The complete lines that another process has appended to a file; `close` gives an incomplete last one."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self._file = open(path, "rb")  # noqa: SIM115  # closed at the end of the job
        self._rest = b""

    def new(self) -> Iterator[bytes]:
        block = self._file.read()
        if block:
            *lines, self._rest = (self._rest + block).split(b"\n")
            yield from lines

    def close(self) -> bytes:
        self._file.close()
        rest, self._rest = self._rest, b""
        return rest


def _environment(threads: int) -> dict[str, str]:
    """The child's variables: few OpenMP threads that do not spin, and the same program as the parent's."""
    root = str(Path(mrfstudio.__file__).resolve().parents[1])
    paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "OMP_WAIT_POLICY": "passive",
        "GOMP_SPINCOUNT": "0",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        "PYTHONUNBUFFERED": "1",
    }


def _in_words(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"{name}, often a sign of too little memory" if name == "SIGKILL" else name
