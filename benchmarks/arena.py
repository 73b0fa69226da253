"""Every algorithm on every graph of a folder, against published marginals: who is nearest in the time?

    python benchmarks/arena.py FOLDER [--algorithms auto bp gbp] [--seconds 20] [--clock processor] [--only NAME…]
                               [--out FILE.jsonl] [--page FILE.md --title WORDS]

FOLDER holds NAME.uai, NAME.uai.evid and NAME.uai.MAR (the files of the UAI competitions). What is in FILE.jsonl
already is not run again. pgmpy and libDAI, where they are installed, answer too unless algorithms are named: pgmpy in
the folder of peers (`benchmarks/peers/beside_pgmpy.py --install`), libDAI as a built checkout that MRFSTUDIO_LIBDAI
names. The table is printed at the end, and written as a page where one is named. The work is
`mrfstudio/engine/tasks/arena.py`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.tasks.arena import CLOCKS, Row, arena, log_z_errors, table
from mrfstudio.engine.tasks.arena_peers import installed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--algorithms", nargs="+", default=["auto", "bp", *installed()])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="wall",
        help="processor: count the time that a run was given, on a machine that is busy otherwise",
    )
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=Path("arena.jsonl"))
    parser.add_argument("--page", type=Path, help="write the table there too, as Markdown")
    parser.add_argument("--title", default="Arena", help="the first line of that page")
    given = parser.parse_args()
    limits = {"seconds": given.seconds, "clock": given.clock, "only": given.only}
    try:
        rows = arena(given.folder, given.algorithms, given.out, report=_print, **limits)
    except StudioError as problem:
        raise SystemExit(str(problem)) from None
    print(table(rows, given.folder))
    if given.page:
        given.page.write_text(page(rows, given.folder, given.title), encoding="utf-8")
    return 0


def page(rows: list[Row], folder: Path, title: str) -> str:
    """The scores as Markdown: a line a graph, what `auto` picked, and means."""
    names = list(dict.fromkeys(row["algorithm"] for row in rows))
    found = {(row["graph"], row["algorithm"]): row for row in rows}
    errors = log_z_errors(rows, folder)
    seconds, clock = rows[0]["seconds_given"], rows[0]["clock"]
    means = [f"{name} {np.mean([r['hellinger'] for r in rows if r['algorithm'] == name]):.4f}" for name in names]
    lines = [
        f"# {title}",
        "",
        f"Mean Hellinger distance from the published marginals after at most {seconds:g} s by the {clock} clock",
        f"(`python benchmarks/arena.py FOLDER --algorithms {' '.join(names)} --seconds {seconds:g} --clock {clock}`).",
        f"Means: {', '.join(means)}. The last three columns are those of {names[0]}: what it expected its error to be,",
        "the error of its log Z where the right one is known, and its seconds.",
        "",
        f"| graph | {' | '.join(names)} | expected | log Z | s | picked |",
        f"| --- |{' ---: |' * (len(names) + 3)} --- |",
    ]
    for graph in dict.fromkeys(row["graph"] for row in rows):
        first = found[graph, names[0]]
        scores = [f"{found[graph, name]['hellinger']:.4f}" for name in names]
        expected, wrong = first["estimated_error"], errors.get((graph, names[0]))
        more = ["–" if value is None else f"{value:.4f}" for value in (expected, wrong)]
        told = first["said"].partition(":")[0]
        lines.append(f"| {graph} | {' | '.join([*scores, *more, format(first['wall'], '.1f')])} | {told} |")
    return "\n".join(lines) + "\n"


def _print(row: Row) -> None:
    score = f"{row['hellinger']:.4f}  {row['wall']:6.1f} s"
    print(f"{row['graph']:<22} {row['algorithm']:<12} {score}  {row['said']}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
