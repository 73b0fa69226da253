"""Saddle-point learning: the model goes down, an inference network up ([WK19], Algorithm 1; [Liu20], Eq. 5.9).

    min over θ, max over ω    -log p̃(data; θ) - F(b(ω); θ) - λ Σ disagreements²

-F estimates log Z, by Bethe's free energy or by that of regions, from cycles or with variables that all regions share;
hidden units of an RBM are summed out of p̃ and take part in F. Each step of training moves the network a few steps for
the present θ, then θ once, with the gradient at the network's beliefs: no gradient flows through the network, because
they are an optimum of the same objective. The network is the learner's state; it follows the model from batch to batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.inference.energy import region_log_partition
from mrfstudio.engine.inference.regions.bethe_net import BetheNetwork
from mrfstudio.engine.inference.regions.energy_network import EnergyNetwork, NetworkState
from mrfstudio.engine.inference.regions.renn import RegionEnergyNetwork
from mrfstudio.engine.protocol.catalogue import choice, integer, number
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.training.density import Density, DensityLearner, density_of
from mrfstudio.engine.training.learner import BatchContext, BatchResult, TrainingData

KEPT = ("parameters", "first", "second", "offset", "log_beliefs")
"""What of the network's state a checkpoint keeps, beside the count of its steps."""


@LEARNERS.register
class Saddle(DensityLearner):
    """Parameters of saddle-point learning."""

    name = "saddle"
    title = "Saddle point"
    summary = "A network follows the model and estimates its marginals and log Z, by Bethe or by regions."

    needs: ClassVar[tuple[str, ...]] = ("score", "joint")

    energy: str = choice("bethe", ("bethe", "regions"), "The free energy that stands for -log Z.")
    shared: int = integer(
        0,
        "Energy of regions: variables with most neighbours that every region holds, which dense graphs need; 0 takes "
        "regions from cycles.",
        low=0,
        high=16,
        advanced=True,
    )
    network_steps: int = integer(10, "Steps of the network for one of the model.", low=1, high=10_000, logarithmic=True)
    network_rate: float = number(
        0.001, "How far one step of the network goes.", low=0.0, low_open=True, logarithmic=True
    )
    warm_up_steps: int = integer(
        100, "Steps of the network before the first one of the model.", low=0, high=100_000, unit="steps"
    )
    penalty: float = number(10.0, "λ: what a disagreement between regions costs.", low=0.0, logarithmic=True)
    embedding: int = integer(64, "Numbers in the vector of a variable.", low=1, high=4096, advanced=True)
    attention: int = integer(1, "Attention layers of the network.", low=0, high=16, advanced=True)
    residual_layers: int = integer(2, "Residual layers of the network.", low=0, high=64, advanced=True)

    def network(self, seed: int = 0) -> EnergyNetwork:
        """The inference network, with a λ that stays."""
        if self.energy == "bethe":
            made: EnergyNetwork = BetheNetwork()
        elif self.shared:
            made = RegionEnergyNetwork(regions="shared", shared=self.shared)
        else:
            made = RegionEnergyNetwork()
        return made.replace(
            penalty=self.penalty,
            growth=1.0,
            annealing=False,
            start="potentials",  # those of the present model, which the network follows
            learning_rate=self.network_rate,
            embedding=self.embedding,
            attention=self.attention,
            residual_layers=self.residual_layers,
            seed=seed,
        )

    def refuses(self, found: type[Density], model: Any) -> str | None:
        if found.joint is Density.joint:
            return f"The learner saddle has no graph of a {model.kind}: use likelihood, or cd."
        return None

    def start(self, model: Any, data: TrainingData, seed: int) -> dict[str, Tensor]:
        super().start(model, data, seed)
        seen = density_of(model, data.train[torch.arange(1)])
        network = self.network(seed)
        with torch.no_grad():
            graph = seen.joint()
            nothing = graph.no_evidence()
            state = network.init(graph, nothing)
            for _ in range(self.warm_up_steps):
                state = network.step(graph, nothing, state)
        assert isinstance(state, NetworkState)
        return kept(state)

    def batch(self, model: Any, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        seen = density_of(model, batch)
        network, graph = self.network(), seen.joint()
        with torch.no_grad():
            present = graph.with_potentials(graph.unary.detach(), [group.tables.detach() for group in graph.groups])
            nothing = present.no_evidence()
            found = restored(state)
            for _ in range(self.network_steps):
                stepped = network.step(present, nothing, found)
                assert isinstance(stepped, NetworkState)
                found = stepped
        tables = network.tables(graph)
        potentials = tables.potentials(graph, graph.unary)
        log_z = region_log_partition(graph, tables, potentials, found.log_beliefs.detach())
        score = seen.score(seen.visible)
        loss = log_z - score.mean()
        loss.backward()
        scalars = {"consistency": float(found.consistency)}
        return BatchResult(float(loss.detach()), float(len(score)), scalars, kept(found))


def kept(state: NetworkState) -> dict[str, Tensor]:
    """The network's state as named tensors."""
    return {"iteration": torch.tensor(state.iteration, device="cpu"), **{name: getattr(state, name) for name in KEPT}}


def restored(tensors: Mapping[str, Tensor]) -> NetworkState:
    """The network's state from named tensors, in the shapes of `NetworkState`."""
    unknown = torch.full((), torch.inf, dtype=tensors["offset"].dtype, device=tensors["offset"].device)
    parameters, first, second, offset, log_beliefs = (tensors[name] for name in KEPT)
    return NetworkState(
        int(tensors["iteration"]), unknown, parameters, first, second, offset, log_beliefs, consistency=unknown
    )
