"""Inference by minimising a region free energy over the parameters of a network ([Liu20], Eq. 4.10-4.12).

    b_α = softmax(start_α + scores_α(ω)) on roots,    other regions: the mean of what their parents say,
    minimise over ω    F_R(b) + λ Σ_{R, parents P} ‖b_R - Σ_{x_P∖x_R} b_P‖².

One step is one step of Adam; parameters and moments are part of the state. λ is held for the first half of the planned
steps and then grows, while the learning rate falls: a small λ finds the minimum, a large one makes beliefs consistent.

Strong factors would begin with beliefs of nearly 0 and 1, where softmax has no slope left. With S ≥ 1 the strength of
the factors, potentials are therefore softened to β log φ with β from 1/S to 1 over the first half of the plan, and
scores and λ are counted in units of that strength: b_α = softmax(β (start_α + S scores_α)), β S λ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import AnyEvidence, Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import Kernel, LogPartition, Model, State, kernel, nothing_changed
from mrfstudio.engine.inference.regions.generalized_bp import double_loop
from mrfstudio.engine.inference.regions.objective import objective
from mrfstudio.engine.inference.regions.on_regions import OnRegions, region_estimate, region_potentials
from mrfstudio.engine.inference.regions.region_network import RegionNetwork
from mrfstudio.engine.inference.regions.tables import RegionTables
from mrfstudio.engine.protocol.catalogue import choice, flag, integer, number

BETAS = (0.9, 0.999)
EPSILON = 1e-8
FLOOR = 0.05
"""Where the learning rate ends, as a part of what it began with: a run can go on after its plan."""
MILD = 1.5
"""Root mean square of log-factors up to which nothing is softened: couplings drawn from N(0, 1) stay as they are."""
OWN_SCORES = "Beside what the layers give, every region has scores of its own; without them the layers alone must do."
STUCK = 1.0
"""By how much the energy may fall with a belief of nearly 0 before a state counts as stuck there."""
SWEEPS = 20
"""Sweeps of the double loop that the start from it takes."""


class EnergyNetwork(OnRegions):
    """Parameters that `renn` and `bethe-net` share."""

    penalty: float = number(
        3.0, "λ: how much a disagreement between a region and its parent costs at first.", low=0, logarithmic=True
    )
    growth: float = number(
        50.0, "By how much λ grows in the second half of the planned steps; 1 keeps it.", low=1, logarithmic=True
    )
    steps: int = integer(
        200, "Planned steps of the optimiser: what the growth of λ is spread over.", low=2, logarithmic=True
    )
    learning_rate: float = number(0.002, "How far one step of Adam goes.", low=0, low_open=True, logarithmic=True)
    start: str = choice(
        "double-loop",
        ("double-loop", "potentials", "uniform"),
        "First beliefs of the roots: a few sweeps of a double loop, their own potentials, or uniform ones.",
    )
    annealing: bool = flag(
        True, "Strong factors are softened at first and have their full strength after half of the planned steps."
    )
    embedding: int = integer(64, "Numbers in the vector of a variable.", low=1, high=4096, advanced=True)
    attention: int = integer(1, "Attention layers.", low=0, high=16, advanced=True)
    residual_layers: int = integer(
        2,
        "Residual layers; with no layers at all the scores of regions are the parameters, which wants a learning rate "
        "of about 0.1.",
        low=0,
        high=64,
        advanced=True,
    )
    own_scores: bool = flag(True, OWN_SCORES, advanced=True)
    seed: int = integer(0, "The same seed begins with the same network.", low=0)

    @property
    def planned(self) -> int:
        return self.steps

    def resume(self, model: Model, evidence: AnyEvidence, state: State) -> State:
        """The network goes on from what it is; plan and moments restart, or it would hardly move any more."""
        assert isinstance(state, NetworkState)
        nothing = torch.zeros_like(state.first)
        return replace(state, first=nothing, second=nothing, begun=state.iteration)

    def network(self, graph: FactorGraph) -> RegionNetwork:
        """The network for a graph's regions, made once."""
        tables = self.tables(graph)
        shape = (self.embedding, self.attention, self.residual_layers, self.own_scores)
        return graph.structural(("region network", id(tables), *shape), lambda: RegionNetwork(tables, *shape))

    def penalty_at(self, iteration: int) -> float:
        """λ of a step, counted from 0."""
        return float(self.penalty * self.growth ** self._second_half(iteration))

    def rate_at(self, iteration: int) -> float:
        """The learning rate of a step: half a cosine over the second half of the plan."""
        if self.growth == 1:
            return self.learning_rate
        falling = 0.5 + 0.5 * math.cos(math.pi * self._second_half(iteration))
        return self.learning_rate * (FLOOR + (1 - FLOOR) * falling)

    def strength_of(self, graph: FactorGraph, evidence: Evidence) -> float:
        """S ≥ 1: by how much the factors of a graph are stronger than mild ones."""
        if not self.annealing:
            return 1.0
        return evidence.derived(graph, "strength of factors", lambda: max(1.0, _spread(graph) / MILD))

    def softening_at(self, iteration: int, strength: float) -> float:
        """β of a step: from 1/S to 1 over the first half of the plan."""
        return float(strength ** min(iteration / (self.steps / 2) - 1, 0.0))

    def _second_half(self, iteration: int) -> float:
        half = self.steps / 2
        return min(max((iteration - half) / half, 0.0), 1.0)


@dataclass(frozen=True, eq=False)
class NetworkState(State):
    """Parameters (…, n) with Adam's moments, `offset` (…, entries) from log-potentials to the scores that the network's
    are added to, and log-beliefs of regions (…, entries): those at which the last gradient was taken.

    `residual` is the larger of the largest change of a region's belief and of `consistency`, the largest disagreement
    of a region with its parent. The plan of steps began at the iteration `begun`.
    """

    parameters: Tensor
    first: Tensor
    second: Tensor
    offset: Tensor
    log_beliefs: Tensor
    consistency: Tensor
    begun: int = 0


@kernel(EnergyNetwork, FactorGraph)
class EnergyNetworkOnGraph(Kernel):
    """Any factor graph. Leading axes of the evidence are networks of their own."""

    def init(self, algorithm: EnergyNetwork, model: FactorGraph, evidence: Evidence) -> NetworkState:
        tables = algorithm.tables(model)
        potentials = region_potentials(model, tables, evidence)
        offset = _offset(algorithm.start, tables, potentials)
        batch = potentials.shape[:-1]
        parameters = algorithm.network(model).start(algorithm.seed, potentials.device, batch)
        nothing = torch.zeros_like(parameters)
        unknown = nothing_changed(potentials)
        log_beliefs = objective(tables).log_beliefs(potentials + offset)
        return NetworkState(0, unknown, parameters, nothing, nothing, offset, log_beliefs, unknown)

    def step(
        self, algorithm: EnergyNetwork, model: FactorGraph, evidence: Evidence, state: NetworkState
    ) -> NetworkState:
        tables, network = algorithm.tables(model), algorithm.network(model)
        potentials = region_potentials(model, tables, evidence)
        base = potentials + state.offset  # evidence may have changed since the state began
        with torch.enable_grad():
            parameters = state.parameters.detach().requires_grad_()
            scores = network.scores(parameters)
        strength = algorithm.strength_of(model, evidence)
        planned = state.iteration - state.begun
        soft = algorithm.softening_at(planned, strength)
        unit = soft * strength
        slope = objective(tables).slope(
            soft * potentials,
            soft * base + unit * scores.detach().to(base.dtype),
            unit * algorithm.penalty_at(planned),
        )
        (gradient,) = torch.autograd.grad(scores, parameters, (unit * slope.gradient).to(scores.dtype))
        log_beliefs, gap = slope.log_beliefs, slope.gap
        consistency = gap.abs().max() if gap.numel() else log_beliefs.new_zeros(())
        change = (log_beliefs.exp() - state.log_beliefs.exp()).abs().max()
        moved, first, second = _adam(state, gradient, planned + 1, algorithm.rate_at(planned))
        return replace(
            state,
            iteration=state.iteration + 1,
            residual=torch.maximum(change, consistency),
            parameters=moved,
            first=first,
            second=second,
            log_beliefs=log_beliefs,
            consistency=consistency,
        )

    def beliefs(self, algorithm: EnergyNetwork, model: FactorGraph, evidence: Evidence, state: NetworkState) -> Tensor:
        return algorithm.tables(model).node_beliefs(state.log_beliefs.exp())

    def factor_beliefs(
        self, algorithm: EnergyNetwork, model: FactorGraph, evidence: Evidence, state: NetworkState
    ) -> list[Tensor]:
        return algorithm.tables(model).factor_beliefs(state.log_beliefs.exp())

    def log_partition(
        self, algorithm: EnergyNetwork, model: FactorGraph, evidence: Evidence, state: NetworkState
    ) -> LogPartition:
        return region_estimate(algorithm, model, evidence, state.log_beliefs)

    @torch.no_grad()
    def doubt(
        self, algorithm: EnergyNetwork, model: FactorGraph, evidence: Evidence, state: NetworkState, tolerance: float
    ) -> str | None:
        planned = state.iteration - state.begun
        if planned < algorithm.steps:
            return f"Only {planned} of {algorithm.steps} planned steps are done: potentials and penalty still change."
        tables = algorithm.tables(model)
        potentials = region_potentials(model, tables, evidence)
        scores = algorithm.network(model).scores(state.parameters).to(potentials.dtype)
        strength = algorithm.strength_of(model, evidence)
        penalty = strength * algorithm.penalty_at(planned)
        want = objective(tables).wanting(potentials, potentials + state.offset + strength * scores, penalty)
        if want <= STUCK:
            return None
        return f"Beliefs of nearly 0 no longer move, though raising one would lower the energy (slope {want:.2g})."


def _adam(state: NetworkState, gradient: Tensor, number: int, rate: float) -> tuple[Tensor, Tensor, Tensor]:
    """Parameters and moments (…, n) after step `number`, counted from 1. Overwrites `gradient` (…, n): every fresh
    array of this size costs more than the arithmetic on it.
    """
    first = torch.lerp(gradient, state.first, BETAS[0])
    second = (state.second * BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
    scale = torch.sqrt(second, out=gradient).div_(math.sqrt(1 - BETAS[1] ** number)).add_(EPSILON)
    return torch.addcdiv(state.parameters, first, scale, value=-rate / (1 - BETAS[0] ** number)), first, second


def _spread(graph: FactorGraph) -> float:
    """Root mean square of log-factors around the mean of each, over what is not forbidden."""
    total, count = 0.0, 0
    for group in graph.groups:
        tables = group.tables.detach().flatten(0, -2)
        allowed = ~tables.isneginf()
        values = tables.masked_fill(~allowed, 0.0)
        means = values.sum(0) / allowed.sum(0).clamp(min=1)
        total += float(((values - means).square() * allowed).sum())
        count += int(allowed.sum())
    return math.sqrt(total / max(count, 1))


def _offset(start: str, tables: RegionTables, potentials: Tensor) -> Tensor:
    """From log-potentials (…, entries) to the scores to begin with. Forbidden entries stay so, whatever the start."""
    if start == "potentials":
        return torch.zeros_like(potentials)
    if start == "uniform":
        return torch.where(potentials.isneginf(), torch.zeros_like(potentials), -potentials)
    loop = double_loop(tables)
    multipliers, log_beliefs = loop.start(potentials)
    for _ in range(SWEEPS):
        multipliers, log_beliefs, _ = loop.turn(potentials, multipliers, log_beliefs)
    return torch.where(potentials.isneginf(), torch.zeros_like(potentials), log_beliefs - potentials)
