"""Measure one way to install and keep it for the table *Installing* of `docs/results.md`:

    python packaging/keep_row.py WAY FOLDER COMMAND...

FOLDER is what lies on the disk. COMMAND is started twice as `COMMAND --version` and once as `COMMAND infer ring:5`,
each in a folder of its own: the first start reads everything from the disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KEPT = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "installing.json"
ABOUT = "Linux with two cores, torch's CPU build; measured by `packaging/try_wheel.sh` and `packaging/try_bundle.sh`."


def size_of(folder: Path) -> int:
    """Bytes of all files below, links not followed."""
    found = (Path(base) / name for base, _, names in os.walk(folder) for name in names)
    return sum(path.lstat().st_size for path in found)


def seconds(command: list[str], folder: str) -> float:
    begin = time.monotonic()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def main() -> None:
    way, folder, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as elsewhere:
        first, again = (seconds([*command, "--version"], elsewhere) for _ in range(2))
        work = seconds([*command, "infer", "ring:5", "--algorithm", "exact", "--json", "-"], elsewhere)
    start = f"{first:.2f} s, then {again:.2f} s; `infer ring:5` {work:.1f} s"
    row = {"way": way, "size": f"{size_of(Path(folder)) / 1e6:.0f} MB", "start": start}
    rows = json.loads(KEPT.read_text("utf-8"))["rows"] if KEPT.exists() else []
    rows = [*(each for each in rows if each["way"] != way), row]
    text = json.dumps({"about": ABOUT, "rows": sorted(rows, key=lambda each: each["way"])}, indent=1)
    KEPT.write_text(text + "\n", "utf-8")
    print(f"{way}: {row['size']}, {start}")


if __name__ == "__main__":
    main()
