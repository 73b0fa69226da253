"""`mrfstudio bench`: measurements."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from mrfstudio.command_line.shared import DONE, add_json, print_json
from mrfstudio.engine.catalogue import ending
from mrfstudio.engine.errors import StudioError


def add(commands: Any) -> None:
    parser = commands.add_parser("bench", help="measure, as ratios within one run")
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to measure (default: everything)")
    parser.add_argument("--list", action="store_true", help="list the names and stop")
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
        if options.json != "-":
            print(bench.in_words(name, report))
    print_json(options.json, results)
    return DONE
