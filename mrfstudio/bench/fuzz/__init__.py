"""Does any file harm? Every reader gets damaged and invented files until the time is up.

A child reads them (`child.py`): it may crash, hang or take all memory, which this process survives and writes down. A
reader may open a file or refuse it with its own error, in one line, within 2 s and 512 MB. What breaks that is kept in
a folder, made smaller, and printed with the number that makes it again.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from mrfstudio.bench.measure import Report

MINUTES = 0.5
AT_ONCE = 40
"""Cases of one reader after the other."""
PATIENCE = 30.0
"""Seconds of the processor on one case after which a child hangs; the clock's do not count, machines are busy."""
TELLING = 60.0
"""Seconds between two words of how far it is."""
BEGINNING = 600.0
"""Seconds in which it must be ready, with whole files of every kind, on a busy machine too."""


class Child:
    """A process that reads, begun again when it is gone."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        command = [sys.executable, "-m", "mrfstudio.bench.fuzz.child"]
        threads = {"OMP_NUM_THREADS": "1"}
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - open as long as the child is
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, **threads},
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._listen, args=(self._process, self._lines), daemon=True).start()
        first = self._next(BEGINNING)
        if first is not None and "seed" in first:
            raise RuntimeError(f"A whole file is refused: {first['seed']}: {first['finding']}")
        if first is None:
            raise RuntimeError(f"The child does not begin: {self._said()}")
        self.readers: list[str] = first["readers"]

    @staticmethod
    def _listen(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    def _next(self, patience: float = PATIENCE) -> dict[str, Any] | None:
        """What the child says next; None where it is gone or hangs."""
        began = self._seconds()
        while self._seconds() - began < patience:
            try:
                line = self._lines.get(timeout=5.0)
            except queue.Empty:
                continue
            return None if line is None else json.loads(line)
        return None

    def _seconds(self) -> float:
        """Seconds of the processor that the child has taken; the clock's where that is not known."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        except OSError:
            return time.monotonic()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def _said(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-2000:]

    def ask(self, **asked: Any) -> tuple[list[dict[str, Any]], float]:
        """Everything it answers, and the seconds it took; a crash or a hang is a finding like any other."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        found, last, began = [], asked.get("first", 0), time.monotonic()
        while True:
            told = self._next()
            if told is None:
                status = self._process.poll()
                why = "hangs" if status is None else f"ends the process with status {status}\n{self._said()}"
                found.append({"finding": why, "number": last})
                self.close()
                self._begin()
                return found, time.monotonic() - began
            if "case" in told:
                last = told["case"]
            elif "finding" in told:
                found.append(told)
            elif "done" in told:
                return found, told["done"]
            else:
                return found, time.monotonic() - began

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._errors.close()


def run(minutes: float = MINUTES, first: int = 0, most: int | None = None, kept: Path | None = None) -> Report:
    """Cases from number `first` on, each reader for the same time; what is found lies in `kept`."""
    report = Report("fuzz: every reader on damaged and invented files")
    folder = kept or Path(tempfile.mkdtemp(prefix="mrfstudio-fuzz-"))
    child = Child()
    spent = dict.fromkeys(child.readers, 0.0)
    at = dict.fromkeys(child.readers, first)
    seen: dict[tuple[str, str], int] = {}
    began, counted = time.monotonic(), 0
    told = began
    try:
        while time.monotonic() - began < 60 * minutes and (most is None or counted < most):
            reader = min(spent, key=spent.__getitem__)
            count = min(AT_ONCE, most - counted) if most is not None else AT_ONCE
            found, taken = child.ask(reader=reader, first=at[reader], count=count)
            at[reader] += count
            counted += count
            spent[reader] += max(taken, 1e-3)
            for each in found:
                _keep(child, folder, reader, each, seen)
            if time.monotonic() - told > TELLING:  # a run that is ended from outside has been counted too
                told = time.monotonic()
                print(f"{counted} cases, {len(seen)} findings", file=sys.stderr, flush=True)
    finally:
        child.close()
    report.add("cases", float(counted))
    for reader in child.readers:
        report.add(f"cases of {reader}", float(at[reader] - first))
    report.add("findings", float(len(seen)), most=0.0)
    return report.finish()


def _keep(child: Child, folder: Path, reader: str, found: dict[str, Any], seen: dict[tuple[str, str], int]) -> None:
    """Write a finding down, the first of its kind also smaller."""
    from mrfstudio.bench.fuzz.child import kind_of

    finding, number = str(found["finding"]), int(found["number"])
    last = finding.strip().splitlines()[-1] if finding.startswith("raises") else ""
    kind = (reader, kind_of(finding) + last[:60])
    seen[kind] = seen.get(kind, 0) + 1
    if seen[kind] > 1:
        return
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{reader} {number}: {finding}", file=sys.stderr, flush=True)
    path = folder / f"{reader.replace(' ', '-')}-{number}.case"
    path.with_suffix(".txt").write_text(finding + "\n", encoding="utf-8", errors="replace")
    child.ask(reader=reader, make=number, to=str(path))
    if not finding.startswith(("hangs", "ends", "takes")):  # those take minutes to try again
        child.ask(reader=reader, file=str(path), finding=finding)
