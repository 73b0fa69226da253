"""σ_max of the contraction matrix over (α, coupling), coarse first: work for a job.

    Job(sigma_map, {"edges": …, "couplings": …, "out": "map.npz"})

Levels have 5×5, 9×9, 17×17, … points, each holding the one before. After a level the file at `out` is replaced, whole,
and a report tells so; a cancelled job leaves the last level.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mrfstudio.engine.convergence.contraction import ContractionMatrix, sigma_max
from mrfstudio.engine.files.atomic import atomic_path
from mrfstudio.engine.protocol.answers import SigmaMap
from mrfstudio.engine.protocol.catalogue import ParameterError

COARSEST = 4
"""Intervals of the first level, which is there at once."""
MOST_LEVELS = 6
REPORTED = 8  # points between two reports of one level

Report = Callable[[dict[str, Any]], None]


def sigma_map(
    edges: Sequence[Sequence[int]],
    couplings: Sequence[float],
    out: str,
    alpha_range: tuple[float, float] = (0.05, 1.5),
    coupling_range: tuple[float, float] = (0.0, 2.0),
    levels: int = 4,
    tolerance: float = 1e-3,
    report: Report = lambda message: None,
) -> dict[str, Any]:
    """Map σ_max of the graph with couplings c·J for c in `coupling_range`; J (m,) is as given for `edges` (m, 2).

    Reports {"level", "levels", "done", "total"} while it works, with "file" once a level is written. A value is a
    certified upper bound within the relative `tolerance`.
    """
    alphas, strengths = _checked(alpha_range, coupling_range, levels)
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    unit = np.asarray(couplings, dtype=np.float64)
    if unit.shape != (len(pairs),) or np.isnan(unit).any():
        raise ParameterError(f"{unit.size} couplings were given for {len(pairs)} edges: give one number for each.")
    total = (COARSEST * 2 ** (levels - 1) + 1) ** 2
    side = len(alphas)
    values = np.full((side, side), np.nan)
    work = _Points(pairs, unit, tolerance)
    done = 0
    for level in range(levels):
        stride = 2 ** (levels - 1 - level)
        for row, column in _serpentine(side, stride):
            if np.isnan(values[row, column]):
                values[row, column] = work.at(alphas[column], strengths[row])
                done += 1
                if done % REPORTED == 0:
                    report({"level": level + 1, "levels": levels, "done": done, "total": total})
        _write(out, SigmaMap(alphas[::stride], strengths[::stride], values[::stride, ::stride]))
        report({"level": level + 1, "levels": levels, "done": done, "total": total, "file": out})
    return {"file": out, "points": done, "products": work.products}


def read_sigma_map(path: str | os.PathLike[str]) -> SigmaMap:
    """The newest level that is there."""
    with np.load(path, allow_pickle=False) as file:
        return SigmaMap(file["alphas"], file["couplings"], file["sigma_max"])


class _Points:
    """One point after the other, each search started from where the last one ended."""

    def __init__(self, edges: np.ndarray, unit: np.ndarray, tolerance: float) -> None:
        self.edges, self.unit, self.tolerance = edges, unit, tolerance
        self.vector: np.ndarray | None = None
        self.products = 0

    def at(self, alpha: float, strength: float) -> float:
        # 0 · inf: a table with zeros scaled by nothing is no coupling.
        couplings = strength * self.unit if strength else np.zeros_like(self.unit)
        found = sigma_max(ContractionMatrix(self.edges, couplings, float(alpha)), self.tolerance, self.vector)
        self.vector = found.vector
        self.products += found.products
        return found.upper


def _serpentine(side: int, stride: int) -> list[tuple[int, int]]:
    """Rows forth and back, so that every point is a neighbour of the one before."""
    there = list(range(0, side, stride))
    return [(row, column) for n, row in enumerate(there) for column in (there if n % 2 == 0 else there[::-1])]


def _checked(
    alpha_range: tuple[float, float], coupling_range: tuple[float, float], levels: int
) -> tuple[np.ndarray, np.ndarray]:
    if not 1 <= levels <= MOST_LEVELS:
        raise ParameterError(f"A map of {levels} levels was asked for: expected 1 to {MOST_LEVELS}.")
    (low, high), (weak, strong) = alpha_range, coupling_range
    if not 0 < low < high <= 2:
        raise ParameterError(f"The map's α go from {low:g} to {high:g}: expected a range within (0, 2].")
    if not 0 <= weak < strong < np.inf:
        raise ParameterError(f"The map's couplings go from {weak:g} to {strong:g}: expected a range from 0 upwards.")
    side = COARSEST * 2 ** (levels - 1) + 1
    return np.linspace(low, high, side), np.linspace(weak, strong, side)


def _write(path: str, found: SigmaMap) -> None:
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, alphas=found.alphas, couplings=found.couplings, sigma_max=found.sigma_max)
