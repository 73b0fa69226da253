"""`mrfstudio bench`: measurements."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from mrfstudio.command_line.shared import DONE, add_json, print_json
from mrfstudio.engine.catalogue import ending
from mrfstudio.engine.errors import StudioError


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "bench",
        help="measure, as ratios within one run",
        description="Measure speed and accuracy; times are compared with something else measured in the same run.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to measure (default: everything)")
    parser.add_argument("--list", action="store_true", help="list the names and stop")
    parser.add_argument(
        "--plots", type=Path, metavar="FOLDER", help="draw the figures of what is measured as PNG and SVG into a folder"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from mrfstudio import bench

    known = bench.names()
    if options.list:
        print("\n".join(known))
        return DONE
    for name in options.names:
        if name not in known:
            raise StudioError(f"There is no benchmark {name!r}{ending(name, known)} Known: {', '.join(known)}.")
    results = {}
    for name in options.names or known:
        print(f"measuring {name} …", file=sys.stderr)
        report = bench.run(name)
        results[name] = report
        if options.plots is not None:
            _draw(report, options.plots)
        if options.json != "-":
            print(bench.in_words(name, report))
    print_json(options.json, results)
    return DONE


def _draw(report: dict[str, Any], folder: Path) -> None:
    from mrfstudio import bench
    from mrfstudio.ui.export import ExportError

    try:
        for path in bench.save_figures(report, folder):
            print(path, file=sys.stderr)
    except (OSError, ExportError) as error:
        raise StudioError(f"{folder} is no place for figures: {error}.") from error
