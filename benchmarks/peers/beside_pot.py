"""The studio beside POT: the plan of entropic optimal transport by Sinkhorn's algorithm in logarithms.

python benchmarks/peers/beside_pot.py [--install] [--out FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # a peer's environment knows neither the studio nor this folder
from rivals import Arrays, Peer, Task, best_seconds, main, rival_main

POINTS, STRENGTH, ITERATIONS = 300, 0.05, 200


def plan_inputs() -> Arrays:
    """Distances `cost` (POINTS, POINTS) of two clouds of points in the plane."""
    draw = np.random.default_rng(0)
    one, other = draw.normal(0, 1, (POINTS, 2)), draw.normal(0.5, 0.7, (POINTS, 2))
    return {"cost": np.linalg.norm(one[:, None] - other, axis=-1)}


def studio(inputs: Arrays) -> tuple[np.ndarray, float]:
    """The plan (POINTS, POINTS), times POINTS, and the seconds of it."""
    import torch

    from mrfstudio.engine.families.transport.sinkhorn import sinkhorn

    cost = torch.from_numpy(inputs["cost"])

    def answer() -> np.ndarray:
        return sinkhorn(cost, STRENGTH, iterations=ITERATIONS, tolerance=0.0).plan.numpy() * POINTS

    return answer(), best_seconds(answer, repeats=3, warm=0)


def rival(inputs: Arrays) -> tuple[np.ndarray, float]:
    """The same by POT, after as many iterations."""
    import warnings

    import ot

    even = np.full(POINTS, 1 / POINTS)

    def answer() -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # both stop after these iterations, settled or not
            plan = ot.bregman.sinkhorn_log(
                even, even, inputs["cost"], STRENGTH, numItermax=ITERATIONS, stopThr=0.0, warn=False
            )
        return np.asarray(plan) * POINTS

    return answer(), best_seconds(answer, repeats=3, warm=0)


PEER = Peer(
    "pot",
    ("numpy", "POT"),
    __file__,
    (Task("plan", f"Sinkhorn, {POINTS}×{POINTS}, {ITERATIONS} iterations", plan_inputs, studio, 1e-3),),
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["rival"]:
        rival_main({"plan": rival})
    else:
        main(PEER)
