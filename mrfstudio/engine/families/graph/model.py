"""Factor graphs with parameters: every entry of every log-table is a number times one of a few weights.

    entry_k = base_k + coefficient_k · weights[index_k]

over all entries of the packed unary vector and then of each group's tables. Free tables have a weight for each entry,
shared ones a weight for each entry of a class of factors, and an Ising coupling is one weight that enters its table as
+J and -J. The gradient of anything linear in the tables is then a gather, backwards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph, FactorGroup
from mrfstudio.engine.protocol.catalogue import choice, number, text
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import MODELS
from mrfstudio.engine.runtime.device import to_host

if TYPE_CHECKING:
    from mrfstudio.engine.training.learner import TrainingData


class FieldError(StudioError):
    """A trainable graph that cannot be made, or data that do not fit it. The message is one sentence for a person."""


class TiedGraph:
    """A graph's structure, and its log-potentials as functions of `weights` (P,).

    Data give a state to every variable but those in `hidden`. `index` and `coefficient` (entries,) are laid out like
    `entries_of`; entries with coefficient 0 stay at `base`.
    """

    kind = "factor-graph"

    def __init__(
        self,
        structure: FactorGraph,
        index: Tensor,
        coefficient: Tensor,
        weights: Tensor,
        *,
        base: Tensor | None = None,
        hyperparameters: Mapping[str, Any] | None = None,
        hidden: Sequence[int] = (),
    ) -> None:
        self.hidden = tuple(sorted(set(hidden)))
        if self.hidden and not 0 <= self.hidden[0] <= self.hidden[-1] < structure.variables:
            raise FieldError(f"Hidden variable {self.hidden[-1]}: the graph has 0 to {structure.variables - 1}.")
        if len(self.hidden) == structure.variables:
            raise FieldError("Every variable of the graph is hidden: data need at least one to speak of.")
        self.visible = tuple(v for v in range(structure.variables) if v not in set(self.hidden))
        self.structure, self.index, self.coefficient, self.weights = structure, index, coefficient, weights
        self.base = torch.zeros_like(coefficient) if base is None else base
        self._hyperparameters = dict(hyperparameters or {})
        entries = structure.unary.numel() + sum(group.tables.numel() for group in structure.groups)
        if len(index) != entries or len(coefficient) != entries:
            raise FieldError(f"The tying has {len(index)} entries: this graph has {entries}.")

    # The trainer's contract -------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        return {"weights": self.weights, "base": self.base}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        for name, tensor in self.tensors().items():
            given = tensors.get(name)
            if given is None or given.shape != tensor.shape:
                found = "missing" if given is None else tuple(given.shape)
                raise FieldError(f"The tensor {name!r} is {found}: expected shape {tuple(tensor.shape)}.")
            with torch.no_grad():
                tensor.copy_(given)
        # What a file forbids is known only now.
        self.coefficient = self.coefficient.masked_fill(self.base.isneginf(), 0.0)

    def hyperparameters(self) -> dict[str, Any]:
        return dict(self._hyperparameters)

    # The distribution -------------------------------------------------------------------------------------------------

    @property
    def variables(self) -> int:
        return self.structure.variables

    def entries(self) -> Tensor:
        """All log-potentials, flat: the packed unary vector, then each group's tables. Gradients flow to `weights`."""
        return self.base + self.coefficient * self.weights[self.index]

    def graph(self, *, finite: bool = False) -> FactorGraph:
        """The factor graph with the present parameters; gradients flow through its tables.

        `finite` puts a very low number in place of every zero, because messages of -inf have no gradient.
        """
        entries = self.entries()
        unary, *tables = self._split(entries)
        graph = self.structure.with_potentials(unary, tables)
        if not finite or not bool(self.base.isneginf().any()):
            return graph
        unary, *tables = self._split(torch.where(self.base.isneginf(), graph.out_of_reach, entries))
        return self.structure.with_potentials(unary, tables)

    def scores(self, states: Tensor) -> Tensor:
        """Log of the unnormalised probability (B,) of assignments (B, variables) in variable order."""
        graph = self.structure
        picked, offset = [graph.packing.entry_of(states)], graph.unary.numel()
        for group in graph.groups:
            place = torch.arange(group.count, device=states.device)
            stride = group.count
            for axis in reversed(range(group.order)):
                place = place + states[:, group.scopes[axis]] * stride
                stride *= group.shape[axis]
            picked.append(offset + place)
            offset += group.tables.numel()
        return graph.constant + self.entries()[torch.cat(picked, 1)].sum(1)

    def as_graph(self, evidence: Evidence) -> tuple[FactorGraph, Evidence]:
        with torch.no_grad():
            return self.graph(), evidence

    def from_graph(self, beliefs: Tensor, evidence: Evidence) -> Tensor:
        return beliefs

    def states_of(self, rows: Tensor) -> Tensor:
        """Rows of data (B, visible) as states: spins -1 and +1 become 0 and 1, others are states already."""
        if rows.ndim != 2 or rows.shape[1] != len(self.visible):
            found, kind = tuple(rows.shape[1:]), "visible variables" if self.hidden else "variables"
            raise FieldError(f"The data have rows of shape {found}: this graph has {len(self.visible)} {kind}.")
        states = rows.long().clamp_min(0)
        most = torch.as_tensor(self.structure.cardinalities, device=self.weights.device)[list(self.visible)]
        if bool((states >= most).any()):
            place = int((states >= most).any(0).int().argmax())
            raise FieldError(
                f"The data have the value {int(states[:, place].max())} for variable {self.visible[place]}: "
                f"its states are 0 to {int(most[place]) - 1}."
            )
        return states

    def observed(self, states: Tensor) -> Tensor:
        """Log-potentials (B, size) that say of the visible variables what their states (B, visible) are."""
        packing = self.structure.packing
        seen = torch.zeros(self.variables, dtype=torch.bool, device=states.device)
        seen[list(self.visible)] = True
        log = torch.where(seen[packing.owners(states.device)], -torch.inf, 0.0).to(self.weights.dtype)
        whole = torch.zeros(len(states), self.variables, dtype=torch.int64, device=states.device)
        whole.index_copy_(1, torch.tensor(self.visible, device=states.device), states)
        return log.expand(len(states), -1).scatter(1, packing.entry_of(whole)[:, list(self.visible)], 0.0)

    def _split(self, flat: Tensor) -> list[Tensor]:
        """One vector (entries,) as the packed unary and the tables of each group, in the shapes of the structure."""
        shapes = [self.structure.unary.shape, *(group.tables.shape for group in self.structure.groups)]
        sizes = [shape.numel() for shape in shapes]
        return [part.reshape(shape) for part, shape in zip(flat.split(sizes), shapes, strict=True)]


def entries_of(graph: FactorGraph) -> Tensor:
    """All log-potentials of a graph in the order of `TiedGraph.entries`."""
    return torch.cat([graph.unary, *(group.tables.reshape(-1) for group in graph.groups)])


def tied(
    graph: FactorGraph,
    classes: Sequence[Sequence[int]] | None = None,
    *,
    unary: str = "free",
    hidden: Sequence[int] = (),
) -> TiedGraph:
    """A trainable graph that starts at `graph`. Forbidden entries (-inf) stay forbidden.

    `classes` gives each group a class number for each of its factors, in the group's order: factors of one class share
    a table, which starts at their mean; None makes every factor its own. `unary` is `free`, or `shared` by all
    variables with the same number of states. `hidden` are variables that data do not give.
    """
    packing, parts, weights = graph.packing, [], 0
    owner = to_host(packing.owners(torch.device("cpu")))
    state = np.concatenate([np.repeat(np.arange(block.states), block.count) for block in packing.blocks])
    groups_of = owner if unary == "free" else -graph.cardinalities[owner]
    _, unary_index = np.unique(np.stack([groups_of, state]), axis=1, return_inverse=True)
    parts.append(unary_index.reshape(-1))
    weights = int(unary_index.max()) + 1
    for place, group in enumerate(graph.groups):
        given = np.arange(group.count) if classes is None else np.asarray(classes[place])
        _, of_factor = np.unique(given, return_inverse=True)
        cells, count = int(np.prod(group.shape)), int(of_factor.max()) + 1
        parts.append((weights + np.arange(cells)[:, None] * count + of_factor.reshape(1, -1)).reshape(-1))
        weights += cells * count
    index = torch.from_numpy(np.concatenate(parts).astype(np.int64))
    start = entries_of(graph).detach().double()
    forbidden = start.isneginf()
    base = torch.where(forbidden, start, 0.0)
    sums = torch.zeros(weights, dtype=torch.float64).index_add_(0, index, start.masked_fill(forbidden, 0.0))
    counts = torch.zeros(weights, dtype=torch.float64).index_add_(0, index, (~forbidden).double())
    made = TiedGraph(
        graph,
        index,
        (~forbidden).to(graph.dtype),
        (sums / counts.clamp_min(1)).to(graph.dtype),
        base=base.to(graph.dtype),
        hyperparameters={**_described(graph, classes, unary), "hidden": list(hidden)},
        hidden=hidden,
    )
    made.weights.requires_grad_()
    return made


def _described(graph: FactorGraph, classes: Sequence[Sequence[int]] | None, unary: str) -> dict[str, Any]:
    """What makes an equal empty model again; forbidden entries come back with the tensor `base`."""
    return {
        "cardinalities": graph.cardinalities.tolist(),
        "scopes": [group.scopes.T.tolist() for group in graph.groups],
        "positions": [group.positions.tolist() for group in graph.groups],
        "classes": None if classes is None else [list(map(int, group)) for group in classes],
        "unary": unary,
    }


@MODELS.register
class FactorGraphField(ModelPlan):
    """What a person chooses about a trainable factor graph."""

    name = "factor-graph"
    title = "Factor graph"
    summary = "The tables of any graph file as parameters, each factor with its own or all of one shape with the same."

    graph: str = text("", "The .uai or .fg file whose scopes, states and zeros are kept.")
    tying: str = choice("free", ("free", "shared"), "Own tables for each factor, or one for all factors of one shape.")
    start: str = choice("noise", ("noise", "file"), "Begin near zero, or with the tables of the file.")
    start_noise: float = number(0.01, "Standard deviation of the first parameters.", low=0.0, advanced=True)
    hidden: str = text("", "Numbers of the variables that the data do not hold, such as 4,5 or 6-9.")

    @classmethod
    def shapes(cls, hyperparameters: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        cards = [int(count) for count in hyperparameters["cardinalities"]]
        entries = sum(cards)
        for scopes in hyperparameters["scopes"]:
            entries += sum(math.prod(cards[variable] for variable in scope) for scope in scopes)
        named = [variable for scopes in hyperparameters["scopes"] for scope in scopes for variable in scope]
        if min(cards, default=0) < 1 or min(named, default=0) < 0:
            raise FieldError("A variable has no state, or a factor names one that does not exist.")
        return {"base": (entries,)}

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> TiedGraph:
        """An empty model like the one a file describes."""
        cards = np.asarray(hyperparameters["cardinalities"], dtype=np.int64)
        groups = []
        for scopes, positions in zip(hyperparameters["scopes"], hyperparameters["positions"], strict=True):
            scope = torch.tensor(scopes).T.contiguous()
            shape = tuple(int(k) for k in cards[to_host(scope[:, 0])])
            groups.append(FactorGroup(torch.zeros((*shape, scope.shape[1])), scope, torch.tensor(positions)))
        graph = FactorGraph(cards, groups)
        hidden = hyperparameters.get("hidden", ())
        return tied(graph, hyperparameters["classes"], unary=hyperparameters["unary"], hidden=hidden)

    def build_for(self, data: TrainingData, seed: int) -> TiedGraph:
        from mrfstudio.engine.files.graphs.graph import read_graph

        if not self.graph:
            raise FieldError("Training a factor-graph needs its structure: add --graph FILE.uai or FILE.fg.")
        graph = read_graph(self.graph)
        classes = None if self.tying == "free" else [[0] * group.count for group in graph.groups]
        model = tied(graph, classes, unary=self.tying, hidden=numbers_in(self.hidden))
        if self.start == "noise":
            randomise(model, self.start_noise, seed)
        return model


def numbers_in(words: str) -> list[int]:
    """`4,6-9` as numbers."""
    found: list[int] = []
    for word in filter(None, (part.strip() for part in words.split(","))):
        first, dash, last = word.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise FieldError(f"hidden is {words!r}: expected numbers of variables, such as 4,5 or 6-9.")
        found += range(int(first), int(last or first) + 1)
    return found


def randomise(model: TiedGraph, noise: float, seed: int) -> None:
    """Draw the weights N(0, noise²); the same seed gives the same weights."""
    drawn = torch.randn(model.weights.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    with torch.no_grad():
        model.weights.copy_(noise * drawn)
