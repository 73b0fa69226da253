"""The studio beside hmmlearn: marginals of all hidden states of chains, given what was observed.

    python benchmarks/peers/beside_hmmlearn.py [--install] [--out FOLDER]

There forward and backward over each chain in compiled code, here all chains at once as models `chain` learn with.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # a peer's environment knows neither the studio nor this folder
from rivals import Arrays, Peer, Task, best_seconds, main, rival_main

CHAINS, LENGTH, STATES, LETTERS = 100, 100, 20, 30


def chain_inputs() -> Arrays:
    """`start` (S,), `moves` (S, S) from row to column, `letters` (S, L), with sums of 1; `seen` (CHAINS, LENGTH)."""
    draw = np.random.default_rng(0)
    return {
        "start": draw.dirichlet(np.ones(STATES)),
        "moves": draw.dirichlet(0.5 * np.ones(STATES), STATES),
        "letters": draw.dirichlet(np.ones(LETTERS), STATES),
        "seen": draw.integers(0, LETTERS, (CHAINS, LENGTH)),
    }


def studio(inputs: Arrays) -> tuple[np.ndarray, float]:
    """Marginals (CHAINS · LENGTH, S) by the recursion that models `chain` learn with, and the seconds of an answer."""
    import torch

    from mrfstudio.engine.families.chain.recursion import log_partitions

    scores = torch.from_numpy(np.log(np.vstack([inputs["moves"], inputs["start"]])))
    letters, lengths = torch.from_numpy(np.log(inputs["letters"].T)), torch.full((CHAINS,), LENGTH)

    def answer() -> np.ndarray:
        given = letters[torch.from_numpy(inputs["seen"])].requires_grad_()
        (found,) = torch.autograd.grad(log_partitions(scores, given, lengths).sum(), given)
        return found.reshape(-1, STATES).numpy()

    return answer(), best_seconds(answer, repeats=5, warm=1)


def rival(inputs: Arrays) -> tuple[np.ndarray, float]:
    """The same by hmmlearn's forward and backward pass, (CHAINS · LENGTH, S)."""
    from hmmlearn.hmm import CategoricalHMM

    seen = inputs["seen"].reshape(-1, 1)

    def answer() -> np.ndarray:
        chain = CategoricalHMM(n_components=STATES)
        vars(chain).update(startprob_=inputs["start"], transmat_=inputs["moves"], emissionprob_=inputs["letters"])
        return np.asarray(chain.predict_proba(seen, [LENGTH] * CHAINS))

    return answer(), best_seconds(answer)


PEER = Peer(
    "hmmlearn",
    ("numpy", "hmmlearn"),
    __file__,
    (Task("chain", f"marginals of {CHAINS} chains, {LENGTH} steps, {STATES} states", chain_inputs, studio, 1e-6),),
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["rival"]:
        rival_main({"chain": rival})
    else:
        main(PEER)
