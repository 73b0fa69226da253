"""What `mrfstudio bench` runs: one file a question, each with `run() -> Report`.

A benchmark compares things measured in the same run, with the machine's load beside them: numbers taken while other
work was running are marked invalid.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from mrfstudio.bench.measure import Report


def names() -> list[str]:
    """Every benchmark, by its command-line name."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name.replace("_", "-") for name in found if name != "measure")


def run(name: str) -> dict[str, Any]:
    """Measure one, as plain values ready for JSON."""
    report: Report = importlib.import_module(f"mrfstudio.bench.{name.replace('-', '_')}").run()
    return report.as_dict()


def in_words(name: str, report: dict[str, Any]) -> str:
    """A table for a terminal."""
    lines = [f"{name}: {report['title']}"]
    for row in report["rows"]:
        verdict = (
            "" if row["limit"] is None else f"  ({'ok' if row['ok'] else 'MISSED'}: {row['bound']} {row['limit']:g})"
        )
        lines.append(f"  {row['what']:<58} {row['value']:>10.4g} {row['unit']}{verdict}")
    lines.append(f"  load {report['load_before']:.2f} before, {report['load_after']:.2f} after")
    if not report["valid"]:
        lines.append("  INVALID: other work was running; pause it and measure again")
    return "\n".join(lines)
