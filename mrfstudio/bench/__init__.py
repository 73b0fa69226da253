"""What `mrfstudio bench` runs: one file a question, each with `run() -> Report`.

A benchmark compares things measured in the same run, with the machine's load beside them: numbers taken while other
work was running are marked invalid.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import pkgutil
from pathlib import Path
from typing import Any

from mrfstudio.bench.measure import Report
from mrfstudio.engine.runtime.workers import process_pool

SHARED = ("measure", "studio")
"""Modules of this package that measure nothing themselves."""
LONG = ("fuzz", "soak", "kill")
"""Those that run only when they are named: they look for faults, and the longer the better."""


def names() -> list[str]:
    """Every benchmark, by its command-line name."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name.replace("_", "-") for name in found if name not in SHARED)


def run(name: str, **options: Any) -> dict[str, Any]:
    """Measure one, as plain values ready for JSON."""
    report: Report = importlib.import_module(f"mrfstudio.bench.{name.replace('-', '_')}").run(**options)
    return report.as_dict()


def run_alone(name: str, **options: Any) -> dict[str, Any]:
    """`run` in a process of its own, so that its memory and caches are not those of what was measured before it."""
    with process_pool(1) as fresh:
        return fresh.submit(run, name, **options).result()


def peers() -> list[Any]:
    """The scripts of peers in a checkout, as modules with a `PEER`; an installed package has none."""
    folder = Path(__file__).parents[2] / "benchmarks" / "peers"
    found = []
    for script in sorted(folder.glob("beside_*.py")):
        spec = importlib.util.spec_from_file_location(script.stem, script)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.append(module)
    return found


def save_figures(report: dict[str, Any], folder: Path) -> list[Path]:
    """Draw the figures of a report, each as PNG and SVG; a report without any draws nothing."""
    from mrfstudio.ui.export import figure

    known = {curve["name"]: curve for curve in report["curves"]}
    paths: list[Path] = []
    for each in report["figures"]:
        lines = tuple(figure.Line(**known[name]) for name in each["curves"])
        logarithmic = each["logarithmic"], each["logarithmic_across"]
        drawn = figure.Figure(each["title"], each["across"], each["up"], lines, *logarithmic)
        paths += figure.save_figure(drawn, folder, each["name"])
    return paths


def in_words(name: str, report: dict[str, Any]) -> str:
    """A table for a terminal."""
    lines = [f"{name}: {report['title']}", f"  on {report['device']}"]
    for row in report["rows"]:
        verdict = (
            "" if row["limit"] is None else f"  ({'ok' if row['ok'] else 'MISSED'}: {row['bound']} {row['limit']:g})"
        )
        lines.append(f"  {row['what']:<58} {row['value']:>10.4g} {row['unit']}{verdict}")
    lines += [
        f"  {curve['name']:<58} {_drawn(curve['y'])}  {curve['y'][0]:.3g} … {curve['y'][-1]:.3g}"
        for curve in report["curves"]
    ]
    lines.append(f"  load {report['load_before']:.2f} before, {report['load_after']:.2f} after")
    if not report["valid"]:
        lines.append("  INVALID: other work was running; pause it and measure again")
    return "\n".join(lines)


def _drawn(values: list[float]) -> str:
    """A curve as a line of blocks, at most 40 wide; on a logarithmic scale where it spans more than two decades."""
    shown = [values[round(i * (len(values) - 1) / 39)] for i in range(40)] if len(values) > 40 else values
    positive = [value for value in shown if value > 0]
    if positive and max(positive) > 100 * min(positive):
        least = min(positive)
        shown = [math.log(max(value, least)) for value in shown]
    low, high = min(shown), max(shown)
    return "".join("▁▂▃▄▅▆▇█"[round(7 * (value - low) / (high - low))] if high > low else "▄" for value in shown)
