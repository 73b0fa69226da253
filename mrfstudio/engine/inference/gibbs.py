"""Sampling: many chains at once, variables of one colour in one operation.

Gibbs draws each variable from its conditional; Metropolis proposes another state, uniformly, and accepts it with
probability min(1, p'/p). Marginals are frequencies over chains and sweeps after the burn-in. Their standard error comes
from the spread between chains, which are independent, so that it also counts slow mixing within a chain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from mrfstudio.engine.catalogue import choice, integer
from mrfstudio.engine.evidence import AnyEvidence, Evidence
from mrfstudio.engine.inference.contract import Algorithm, Kernel, Model, State, kernel, nothing_changed
from mrfstudio.engine.inference.schedules import variable_colors
from mrfstudio.engine.models.factor_graph import FactorGraph
from mrfstudio.engine.models.possible import check_possible
from mrfstudio.engine.registry import ALGORITHMS


@ALGORITHMS.register
class Gibbs(Algorithm):
    """Parameters of sampling. One iteration is one sweep over all variables in every chain."""

    name = "gibbs"
    title = "Gibbs and Metropolis sampling"
    summary = (
        "Estimates marginals from samples of many chains; the residual is the largest standard error of a marginal."
    )

    sampling = True

    chains: int = integer(64, "Independent chains that run side by side.", low=2, high=65536, logarithmic=True)
    burn_in: int = integer(100, "Sweeps that are thrown away at the beginning.", low=0, unit="sweeps")
    sampler: str = choice(
        "gibbs", ("gibbs", "metropolis"), "How a variable is redrawn: from its conditional, or by proposals."
    )
    seed: int = integer(0, "The same seed gives the same samples.", low=0)

    def resume(self, model: Model, evidence: AnyEvidence, state: State) -> State:
        """The chains go on; samples under other evidence no longer count, and the burn-in begins again."""
        assert isinstance(state, ChainState)
        return state.forgotten()


@dataclass(frozen=True, eq=False)
class ChainState(State):
    """What every sampler's state has: how many sweeps count so far, and the state of its generator."""

    counted: int
    generator: Tensor

    def forgotten(self) -> ChainState:
        """The same chains with nothing counted."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Samples(ChainState):
    """Chains (chains, variables) and per-chain visit counts (chains, size) after the burn-in."""

    chains: Tensor
    counts: Tensor

    def forgotten(self) -> Samples:
        return replace(self, iteration=0, counts=torch.zeros_like(self.counts), counted=0)


@kernel(Gibbs, FactorGraph)
class GibbsOnGraph(Kernel):
    """Any factor graph. Chains that start at an impossible assignment move out of it in the burn-in."""

    def init(self, algorithm: Gibbs, model: FactorGraph, evidence: Evidence) -> Samples:
        check_possible(model, evidence)
        local = model.local_potentials(evidence)
        generator = torch.Generator(device=local.device).manual_seed(algorithm.seed)
        start = _categorical(model, local.expand(algorithm.chains, -1), generator)
        counts = local.new_zeros((algorithm.chains, model.packing.size))
        return Samples(0, nothing_changed(local), 0, generator.get_state(), start, counts)

    def step(self, algorithm: Gibbs, model: FactorGraph, evidence: Evidence, state: Samples) -> Samples:
        local = model.local_potentials(evidence)
        generator = torch.Generator(device=local.device)
        generator.set_state(state.generator)
        chains = state.chains
        for variables in variable_colors(model):
            conditional = conditionals(model, local, chains)
            if algorithm.sampler == "metropolis":
                fresh = _metropolis(model, conditional, chains, generator)
            else:
                fresh = _categorical(model, conditional, generator)
            chains = chains.clone()
            chains[:, variables] = fresh[:, variables]
        iteration = state.iteration + 1
        counts, counted = state.counts, state.counted
        if iteration > algorithm.burn_in:
            counts = counts.scatter_add(1, model.packing.entry_of(chains), torch.ones_like(chains, dtype=counts.dtype))
            counted += 1
        error = standard_error(counts, counted)
        residual = error.max() if counted > 1 and error.numel() else nothing_changed(local)
        return Samples(iteration, residual, counted, generator.get_state(), chains, counts)

    def beliefs(self, algorithm: Gibbs, model: FactorGraph, evidence: Evidence, state: Samples) -> Tensor:
        if state.counted == 0:  # still burning in: where the chains are now
            now = torch.zeros_like(state.counts)
            return now.scatter(1, model.packing.entry_of(state.chains), 1.0).mean(0)
        return state.counts.mean(0) / state.counted


def standard_error(counts: Tensor, counted: int) -> Tensor:
    """Standard error of each marginal (size,) from per-chain counts (chains, size)."""
    frequencies = counts / max(counted, 1)
    return frequencies.std(0) / frequencies.shape[0] ** 0.5


def conditionals(model: FactorGraph, local: Tensor, chains: Tensor) -> Tensor:
    """log p(x_i | the rest) + const for every variable in every chain, (chains, size)."""
    if not model.groups:
        return local.expand(chains.shape[0], -1)
    parts = []
    for group, table in zip(model.groups, model.finite_tables(), strict=True):
        table = table.contiguous()
        flat, strides = table.reshape(-1), table.stride()
        each = torch.arange(group.count, device=flat.device)
        states = [chains[:, group.scopes[axis]] for axis in range(group.order)]
        whole = each + sum(state * strides[axis] for axis, state in enumerate(states))  # (chains, n)
        for axis, states_of_axis in enumerate(states):
            rest = whole - states_of_axis * strides[axis]
            own = torch.arange(group.shape[axis], device=flat.device) * strides[axis]
            parts.append(flat[rest[:, None, :] + own[None, :, None]].flatten(1))
    return local + model.packing.sum_incoming(torch.cat(parts, 1))


def _categorical(model: FactorGraph, logits: Tensor, generator: torch.Generator) -> Tensor:
    """One draw for each variable and chain by the Gumbel trick, (chains, variables)."""
    noise = torch.empty_like(logits).exponential_(generator=generator).log_().neg_()
    return model.packing.argmax(logits + noise)


def _metropolis(model: FactorGraph, conditional: Tensor, chains: Tensor, generator: torch.Generator) -> Tensor:
    """Propose one of the other states uniformly; accept with probability min(1, p'/p). (chains, variables)."""
    states = torch.as_tensor(model.cardinalities, device=chains.device)
    draw = torch.rand(chains.shape, generator=generator, device=chains.device, dtype=conditional.dtype)
    shift = 1 + (draw * (states - 1).clamp(min=1)).floor().long()
    proposal = torch.where(states > 1, (chains + shift) % states, chains)
    now = conditional.gather(1, model.packing.entry_of(chains))
    then = conditional.gather(1, model.packing.entry_of(proposal))
    accept = torch.rand(chains.shape, generator=generator, device=chains.device, dtype=conditional.dtype)
    better = torch.log(accept) < then - now
    return torch.where(better, proposal, chains)
