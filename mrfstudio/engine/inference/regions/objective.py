"""The penalised free energy of regions as a function of the roots' scores, with its gradient written out.

With r the beliefs of roots, b = A r those of all regions (each the mean of what its parents say) and D b what parents
and children disagree about, both linear:

    F + λ ‖D b‖²,     ∂/∂b = c (log b - log φ) + 2λ Dᵀ D b,     ∂/∂r = Aᵀ ∂/∂b,     ∂/∂s = r (∂/∂r - Σ r ∂/∂r)

for scores s with r = softmax(s) on each root. The constant c that c b log b adds to ∂/∂b drops out, because the beliefs
of a region always sum to 1. A and D are made once for a region graph: no pass over levels, nothing for autograd.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.inference.regions.tables import RegionTables
from mrfstudio.engine.runtime.device import from_host, to_host

if TYPE_CHECKING:
    from scipy import sparse

TINY = 1e-30
"""Stands for a belief of 0 inside logarithms, so that gradients stay finite."""


NEARLY_NONE = 1e-6
"""Beliefs below this hardly move under a step in the scores."""


class Slope(NamedTuple):
    """Log-beliefs of regions (…, entries), disagreements (…, messages), and the gradient by the scores (…, entries)."""

    log_beliefs: Tensor
    gap: Tensor
    gradient: Tensor


@dataclass(frozen=True, eq=False)
class LinearMap:
    """A sparse matrix (rows, columns) by its entries that are not 0."""

    rows: Tensor
    columns: Tensor
    values: Tensor
    height: int
    width: int
    matrix: sparse.csr_array
    transpose: sparse.csr_array

    @classmethod
    def of(cls, matrix: sparse.csr_array) -> LinearMap:
        entries = matrix.tocoo()
        rows, columns = (from_host(np.asarray(part, dtype=np.int64)) for part in entries.coords)
        height, width = matrix.shape
        return cls(rows, columns, from_host(entries.data), height, width, matrix, matrix.T.tocsr())

    def __call__(self, vectors: Tensor) -> Tensor:
        """(…, columns) → (…, rows)."""
        if _plain(vectors):
            return _product(self.matrix, vectors)
        return self._sum(vectors, self.columns, self.rows, self.height)

    def transposed(self, vectors: Tensor) -> Tensor:
        """(…, rows) → (…, columns)."""
        if _plain(vectors):
            return _product(self.transpose, vectors)
        return self._sum(vectors, self.rows, self.columns, self.width)

    def _sum(self, vectors: Tensor, source: Tensor, target: Tensor, size: int) -> Tensor:
        """Σ of vectors[…, source] times the values, added up at `target`: (…, n) → (…, size). Both lists: (values,)."""
        terms = vectors.index_select(-1, source.to(vectors.device)) * self.values.to(vectors)
        found = vectors.new_zeros((*vectors.shape[:-1], size))
        return found.scatter_add_(-1, target.to(vectors.device).expand(terms.shape), terms)


def _plain(vectors: Tensor) -> bool:
    """Whether scipy can multiply vectors (…, n): its sparse products are several times faster than gathers."""
    return vectors.device.type == "cpu" and vectors.dtype == torch.float64 and not vectors.requires_grad


def _product(matrix: sparse.csr_array, vectors: Tensor) -> Tensor:
    """(…, columns) → (…, rows)."""
    flat = vectors.detach().reshape(math.prod(vectors.shape[:-1]), vectors.shape[-1]).numpy()  # also without regions
    found = matrix @ flat[0] if len(flat) == 1 else (matrix @ flat.T).T
    return from_host(np.ascontiguousarray(found)).reshape(*vectors.shape[:-1], matrix.shape[0])


class Objective:
    """The layout for one region graph."""

    def __init__(self, tables: RegionTables) -> None:
        from scipy import sparse  # later than the first picture of the window, which waits for all algorithms

        self.tables = tables
        said, held = _said(tables), _held(tables)
        self.disagreement = LinearMap.of(said - held)
        counts = np.asarray(held.sum(0))
        mean = sparse.diags_array(1 / np.maximum(counts, 1)) @ held.T @ said
        depths = np.repeat(tables.regions.levels[tables.order], tables.sizes[tables.order])
        averaged = sparse.diags_array((depths == 0).astype(np.float64)).tocsr()
        for depth in range(1, int(depths.max()) + 1):
            averaged = averaged + sparse.diags_array((depths == depth).astype(np.float64)) @ mean @ averaged
        self.averaged = LinearMap.of(averaged.tocsr())
        self._is_root = from_host(depths == 0)

    def log_beliefs(self, scores: Tensor) -> Tensor:
        """Log-beliefs for scores of roots, (…, entries) both; what stands in places of other regions is no matter."""
        return log_of(self.averaged(self.tables.normalise(scores).exp()))

    def slope(self, potentials: Tensor, scores: Tensor, penalty: float) -> Slope:
        """Where scores of roots (…, entries) lead, and the gradient of the penalised energy by them."""
        roots, log_beliefs, gap, by_root = self._by_root(potentials, scores, penalty)
        weighted = by_root.mul_(roots)
        totals = self._sums(weighted)
        return Slope(log_beliefs, gap, weighted.sub_(roots * totals))

    def wanting(self, potentials: Tensor, scores: Tensor, penalty: float) -> float:
        """How much steeper than the mean of its table the energy falls with a root's entry of nearly no probability:
        softmax has no slope left there, so that no step would notice. At most 0 at a minimum. Both are (…, entries).
        """
        roots, _, _, by_root = self._by_root(potentials, scores, penalty)
        totals = self._sums(by_root * roots)
        idle = (roots < NEARLY_NONE) & ~potentials.isneginf() & self._is_root.to(roots.device)
        return float(torch.where(idle, totals - by_root, -torch.inf).max())

    def _by_root(self, potentials: Tensor, scores: Tensor, penalty: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Roots' beliefs, log-beliefs of all regions, disagreements (…, message entries), and ∂/∂r.

        All others are (…, entries), potentials and scores too.
        """
        roots = self.tables.normalise(scores).exp()
        beliefs = self.averaged(roots)
        log_beliefs = log_of(beliefs)
        gap = self.disagreement(beliefs)
        # Impossible entries have no belief in any region: whatever stands here for them reaches nothing possible.
        known = torch.where(potentials.isneginf(), log_beliefs, potentials)
        by_belief = (log_beliefs - known).mul_(self.tables.counting.to(potentials))
        by_belief += self.disagreement.transposed(gap).mul_(2 * penalty)
        return roots, log_beliefs, gap, self.averaged.transposed(by_belief)

    def _sums(self, flat: Tensor) -> Tensor:
        """Of each table of a vector (…, entries) the sum, at every entry."""
        parts = [part.sum(-1, keepdim=True).expand_as(part).flatten(-2) for part in self.tables.by_block(flat)]
        return torch.cat(parts, -1)


def objective(tables: RegionTables) -> Objective:
    """The layout, made once for a region graph."""
    return tables.structure.structural(("objective", id(tables)), lambda: Objective(tables))


def log_of(beliefs: Tensor) -> Tensor:
    """log b of beliefs of any shape (…), with a floor for b = 0."""
    return torch.log(beliefs.clamp(min=TINY))


def _said(tables: RegionTables) -> sparse.csr_array:
    """From region tables to what each parent says about each child, (messages, entries)."""
    from scipy import sparse

    rows, columns, start = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for (targets, entries, ratio), index in tables.to_children.groups:
        rows.append(np.repeat(np.arange(start, start + targets * entries), ratio))
        columns.append(to_host(index))
        start += targets * entries
    place = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_array((np.ones(len(place[0])), place), shape=(tables.message_size, tables.size))


def _held(tables: RegionTables) -> sparse.csr_array:
    """From region tables to what each child holds itself, (messages, entries)."""
    from scipy import sparse

    children = to_host(tables.of_children)
    place = np.arange(len(children)), children
    return sparse.csr_array((np.ones(len(children)), place), shape=(tables.message_size, tables.size))
