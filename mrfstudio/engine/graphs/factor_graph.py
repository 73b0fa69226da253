"""Factor graphs: discrete variables with any number of states, factors of any order as log-tables.

    log p(x) = constant + Σ_i unary_i(x_i) + Σ_a θ_a(x_a) - log Z

Factors of one shape are one tensor with the factor's index last, (k_1, …, k_r, n), so that a step of message passing
is a few tensor operations for each shape and never a loop over factors. Factors of order 1 are added into `unary`,
factors of order 0 into `constant`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from mrfstudio.engine.graphs.checks import GraphError, check_numbers, checked_table
from mrfstudio.engine.graphs.evidence import ContradictoryEvidence, Evidence
from mrfstudio.engine.graphs.names import Names
from mrfstudio.engine.graphs.packing import Packing
from mrfstudio.engine.runtime.device import to_host

if TYPE_CHECKING:
    from mrfstudio.engine.graphs.drawing import GraphDrawing

T = TypeVar("T")


class Factor(NamedTuple):
    """One factor as a person gives it: variables and a log-table whose axes follow them."""

    scope: tuple[int, ...]
    log_table: ArrayLike


@dataclass(frozen=True, eq=False)
class FactorGroup:
    """All factors whose tables have one shape.

    `tables` (k_1, …, k_r, n) are logarithms, -inf allowed; `scopes` (r, n) are variable numbers; `positions` (n,) are
    the places of these factors in the list the graph was built from.
    """

    tables: Tensor
    scopes: Tensor
    positions: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tables.shape[:-1])

    @property
    def order(self) -> int:
        return self.tables.ndim - 1

    @property
    def count(self) -> int:
        return int(self.tables.shape[-1])


class FactorGraph:
    """A factor graph over `len(cardinalities)` variables; see the module's text for the layout."""

    kind = "factor-graph"

    def __init__(
        self,
        cardinalities: Sequence[int] | np.ndarray,
        groups: Sequence[FactorGroup],
        unary: Sequence[ArrayLike] | Tensor | None = None,
        *,
        constant: float = 0.0,
        labels: Sequence[int] | None = None,
        names: Names | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        """Take grouped factors; `from_factors` groups them. `unary` is packed, (size,), or a log-vector a variable."""
        self.cardinalities = np.asarray(cardinalities, dtype=np.int64).reshape(-1)
        if not len(self.cardinalities):
            raise GraphError("The graph has no variables: it needs at least one.")
        self.groups = tuple(
            FactorGroup(g.tables.to(device=device, dtype=dtype), g.scopes.to(device), g.positions.to(device))
            for g in groups
        )
        self.constant = float(constant)
        self.labels = tuple(range(self.variables)) if labels is None else tuple(int(label) for label in labels)
        self.names = names
        self._derived: dict[Any, Any] = {}
        self._structural: dict[Any, Any] = {}
        if unary is None:
            self.unary = torch.zeros(self.packing.size, dtype=dtype, device=device)
        elif isinstance(unary, Tensor):
            self.unary = unary.to(device=device, dtype=dtype)
        else:
            self.unary = self.packing.pack(unary, dtype=dtype, device=device)

    # Building ---------------------------------------------------------------------------------------------------------

    @classmethod
    def from_factors(
        cls,
        cardinalities: Sequence[int] | np.ndarray,
        factors: Iterable[Factor | tuple[Sequence[int], ArrayLike]],
        *,
        labels: Sequence[int] | None = None,
        names: Names | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> FactorGraph:
        """Build from `(scope, log_table)` pairs in any order; the table's axes follow the scope."""
        cards = np.asarray(cardinalities, dtype=np.int64).reshape(-1)
        if (cards < 1).any():
            bad = int(np.argmax(cards < 1))
            raise GraphError(f"Variable {bad} has {cards[bad]} states: every variable needs at least one.")
        states = cards.tolist()
        unary: dict[int, np.ndarray] = {}
        constant = 0.0
        shapes: dict[tuple[int, ...], list[tuple[int, tuple[int, ...], np.ndarray]]] = {}
        for position, (raw_scope, raw_table) in enumerate(factors):
            scope = tuple(map(int, raw_scope))
            table = checked_table(position, scope, np.asarray(raw_table, dtype=np.float64), states)
            if len(scope) > 1:
                shapes.setdefault(table.shape, []).append((position, scope, table))
                continue
            check_numbers([position], table)
            if scope:
                unary[scope[0]] = unary.get(scope[0], 0.0) + table
            else:
                constant += float(table)
        groups = []
        for members in shapes.values():
            positions, scopes, tables = zip(*members, strict=True)
            stacked = np.stack(tables, axis=-1)
            check_numbers(positions, stacked)
            heads = np.ascontiguousarray(np.array(scopes, dtype=np.int64).T)
            parts = (stacked, heads, np.array(positions, dtype=np.int64))
            groups.append(FactorGroup(*[torch.as_tensor(part, device=device) for part in parts]))
        vectors = [unary[v] if v in unary else np.zeros(k) for v, k in enumerate(states)] if unary else None
        return cls(cards, groups, vectors, constant=constant, labels=labels, names=names, dtype=dtype, device=device)

    @classmethod
    def from_arrays(
        cls,
        cardinalities: Sequence[int] | np.ndarray,
        groups: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]],
        *,
        constant: float = 0.0,
        labels: Sequence[int] | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> FactorGraph:
        """Build from checked arrays, one triple a shape: scopes (n, r), log-tables (n, k_1, …, k_r), positions (n,).

        The fast way in for files and generators: nothing loops over factors.
        """
        cards = np.asarray(cardinalities, dtype=np.int64).reshape(-1)
        packing = Packing.without_factors(cards)
        unary_flat = np.zeros(packing.size)
        kept = []
        for scopes, tables, positions in groups:
            order = scopes.shape[1]
            if order == 0:
                constant += float(tables.sum())
            elif order == 1:
                np.add.at(unary_flat, packing.entries(scopes[:, 0], tables.shape[1]), tables.T)
            else:
                kept.append(
                    FactorGroup(
                        torch.as_tensor(np.ascontiguousarray(np.moveaxis(tables, 0, -1)), device=device),
                        torch.as_tensor(np.ascontiguousarray(scopes.T.astype(np.int64)), device=device),
                        torch.as_tensor(np.asarray(positions, dtype=np.int64), device=device),
                    )
                )
        vectors = packing.unpack_numpy(unary_flat)
        return cls(cards, kept, vectors, constant=constant, labels=labels, dtype=dtype, device=device)

    @classmethod
    def ising(
        cls,
        edges: ArrayLike,
        couplings: ArrayLike,
        fields: ArrayLike,
        *,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> FactorGraph:
        """p ∝ exp(Σ_e J_e x_i x_j + Σ_i h_i x_i), x in {-1, +1}, state 0 is -1.

        `edges` (m, 2), `couplings` (m,), `fields` (n,).
        """
        h = np.asarray(fields, dtype=np.float64).reshape(-1)
        pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        strengths = np.broadcast_to(np.asarray(couplings, dtype=np.float64), (len(pairs),))
        if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(h) or (pairs[:, 0] == pairs[:, 1]).any()):
            raise GraphError(f"An Ising edge joins two different nodes of 0 to {len(h) - 1}.")
        if not (np.isfinite(h).all() and np.isfinite(strengths).all()):
            raise GraphError("Ising couplings and fields must be finite.")
        spins = np.array([[1.0, -1.0], [-1.0, 1.0]])
        tables = strengths[:, None, None] * spins
        unary = [np.array([-value, value]) for value in h]
        group = FactorGroup(
            torch.as_tensor(np.ascontiguousarray(np.moveaxis(tables, 0, -1)), device=device),
            torch.as_tensor(np.array(pairs.T, order="C"), device=device),  # a copy: tensors have no read-only arrays
            torch.arange(len(pairs), device=device),
        )
        groups = [group] if len(pairs) else []
        return cls(np.full(len(h), 2), groups, unary, dtype=dtype, device=device)

    # Shape ------------------------------------------------------------------------------------------------------------

    @property
    def variables(self) -> int:
        return len(self.cardinalities)

    @property
    def factors(self) -> int:
        """Factors of order 2 and more."""
        return sum(group.count for group in self.groups)

    @property
    def dtype(self) -> torch.dtype:
        return self.unary.dtype

    @property
    def device(self) -> torch.device:
        return self.unary.device

    @property
    def is_pairwise(self) -> bool:
        return all(group.order == 2 for group in self.groups)

    @cached_property
    def is_binary(self) -> bool:
        return bool((self.cardinalities == 2).all())

    @cached_property
    def has_zeros(self) -> bool:
        """Whether a factor of order 2 or more forbids something: messages can then be -inf."""
        return any(bool(torch.isneginf(group.tables).any()) for group in self.groups)

    @cached_property
    def packing(self) -> Packing:
        """Where each variable's states and each message's entries lie in flat vectors."""
        return Packing.of(self.cardinalities, [(group.shape, to_host(group.scopes)) for group in self.groups])

    def derived(self, key: Any, make: Callable[[], T]) -> T:
        """A value computed from this (immutable) graph once, such as exponentiated tables at a temperature."""
        if key not in self._derived:
            if len(self._derived) > 64:  # a temperature slider would otherwise keep every table it ever passed
                self._derived.clear()
            self._derived[key] = make()
        value: T = self._derived[key]
        return value

    def structural(self, key: Any, make: Callable[[], T]) -> T:
        """A value that depends on scopes and cardinalities alone, shared by all graphs of `with_potentials`."""
        if key not in self._structural:
            self._structural[key] = make()
        value: T = self._structural[key]
        return value

    def with_potentials(self, unary: Tensor, tables: Sequence[Tensor]) -> FactorGraph:
        """The same structure with other log-potentials, packed (size,) and tables (k_1, …, k_r, n); gradients flow."""
        groups = [
            FactorGroup(table, group.scopes, group.positions) for table, group in zip(tables, self.groups, strict=True)
        ]
        graph = FactorGraph.__new__(FactorGraph)
        graph.cardinalities, graph.labels, graph.constant = self.cardinalities, self.labels, self.constant
        graph.names = self.names
        graph.groups, graph.unary = tuple(groups), unary
        graph._derived, graph._structural = {}, self._structural
        graph.__dict__["packing"] = self.packing  # a cached property: computing it again would take the longest
        return graph

    @cached_property
    def out_of_reach(self) -> float:
        """A log-potential that stands for -inf where gradients must pass: below all that a variable and its factors can
        say against it.
        """
        values = [self.unary, *(group.tables for group in self.groups)]
        largest = max(float(v.detach().masked_fill(v.isneginf(), 0.0).abs().max()) for v in values if v.numel())
        degree = max((block.degree for block in self.packing.blocks), default=0)
        return -1000.0 - 2 * largest * (1 + degree)

    def scaled(self, tables: float, unary: float) -> FactorGraph:
        """The same graph with its log-tables and unary log-potentials multiplied; what is forbidden stays so."""

        def times(values: Tensor, factor: float) -> Tensor:
            """Log-values (…, n) times a factor."""
            return torch.where(values.isneginf(), values, values * factor)

        return self.with_potentials(times(self.unary, unary), [times(group.tables, tables) for group in self.groups])

    def to(self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> FactorGraph:
        """The same graph in another precision or on another device."""
        dtype, device = dtype or self.dtype, device or self.device
        if dtype == self.dtype and torch.device(device) == self.device:
            return self
        return FactorGraph(
            self.cardinalities,
            self.groups,
            self.unary,
            constant=self.constant,
            labels=self.labels,
            names=self.names,
            dtype=dtype,
            device=device,
        )

    def named(self, names: Names | None) -> FactorGraph:
        """The same graph with names."""
        graph = self.with_potentials(self.unary, [group.tables for group in self.groups])
        graph.names = names
        return graph

    def name_of(self, variable: int) -> str:
        """What a variable is called: its name, or its number in the file."""
        return str(self.labels[variable]) if self.names is None else self.names.variables[variable]

    def state_name(self, variable: int, state: int) -> str:
        return str(state) if self.names is None else self.names.states[variable][state]

    def number_of(self, variable: int | str) -> int:
        """The number of a variable that is given by number or by name."""
        if isinstance(variable, str):
            if self.names is None:
                raise GraphError(f'The graph has no names, so there is no variable "{variable}": give its number.')
            return self.names.number(variable)
        return int(variable)

    def draw(self, marginals: Sequence[np.ndarray] | None = None, layout: str = "automatic") -> GraphDrawing:
        """A drawing for notebooks; `marginals`, as an answer has them, colour the nodes."""
        from mrfstudio.engine.graphs.drawing import draw

        return draw(self, marginals, layout)

    def _repr_html_(self) -> str:
        from mrfstudio.engine.graphs.drawing import graph_html

        return graph_html(self)

    def to_factor_graph(self) -> FactorGraph:
        return self

    # Evidence and scores ----------------------------------------------------------------------------------------------

    def no_evidence(self) -> Evidence:
        return Evidence(torch.zeros_like(self.unary))

    def evidence(self, states: Mapping[int, int] | Mapping[str, Any]) -> Evidence:
        """Hard evidence: variable → observed state, each by number, or by name where the graph has names."""
        if not states:
            return self.no_evidence()
        vectors = [np.zeros(k) for k in self.cardinalities]
        for given, said in states.items():
            variable = self.number_of(given)
            state = self.names.state(variable, said) if isinstance(said, str) and self.names is not None else int(said)
            if not 0 <= variable < self.variables:
                raise GraphError(f"Evidence on variable {variable}: the graph has variables 0 to {self.variables - 1}.")
            if not 0 <= state < self.cardinalities[variable]:
                top = self.cardinalities[variable] - 1
                raise GraphError(f"Evidence says variable {variable} is in state {state}: its states are 0 to {top}.")
            vectors[variable] = np.where(np.arange(self.cardinalities[variable]) == state, 0.0, -math.inf)
        return Evidence(self.pack(vectors))

    def pack(self, vectors: Sequence[ArrayLike]) -> Tensor:
        """A vector for each variable → one flat tensor (size,)."""
        return self.packing.pack(vectors, dtype=self.dtype, device=self.device)

    def unpack(self, packed: Tensor) -> list[np.ndarray]:
        """A flat tensor (size,) → a vector for each variable, in variable order."""
        return self.packing.unpack_numpy(to_host(packed.detach().cpu().double()))

    def local_potentials(self, evidence: Evidence) -> Tensor:
        """unary + evidence, packed (…, size). Raises `ContradictoryEvidence` when a variable has no state left."""
        return evidence.derived(self, "local", lambda: self._local_potentials(evidence))

    def _local_potentials(self, evidence: Evidence) -> Tensor:
        total = self.unary + evidence.log_potentials
        blocked = torch.isneginf(total)
        if bool(blocked.any()):
            possible = self.packing.sum_states((~blocked).to(self.dtype))
            dead = (possible == 0).reshape(-1, self.variables).any(0)
            if bool(dead.any()):
                raise ContradictoryEvidence(self.labels[self.packing.order[int(dead.int().argmax())]])
        return total

    def score(self, states: Sequence[int] | np.ndarray, evidence: Evidence | None = None) -> float:
        """Log of the unnormalised probability of one assignment (variables,), evidence included."""
        x = torch.as_tensor(np.asarray(states, dtype=np.int64), device=self.device)
        local = self.unary if evidence is None else self.unary + evidence.log_potentials
        total = self.constant + float(local[self.packing.entry_of(x)].sum())
        for group in self.groups:
            picked = tuple(x[group.scopes[axis]] for axis in range(group.order))
            each = torch.arange(group.count, device=self.device)
            total += float(group.tables[(*picked, each)].sum())
        return total
