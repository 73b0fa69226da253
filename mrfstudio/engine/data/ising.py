"""Samples of Ising models, from one npz file or drawn exactly, with the log-probability of each where it is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mrfstudio.engine.data.dataset import Array, DataError, Dataset, Progress, Splits
from mrfstudio.engine.data.npz_file import read_npz, require
from mrfstudio.engine.protocol.catalogue import choice, integer, number
from mrfstudio.engine.registry import DATASETS

_SPLIT_NAMES = {"train": "train", "val": "valid", "test": "test"}
_CONSTANTS = ("J", "h", "edges", "logZ")


@DATASETS.register
class IsingSamples(Dataset):
    """Spins -1 and +1; p ∝ exp(Σ_{i<j} J_ij x_i x_j + Σ_i h_i x_i). The parameters matter where they are drawn."""

    name = "ising"
    title = "Samples of an Ising model"
    summary = "Spins of Ising grids with their log-probabilities, for learning models whose truth is known."
    path = "optional"
    yields = "x (N, D) int8 of -1 and +1; logp (N,) where known; constants J, h, edges, logZ where known"

    shape: str = choice("grid", ("grid", "complete"), "The graph that samples are drawn from.")
    side: int = integer(5, "Rows and columns of the grid.", low=1, high=16)
    nodes: int = integer(9, "Nodes of the complete graph.", low=2, high=20)
    coupling: float = number(1.0, "Standard deviation of the couplings.", low=0.0)
    field: float = number(0.1, "Standard deviation of the fields.", low=0.0)
    graph_seed: int = integer(0, "The same seed draws the same couplings and fields.", low=0)
    count: int = integer(4000, "Training samples.", low=1, high=1_000_000, logarithmic=True)
    validation: int = integer(500, "Validation samples.", low=0, high=1_000_000)
    test: int = integer(1000, "Test samples.", low=0, high=1_000_000)

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        return self._drawn() if path is None else self._read(path)

    def _drawn(self) -> Splits:
        """Independent exact samples; each split has a seed of its own."""
        # Reading a file needs no torch; drawing does.
        from mrfstudio.engine.graphs.ising import IsingGraph
        from mrfstudio.engine.inference.exact.sampling import exact_samples

        plan = IsingGraph(
            shape=self.shape,
            height=self.side,
            width=self.side,
            nodes=self.nodes,
            coupling=self.coupling,
            field=self.field,
            seed=self.graph_seed,
        )
        edges, couplings, fields = plan.draw()
        graph, parts, log_z = plan.make(), {}, 0.0
        for number_of_split, (split, count) in enumerate(
            {"train": self.count, "val": self.validation, "test": self.test}.items()
        ):
            if count:
                states, log_z = exact_samples(graph, count, 3 * self.graph_seed + number_of_split)
                x = (2 * states - 1).astype(np.int8)
                logp = (x[:, edges[:, 0]] * x[:, edges[:, 1]]) @ couplings + x @ fields - log_z
                parts[split] = {"x": x, "logp": logp}
        return Splits(
            parts, {"J": _matrix(edges, couplings, len(fields)), "h": fields, "edges": edges, "logZ": np.array(log_z)}
        )

    def _read(self, path: Path) -> Splits:
        arrays = read_npz(path, "samples of an Ising model, which have train, valid and test")
        require(arrays, tuple(_SPLIT_NAMES.values()), path)
        parts: dict[str, dict[str, Array]] = {}
        for split, name in _SPLIT_NAMES.items():
            x = arrays[name]
            if x.ndim != 2 or x.dtype.kind != "i" or x.size == 0 or not (np.abs(x) == 1).all():
                raise DataError(
                    f"{path}: {name} is {x.dtype} of shape {x.shape}, expected spins -1 and +1, (rows, spins)."
                )
            parts[split] = {"x": x.astype(np.int8, copy=False)}
            logp = arrays.get(f"logp_{name}")
            if logp is not None:
                if logp.shape != (len(x),) or logp.dtype.kind != "f":
                    raise DataError(f"{path}: logp_{name} has shape {logp.shape}, expected one number for each row.")
                parts[split]["logp"] = logp
        return Splits(parts, {name: arrays[name] for name in _CONSTANTS if name in arrays})


def _matrix(edges: Array, couplings: Array, nodes: int) -> Array:
    """The couplings as a symmetric matrix (nodes, nodes)."""
    matrix = np.zeros((nodes, nodes))
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = couplings
    return matrix
