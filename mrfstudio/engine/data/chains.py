"""Sequences drawn from a hidden Markov model that is known, so that a learned one can be held against the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mrfstudio.engine.data.dataset import Array, Dataset, Progress, Splits
from mrfstudio.engine.protocol.catalogue import integer, number
from mrfstudio.engine.registry import DATASETS


@DATASETS.register
class GeneratedChains(Dataset):
    """A first-order chain whose rows are drawn from Dirichlet distributions; smaller concentrations are sharper."""

    name = "chains"
    title = "Generated chains"
    summary = "Sequences of symbols drawn from a hidden Markov model whose tables are known."
    path = "none"
    yields = "x (N, T) int64; logp (N,), the truth; constants symbols, transitions, emissions, first"

    hidden_states: int = integer(3, "Hidden states of the chain that is drawn from.", low=1, high=64)
    alphabet: int = integer(6, "Symbols that can be seen.", low=2, high=26)
    length: int = integer(20, "Columns of a sequence.", low=1, high=10_000)
    concentration: float = number(0.3, "How even the rows of the tables are.", low=0.01, high=100.0, logarithmic=True)
    tables_seed: int = integer(0, "The same seed draws the same tables.", low=0)
    count: int = integer(2000, "Training sequences.", low=1, high=1_000_000, logarithmic=True)
    validation: int = integer(200, "Validation sequences.", low=0, high=1_000_000)
    test: int = integer(500, "Test sequences.", low=0, high=1_000_000)

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        random = np.random.default_rng(self.tables_seed)
        states = self.hidden_states
        first = random.dirichlet(np.full(states, 1.0))
        moves = random.dirichlet(np.full(states, self.concentration), size=states)
        words = random.dirichlet(np.full(self.alphabet, self.concentration), size=states)
        parts = {}
        for split, count in {"train": self.count, "val": self.validation, "test": self.test}.items():
            if count:
                x = _drawn(random, first, moves, words, count, self.length)
                parts[split] = {"x": x, "logp": log_likelihood(first, moves, words, x)}
        symbols = np.array(list("abcdefghijklmnopqrstuvwxyz"[: self.alphabet]))
        constants = {"symbols": symbols, "unit": np.array("letters")}
        return Splits(parts, {**constants, "transitions": moves, "emissions": words, "first": first})


def _drawn(random: np.random.Generator, first: Array, moves: Array, words: Array, count: int, length: int) -> Array:
    states, seen = random.choice(len(first), size=count, p=first), []
    for _ in range(length):
        seen.append(_choices(random, words[states]))
        states = _choices(random, moves[states])
    return np.stack(seen, 1).astype(np.int64)


def _choices(random: np.random.Generator, chances: Array) -> Array:
    """One number a row of chances (N, K)."""
    index: Array = (chances.cumsum(1)[:, :-1] <= random.random((len(chances), 1))).sum(1)
    return index


def log_likelihood(first: Array, moves: Array, words: Array, x: Array) -> Array:
    """log p(x) (N,) of symbols (N, T), by the forward recursion with its sums taken out."""
    alpha, total = np.broadcast_to(first, (len(x), len(first))), np.zeros(len(x))
    for column in range(x.shape[1]):
        alpha = alpha * words[:, x[:, column]].T
        scale = alpha.sum(1, keepdims=True)
        total += np.log(scale[:, 0])
        alpha = (alpha / scale) @ moves
    return total
