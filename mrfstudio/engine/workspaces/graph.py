"""A factor graph without an image: its variables are laid out as pixels, row by row, and hints are evidence on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.commands import Command, SetImage
from mrfstudio.engine.document import Document, LayerSpec
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.evidence import Evidence
from mrfstudio.engine.frames import NO_HINT
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.models.factor_graph import FactorGraph, FactorGroup
from mrfstudio.engine.workspaces.contract import LabelWorkspace, LaneView, digest, hint_potentials


class GraphWorkspace(LabelWorkspace):
    """Graphs by name, all with the same variables. `shape` (rows, columns) says how they are laid out."""

    name = "graph"
    limits = Limits(iterations=200, tolerance=1e-5)

    def __init__(self, graphs: Mapping[str, FactorGraph], shape: tuple[int, int] | None = None) -> None:
        self._graphs = {name: graph.to(dtype=torch.float32) for name, graph in graphs.items()}
        graph = next(iter(self._graphs.values()))
        self.states = int(graph.cardinalities.max(initial=1))
        side = max(1, math.isqrt(max(graph.variables - 1, 0)) + 1)
        self.shape = shape or (-(-graph.variables // side) or 1, side)
        if self.states >= NO_HINT:
            raise StudioError(f"A variable has {self.states} states: the window can show at most {NO_HINT - 1}.")
        if any((other.cardinalities != graph.cardinalities).any() for other in self._graphs.values()):
            raise StudioError("The graphs have different variables: lanes compare graphs over the same ones.")
        if self.shape[0] * self.shape[1] < graph.variables:
            raise StudioError(f"A layout of {self.shape} has too few places for {graph.variables} variables.")
        self.layers = (LayerSpec("hints", NO_HINT, tuple(range(self.states))),)

    def edited(self, document: Document, command: Command) -> Document | None:
        if isinstance(command, SetImage):
            raise StudioError("A graph has no picture: open it in the Segment workspace.")
        return super().edited(document, command)

    def load(self, name: str) -> FactorGraph:
        if name not in self._graphs:
            raise StudioError(f"There is no graph {name!r}: expected one of {', '.join(self._graphs)}.")
        return self._graphs[name]

    def fingerprint(self, model: FactorGraph) -> str:
        return digest(_graph_arrays(model).values())

    def saved(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        arrays: dict[str, np.ndarray] = {}
        for number, graph in enumerate(self._graphs.values()):
            arrays |= {f"{number} {name}": array for name, array in _graph_arrays(graph).items()}
        described = [
            {"name": name, "constant": graph.constant, "groups": len(graph.groups)}
            for name, graph in self._graphs.items()
        ]
        return {"graphs": described, "shape": list(self.shape)}, arrays

    @classmethod
    def restored(cls, options: dict[str, Any], arrays: dict[str, np.ndarray]) -> GraphWorkspace:
        graphs = {}
        for number, graph in enumerate(options["graphs"]):
            own = {key.partition(" ")[2]: array for key, array in arrays.items() if key.startswith(f"{number} ")}
            graphs[str(graph["name"])] = _graph_of(own, float(graph["constant"]), int(graph["groups"]))
        rows, columns = options["shape"]
        return cls(graphs, (int(rows), int(columns)))

    def evidence(self, document: Document, model: FactorGraph) -> Evidence:
        hints = document.layers["hints"].ravel()[: model.variables]
        strength = document.strength("hints").ravel()[: model.variables]
        impossible = np.flatnonzero((hints != NO_HINT) & (hints >= model.cardinalities))
        if len(impossible):
            variable = int(impossible[0])
            top = model.cardinalities[variable] - 1
            given = f"Variable {variable} was hinted to be in state {hints[variable]}"
            raise StudioError(f"{given}: its states are 0 to {top}.")
        log = hint_potentials(hints, strength, self.states)
        packed = torch.zeros(model.packing.size, dtype=model.dtype)
        places = self._places(model)
        known = places >= 0
        packed[torch.from_numpy(places[known])] = torch.from_numpy(log[known]).to(model.dtype)
        evidence = Evidence(packed.to(model.device))
        model.local_potentials(evidence)  # raises where nothing is left of a variable
        return evidence

    def label_beliefs(self, view: LaneView) -> Tensor:
        """(rows, columns, states); 0 for states a variable does not have and places without a variable."""
        beliefs = torch.cat([view.beliefs.cpu(), view.beliefs.new_zeros(1).cpu()])
        image = beliefs.new_zeros((view.document.shape[0] * view.document.shape[1], self.states))
        places = self._places(view.model)
        image[: len(places)] = beliefs[torch.from_numpy(places)]  # place -1 is the added zero
        return image.reshape(*view.document.shape, self.states)

    def details(self, view: LaneView, pixel: tuple[int, int]) -> Mapping[str, object]:
        """`variable` and `probabilities` of its states."""
        variable = pixel[0] * view.document.shape[1] + pixel[1]
        if variable >= view.model.variables:
            return {}
        states = int(view.model.cardinalities[variable])
        beliefs = self.labels(view)[pixel][:states]
        return {"pixel": pixel, "variable": view.model.labels[variable], "probabilities": [float(p) for p in beliefs]}

    def _places(self, graph: FactorGraph) -> NDArray[np.int64]:
        """The packed entry of each state of each variable, -1 where a variable has fewer, (variables, states)."""

        def make() -> NDArray[np.int64]:
            state = np.arange(self.states)
            entries = graph.packing.base[:, None] + state * graph.packing.stride[:, None]
            return np.where(state < graph.cardinalities[:, None], entries, -1)

        return graph.derived(("places", self.states), make)


def _graph_arrays(graph: FactorGraph) -> dict[str, np.ndarray]:
    """Everything that makes a graph, by name."""
    arrays = {"cardinalities": graph.cardinalities, "labels": np.array(graph.labels)}
    arrays["unary"] = graph.unary.cpu().numpy()
    for number, group in enumerate(graph.groups):
        for part in ("tables", "scopes", "positions"):
            arrays[f"{part} {number}"] = getattr(group, part).cpu().numpy()
    return arrays


def _graph_of(arrays: dict[str, np.ndarray], constant: float, groups: int) -> FactorGraph:
    """The graph of such arrays. Raises `StudioError` where they do not fit together."""
    made = []
    cardinalities = arrays["cardinalities"]
    for number in range(groups):
        tables, scopes = arrays[f"tables {number}"], arrays[f"scopes {number}"]
        inside = scopes.size and scopes.min() >= 0 and scopes.max() < len(cardinalities)
        expected = (*cardinalities[scopes[:, 0]], scopes.shape[1]) if inside else None
        if expected != tables.shape or (cardinalities[scopes] != np.array(tables.shape[:-1])[:, None]).any():
            raise StudioError(f"its group {number} of factors does not fit its variables.")
        positions = torch.from_numpy(arrays[f"positions {number}"])
        made.append(FactorGroup(torch.from_numpy(tables), torch.from_numpy(scopes), positions))
    if len(cardinalities) == 0 or cardinalities.min() < 1 or len(arrays["unary"]) != cardinalities.sum():
        raise StudioError("its graph has variables without states.")
    unary = torch.from_numpy(arrays["unary"])
    labels = arrays["labels"].tolist()
    return FactorGraph(cardinalities, made, unary, constant=constant, labels=labels, dtype=unary.dtype)
