"""What libDAI answers to a graph, as JSON: its solver of the UAI 2010 competition, which is part of every checkout.

    python answers_of_libdai.py SOLVER GRAPH.uai SECONDS [VARIABLE=STATE …]

A script of its own, without the studio. The solver writes one answer after the other; the last whole one counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BEGINS = "-BEGIN-"
"""What the solver writes before an answer that is better than the last."""


def last_answer(text: str) -> list[list[float]]:
    """Marginals of a solver's file: MAR, then for each answer how many samples, variables, and states with theirs."""
    for block in reversed(text.removeprefix("MAR").split(BEGINS)):
        words = block.split()
        marginals, at = [], 2
        try:
            for _ in range(int(words[1])):
                states = int(words[at])
                vector = [float(word) for word in words[at + 1 : at + 1 + states]]
                if len(vector) < states:
                    raise IndexError
                marginals.append(vector)
                at += 1 + states
        except (IndexError, ValueError):  # ended while it was written
            continue
        return marginals
    return []


def main() -> int:
    solver, graph, seconds, *observed = sys.argv[1:]
    pairs = " ".join(word.replace("=", " ") for word in observed)
    with tempfile.TemporaryDirectory() as folder:
        evidence = Path(folder, "evidence")
        evidence.write_text(f"1\n{len(observed)} {pairs}\n", encoding="ascii")
        line = [solver, str(Path(graph).resolve()), str(evidence), "0", "MAR"]
        limits = {"UAI_TIME": seconds, "UAI_MEMORY": "2"}
        try:
            subprocess.run(line, cwd=folder, env=os.environ | limits, stdout=subprocess.DEVNULL, timeout=float(seconds))
            ending = "ended"
        except subprocess.TimeoutExpired:
            ending = "the best in the time"
        written = Path(folder, f"{Path(graph).name}.MAR")
        marginals = last_answer(written.read_text(encoding="ascii")) if written.exists() else []
    if not marginals:
        print("libDAI gave no answer.", file=sys.stderr)
        return 1
    found = {"marginals": marginals, "log_partition": None, "log_partition_kind": None}
    print(json.dumps({**found, "ending": ending, "converged": ending == "ended"}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
