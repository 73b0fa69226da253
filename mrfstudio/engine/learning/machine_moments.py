"""Means and pair means of a Boltzmann machine, as any algorithm sees them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.evidence import Evidence
from mrfstudio.engine.inference.contract import Algorithm, State
from mrfstudio.engine.inference.gibbs import Gibbs
from mrfstudio.engine.inference.matrix_bp import MatrixBP
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.run import run
from mrfstudio.engine.learning.density import Inference
from mrfstudio.engine.models.rbm import RBM

LARGEST_MACHINE = 50_000
"""Pairs of units up to which log Z is computed in every step; beyond, in float64, it takes as long as the messages."""
PAIRS_AT_ONCE = 2_000_000
"""Pairs of units whose messages are worked on together: more leave the cache, and their beliefs fill the memory."""


@dataclass(frozen=True)
class Moments:
    """E[v] (B, V), E[h] (B, H), the mean over the batch of E[h vᵀ], (H, V), and the mean of log Z if it is known.

    `converged` is the part of the items whose beliefs no longer change by more than the tolerance.
    """

    visible: Tensor
    hidden: Tensor
    pairs: Tensor
    log_z: float | None
    converged: float


def moments_of(machine: RBM, evidence: Evidence, inference: Inference) -> Moments:
    """Run the algorithm within its limits and read off what learning needs, for a few items at a time."""
    log = evidence.log_potentials
    if log.ndim == 2:
        return _moments(machine, evidence, inference)
    parts = log.split(max(1, PAIRS_AT_ONCE // machine.weights.numel()))
    found = [_moments(machine, Evidence(part), inference) for part in parts]
    shares = [len(part) / len(log) for part in parts]

    def mean(values: list[Any]) -> Any:
        return sum(share * value for share, value in zip(shares, values, strict=True))

    known = [part.log_z for part in found if part.log_z is not None]
    return Moments(
        torch.cat([part.visible for part in found]),
        torch.cat([part.hidden for part in found]),
        mean([part.pairs for part in found]),
        mean(known) if len(known) == len(found) else None,
        mean([part.converged for part in found]),
    )


@torch.no_grad()
def _moments(machine: RBM, evidence: Evidence, inference: Inference) -> Moments:
    algorithm, limits, last_two = inference.algorithm, inference.limits, deque[State](maxlen=2)
    if evidence.log_potentials.ndim > 2:
        # All iterations: when a run stops must not depend on which items happen to share it.
        limits = limits.replace(tolerance=0.0)
    state = run(algorithm, machine, evidence, limits, on_step=last_two.append).state
    visible = _visible(algorithm, machine, evidence, state)
    hidden = algorithm.hidden_beliefs(machine, evidence, state).reshape(-1, machine.hidden)
    before = _visible(algorithm, machine, evidence, last_two[0]) if len(last_two) == 2 else visible
    settled = (visible - before).abs().amax(1) <= inference.limits.tolerance
    log_z = None
    if machine.weights.numel() <= LARGEST_MACHINE:
        log_z = algorithm.log_partition(machine, evidence, state).value
    return Moments(
        visible,
        hidden,
        _pairs(algorithm, machine, evidence, state, visible, hidden),
        None if log_z is None else log_z / len(visible),
        float(settled.double().mean()),
    )


def _visible(algorithm: Algorithm, machine: RBM, evidence: Evidence, state: State) -> Tensor:
    return algorithm.beliefs(machine, evidence, state)[..., 1].reshape(-1, machine.visible)


def _pairs(
    algorithm: Algorithm, machine: RBM, evidence: Evidence, state: State, visible: Tensor, hidden: Tensor
) -> Tensor:
    if isinstance(algorithm, MeanField):
        return hidden.t() @ visible / len(visible)  # a table for every pair and item would be far larger
    # Through the factor graph the pairs are one axis, else two; both count the hidden units fastest.
    (tables,) = algorithm.factor_beliefs(machine, evidence, state)
    leading = evidence.log_potentials.ndim - 2
    both = tables.select(leading, 1).select(leading, 1)
    return both.reshape(-1, machine.visible, machine.hidden).mean(0).t()


def machine_refusal(machine: RBM, algorithm: Algorithm) -> str | None:
    """Why maximum likelihood cannot use this algorithm on a machine, in one sentence."""
    if isinstance(algorithm, Gibbs):
        return "gibbs gives no beliefs of pairs: use the learner cd or pcd, which learn from chains, or bp."
    if isinstance(algorithm, MatrixBP) and algorithm.product != "sum":
        return f"The {algorithm.product} product gives no marginals: use the learner max-margin, or the product sum."
    return algorithm.supports(machine if algorithm.name in MACHINE_ALGORITHMS else machine.to_factor_graph())


MACHINE_ALGORITHMS = ("bp", "mean-field", "matrix-bp")
