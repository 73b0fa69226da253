"""Every algorithm on every graph of a folder, against published marginals: who is nearest in the time?

    python benchmarks/arena.py FOLDER [--algorithms auto bp gbp] [--seconds 20] [--clock processor] [--only NAME…]
                               [--out FILE.jsonl]

FOLDER holds NAME.uai, NAME.uai.evid and NAME.uai.MAR (the files of the UAI competitions). What is in FILE.jsonl
already is not run again. pgmpy and libDAI, where they are installed, answer too unless algorithms are named: pgmpy in
the folder of peers (`benchmarks/peers/beside_pgmpy.py --install`), libDAI as a built checkout that MRFSTUDIO_LIBDAI
names. The table is printed at the end. The work is `mrfstudio/engine/tasks/arena.py`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.tasks.arena import CLOCKS, Row, arena, table
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
    given = parser.parse_args()
    limits = {"seconds": given.seconds, "clock": given.clock, "only": given.only}
    try:
        rows = arena(given.folder, given.algorithms, given.out, report=_print, **limits)
    except StudioError as problem:
        raise SystemExit(str(problem)) from None
    print(table(rows, given.folder))
    return 0


def _print(row: Row) -> None:
    score = f"{row['hellinger']:.4f}  {row['wall']:6.1f} s"
    print(f"{row['graph']:<22} {row['algorithm']:<12} {score}  {row['said']}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
