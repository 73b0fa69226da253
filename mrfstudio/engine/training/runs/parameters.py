"""How the numbers of a model spread out while it learns: histograms of each tensor over the snapshots of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.files.model_file import ModelFileError, load_model
from mrfstudio.engine.protocol.training import ParameterHistory, TensorHistory
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.training.runs.snapshots import parameter_path, steps

FEWEST, MOST = 12, 60
"""Parts of the range of a tensor that are shown: about twice the root of how many numbers it has."""
FINE = 1024
"""Parts of its range at one step, from which those are made: the ranges of all steps are known only together."""
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True, eq=False)
class TensorSpread:
    """A tensor at one step: `cumulated` (FINE + 1,) is the share of its numbers below evenly spaced values."""

    size: int
    low: float
    high: float
    cumulated: NDArray[np.float64]
    quantiles: NDArray[np.float64]


def spread_of(values: NDArray[np.floating]) -> TensorSpread | None:
    """The finite numbers (…) of a tensor; None where there are none."""
    flat = values[np.isfinite(values)].astype(np.float64)
    if not flat.size:
        return None
    low, high = float(flat.min()), float(flat.max())
    counts = np.histogram(flat, FINE, (low, high))[0] if high > low else np.zeros(FINE)
    cumulated = np.concatenate([[0.0], np.cumsum(counts) / flat.size])
    return TensorSpread(flat.size, low, high, cumulated, np.quantile(flat, QUANTILES))


def shares(spread: TensorSpread, edges: NDArray[np.float64]) -> NDArray[np.float32]:
    """(bins,): the share of the numbers between each two of the edges (bins + 1,), which hold all of them."""
    if spread.high == spread.low:
        return np.histogram([spread.low], edges)[0].astype(np.float32)
    places = np.linspace(spread.low, spread.high, FINE + 1)
    return np.diff(np.interp(edges, places, spread.cumulated)).astype(np.float32)


class ParameterHistories:
    """Reads snapshots once: while a run goes on, only the new ones."""

    def __init__(self) -> None:
        self._run: tuple[Path, dict[int, dict[str, TensorSpread]]] = (Path(), {})

    def of(self, folder: Path) -> ParameterHistory:
        """Every tensor of the run in a folder, over its snapshots."""
        before = self._run[1] if self._run[0] == folder else {}
        there = {step: before.get(step) or _read(folder, step) for step in steps(folder)}
        found = {step: spreads for step, spreads in there.items() if spreads}
        self._run = folder, found
        names = dict.fromkeys(name for spreads in found.values() for name in spreads)
        return ParameterHistory(tuple(_tensor(name, found) for name in names))


def _read(folder: Path, step: int) -> dict[str, TensorSpread]:
    """The tensors of a snapshot; none where it was thinned out meanwhile, or is damaged."""
    try:
        tensors = load_model(parameter_path(folder, step)).tensors
    except ModelFileError:
        return {}
    spreads = {
        name: spread_of(to_host(tensor.float())) for name, tensor in tensors.items() if tensor.is_floating_point()
    }
    return {name: spread for name, spread in spreads.items() if spread is not None}


def _tensor(name: str, found: dict[int, dict[str, TensorSpread]]) -> TensorHistory:
    """One tensor over the steps that have it."""
    known = {step: spreads[name] for step, spreads in found.items() if name in spreads}
    size = max(spread.size for spread in known.values())
    edges = _edges(known.values(), min(max(round(2 * math.sqrt(size)), FEWEST), MOST))
    return TensorHistory(
        name,
        size,
        np.array(list(known)),
        edges,
        np.stack([shares(spread, edges) for spread in known.values()]),
        np.stack([spread.quantiles for spread in known.values()]),
    )


def _edges(spreads: Iterable[TensorSpread], bins: int) -> NDArray[np.float64]:
    """(bins + 1,) evenly spaced, around everything."""
    ends = [(spread.low, spread.high) for spread in spreads]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    if not high > low:
        room = max(abs(high) * 1e-3, 1e-6)
        low, high = low - room, high + room
    return np.linspace(low, high, bins + 1)
