"""Does any algorithm give an answer that is wrong and says otherwise? Random graphs until the time is up.

Every case has the exact answer by enumeration (`oracle.py`), and every registered algorithm gets its turn (`judge.py`):
exact inference on each case, a few of the others, the slow ones now and then. What is found is printed with its seed:
`findings(random_case(SEED), …)` brings it back, and it becomes a test.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch

from mrfstudio.bench.adversary.graphs import random_case
from mrfstudio.bench.adversary.judge import SLOW, findings, settings
from mrfstudio.bench.adversary.oracle import enumerated
from mrfstudio.bench.measure import Report

MINUTES = 0.5
AT_ONCE = 3
"""Quick settings that one case is given to, beside exact inference."""
SLOW_SHARE = 0.1


def run(minutes: float = MINUTES, first: int = 0, most: int | None = None) -> Report:
    """Cases from seed `first` on for so many minutes, or until `most` of them."""
    report = Report("adversary: every algorithm on random graphs, against enumeration")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    began, seed, runs = time.monotonic(), first, 0
    found: list[str] = []
    try:
        while (most is None or seed - first < most) and time.monotonic() - began < 60 * minutes:
            for words in _looked_at(seed):
                runs += 1
                found += words
                for line in words:
                    print(line, file=sys.stderr, flush=True)
            seed += 1
    finally:
        torch.set_num_threads(threads)
    report.add("graphs", float(seed - first))
    report.add("answers", float(runs))
    report.add("findings", float(len(found)), most=0.0)
    return report.finish()


def _looked_at(seed: int) -> list[list[str]]:
    """For each setting that case `seed` is given to, what is wrong with it."""
    case = random_case(seed)
    truth = enumerated(case)
    rng = np.random.default_rng([seed, 1])
    everything = settings()
    quick = [s for s in everything if s.name not in (*SLOW, "exact")]
    slow = [s for s in everything if s.name in SLOW]
    chosen = [s for s in everything if s.name == "exact"]
    chosen += [quick[i] for i in rng.choice(len(quick), AT_ONCE, replace=False)]
    if rng.random() < SLOW_SHARE:
        chosen.append(slow[int(rng.integers(len(slow)))])
    return [[f"seed {seed}: {s.words}: {fault}" for fault in findings(case, truth, s)] for s in chosen]
