"""Where chains of words begin: words that stand in like contexts share a state.

Small random tables are a plateau, and which way Baum–Welch falls off it is chance: from letters it finds either vowels
or something worse. The contexts know better. With counts C of neighbours, r and c their sums, correspondence analysis
takes the singular vectors of (C - r cᵀ/n) / sqrt(r cᵀ); words are clustered by them, weighted by how often they occur.
"""

from __future__ import annotations

import torch
from torch import Tensor

SOFTNESS = 0.2
"""Chance that a word comes from another state than that of its cluster: a start, not a decision."""
ROUNDS = 20


def neighbours(words: Tensor, lengths: Tensor, size: int) -> Tensor:
    """C (V, V): how often the second word follows the first, in sequences (N, T)."""
    before, after = words[:, :-1], words[:, 1:]
    there = (torch.arange(1, words.shape[1]) < lengths[:, None]) & (before >= 0) & (after >= 0)
    index = before[there].long() * size + after[there].long()
    return torch.bincount(index, minlength=size * size).double().reshape(size, size)


def clusters(counts: Tensor, states: int, generator: torch.Generator) -> Tensor:
    """A state (V,) for each word."""
    rows, columns = counts.sum(1) + 0.5, counts.sum(0) + 0.5
    expected = rows[:, None] * columns / columns.sum()
    left, strength, right = torch.linalg.svd(
        (counts - expected) / (rows[:, None] * columns).sqrt(), full_matrices=False
    )
    kept = slice(0, max(1, states - 1))
    features = torch.cat(
        [
            left[:, kept] * strength[kept] / rows.sqrt()[:, None],
            right[kept].T * strength[kept] / columns.sqrt()[:, None],
        ],
        1,
    )
    return _weighted_means(features, rows + columns, states, generator)


def _weighted_means(features: Tensor, weights: Tensor, states: int, generator: torch.Generator) -> Tensor:
    """k-means, the best of five starts: the nearest centre (V,) of each row of features (V, n), weighted by (V,)."""
    best: tuple[float, Tensor] | None = None
    for _ in range(5):
        centres = features[torch.multinomial(weights, 1, generator=generator)]
        while len(centres) < states:
            distance = torch.cdist(features, centres).amin(1).square()
            centres = torch.cat(
                [centres, features[torch.multinomial(weights * distance + 1e-12, 1, generator=generator)]]
            )
        near = torch.zeros(len(features), dtype=torch.int64)
        for _ in range(ROUNDS):
            near = torch.cdist(features, centres).argmin(1)
            own = torch.nn.functional.one_hot(near, states).double() * weights[:, None]
            total = own.sum(0)[:, None]
            centres = torch.where(total > 0, own.T @ features / total.clamp_min(1e-12), centres)
        lost = float((torch.cdist(features, centres).amin(1).square() * weights).sum())
        if best is None or lost < best[0]:
            best = lost, near
    assert best is not None
    return best[1]


def soft_words(counts: Tensor, near: Tensor, states: int) -> Tensor:
    """log p(word | state) (K, V): the words of the cluster, and a little of all others."""
    often = counts.sum(0) + counts.sum(1) + 0.5
    own = torch.nn.functional.one_hot(near, states).double().T
    share = own * (1 - SOFTNESS) + SOFTNESS / states
    joint = share * often
    return (joint / joint.sum(1, keepdim=True)).log()


def soft_moves(counts: Tensor, near: Tensor, states: int) -> Tensor:
    """Chances (K, K) that two neighbours come from two clusters, softened; they sum to one."""
    own = torch.nn.functional.one_hot(near, states).double() * (1 - SOFTNESS) + SOFTNESS / states
    moves = own.T @ counts @ own + 1.0
    return moves / moves.sum()
