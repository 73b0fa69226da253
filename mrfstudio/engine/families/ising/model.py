"""Ising models with trainable couplings and fields: p ∝ exp(Σ_e J_e x_i x_j + Σ_i h_i x_i), x in {-1, +1}."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from mrfstudio.engine.data.binary_rows import image_shape, rows_of
from mrfstudio.engine.families.graph.model import FieldError, TiedGraph, entries_of, randomise
from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import complete_edges, grid_edges
from mrfstudio.engine.protocol.catalogue import choice, integer, number
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import MODELS

if TYPE_CHECKING:
    from mrfstudio.engine.training.learner import TrainingData


class IsingField(TiedGraph):
    """Weights (m + n,): the couplings J of `edges` (m, 2), then the fields h of the nodes.

    The last `hidden` nodes are spins that no data give. With `sharing` `all` there are two numbers: one coupling for
    all edges and one field for all nodes.
    """

    kind = "ising"

    def __init__(
        self,
        edges: ArrayLike,
        nodes: int,
        *,
        sharing: str = "none",
        shape: tuple[int, int] | None = None,
        hidden: int = 0,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        self.edges, self.sharing, self.shape = pairs, sharing, shape
        unit = FactorGraph.ising(pairs, np.ones(len(pairs)), np.ones(nodes), dtype=dtype)
        owner = unit.packing.owners(torch.device("cpu"))
        if sharing == "all":
            of_edge, of_node, count = torch.zeros(len(pairs), dtype=torch.int64), torch.ones_like(owner), 2
        else:
            of_edge, of_node, count = torch.arange(len(pairs)), len(pairs) + owner, len(pairs) + nodes
        index = torch.cat([of_node, of_edge.expand(4, -1).reshape(-1)])
        # The entries of a graph with J = 1 and h = 1 are the signs with which the weights enter.
        weights = torch.zeros(count, dtype=dtype, requires_grad=True)
        super().__init__(unit, index, entries_of(unit), weights, hidden=range(nodes - hidden, nodes))

    def hyperparameters(self) -> dict[str, Any]:
        return {
            "edges": self.edges.tolist(),
            "nodes": self.variables,
            "sharing": self.sharing,
            "shape": None if self.shape is None else list(self.shape),
            "hidden": len(self.hidden),
        }

    @property
    def couplings(self) -> Tensor:
        """J (m,)."""
        return self.weights[:1].expand(len(self.edges)) if self.sharing == "all" else self.weights[: len(self.edges)]

    @property
    def fields(self) -> Tensor:
        """h (n,)."""
        return self.weights[1:].expand(self.variables) if self.sharing == "all" else self.weights[len(self.edges) :]


@MODELS.register
class Ising(ModelPlan):
    """What a person chooses about a trainable Ising model."""

    name = "ising"
    title = "Ising model"
    default_data = "ising"
    summary = "Spins with a coupling for each edge and a field for each node; some may be hidden."

    graph: str = choice(
        "auto",
        ("auto", "grid", "complete"),
        "Which pairs have a coupling: auto takes the edges that the data name, or else all pairs.",
    )
    columns: int = integer(0, "Columns of a grid; 0 takes the shape of the images, or else a square.", low=0)
    sharing: str = choice(
        "none", ("none", "all"), "Own couplings and fields everywhere, or one of each for the whole graph."
    )
    hidden: int = integer(
        0, "Spins beside those of the data, coupled to all: the learners likelihood and em sum over them.", low=0
    )
    start_noise: float = number(0.01, "Standard deviation of the first parameters.", low=0.0, advanced=True)

    @classmethod
    def shapes(cls, hyperparameters: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        edges, nodes = len(hyperparameters["edges"]), int(hyperparameters["nodes"])
        hidden = int(hyperparameters.get("hidden", 0))
        if not 0 <= hidden < max(nodes, 1):
            raise StudioError(f"{hidden} of {nodes} spins are hidden: expected 0 to {max(nodes, 1) - 1}.")
        count = 2 if hyperparameters["sharing"] == "all" else edges + nodes
        return {"weights": (count,), "base": (4 * edges + 2 * nodes,)}

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> IsingField:
        """An empty model like the one a file describes."""
        shape = hyperparameters.get("shape")
        edges, nodes = hyperparameters["edges"], hyperparameters["nodes"]
        return IsingField(
            edges,
            nodes,
            sharing=hyperparameters["sharing"],
            shape=None if shape is None else (shape[0], shape[1]),
            hidden=hyperparameters.get("hidden", 0),
        )

    def build_for(self, data: TrainingData, seed: int) -> IsingField:
        """A new model as large as the data's rows or images."""
        some = data.train[torch.arange(min(2, len(data.train)))]
        nodes, shape = rows_of(some, data.name).shape[1], image_shape(some)
        if self.graph == "grid":
            shape = self._grid(nodes, shape)
            edges = grid_edges(*shape)
        elif self.graph == "auto" and "edges" in data.constants:
            edges = np.asarray(data.constants["edges"], dtype=np.int64)
        else:
            edges = complete_edges(nodes)
        if self.hidden:
            new = nodes + np.arange(self.hidden)
            others = [np.stack([np.arange(spin), np.full(spin, spin)], 1) for spin in new]
            edges, nodes = np.concatenate([edges, *others]), nodes + self.hidden
        model = IsingField(edges, nodes, sharing=self.sharing, shape=shape, hidden=self.hidden)
        randomise(model, self.start_noise, seed)
        return model

    def _grid(self, nodes: int, shape: tuple[int, int] | None) -> tuple[int, int]:
        columns = self.columns or (shape[1] if shape else math.isqrt(nodes))
        if nodes % columns:
            raise FieldError(
                f"{nodes} variables do not fill a grid of {columns} columns: give --columns, or use --graph complete."
            )
        return nodes // columns, columns
