"""Densities of chains: exact by the recursion, or by any algorithm on the lattice, free and clamped."""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.families.chain.lattice import expected_scores, lattice, packed, unpacked
from mrfstudio.engine.families.chain.model import Chain, ChainError
from mrfstudio.engine.families.chain.recursion import log_partitions
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.many import answers
from mrfstudio.engine.training.density import Density, Inference, PartitionEstimate, Posterior, chunks, density
from mrfstudio.engine.training.learner import BatchContext, BatchSource


@density("chain")
class ChainDensity(Density):
    """Sequences `x` (B, T) of words or (B, T, D) of vectors, of `lengths` (B,)."""

    def __init__(self, model: Chain, batch: Any) -> None:
        self.model = model
        self.visible, self.lengths = sequences_of(model, batch)

    def part(self, rows: slice) -> ChainDensity:
        part = copy(self)
        part.visible, part.lengths = self.visible[rows], self.lengths[rows]
        return part

    def disturbed(self, context: BatchContext) -> ChainDensity:
        noise = self.model.settings.get("input_noise", 0.0)
        if not noise or not self.model.continuous:
            return self
        fresh = copy(self)
        drawn = torch.randn(self.visible.shape, generator=context.generator("input noise"), device="cpu").to(
            self.visible.device
        )
        fresh.visible = self.visible + noise * drawn.to(self.visible.dtype)
        return fresh

    @classmethod
    def hides(cls, model: Chain) -> bool:
        return True

    def partition(self, inference: Inference) -> PartitionEstimate:
        if self.model.directed:  # rows sum to one, whatever an algorithm says
            nothing = torch.zeros(len(self.visible), dtype=torch.float64, device=self.visible.device)
            return PartitionEstimate(nothing, nothing, 1.0)
        if isinstance(inference.algorithm, Exact):
            exact = self.model.log_free(self.lengths)
            return PartitionEstimate(exact.detach(), exact, 1.0)
        states = self.model.states
        nothing = torch.zeros(*self.visible.shape[:2], states, dtype=torch.float64, device=self.visible.device)
        posterior = self._by_length(inference, nothing)
        return PartitionEstimate(posterior.log_z, self._transitions(posterior), posterior.converged)

    def clamped(self, inference: Inference) -> PartitionEstimate:
        if isinstance(inference.algorithm, Exact):
            exact = self.model.log_clamped(self.visible, self.lengths)
            return PartitionEstimate(exact.detach(), exact, 1.0)
        return self.summed(inference)

    def posterior(self, inference: Inference) -> Posterior:
        """Marginals: of states (B, T, K), then of transitions as `_transitions` wants them."""
        with torch.no_grad():
            emissions = self.model.emissions(self.visible)
        if isinstance(inference.algorithm, Exact):
            return self._exactly(emissions)
        return self._by_length(inference, emissions)

    def expected(self, posterior: Posterior) -> Tensor:
        emissions = self.model.emissions(self.visible)
        own = torch.where(posterior.marginals[0] > 0, posterior.marginals[0] * emissions, 0.0)
        return self._transitions(posterior) + own.sum((1, 2))

    def _exactly(self, emissions: Tensor) -> Posterior:
        """Posteriors of states, and expected counts (B, K+1, …, K) of transitions, as gradients of log Z."""
        with torch.enable_grad():
            given = emissions.detach().requires_grad_()
            # A table for the whole batch would give the sum of all counts: enough for a mean, and far smaller.
            scores = self.model.transitions().detach().requires_grad_()
            log_z = log_partitions(scores, given, self.lengths)
            states, counts = torch.autograd.grad(log_z.sum(), [given, scores])
        return Posterior((states, counts), log_z.detach())

    def _transitions(self, posterior: Posterior) -> Tensor:
        """E[Σ_t W] (B,); of exact posteriors the mean over the batch, the same for each item."""
        _, *counts = posterior.marginals
        if len(counts) == 1 and counts[0].ndim == self.model.order + 1:
            scores = self.model.transitions()
            total = (counts[0] * torch.where(scores.isneginf(), 0.0, scores)).sum()
            return (total / len(self.visible)).expand(len(self.visible))
        found, place = torch.zeros(len(self.visible), dtype=torch.float64, device=self.visible.device), 0
        for length, rows in self._lengths():
            groups = self._group_count(length)
            own = list(counts[place : place + groups])
            place += groups
            first = posterior.marginals[0][rows, 0]
            found = found.index_add(0, rows, expected_scores(self.model, length, own, first))
        return found

    def _lengths(self) -> list[tuple[int, Tensor]]:
        return [(int(length), (self.lengths == length).nonzero()[:, 0]) for length in self.lengths.unique()]

    def _group_count(self, length: int) -> int:
        """Groups of factors by their order: pairs alone, or all orders up to the chain's."""
        return min(length, 2) - 1 if not self.model.directed else min(length - 1, self.model.order)

    def _by_length(self, inference: Inference, emissions: Tensor) -> Posterior:
        """Beliefs of any algorithm, sequences of one length together, from log p(x_t | z_t) (B, T, K)."""
        states, counts = torch.zeros_like(emissions), []
        log_z, converged = emissions.new_zeros(len(emissions)), 0.0
        for length, rows in self._lengths():
            with torch.no_grad():
                graph = lattice(self.model, length)
            found = answers(inference.algorithm, graph, packed(graph, emissions[rows, :length]), inference.limits)
            states[rows, :length] = unpacked(graph, found.beliefs, self.model.states)
            counts += found.factors
            log_z[rows] = found.log_z
            converged += found.converged * len(rows) / len(emissions)
        return Posterior((states, *counts), log_z, converged)

    @classmethod
    def refusal(cls, model: Chain, algorithm: Algorithm) -> str | None:
        if algorithm.marginals_only:
            return f"{algorithm.name} gives no beliefs of factors: use exact or bp."
        if isinstance(algorithm, Exact):
            return None
        with torch.no_grad():
            return algorithm.supports(lattice(model, model.order + 2))

    @classmethod
    @torch.no_grad()
    def measure(cls, model: Chain, source: BatchSource) -> dict[str, float]:
        """`nll` in nats a sequence, and for each column `bits` of words or `nats` of vectors; always exact."""
        total, columns = 0.0, 0
        for part in chunks(source):
            seen = cls(model, source[part])
            total -= float(model.log_likelihood(seen.visible, seen.lengths).sum())
            columns += int(seen.lengths.sum())
        each = {"nats_a_frame": total / columns} if model.continuous else {"bits": total / columns / math.log(2)}
        return {"nll": total / len(source), **each}


def sequences_of(model: Chain, batch: Any) -> tuple[Tensor, Tensor]:
    """Columns and lengths of a batch; without lengths every sequence is whole."""
    x = batch.get("x", None)
    expected = 3 if model.continuous else 2
    if x is None or x.ndim != expected:
        kinds = "vectors (B, T, D)" if model.continuous else "words (B, T)"
        raise ChainError(f"This chain speaks of {kinds}, and the data hold none: give the kind of data it learned.")
    if not model.continuous and int(x.max()) >= len(model.words()[0]):
        raise ChainError(f"The data have the word {int(x.max())}: this chain knows {model.words().shape[1]}.")
    lengths = batch["lengths"].long() if "lengths" in batch else torch.full((len(x),), x.shape[1], device=x.device)
    return x, lengths
