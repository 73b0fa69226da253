"""Timing, calibration and the machine's load."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mrfstudio.engine.runtime.workers import process_pool

BUSY = 0.5
"""Other processes that use more than this many cores make a measurement invalid."""


@dataclass(frozen=True)
class Row:
    """One measured number, with the bound it should keep where there is one."""

    what: str
    value: float
    unit: str = ""
    limit: float | None = None
    bound: Literal["at most", "at least"] = "at most"

    @property
    def ok(self) -> bool | None:
        if self.limit is None:
            return None
        return self.value <= self.limit if self.bound == "at most" else self.value >= self.limit


@dataclass(frozen=True)
class Curve:
    """A line of a figure, y over x, with its range where there is one."""

    name: str
    x: list[float]
    y: list[float]
    low: list[float] | None = None
    high: list[float] | None = None


@dataclass(frozen=True)
class CurveSet:
    """Curves that belong into one picture, by their names."""

    name: str
    title: str
    across: str
    up: str
    curves: tuple[str, ...]
    logarithmic: bool = False
    logarithmic_across: bool = False


def _device() -> str:
    from mrfstudio.engine.runtime.device import in_words

    return in_words()


def other_load(seconds: float = 0.3) -> float:
    """Cores that other processes keep busy, sampled over a moment; the one-minute average where that is unknown.

    The average would count our own work of a minute ago, and would not yet count what began just now.
    """
    before = _cpu_times()
    if before is None:
        return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    time.sleep(seconds)
    after = _cpu_times()
    assert after is not None
    return max(0.0, after - before) / seconds


def _cpu_times() -> float | None:
    """Seconds that all cores have been busy for other processes than this one."""
    try:
        with open("/proc/stat", encoding="ascii") as lines:
            numbers = [int(word) for word in lines.readline().split()[1:]]
    except OSError:
        return None
    user, nice, system, _idle, _wait, irq, soft, steal = numbers[:8]
    own = os.times()
    ticks = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + soft + steal) / ticks - (own.user + own.system)


@dataclass
class Report:
    """What one benchmark found."""

    title: str
    rows: list[Row] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    figures: list[CurveSet] = field(default_factory=list)
    device: str = field(default_factory=_device)
    load_before: float = field(default_factory=other_load)
    load_after: float = 0.0

    def add(
        self, what: str, value: float, unit: str = "", *, most: float | None = None, least: float | None = None
    ) -> None:
        """Add a number; `most` or `least` is what it should keep."""
        self.rows.append(
            Row(what, value, unit, most if least is None else least, "at most" if least is None else "at least")
        )

    def finish(self) -> Report:
        self.load_after = other_load()
        return self

    def as_dict(self) -> dict[str, Any]:
        rows = [
            {"what": r.what, "value": r.value, "unit": r.unit, "limit": r.limit, "bound": r.bound, "ok": r.ok}
            for r in self.rows
        ]
        return {
            "title": self.title,
            "device": self.device,
            "rows": rows,
            "curves": [vars(curve) for curve in self.curves],
            "figures": [vars(figure) for figure in self.figures],
            "load_before": self.load_before,
            "load_after": self.load_after,
            "valid": max(self.load_before, self.load_after) <= BUSY,
        }


def seconds(
    work: Callable[[], Any],
    *,
    repeats: int = 30,
    warm: int = 5,
    most: float = 3.0,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Median time of one call, after `warm` calls; stops early after `most` seconds.

    With `time.process_time` as the clock, work on one thread is measured rightly on a busy machine too.
    """
    for _ in range(warm):
        work()
    taken: list[float] = []
    started = time.perf_counter()
    while len(taken) < repeats and (len(taken) < 3 or time.perf_counter() - started < most):
        before = clock()
        work()
        taken.append(clock() - before)
    return statistics.median(taken)


def seconds_in_turns(*works: Callable[[], Any], repeats: int = 30, warm: int = 5, most: float = 6.0) -> list[float]:
    """Median time of each, measured in turns: what slows the machine down for a while slows all of them."""
    for _ in range(warm):
        for work in works:
            work()
    taken: list[list[float]] = [[] for _ in works]
    started = time.perf_counter()
    while len(taken[0]) < repeats and (len(taken[0]) < 3 or time.perf_counter() - started < most):
        for work, times in zip(works, taken, strict=True):
            before = time.perf_counter()
            work()
            times.append(time.perf_counter() - before)
    return [statistics.median(times) for times in taken]


def grown_megabytes(prepare: Callable[[], Callable[[], Any]]) -> float | None:
    """By how much a process grows at most while it does what `prepare`, a function of a module, returns.

    The process is a new one: another would use again what earlier work left, and not count it. None where the system
    does not say.
    """
    with process_pool(1) as fresh:
        return fresh.submit(_grown, prepare).result()


def _grown(prepare: Callable[[], Callable[[], Any]]) -> float | None:
    """What `grown_megabytes` measures, in a process of its own."""
    status, peak = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not peak.exists():
        return None
    work = prepare()
    before = _kilobytes(status, "VmRSS")
    peak.write_text("5", encoding="ascii")  # begins the measurement of the peak again
    work()
    return (_kilobytes(status, "VmHWM") - before) / 1e3


def _kilobytes(status: Path, name: str) -> int:
    line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith(name))
    return int(line.split()[1])


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of log value over log size: how something grows, as a power."""
    x, y = ([math.log(number) for number in each] for each in (sizes, values))
    return statistics.covariance(x, y) / statistics.variance(x)


def power_law(sizes: Sequence[float], values: Sequence[float]) -> list[float]:
    """The straight line on two logarithmic axes that fits best, at those sizes; its slope is their `exponent`."""
    power, x, y = exponent(sizes, values), *(statistics.fmean(map(math.log, each)) for each in (sizes, values))
    return [math.exp(y + power * (math.log(size) - x)) for size in sizes]


def calibrate(report: Report) -> None:
    """What this machine can do at best: a matrix product and a memory copy, on the present number of threads."""
    import torch

    a, b = torch.rand(1024, 1024), torch.rand(1024, 1024)
    report.add("calibration: matrix product 1024³", 2 * 1024**3 / seconds(lambda: a @ b, repeats=10) / 1e9, "GFLOP/s")
    source = torch.rand(8 * 2**20)
    target = torch.empty_like(source)
    moved = 2 * source.numel() * 4
    report.add("calibration: memory copy", moved / seconds(lambda: target.copy_(source), repeats=10) / 1e9, "GB/s")
