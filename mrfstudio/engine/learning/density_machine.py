"""Densities of restricted Boltzmann machines, whose hidden units are summed out in closed form.

In the form with units of 0 and 1, φ(v, h) = hᵀAv + aᵀh + dᵀv:

    score(v) = dᵀv + Σ_j softplus(x_j),    x = Av + a,
    log p(v_i = 1 | others) / p(v_i = 0 | others) = d_i + Σ_j softplus(x_j + A_ji (1 - v_i)) - softplus(x_j - A_ji v_i).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from mrfstudio.engine.data.binary_rows import binary_rows
from mrfstudio.engine.evidence import Evidence
from mrfstudio.engine.inference.contract import Algorithm
from mrfstudio.engine.learning.contract import BatchSource
from mrfstudio.engine.learning.density import Density, Inference, Partition, chunks, density, pseudo_bits
from mrfstudio.engine.learning.machine_moments import Moments, machine_refusal, moments_of
from mrfstudio.engine.models.factor_graph import FactorGraph, FactorGroup
from mrfstudio.engine.models.rbm import RBM

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
        return (states * self.visible_bias).sum(1) + softplus(self.hidden_logits(states)).sum(1)

    def log_conditionals(self, states: Tensor) -> Tensor:
        logits = self.visible_bias + self._gain(states)
        return states * logits - softplus(logits)

    def _gain(self, states: Tensor) -> Tensor:
        """What the hidden units add to the log-odds of each visible unit given all others, (B, V)."""
        x = self.hidden_logits(states)[:, :, None]
        couplings, own = self.couplings[None], states[:, None, :]
        return (softplus(x + couplings * (1 - own)) - softplus(x - couplings * own)).sum(1)

    @torch.no_grad()
    def sweep(self, states: Tensor, uniform: Tensor) -> Tensor:
        odds = self.visible_logits(self._drawn(states, uniform))
        return (uniform[:, self.hidden :].to(states.dtype) < torch.sigmoid(odds)).to(states.dtype)

    def climb(self, states: Tensor, uniform: Tensor) -> Tensor:
        """Hidden units drawn, visible ones at their best: hundreds of drawn ones never score high."""
        return (self.visible_logits(self._drawn(states, uniform)) > 0).to(states.dtype)

    def _drawn(self, states: Tensor, uniform: Tensor) -> Tensor:
        """Hidden units (B, H) drawn given visible ones."""
        chance = torch.sigmoid(self.hidden_logits(states))
        return (uniform[:, : self.hidden].to(states.dtype) < chance).to(states.dtype)

    def asked(self) -> tuple[RBM, Evidence]:
        """The machine and the evidence that algorithms are asked about: one item, or one for each of the batch."""
        raise NotImplementedError

    def partition(self, inference: Inference) -> Partition:
        return self.energy_of(moments_of(*self.asked(), inference))

    def energy_of(self, moments: Moments) -> Partition:
        """E[φ] under moments that carry no gradient: its gradient is that of log Z."""
        energy = (self.couplings * moments.pairs).sum()
        energy = energy + (moments.hidden * self.hidden_bias).sum(1).mean()
        energy = energy + (moments.visible * self.visible_bias).sum(1).mean()
        value = energy.detach() if moments.log_z is None else energy.new_tensor(moments.log_z)
        return Partition(value, energy, moments.converged)

    @torch.no_grad()
    def alone(self) -> Tensor:
        return (self.visible_bias > 0).to(self.visible.dtype).expand_as(self.visible)


@density("rbm")
class RBMDensity(MachineDensity):
    """An RBM with rows of values from 0 to 1."""

    def __init__(self, model: RBM, batch: Mapping[str, Tensor]) -> None:
        self.visible = binary_rows(batch).to(model.dtype)
        self.couplings, hidden, visible = model.binary_form()
        self.hidden_bias, self.visible_bias = hidden[None], visible[None]
        self.model = model

    def asked(self) -> tuple[RBM, Evidence]:
        return self.model, self.model.no_evidence()

    def joint(self) -> FactorGraph:
        structure = machine_structure(self.hidden, self.couplings.shape[1], self.couplings.dtype)
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
def machine_structure(hidden: int, visible: int, dtype: torch.dtype) -> FactorGraph:
    """Visible units, then hidden ones, with a factor for each pair in the order of A (H, V)."""
    pairs = torch.cartesian_prod(torch.arange(hidden), torch.arange(visible))
    scopes = torch.stack([visible + pairs[:, 0], pairs[:, 1]])
    tables = torch.zeros(2, 2, len(pairs), dtype=dtype)
    group = FactorGroup(tables, scopes, torch.arange(len(pairs)))
    return FactorGraph(np.full(visible + hidden, 2), [group], dtype=dtype)


def _ones(structure: FactorGraph) -> Tensor:
    """Where state 1 of each variable lies in the packing."""
    return structure.packing.entry_of(torch.ones(structure.variables, dtype=torch.int64))


@torch.no_grad()
def exact_log_partition(couplings: Tensor, hidden_bias: Tensor, visible_bias: Tensor) -> float | None:
    """log Z of A (H, V), a (H,) and d (V,) by enumerating the smaller layer; None where that is too large."""
    a, b, matrix = hidden_bias.double(), visible_bias.double(), couplings.double()
    if len(a) > len(b):
        a, b, matrix = b, a, matrix.t()
    if len(a) > MOST_ENUMERATED:
        return None
    states = (torch.arange(2 ** len(a))[:, None] >> torch.arange(len(a))[None]) & 1
    bits = states.double()
    return float(torch.logsumexp(bits @ a + softplus(bits @ matrix + b).sum(1), 0))
