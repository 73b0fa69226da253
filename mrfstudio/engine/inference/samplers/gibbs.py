"""Sampling: many chains at once, variables of one colour in one operation.

Gibbs draws each variable from its conditional; Metropolis proposes a state, uniformly, and accepts it with
probability min(1, p'/p); `trees.py` draws whole trees. Marginals are frequencies over sweeps after the burn-in in one
half of the chains; the other half decides when that is enough, so that stopping does not bias them. The standard error
comes from the spread between chains, which are independent, so that it also counts slow mixing within a chain
(`diagnostics.py`).

Chains start at states drawn uniformly. With zeros a conditional is taken over those states that break the fewest
factors: a chain leaves an impossible start and never goes back. Starts that break some are replaced by assignments that
a search finds; chains that are still at an impossible one after the burn-in start again from one that is not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import AnyEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.supports import possible_assignment, require_possible, support_of
from mrfstudio.engine.inference.algorithm import Algorithm, Kernel, Model, State, kernel, nothing_changed
from mrfstudio.engine.inference.samplers.diagnostics import (
    Halves,
    doubt_of,
    effective_draws,
    judges,
    looks_at,
    r_hat,
    standard_error,
    witnesses,
)
from mrfstudio.engine.inference.samplers.dominated import contenders
from mrfstudio.engine.inference.samplers.trees import said_by_factors, swept_trees
from mrfstudio.engine.inference.schedules import variable_colors
from mrfstudio.engine.protocol.catalogue import choice, integer
from mrfstudio.engine.registry import ALGORITHMS

SEARCHES = 8
"""Possible assignments that are searched for chains whose start is impossible."""


@ALGORITHMS.register
class Gibbs(Algorithm):
    """Parameters of sampling. One iteration is one sweep over all variables in every chain."""

    name = "gibbs"
    marginals_only = True
    title = "Gibbs and Metropolis sampling"
    summary = (
        "Estimates marginals from samples of many chains; the residual is the largest standard error of a marginal. "
        "Converged means that it is below the tolerance and that the chains agree."
    )

    sampling = True

    chains: int = integer(
        64,
        "Independent chains that run side by side. One half decides when to stop, the other half gives the answer.",
        low=2,
        high=65536,
        logarithmic=True,
    )
    burn_in: int = integer(100, "Sweeps that are thrown away at the beginning.", low=0, unit="sweeps")
    sampler: str = choice(
        "gibbs",
        ("gibbs", "metropolis", "trees"),
        "How variables are redrawn: one from its conditional, one by proposals, or whole trees of them together.",
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
    """Chains (chains, variables) and per-chain visit counts (chains, size) after the burn-in, with those at earlier
    moments (`chains.Halves`); `moved` (variables,) says which variables ever changed in a chain that judges.
    """

    chains: Tensor
    counts: Tensor
    early: Tensor
    late: Tensor
    moved: Tensor
    remembered: ClassVar[tuple[str, ...]] = ("early", "late", "moved")

    @classmethod
    def begun(cls, chains: Tensor, counts: Tensor, generator: torch.Generator) -> Samples:
        """Before the first sweep; chains (chains, variables), counts (chains, size) of zeros."""
        moved = torch.zeros(chains.shape[1], dtype=torch.bool, device=chains.device)
        return cls(0, nothing_changed(counts), 0, generator.get_state(), chains, counts, counts, counts, moved)

    def forgotten(self) -> Samples:
        nothing = torch.zeros_like(self.counts)
        return replace(self, iteration=0, counts=nothing, early=nothing, late=nothing, counted=0)

    @property
    def halves(self) -> Halves:
        return Halves(self.early, self.late)

    def swept(self, chains: Tensor, visits: Tensor | None, generator: torch.Generator) -> Samples:
        """After a sweep to `chains`; `visits` (chains, size) are counted, None in the burn-in."""
        moved = self.moved | (judges(chains) != judges(self.chains)).any(0)
        after = replace(self, iteration=self.iteration + 1, chains=chains, moved=moved, generator=generator.get_state())
        if visits is None:
            return after
        counts, counted = self.counts + visits, self.counted + 1
        halves = self.halves.updated(counts, counted)
        return replace(after, counts=counts, counted=counted, early=halves.early, late=halves.late)

    def judged(self, moved: Tensor, certain: Tensor) -> Samples:
        """With the judges' largest standard error as its residual, at the sweeps at which that is looked at. `moved`
        (size,) says for each entry of the counts whether its variable ever changed, `certain` (size,) what needs no
        sampling.
        """
        if not looks_at(self.counted):
            return self
        counts = judges(self.counts)
        draws = torch.where(moved, float(len(counts) * self.counted), float(len(counts))).to(counts)
        error = standard_error(counts, self.counted, draws).masked_fill(certain, 0.0)
        return replace(self, residual=error.max() if error.numel() else self.residual.new_zeros(()))

    def doubt(self, certain: Tensor, owners: Tensor) -> str | None:
        """Whether the chains agree, and are long enough to say so. `owners` (size,): the variable of each entry."""
        if self.counted < 4:
            return "The chains are still too short to tell anything."
        # Frequencies of 0 and 1 alone: whatever keeps a variable there would keep it elsewhere just as well.
        counts = judges(self.counts)
        # Of trees not visits are counted, and shares that are neither 0 nor 1 do not mean that a chain moved.
        moving = (((counts > 0) & (counts < self.counted)).any(0) & self.moved[owners]) | certain
        moved = torch.zeros(len(self.moved), device=moving.device).index_add(0, owners, moving.float()) > 0
        if not bool(moved.all()):
            count = int((~moved).sum())
            return f"{count} variables never moved: the chains cannot tell whether they are stuck."
        worst = r_hat(self.counts, self.halves, self.counted).masked_fill(certain, 1.0).max()
        fewest = effective_draws(counts, self.counted).masked_fill(certain, torch.inf).min()
        return doubt_of(float(worst), min(float(fewest), float(self.counted * len(counts))))

    @property
    def frequencies(self) -> Tensor:
        """(size,) The answer: how often the witnesses were there, once sweeps are counted."""
        return witnesses(self.counts).mean(0) / self.counted


@kernel(Gibbs, FactorGraph)
class GibbsOnGraph(Kernel):
    """Any factor graph."""

    def init(self, algorithm: Gibbs, model: FactorGraph, evidence: Evidence) -> Samples:
        require_possible(model, evidence)
        local = model.local_potentials(evidence)
        generator = torch.Generator(device=local.device).manual_seed(algorithm.seed)
        start = dispersed(model, evidence, algorithm.chains, generator)
        return Samples.begun(start, local.new_zeros((algorithm.chains, model.packing.size)), generator)

    def step(self, algorithm: Gibbs, model: FactorGraph, evidence: Evidence, state: Samples) -> Samples:
        require_possible(model, evidence)
        local = model.local_potentials(evidence)
        generator = torch.Generator(device=local.device)
        generator.set_state(state.generator)
        visits = None
        if algorithm.sampler == "trees":
            chains, seen = swept_trees(model, local, state.chains, generator)
        else:
            chains, seen = self._swept(algorithm, model, local, state.chains, generator), None
        if state.iteration >= algorithm.burn_in:
            before = chains
            chains, possible = _possible_chains(model, local, chains, generator)
            # What a chain sees on the way out of the impossible says nothing.
            if possible and (seen is None or chains is before):
                here = torch.zeros_like(state.counts).scatter(1, model.packing.entry_of(chains), 1.0)
                visits = here if seen is None else seen
        after = state.swept(chains, visits, generator)
        return after.judged(after.moved[model.packing.owners(model.device)], self._certain(model, evidence))

    def _swept(
        self, algorithm: Gibbs, model: FactorGraph, local: Tensor, chains: Tensor, generator: torch.Generator
    ) -> Tensor:
        """Chains (chains, variables) after every variable was redrawn by itself; `local` is packed, (size,)."""
        for variables in variable_colors(model):
            conditional = conditionals(model, local, chains)
            if algorithm.sampler == "metropolis":
                fresh = _metropolis(model, conditional, chains, generator)
            else:
                fresh = _categorical(model, conditional, generator)
            chains = chains.clone()
            chains[:, variables] = fresh[:, variables]
        return chains

    def beliefs(self, algorithm: Gibbs, model: FactorGraph, evidence: Evidence, state: Samples) -> Tensor:
        if state.counted == 0:  # still burning in: where the chains are now
            now = torch.zeros_like(state.counts)
            return now.scatter(1, model.packing.entry_of(state.chains), 1.0).mean(0)
        return state.frequencies

    def samples(self, algorithm: Gibbs, model: FactorGraph, evidence: Evidence, state: Samples) -> Tensor:
        return state.chains

    def doubt(
        self, algorithm: Gibbs, model: FactorGraph, evidence: Evidence, state: Samples, tolerance: float
    ) -> str | None:
        local = model.local_potentials(evidence)
        broken = int((violations(model, local, state.chains) > 0).sum())
        if broken:
            return f"{broken} of {len(state.chains)} chains have found no possible assignment: they cannot tell."
        return state.doubt(self._certain(model, evidence), model.packing.owners(model.device))

    def _certain(self, model: FactorGraph, evidence: Evidence) -> Tensor:
        """(size,) Which entries belong to variables with one state that can be the case."""

        def make() -> Tensor:
            left = contenders(model, evidence).to(model.dtype)
            one = model.packing.to_variable_order(model.packing.sum_states(left)) == 1
            return one[model.packing.owners(model.device)]

        return evidence.derived(model, "certain", make)


def dispersed(model: FactorGraph, evidence: Evidence, count: int, generator: torch.Generator) -> Tensor:
    """Assignments (count, variables) to begin with: uniform over states, possible where that can be found."""
    alive = support_of(model, evidence).alive
    uniform = torch.zeros_like(alive, dtype=model.dtype).masked_fill(~alive, -torch.inf)
    starts = _categorical(model, uniform.expand(count, -1), generator)
    if not model.has_zeros:
        return starts
    broken = (violations(model, model.local_potentials(evidence), starts) > 0).nonzero().squeeze(1)
    found = []
    for _ in range(min(SEARCHES, len(broken))):
        noise = torch.rand(alive.shape[-1], generator=generator, dtype=model.dtype, device=model.device)
        assignment = possible_assignment(model, evidence, noise)
        if assignment is None:
            break
        found.append(torch.as_tensor(assignment, device=model.device))
    if found:
        starts[broken] = torch.stack(found)[torch.arange(len(broken), device=model.device) % len(found)]
    return starts


def violations(model: FactorGraph, local: Tensor, chains: Tensor) -> Tensor:
    """How many potentials forbid each assignment (chains, variables), (chains,)."""
    found = local.isneginf()[model.packing.entry_of(chains)].sum(-1)
    for group in model.groups if model.has_zeros else ():
        each = torch.arange(group.count, device=chains.device)
        picked = tuple(chains[:, group.scopes[axis]] for axis in range(group.order))
        found = found + group.tables.isneginf()[(*picked, each)].sum(-1)
    return found


def _possible_chains(
    model: FactorGraph, local: Tensor, chains: Tensor, generator: torch.Generator
) -> tuple[Tensor, bool]:
    """Chains (chains, variables) after the burn-in, and whether all are possible.

    Those that are not begin again where others are. `local` is packed, (size,).
    """
    if not model.has_zeros:
        return chains, True
    broken = violations(model, local, chains) > 0
    if not bool(broken.any()):
        return chains, True
    fine = (~broken).nonzero().squeeze(1)
    if not len(fine):
        return chains, False
    chosen = torch.randint(len(fine), (int(broken.sum()),), generator=generator, device=chains.device)
    chains = chains.clone()
    chains[broken] = chains[fine[chosen]]
    return chains, True


def conditionals(model: FactorGraph, local: Tensor, chains: Tensor) -> Tensor:
    """log p(x_i | the rest) + const for every variable in every chain, (chains, size).

    Where every state of a variable breaks a factor, those that break the fewest share what is left.
    """
    if not model.groups:
        return local.expand(chains.shape[0], -1)
    values = said_by_factors(model, chains, [group.tables for group in model.groups])
    if not model.has_zeros:
        return local + model.packing.sum_incoming(values)
    broken = values.isneginf()
    counts = model.packing.sum_incoming(broken.to(local.dtype)).masked_fill(local.isneginf(), torch.inf)
    fewest = [block.amin(-2, keepdim=True).expand_as(block).flatten(-2) for block in model.packing.by_block(counts)]
    totals = local + model.packing.sum_incoming(values.masked_fill(broken, 0.0))
    return totals.masked_fill(counts > torch.cat(fewest, -1), -torch.inf)


def _categorical(model: FactorGraph, logits: Tensor, generator: torch.Generator) -> Tensor:
    """One draw for each variable and chain by the Gumbel trick, (chains, variables)."""
    noise = torch.empty_like(logits).exponential_(generator=generator).log_().neg_()
    return model.packing.argmax(logits + noise)


def _metropolis(model: FactorGraph, conditional: Tensor, chains: Tensor, generator: torch.Generator) -> Tensor:
    """Propose any state uniformly; accept with probability min(1, p'/p). (chains, variables).

    The present state is among the proposals: without it, variables of two states that nothing holds would all flip at
    every sweep, to and fro between two assignments for ever.
    """
    states = torch.as_tensor(model.cardinalities, device=chains.device)
    draw = torch.rand(chains.shape, generator=generator, device=chains.device, dtype=conditional.dtype)
    proposal = (chains + (draw * states).floor().long()) % states
    now = conditional.gather(1, model.packing.entry_of(chains))
    then = conditional.gather(1, model.packing.entry_of(proposal))
    accept = torch.rand(chains.shape, generator=generator, device=chains.device, dtype=conditional.dtype)
    better = torch.log(accept) < then - now
    return torch.where(better, proposal, chains)
