"""Generalized belief propagation: messages between regions, from parents to children ([Liu20], Eq. 4.2-4.4).

    log b_R = log φ_R + Σ messages into R and its descendants from outside of them                       (4.4)
    m'_{P→R} = m_{P→R} · Σ_{x_P∖x_R} b_P / b_R                                                         (4.2)

The quotient of beliefs is Eq. 4.2: the factors and messages that P and R share cancel. Messages go level by level, from
the roots down. They swing on most grids with strong couplings, and on complete graphs they run off to beliefs of 0 and
1; a double loop (`double_loop.py`) comes to rest on both, and its fixed points are those of the messages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import Kernel, LogPartition, State, kernel, nothing_changed
from mrfstudio.engine.inference.messages.factor_messages import FAR, runaway
from mrfstudio.engine.inference.regions.double_loop import DoubleLoop
from mrfstudio.engine.inference.regions.on_regions import OnCycles, region_estimate, region_potentials
from mrfstudio.engine.inference.regions.tables import RegionTables
from mrfstudio.engine.inference.residuals import changes
from mrfstudio.engine.protocol.catalogue import choice, integer, number
from mrfstudio.engine.registry import ALGORITHMS

PATIENCE = 40
"""Iterations of message passing after which its residual must have halved, or the double loop takes over."""


@ALGORITHMS.register
class GeneralizedBP(OnCycles):
    """Parameters of generalized belief propagation."""

    name = "gbp"
    title = "Generalized belief propagation"
    summary = (
        "Messages between regions of several variables: short cycles are treated exactly. "
        "The residual is the largest disagreement of a region with its parent."
    )

    damping: float = number(
        0.5, "How much of the old message is kept at each update; grids need some.", low=0, high=1, high_open=True
    )
    method: str = choice(
        "double-loop",
        ("double-loop", "messages", "auto"),
        "A double loop that settles, messages from parents to children, or these until they no longer converge.",
    )
    inner: int = integer(
        1,
        "Sweeps of the double loop for each new tangent; with many of them the free energy never rises.",
        low=1,
        high=1000,
        logarithmic=True,
        advanced=True,
    )


@dataclass(frozen=True, eq=False)
class RegionMessages(State):
    """Messages from parents to children and multipliers of the double loop as logarithms, with log-beliefs of regions.

    `looping` says whether the double loop is at work, `watched` is the residual it is compared with and `since` the
    iteration at which that was noted.
    """

    messages: Tensor
    multipliers: Tensor
    log_beliefs: Tensor
    watched: Tensor
    since: int = 0
    looping: bool = False

    @property
    def consistency(self) -> Tensor:
        """The largest disagreement of a region with its parent: here the residual itself."""
        return self.residual


@kernel(GeneralizedBP, FactorGraph)
class GeneralizedBPOnGraph(Kernel):
    """Any factor graph."""

    def entries(self, model: FactorGraph, evidence: Evidence) -> int | None:
        return model.packing.message_size * 16 * evidence.log_potentials[..., 0].numel()

    def init(self, algorithm: GeneralizedBP, model: FactorGraph, evidence: Evidence) -> RegionMessages:
        tables = algorithm.tables(model)
        potentials = region_potentials(model, tables, evidence)
        multipliers, uniform = double_loop(tables).start(potentials)
        messages = potentials.new_zeros((*potentials.shape[:-1], tables.message_size))
        looping = algorithm.method == "double-loop"
        beliefs = uniform if looping else tables.normalise(potentials)
        unknown = nothing_changed(potentials)
        return RegionMessages(0, unknown, messages, multipliers, beliefs, unknown, 0, looping)

    def step(
        self, algorithm: GeneralizedBP, model: FactorGraph, evidence: Evidence, state: RegionMessages
    ) -> RegionMessages:
        tables = algorithm.tables(model)
        potentials = region_potentials(model, tables, evidence)
        if algorithm.method == "double-loop" and not state.looping:
            state = _double_loop_from_start(tables, potentials, state)
        if algorithm.method != "messages" and state.looping:
            swept = double_loop(tables).turn(potentials, state.multipliers, state.log_beliefs, algorithm.inner)
            return replace(
                state,
                iteration=state.iteration + 1,
                residual=swept.residual,
                multipliers=swept.multipliers,
                log_beliefs=swept.log_beliefs,
            )
        messages, residual = pass_messages(tables, potentials, state.messages, algorithm.damping)
        log_beliefs = tables.normalise(potentials + tables.from_messages(messages))
        passed = replace(
            state,
            iteration=state.iteration + 1,
            residual=residual,
            messages=messages,
            log_beliefs=log_beliefs,
            looping=False,
        )
        return self._watched(algorithm, tables, potentials, passed)

    def _watched(
        self, algorithm: GeneralizedBP, tables: RegionTables, potentials: Tensor, state: RegionMessages
    ) -> RegionMessages:
        """Turn to the double loop where the residual has not halved for a while; potentials (…, entries)."""
        if algorithm.method != "auto" or state.iteration - state.since < PATIENCE:
            return state
        if float(state.residual) <= 0.5 * float(state.watched):
            return replace(state, since=state.iteration, watched=state.residual)
        return _double_loop_from_start(tables, potentials, state)

    def beliefs(
        self, algorithm: GeneralizedBP, model: FactorGraph, evidence: Evidence, state: RegionMessages
    ) -> Tensor:
        return algorithm.tables(model).node_beliefs(state.log_beliefs.exp())

    def factor_beliefs(
        self, algorithm: GeneralizedBP, model: FactorGraph, evidence: Evidence, state: RegionMessages
    ) -> list[Tensor]:
        return algorithm.tables(model).factor_beliefs(state.log_beliefs.exp())

    def doubt(
        self, algorithm: GeneralizedBP, model: FactorGraph, evidence: Evidence, state: RegionMessages, tolerance: float
    ) -> str | None:
        return runaway(state.messages)

    def log_partition(
        self, algorithm: GeneralizedBP, model: FactorGraph, evidence: Evidence, state: RegionMessages
    ) -> LogPartition:
        return region_estimate(algorithm, model, evidence, state.log_beliefs)


def _double_loop_from_start(tables: RegionTables, potentials: Tensor, state: RegionMessages) -> RegionMessages:
    """The double loop from uniform beliefs: those of messages that swing are a bad place for the first tangents.

    Potentials are log φ_R, (…, entries).
    """
    multipliers, uniform = double_loop(tables).start(potentials)
    return replace(state, multipliers=multipliers, log_beliefs=uniform, looping=True)


def double_loop(tables: RegionTables) -> DoubleLoop:
    """The double loop's layout, made once for a region graph."""
    return tables.structure.structural(("double loop", id(tables)), lambda: DoubleLoop(tables))


def pass_messages(tables: RegionTables, potentials: Tensor, messages: Tensor, damping: float) -> tuple[Tensor, Tensor]:
    """Every message once, level by level, and the largest disagreement of a parent and a child, a scalar.

    Potentials are log φ_R, (…, entries); messages (…, message entries).
    """
    largest = potentials.new_zeros(())
    for chosen in tables.messages_by_level:
        mask = chosen.to(potentials.device)
        log_beliefs = tables.normalise(potentials + tables.from_messages(messages))
        said = tables.to_children(log_beliefs, torch.logsumexp)
        held = log_beliefs.index_select(-1, tables.of_children.to(potentials.device))
        largest = torch.maximum(largest, changes(said, held).masked_fill(~mask, 0.0).max())
        apart = torch.where(said.isneginf(), 0.0, said - held)  # what is impossible is so for both
        # Messages that run off must not overflow: a difference of two infinities would have no value.
        moved = tables.normalise_messages(messages + (1 - damping) * apart).clamp(min=-FAR)
        messages = torch.where(mask, moved, messages)
    return messages, largest
