"""Long commands behind one line of progress on standard error: standard output belongs to what is started later."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

STEP = re.compile(r"\s*(Collecting|Downloading|Using cached|Installing|Preparing|Unpacking|Setting up) (.+)")


class LauncherError(Exception):
    """Why the launcher cannot go on, in a sentence for a person."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def works(command: list[str]) -> bool:
    """Whether `command` can be run and succeeds."""
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def run(doing: str, command: list[str], log: Path | None = None) -> str | None:
    """Run `command`, appending its output to `log`. None when it succeeded, else what it said."""
    # PIP_USER: a person's setting would make pip refuse to install into .venv.
    settings = {"PYTHONUNBUFFERED": "1", "PIP_USER": "0", "DEBIAN_FRONTEND": "noninteractive"}
    lines: list[str] = []
    with subprocess.Popen(
        command,
        env={**os.environ, **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            _watch(doing, process, lines)
        except BaseException:  # Ctrl-C above all: leave no pip behind that goes on installing
            process.kill()
            raise
        finally:
            if log:
                with log.open("a", encoding="utf-8") as file:
                    file.write(f"$ {' '.join(command)}\n{''.join(lines)}\n")
    return "".join(lines) if process.returncode else None


def _watch(doing: str, process: subprocess.Popen[str], lines: list[str]) -> None:
    """Collect the output in `lines` until it ends, painting on a terminal what goes on and for how long."""

    def read() -> None:
        for line in process.stdout or ():
            lines.append(line)  # noqa: PERF402  # one at a time, because `newest_step` looks on

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    if not sys.stderr.isatty():
        say(f"{doing} ...")
        reader.join()
        return
    begin = time.monotonic()
    try:
        while reader.is_alive():
            reader.join(0.2)
            minutes, seconds = divmod(int(time.monotonic() - begin), 60)
            _paint(f"{doing} {minutes}:{seconds:02d}  {newest_step(lines)}")
    finally:
        _paint("")


def _paint(text: str) -> None:
    """Draw over the last line; with spaces, because old Windows consoles print escape codes as they are."""
    width = shutil.get_terminal_size().columns - 1
    sys.stderr.write("\r" + text[:width].ljust(width) + ("" if text else "\r"))
    sys.stderr.flush()


def newest_step(lines: list[str]) -> str:
    """What pip or apt-get last said that it does, such as `downloading torch-2.0.whl (191.8 MB)`."""
    for line in reversed(lines[-50:]):
        step = STEP.match(line)
        if line.startswith("Installing collected packages"):
            return f"unpacking {line.count(',') + 1} packages"
        if step:
            return f"{step[1].lower()} {step[2].split(' (from ')[0].rsplit('/', 1)[-1]}"
    return ""
