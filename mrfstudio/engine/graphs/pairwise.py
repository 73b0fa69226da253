"""Binary pairwise graphs as couplings and fields, exactly.

For x = ±1 and a table θ over (x_s, x_t), the first index x_s:

    J = ¼(θ₊₊ + θ₋₋ - θ₊₋ - θ₋₊),   a_s = ¼(θ₊₊ + θ₊₋ - θ₋₊ - θ₋₋),   a_t likewise,

so that θ = J x_s x_t + a_s x_s + a_t x_t + constant, and a_s, a_t join the fields. A message's log-ratio z_ts becomes
z_ts - 2 a_s, for α-BP with any α.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.runtime.device import to_host


@dataclass(frozen=True, eq=False)
class Couplings:
    """p ∝ exp(Σ_e J_e x_s x_t + Σ_s h_s x_s); factors over the same pair are edges of their own.

    `couplings` is ±inf where a table forbids equal or unequal states, 0 where it forbids both; `observed` marks nodes
    with one state left. Fields are given for nodes without such tables and evidence, and are NaN elsewhere.
    """

    edges: np.ndarray  # (m, 2), in the order the graph was built from
    couplings: np.ndarray  # (m,)
    fields: np.ndarray  # (n,)
    observed: np.ndarray  # (n,) bool

    @property
    def nodes(self) -> int:
        return len(self.fields)

    @property
    def free(self) -> np.ndarray:
        """Which edges are left once observed nodes are conditioned on, (m,) bool."""
        return ~(self.observed[self.edges[:, 0]] | self.observed[self.edges[:, 1]])


def couplings_of(graph: FactorGraph, evidence: Evidence | None = None) -> Couplings:
    """The couplings of a binary pairwise graph; the caller checks that it is one."""
    assert graph.is_binary
    assert graph.is_pairwise
    local = graph.local_potentials(evidence or graph.no_evidence()).detach().cpu().double()
    vectors = np.stack(graph.unpack(local))
    observed = np.asarray(np.isneginf(vectors).any(1))
    with np.errstate(invalid="ignore"):
        fields = np.where(observed, np.nan, (vectors[:, 1] - vectors[:, 0]) / 2)
    if not graph.groups:
        empty = np.zeros(0)
        return Couplings(np.zeros((0, 2), dtype=np.int64), empty, fields, observed)
    group = graph.groups[0]  # all tables of a binary pairwise graph have one shape
    order = np.argsort(to_host(group.positions), kind="stable")
    edges = to_host(group.scopes).T[order]
    tables = to_host(group.tables.detach().cpu().double())[..., order]
    with np.errstate(invalid="ignore"):
        # -inf against -inf: equal and unequal states are both forbidden somewhere, and nothing is left to pass on.
        couplings = (tables[1, 1] + tables[0, 0] - tables[1, 0] - tables[0, 1]) / 4
        couplings = np.where(np.isnan(couplings), 0.0, couplings)
        first = (tables[1, 1] + tables[1, 0] - tables[0, 1] - tables[0, 0]) / 4
        second = (tables[1, 1] + tables[0, 1] - tables[1, 0] - tables[0, 0]) / 4
        np.add.at(fields, edges[:, 0], first)
        np.add.at(fields, edges[:, 1], second)
    return Couplings(edges, couplings, np.where(np.isfinite(fields), fields, np.nan), observed)
