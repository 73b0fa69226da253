"""Whether α-BP is guaranteed to converge on a graph, with the four numbers that say so, and for which α it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from mrfstudio.engine.convergence.contraction import ContractionMatrix, sigma_max
from mrfstudio.engine.convergence.perron import ROUNDING, Enclosure, solve
from mrfstudio.engine.convergence.spectral import contracts, spectral_radius
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.pairwise import Couplings, couplings_of
from mrfstudio.engine.protocol.catalogue import ParameterError

LARGEST_ALPHA = 2.0  # from here on |1 - α| alone is 1


@dataclass(frozen=True, eq=False)
class Verdict:
    """σ_max and the spectral radius as enclosures, the norms of Corollary 3.1, and the guarantee.

    `guaranteed` is certain: some certified upper bound is below 1. Without it α-BP may converge all the same.
    """

    sigma_max: Enclosure
    spectral_radius: Enclosure
    norm_1: float
    norm_inf: float
    guaranteed: bool
    tolerance: float

    def as_dict(self) -> dict[str, Any]:
        """The upper bounds, with how far above the value they can lie at most, ready for JSON."""
        return {
            "sigma_max": self.sigma_max.upper,
            "sigma_max_at_least": self.sigma_max.lower,
            "spectral_radius": self.spectral_radius.upper,
            "spectral_radius_at_least": self.spectral_radius.lower,
            "norm_1": self.norm_1,
            "norm_inf": self.norm_inf,
            "guaranteed": self.guaranteed,
            "tolerance": self.tolerance,
        }


@dataclass(frozen=True)
class AlphaInterval:
    """Every α from `low` (0 itself excluded) to `high` is guaranteed; the true ends lie at most `step` further out."""

    low: float
    high: float
    step: float


def not_defined(graph: FactorGraph) -> str | None:
    """Why M is not defined for a graph, in one sentence, or None."""
    if graph.is_binary and graph.is_pairwise:
        return None
    what = "variables of two states" if graph.is_pairwise else "factors of two variables"
    return f"The contraction matrix needs {what}: run bp and watch its residual instead."


def contraction(
    graph: FactorGraph,
    evidence: Evidence | None = None,
    alpha: float | ArrayLike = 1.0,
    *,
    temperature: float = 1.0,
    tolerance: float = 1e-4,
    near: Verdict | None = None,
) -> Verdict:
    """The verdict on α-BP with this α (one for all edges, or one each in the order the graph was built from).

    Nodes with hard evidence are conditioned on first. `near` is the verdict a moment ago: its vectors start the search,
    so that a dragged slider costs a tenth. BP at another temperature T is BP on θ / T.
    """
    reason = not_defined(graph)
    if reason is not None:
        raise ParameterError(reason)
    return verdict_on(couplings_of(graph, evidence), alpha, temperature=temperature, tolerance=tolerance, near=near)


def verdict_on(
    given: Couplings,
    alpha: float | ArrayLike = 1.0,
    *,
    temperature: float = 1.0,
    tolerance: float = 1e-4,
    near: Verdict | None = None,
) -> Verdict:
    """`contraction` for couplings: a slider that scales them need not build a graph."""
    alphas = np.broadcast_to(np.asarray(alpha, dtype=np.float64), (len(given.edges),))
    free = given.free
    matrix = ContractionMatrix(given.edges[free], given.couplings[free] / temperature, alphas[free])
    sigma = sigma_max(matrix, tolerance, near.sigma_max.vector if near else None)
    radius = spectral_radius(matrix, tolerance, near.spectral_radius.vector if near else None)
    least = min(sigma.upper, radius.upper, matrix.norm_1, matrix.norm_inf)
    certain = least < 1 or (radius.lower < 1 and contracts(matrix))
    # Messages to and from observed nodes feed nothing back, but with |1 - α| ≥ 1 they would not come to rest either.
    at_rest = bool((np.abs(1 - alphas[~free]) < 1).all())
    return Verdict(sigma, radius, matrix.norm_1, matrix.norm_inf, certain and at_rest, tolerance)


def alpha_interval(graph: FactorGraph, evidence: Evidence | None = None, *, step: float = 1e-3) -> AlphaInterval | None:
    """The global α with a guarantee, one interval; None where the scan of (0, 1] and a little above finds none."""
    reason = not_defined(graph)
    if reason is not None:
        raise ParameterError(reason)
    return interval_of(couplings_of(graph, evidence), step=step)


def interval_of(given: Couplings, *, step: float = 1e-3) -> AlphaInterval | None:
    """`alpha_interval` for couplings."""
    free = given.free
    edges, couplings = given.edges[free], given.couplings[free]

    def holds(alpha: float) -> bool:
        return contracts(ContractionMatrix(edges, couplings, alpha))

    scan = [1.0, 0.5, 0.25, 0.75, 0.1, 0.05, *np.arange(0.15, 1.0, 0.1), 1.1, 1.2, 0.02, 0.01]
    inside = next((alpha for alpha in scan if holds(float(alpha))), None)
    if inside is None:
        return None
    low = 0.0 if _holds_towards_zero(edges, couplings) else _edge_of(holds, float(inside), 0.0, step)
    return AlphaInterval(low, _edge_of(holds, float(inside), LARGEST_ALPHA, step), step)


def _edge_of(holds: Callable[[float], bool], inside: float, outside: float, step: float) -> float:
    while abs(outside - inside) > step:
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside


def _holds_towards_zero(edges: np.ndarray, couplings: np.ndarray) -> bool:
    """M(α) = (1 - α) I + α N + O(α²), and N contracts exactly when the matrix of |J_st| over nodes does."""
    if not len(edges):
        return True
    if not np.isfinite(couplings).all():
        return False
    labels, nodes = np.unique(edges, return_inverse=True)
    ends, count = nodes.reshape(-1, 2), len(labels)
    half = sparse.coo_matrix((np.abs(couplings), (ends[:, 0], ends[:, 1])), (count, count)).tocsr()
    strength = half + half.T
    vector, found, _ = solve(lambda s: s - strength @ s, np.ones(count), None)
    return found and vector.min() > 0 and float((strength @ vector / vector).max()) * (1 + ROUNDING) < 1
