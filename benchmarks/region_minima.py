"""Where the minimum of the region energy lies on complete graphs, and how near RENN comes to it.

    python -m benchmarks.region_minima                         writes `benchmarks/region_minima.md`, about a minute

-F_R is evaluated at the exact marginals of all regions, at what a double loop of 1500 iterations settles on (where it
starts from uniform beliefs), and at what the networks end with after 200 steps. The graphs are seeds 100 to 119 of the
settings of Table 4.5, none of which is in `benchmarks/regions.md`: settings may be chosen by these.
"""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

import numpy as np
import torch
from torch import Tensor

from benchmarks.regions import METHODS, STEPS, Setting, settings, vector
from mrfstudio.engine.files.atomic import write_text
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.regions.generalized_bp import GeneralizedBP
from mrfstudio.engine.inference.regions.objective import log_of, objective
from mrfstudio.engine.inference.regions.on_regions import region_potentials
from mrfstudio.engine.inference.regions.renn import RegionEnergyNetwork
from mrfstudio.engine.inference.regions.tables import RegionTables
from mrfstudio.engine.inference.run import Limits, run

TABLE = Path(__file__).parent / "region_minima.md"
SEEDS = tuple(range(100, 120))
LONG = Limits(iterations=2000, tolerance=0.0)
DIRECT = {"attention": 0, "residual_layers": 0, "learning_rate": 0.1}
ENDS: dict[str, tuple[Algorithm, Limits]] = {
    "double loop, 1500 iterations": (GeneralizedBP(), Limits(iterations=1500, tolerance=0.0)),
    "RENN, from the double loop": METHODS["RENN"],
    "RENN, from potentials": METHODS["RENN, from potentials"],
    "RENN, layers alone": (RegionEnergyNetwork(own_scores=False), STEPS),
    "RENN, no layers": METHODS["RENN, no layers"],
    "RENN, no layers, 2000 steps": (RegionEnergyNetwork(**DIRECT, steps=2000), LONG),
    "RENN, as published": METHODS["RENN, as published"],
}


def exact_beliefs(setting: Setting, tables: RegionTables) -> tuple[Tensor, np.ndarray]:
    """Exact log-beliefs of all regions (entries,) of the graphs side by side, and log Z of each, by enumeration."""
    nodes = setting.nodes
    states = (np.arange(2**nodes)[:, None] >> np.arange(nodes)) & 1
    spins = 2.0 * states - 1
    chances, log_z = [], []
    for seed in SEEDS:
        couplings, fields = setting.potentials(seed)
        matrix = np.zeros((nodes, nodes))
        matrix[setting.edges[:, 0], setting.edges[:, 1]] = couplings
        scores = ((spins @ matrix) * spins).sum(1) + spins @ fields
        total = float(np.logaddexp.reduce(scores))
        chances.append(np.exp(scores - total))
        log_z.append(total)
    found = np.zeros(tables.size)
    for region, members in enumerate(tables.regions.regions):
        own = np.array(members) % nodes
        index = states[:, own] @ (1 << np.arange(len(own))[::-1])
        offset, size = tables.offsets[region], tables.sizes[region]
        found[offset : offset + size] = np.bincount(index, chances[members[0] // nodes], size)
    return log_of(torch.from_numpy(found)), np.array(log_z)


def energies(graph: FactorGraph, tables: RegionTables, log_beliefs: Tensor) -> np.ndarray:
    """-F_R of each graph of the batch (Eq. 4.6)."""
    potentials = region_potentials(graph, tables, graph.no_evidence())
    terms = tables.counting * log_beliefs.exp() * (potentials - log_beliefs)
    first = np.array([region[0] for region in tables.regions.regions]) * len(SEEDS) // graph.variables
    owner = np.repeat(first[tables.order], tables.sizes[tables.order])
    return np.bincount(owner, terms.numpy(), len(SEEDS))


def rows(setting: Setting) -> list[str]:
    """A line for the truth and for each method."""
    graph = setting.graph(*SEEDS)
    tables = RegionEnergyNetwork().tables(graph)
    exact, log_z = exact_beliefs(setting, tables)

    def entries(log_beliefs: Tensor) -> np.ndarray:
        beliefs = log_beliefs.exp()
        singles, pairs = np.split(
            vector(graph, tables.node_beliefs(beliefs), tables.factor_beliefs(beliefs)), [graph.variables]
        )
        return np.concatenate([singles.reshape(len(SEEDS), -1), pairs.reshape(len(SEEDS), -1)], 1)

    def line(name: str, log_beliefs: Tensor) -> str:
        apart = np.abs(entries(log_beliefs) - entries(exact)).mean(1)
        above = energies(graph, tables, log_beliefs) - log_z
        gap = float(objective(tables).disagreement(log_beliefs.exp()).abs().max())
        cells = (f"{apart.mean():.3f} ± {apart.std():.3f}", f"{above.mean():.2f} ± {above.std():.2f}", f"{gap:.3f}")
        return f"| {setting.width:g} | {name} | {' | '.join(cells)} |"

    lines = [line("exact marginals", exact)]
    for name, (algorithm, limits) in ENDS.items():
        state = run(algorithm, graph, graph.no_evidence(), limits).state
        lines.append(line(name, state.log_beliefs))  # type: ignore[attr-defined]
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    about = (__doc__ or "").split("\n\n")
    lines = [
        "# Where the minimum of the region energy lies on complete graphs of 16",
        "",
        "Made by `python -m benchmarks.region_minima`, 20 graphs a row, about a minute.",
        "",
        about[2].strip(),
        "",
        "`disagreement` is the largest between a region and its parent, over all graphs: beliefs that disagree are not "
        "bound by the minimum.",
        "",
        "| γ | beliefs | ℓ1 | -F_R - log Z | disagreement |",
        "| --- " * 5 + "|",
    ]
    for setting in settings():
        if setting.name in ("complete-16-0.1", "complete-16-1", "complete-16-3"):
            lines += rows(setting)
            write_text(TABLE, "\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
