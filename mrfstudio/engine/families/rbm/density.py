"""Densities of restricted Boltzmann machines, whose hidden units are summed out in closed form.

In the form with units of 0 and 1, φ(v, h) = hᵀAv + aᵀh + dᵀv:

    score(v) = dᵀv + Σ_j softplus(x_j),    x = Av + a,
    log p(v_i = 1 | others) / p(v_i = 0 | others) = d_i + Σ_j softplus(x_j + A_ji (1 - v_i)) - softplus(x_j - A_ji v_i).

Below: means and pair means of a machine, as any algorithm sees them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from mrfstudio.engine.data.binary_rows import binary_rows
from mrfstudio.engine.families.rbm.matrix_bp import MatrixBP
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph, FactorGroup
from mrfstudio.engine.inference.algorithm import Algorithm, State
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.run import run
from mrfstudio.engine.training.density import Density, Inference, PartitionEstimate, chunks, density, pseudo_bits
from mrfstudio.engine.training.learner import BatchSource

ENTRIES_AT_ONCE = 4_000_000
"""Hidden × visible × items of the conditionals that are held at once: 16 MB, which still fits a large cache."""
MOST_ENUMERATED = 14
"""Units of the smaller layer up to which log Z is summed out exactly: 16,384 terms."""


class MachineDensity(Density):
    """A bipartite machine with A (H, V), and biases a (1 or B, H) and d (1 or B, V) that may differ for each item."""

    couplings: Tensor
    hidden_bias: Tensor
    visible_bias: Tensor

    def part(self, rows: slice) -> MachineDensity:
        part = copy(self)
        part.visible = self.visible[rows]
        if len(self.hidden_bias) > 1:
            part.hidden_bias = self.hidden_bias[rows]
        if len(self.visible_bias) > 1:
            part.visible_bias = self.visible_bias[rows]
        return part

    @property
    def hidden(self) -> int:
        return self.couplings.shape[0]

    @property
    def draws(self) -> int:  # type: ignore[override]
        return self.hidden + self.couplings.shape[1]

    @property
    def at_once(self) -> int:  # type: ignore[override]
        return max(1, ENTRIES_AT_ONCE // max(self.couplings.numel(), 1))

    def hidden_logits(self, states: Tensor) -> Tensor:
        """x (B, H)."""
        return states @ self.couplings.t() + self.hidden_bias

    def visible_logits(self, hidden: Tensor) -> Tensor:
        """log-odds (B, V) of the visible units given hidden ones (B, H)."""
        return hidden @ self.couplings + self.visible_bias

    def score(self, states: Tensor) -> Tensor:
        """Unnormalised log p (B,) of visible units (B, V), hidden ones summed out."""
        return (states * self.visible_bias).sum(1) + softplus(self.hidden_logits(states)).sum(1)

    def log_conditionals(self, states: Tensor) -> Tensor:
        """log p(v_i | all other visible units) (B, V) of visible units (B, V)."""
        logits = self.visible_bias + self._gain(states)
        return states * logits - softplus(logits)

    def _gain(self, states: Tensor) -> Tensor:
        """What the hidden units add to the log-odds of each visible unit given all others, (B, V)."""
        x = self.hidden_logits(states)[:, :, None]
        couplings, own = self.couplings[None], states[:, None, :]
        return (softplus(x + couplings * (1 - own)) - softplus(x - couplings * own)).sum(1)

    @torch.no_grad()
    def sweep(self, states: Tensor, uniform: Tensor) -> Tensor:
        """Visible units (B, V) after hidden, then visible ones were drawn with uniform numbers (B, H + V)."""
        odds = self.visible_logits(self._drawn(states, uniform))
        return (uniform[:, self.hidden :].to(states.dtype) < torch.sigmoid(odds)).to(states.dtype)

    def climb(self, states: Tensor, uniform: Tensor) -> Tensor:
        """Hidden units drawn, visible ones (B, V) at their best: hundreds of drawn ones never score high."""
        return (self.visible_logits(self._drawn(states, uniform)) > 0).to(states.dtype)

    def _drawn(self, states: Tensor, uniform: Tensor) -> Tensor:
        """Hidden units (B, H) drawn given visible ones."""
        chance = torch.sigmoid(self.hidden_logits(states))
        return (uniform[:, : self.hidden].to(states.dtype) < chance).to(states.dtype)

    def asked(self) -> tuple[RBM, Evidence]:
        """The machine and the evidence that algorithms are asked about: one item, or one for each of the batch."""
        raise NotImplementedError

    def partition(self, inference: Inference) -> PartitionEstimate:
        return self.energy_of(moments_of(*self.asked(), inference))

    def energy_of(self, moments: Moments) -> PartitionEstimate:
        """E[φ] under moments that carry no gradient: its gradient is that of log Z."""
        energy = (self.couplings * moments.pairs).sum()
        energy = energy + (moments.hidden * self.hidden_bias).sum(1).mean()
        energy = energy + (moments.visible * self.visible_bias).sum(1).mean()
        value = energy.detach() if moments.log_z is None else energy.new_tensor(moments.log_z)
        return PartitionEstimate(value, energy, moments.converged)

    @torch.no_grad()
    def alone(self) -> Tensor:
        return (self.visible_bias > 0).to(self.visible.dtype).expand_as(self.visible)


@density("rbm")
class RBMDensity(MachineDensity):
    """An RBM with rows (B, V) of values from 0 to 1."""

    def __init__(self, model: RBM, batch: Mapping[str, Tensor]) -> None:
        self.visible = binary_rows(batch).to(model.dtype)
        self.couplings, hidden, visible = model.binary_form()
        self.hidden_bias, self.visible_bias = hidden[None], visible[None]
        self.model = model

    def asked(self) -> tuple[RBM, Evidence]:
        return self.model, self.model.no_evidence()

    def joint(self) -> FactorGraph:
        structure = machine_structure(self.hidden, self.couplings.shape[1], self.couplings.dtype, self.couplings.device)
        biases = torch.cat([self.visible_bias[0], self.hidden_bias[0]])
        unary = torch.zeros_like(structure.unary).index_copy(0, _ones(structure), biases)
        table = self.couplings.reshape(-1)
        nothing = torch.zeros_like(table)
        tables = torch.stack([nothing, nothing, nothing, table]).reshape(2, 2, -1)
        return structure.with_potentials(unary, [tables])

    @classmethod
    def refusal(cls, model: RBM, algorithm: Algorithm) -> str | None:
        return machine_refusal(model, algorithm)

    @classmethod
    def prepare(cls, model: RBM) -> None:
        # These learners know one distribution; a temperature of the messages would make another of it.
        with torch.no_grad():
            model.log_temperature.zero_()

    @classmethod
    def measure(cls, model: RBM, source: BatchSource) -> dict[str, float]:
        pseudo = {"pseudo_bits": pseudo_bits(cls, model, source)}
        log_z = exact_log_partition(*model.binary_form())
        if log_z is None:
            return pseudo
        with torch.no_grad():
            total = 0.0
            for part in chunks(source):
                seen = cls(model, source[part])
                total += float(seen.score(seen.visible).double().sum())
        return {"nll": log_z - total / len(source), **pseudo}


@lru_cache(maxsize=4)
def machine_structure(hidden: int, visible: int, dtype: torch.dtype, device: torch.device) -> FactorGraph:
    """Visible units, then hidden ones, with a factor for each pair in the order of A (H, V)."""
    pairs = torch.cartesian_prod(torch.arange(hidden, device=device), torch.arange(visible, device=device))
    scopes = torch.stack([visible + pairs[:, 0], pairs[:, 1]])
    tables = torch.zeros(2, 2, len(pairs), dtype=dtype, device=device)
    group = FactorGroup(tables, scopes, torch.arange(len(pairs), device=device))
    return FactorGraph(np.full(visible + hidden, 2), [group], dtype=dtype, device=device)


def _ones(structure: FactorGraph) -> Tensor:
    """Where state 1 of each variable lies in the packing."""
    return structure.packing.entry_of(torch.ones(structure.variables, dtype=torch.int64, device=structure.device))


@torch.no_grad()
def exact_log_partition(couplings: Tensor, hidden_bias: Tensor, visible_bias: Tensor) -> float | None:
    """log Z of A (H, V), a (H,) and d (V,) by enumerating the smaller layer; None where that is too large."""
    a, b, matrix = hidden_bias.double(), visible_bias.double(), couplings.double()
    if len(a) > len(b):
        a, b, matrix = b, a, matrix.t()
    if len(a) > MOST_ENUMERATED:
        return None
    states = (torch.arange(2 ** len(a), device=a.device)[:, None] >> torch.arange(len(a), device=a.device)[None]) & 1
    bits = states.double()
    return float(torch.logsumexp(bits @ a + softplus(bits @ matrix + b).sum(1), 0))


# Moments --------------------------------------------------------------------------------------------------------------


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
    """E[h vᵀ], (H, V), a mean over the batch, beside the means E[v] (B, V) and E[h] (B, H)."""
    if isinstance(algorithm, MeanField):
        return hidden.t() @ visible / len(visible)  # a table for every pair and item would be far larger
    # Through the factor graph the pairs are one axis, else two; both count the hidden units fastest.
    (tables,) = algorithm.factor_beliefs(machine, evidence, state)
    leading = evidence.log_potentials.ndim - 2
    both = tables.select(leading, 1).select(leading, 1)
    return both.reshape(-1, machine.visible, machine.hidden).mean(0).t()


def machine_refusal(machine: RBM, algorithm: Algorithm) -> str | None:
    """Why maximum likelihood cannot use this algorithm on a machine, in one sentence."""
    if algorithm.marginals_only:
        return f"{algorithm.name} gives no beliefs of pairs: use the learner cd or pcd, which needs none, or bp."
    if isinstance(algorithm, MatrixBP) and algorithm.product != "sum":
        return f"The {algorithm.product} product gives no marginals: use the learner max-margin, or the product sum."
    return algorithm.supports(machine if algorithm.name in MACHINE_ALGORITHMS else machine.to_factor_graph())


MACHINE_ALGORITHMS = ("bp", "mean-field", "matrix-bp")
