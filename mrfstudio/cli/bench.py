"""`mrfstudio bench`: measurements."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from mrfstudio.cli.shared import DONE, add_json, print_json
from mrfstudio.engine.protocol.catalogue import Field, ending
from mrfstudio.engine.protocol.errors import StudioError


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
    parser.add_argument("--minutes", metavar="M", help="adversary, fuzz, soak: how long (default 0.5, 0.5 and 1)")
    parser.add_argument("--seed", metavar="S", help="adversary, fuzz, soak, kill: the first random case (default 0)")
    parser.add_argument("--kills", metavar="N", help="kill: how many (default 20)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="fuzz: where files lie that break something")
    parser.add_argument(
        "--peers",
        action="store_true",
        help="measure other libraries too, in turns on the same inputs, where benchmarks/peers has installed them",
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
    chosen = _chosen(options)
    wanted = options.names or [name for name in known if name not in bench.LONG]
    measure = bench.run if len(wanted) == 1 else bench.run_alone
    results = {}
    for name in wanted:
        print(f"measuring {name} …", file=sys.stderr)
        report = measure(name, **chosen.get(name, {}))
        results[name] = report
        if options.plots is not None:
            _draw(report, options.plots)
        if options.json != "-":
            print(bench.in_words(name, report))
    if options.peers:
        results["peers"] = _peers(options.json != "-")
    print_json(options.json, results)
    return DONE


def _peers(aloud: bool) -> dict[str, Any]:
    """What every installed peer needs for the same tasks, by its name."""
    from mrfstudio import bench

    scripts, found = bench.peers(), {}
    if not scripts:
        print("no scripts of peers: they lie in benchmarks/peers of a checkout", file=sys.stderr)
    for script in scripts:
        if not script.PEER.installed:
            print(f"{script.PEER.name} is not installed: {script.PEER.how_to_install}", file=sys.stderr)
            continue
        print(f"measuring beside {script.PEER.name} …", file=sys.stderr)
        found[script.PEER.name] = script.PEER.measured()
        if aloud:
            print(script.PEER.in_words(found[script.PEER.name]))
    return found


def _chosen(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """What the options mean to each measurement that takes some."""
    chosen: dict[str, dict[str, Any]] = {name: {} for name in ("adversary", "fuzz", "soak", "kill")}
    if options.minutes is not None:
        minutes = Field("minutes", "number", 0.5, "", low=0).check(options.minutes)
        for name in ("adversary", "fuzz", "soak"):
            chosen[name]["minutes"] = minutes
    if options.seed is not None:
        first = Field("seed", "integer", 0, "", low=0).check(options.seed)
        for name in chosen:
            chosen[name]["first"] = first
    if options.kills is not None:
        chosen["kill"]["kills"] = Field("kills", "integer", 20, "", low=1).check(options.kills)
    if options.keep is not None:
        chosen["fuzz"]["kept"] = options.keep
    return chosen


def _draw(report: dict[str, Any], folder: Path) -> None:
    from mrfstudio import bench
    from mrfstudio.ui.export.pictures import ExportError

    try:
        for path in bench.save_figures(report, folder):
            print(path, file=sys.stderr)
    except (OSError, ExportError) as error:
        raise StudioError(f"{folder} is no place for figures: {error}.") from error
