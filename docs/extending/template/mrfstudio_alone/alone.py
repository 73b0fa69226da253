"""Every variable alone: belief_i = softmax(local_i / T). A baseline that hears no neighbour."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import Algorithm, Kernel, State, kernel, nothing_changed
from mrfstudio.engine.protocol.catalogue import number
from mrfstudio.engine.registry import ALGORITHMS


@ALGORITHMS.register
class Alone(Algorithm):
    """Its parameters: a slider in the window, an option of `infer`, a check and a line of help from one declaration."""

    name = "alone"
    title = "Every variable alone"
    summary = "Beliefs from each variable's own potential and evidence: a baseline without messages."
    single_step = True

    temperature: float = number(1.0, "Above 1 beliefs are softer, below 1 surer.", low=0.01, high=100)


@dataclass(frozen=True, eq=False)
class AloneBeliefs(State):
    """Packed beliefs (…, size): the states of all variables in one vector."""

    packed: Tensor


@kernel(Alone, FactorGraph)
class AloneOnGraph(Kernel):
    """Any factor graph. A model of another kind is worked on as its factor graph."""

    def init(self, algorithm: Alone, model: FactorGraph, evidence: Evidence) -> AloneBeliefs:
        local = model.local_potentials(evidence)
        return AloneBeliefs(0, nothing_changed(local), model.packing.softmax(local))

    def step(self, algorithm: Alone, model: FactorGraph, evidence: Evidence, state: AloneBeliefs) -> AloneBeliefs:
        beliefs = model.packing.softmax(model.local_potentials(evidence) / algorithm.temperature)
        return AloneBeliefs(state.iteration + 1, (beliefs - state.packed).abs().amax(), beliefs)

    def beliefs(self, algorithm: Alone, model: FactorGraph, evidence: Evidence, state: AloneBeliefs) -> Tensor:
        return state.packed
