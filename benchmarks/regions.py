"""Tables 4.1-4.7 of [Liu20] on region-based energy networks, made again.

    python benchmarks/regions.py --graphs 20                  everything that is still missing
    python benchmarks/regions.py --graphs 5 --only grid-25    settings whose name begins so
    python benchmarks/regions.py --table                      only write the tables from what was measured

Each result is one line of `benchmarks/regions.jsonl` as soon as it is there: a run that was stopped goes on where it
was. `benchmarks/regions.md` holds the tables. ℓ1 is the mean of |error| over p(x_i = 1) of all nodes and
p(x_i = 1, x_j = 1) of all edges, ρ their correlation over the same vector. Seconds are CPU time of one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

import numpy as np
import torch
from torch import Tensor

from mrfstudio.bench.renn import AS_PUBLISHED
from mrfstudio.engine.files.atomic import write_text
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import complete_edges, grid_edges
from mrfstudio.engine.inference.algorithm import Algorithm, State
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.regions.bethe_net import BetheNetwork
from mrfstudio.engine.inference.regions.energy_network import EnergyNetwork, NetworkState
from mrfstudio.engine.inference.regions.generalized_bp import GeneralizedBP
from mrfstudio.engine.inference.regions.on_regions import region_potentials
from mrfstudio.engine.inference.regions.renn import RegionEnergyNetwork
from mrfstudio.engine.inference.run import Limits, run

HERE = Path(__file__).parent
RESULTS, TABLES = HERE / "regions.jsonl", HERE / "regions.md"

MESSAGES = Limits(iterations=500, tolerance=1e-6)
STEPS = Limits(iterations=200, tolerance=0.0)
Methods = dict[str, tuple[Algorithm, Limits]]
METHODS: Methods = {
    "mean field": (MeanField(), MESSAGES),
    "BP": (BeliefPropagation(), MESSAGES),
    "damped BP": (BeliefPropagation(damping=0.5), MESSAGES),
    "GBP": (GeneralizedBP(method="messages"), MESSAGES),
    "GBP, double loop": (GeneralizedBP(method="double-loop"), MESSAGES),
    "Bethe net": (BetheNetwork(), STEPS),
    "RENN": (RegionEnergyNetwork(), STEPS),
    "RENN, no layers": (RegionEnergyNetwork(attention=0, residual_layers=0, learning_rate=0.1), STEPS),
    "RENN, from potentials": (RegionEnergyNetwork(start="potentials"), STEPS),
    "RENN, as published": (AS_PUBLISHED, STEPS),
}
TITLES = {"RENN": "RENN, from the double loop", "RENN, no layers": "RENN, from the double loop, no layers"}
"""What the rows of the tables say where a name in the results says less."""
OUTER_FACE = ("GBP", "GBP, double loop", "RENN", "RENN, from potentials", "RENN, as published")


@dataclass(frozen=True)
class Setting:
    """One row of a table: graph, distribution of the potentials, and [Liu20]'s own ℓ1 of RENN."""

    table: str
    name: str
    shape: str
    nodes: int
    draw: str
    width: float
    printed: float
    outer_face: bool = False
    coupling: float = 1.0  # deviation of J, where that is normal

    @property
    def edges(self) -> np.ndarray:
        side = round(self.nodes**0.5)
        return grid_edges(side, side) if self.shape == "grid" else complete_edges(self.nodes)

    def potentials(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Couplings and fields of one graph."""
        rng = np.random.default_rng([seed, self.nodes, round(1000 * self.width), self.draw == "uniform"])
        count = len(self.edges)
        if self.draw == "uniform":
            return rng.uniform(-self.width, self.width, count), rng.uniform(-1, 1, self.nodes)
        return self.coupling * rng.normal(size=count), self.width * rng.normal(size=self.nodes)

    def graph(self, *seeds: int) -> FactorGraph:
        """One graph, or several side by side as parts of one."""
        couplings, fields = zip(*(self.potentials(seed) for seed in seeds), strict=True)
        edges = np.concatenate([self.edges + place * self.nodes for place in range(len(seeds))])
        return FactorGraph.ising(edges, np.concatenate(couplings), np.concatenate(fields))

    @property
    def methods(self) -> tuple[str, ...]:
        """What is measured: without a cycle of the outer face other methods know nothing of it."""
        return OUTER_FACE if self.outer_face else tuple(METHODS)

    @property
    def at_once(self) -> bool:
        """Whether networks take all graphs in one batch: small ones cost little more than one alone."""
        return self.shape == "complete"


def settings() -> Iterator[Setting]:
    """Those with a bound to keep first, cheap ones before others."""
    grids = {0.1: (0.049, 0.025, 0.046, 0.061), 1.0: (0.027, 0.017, 0.017, 0.017)}
    complete = {9: (0.130, 0.137, 0.067, 0.060, 0.051), 16: (0.169, 0.181, 0.170, 0.138, 0.125)}
    title = {0.1: "4.1, grids, J ~ N(0, 1), h ~ N(0, 0.1²)", 1.0: "4.2, grids, J ~ N(0, 1), h ~ N(0, 1)"}

    def grid(nodes: int, place: int) -> Iterator[Setting]:
        for gamma, printed in grids.items():
            yield Setting(title[gamma], f"grid-{nodes}-{gamma:g}", "grid", nodes, "normal", gamma, printed[place])

    def all_pairs(nodes: int, table: str) -> Iterator[Setting]:
        for gamma, printed in zip((0.1, 1.0, 2.0, 3.0, 4.0), complete[nodes], strict=True):
            name = f"complete-{nodes}-{gamma:g}"
            yield Setting(f"{table}, complete graphs of {nodes}", name, "complete", nodes, "normal", gamma, printed)

    for place, nodes in enumerate((25, 100, 225, 400)):
        yield from grid(nodes, place)
    yield from all_pairs(9, "4.4")
    for u, on_grid, on_complete in ((1, 0.015, 0.064), (5, 0.100, 0.273), (10, 0.145, 0.286), (15, 0.207, 0.282)):
        table = "4.6, grids of 100, J ~ U(-u, u), h ~ U(-1, 1)"
        yield Setting(table, f"uniform-grid-100-{u}", "grid", 100, "uniform", u, on_grid)
        table = "4.7, complete graphs of 9, J ~ U(-u, u), h ~ U(-1, 1)"
        yield Setting(table, f"uniform-complete-9-{u}", "complete", 9, "uniform", u, on_complete)
    yield from all_pairs(16, "4.5")
    for gamma, printed in ((0.1, 0.025), (1.0, 0.016)):
        title_3 = "4.3, grids of 25 with the outer face"
        yield Setting(title_3, f"outer-25-{gamma:g}", "grid", 25, "normal", gamma, printed, outer_face=True)


def vector(graph: FactorGraph, nodes: Tensor, pairs: list[Tensor]) -> np.ndarray:
    """p(x_i = 1) of all nodes, then p(x_i = 1, x_j = 1) of all edges."""
    singles = np.array([marginal[1] for marginal in graph.unpack(nodes)])
    return np.concatenate([singles, pairs[0][1, 1].numpy()])


@dataclass(frozen=True)
class Truth:
    """The vector of exact marginals, and log Z."""

    marginals: np.ndarray
    log_z: float

    @classmethod
    def of(cls, graph: FactorGraph) -> Truth:
        exact = run(Exact(), graph, graph.no_evidence()).state
        return cls(vector(graph, exact.marginals, list(exact.factor_marginals)), float(exact.log_z))  # type: ignore[attr-defined]

    def scores(self, found: np.ndarray, log_z: float | None) -> dict[str, float | None]:
        return {
            "l1": float(np.abs(found - self.marginals).mean()),
            "rho": float(np.corrcoef(found, self.marginals)[0, 1]) if found.std() > 0 else 0.0,
            "log_z": None if log_z is None else abs(log_z - self.log_z),
        }


def measure(
    setting: Setting, seeds: list[int], method: str, truths: dict[int, Truth], methods: Methods = METHODS
) -> Iterator[dict[str, object]]:
    """One method on one graph, or on several at once; then each has its share of the time."""
    algorithm, limits = methods[method]
    if setting.outer_face:
        algorithm = algorithm.replace(outer_face=True)
    graph = setting.graph(*seeds)  # a fresh one: building regions belongs to the time of whoever needs them
    given = graph.no_evidence()
    started = time.process_time()
    outcome = run(algorithm, graph, given, limits)
    seconds = (time.process_time() - started) / len(seeds)
    state = outcome.state
    found = vector(graph, algorithm.beliefs(graph, given, state), algorithm.factor_beliefs(graph, given, state))
    singles, pairs = np.split(found, [graph.variables])
    parts = np.concatenate([singles.reshape(len(seeds), -1), pairs.reshape(len(seeds), -1)], 1)
    if len(seeds) == 1:
        estimates = [algorithm.log_partition(graph, given, state).value]
    else:
        estimates = _each_log_partition(algorithm, graph, state, len(seeds))
    for seed, part, estimate in zip(seeds, parts, estimates, strict=True):
        yield {
            "setting": setting.name,
            "seed": seed,
            "method": method,
            **truths[seed].scores(part, estimate),
            "seconds": seconds,
            "converged": outcome.converged,
            "together": len(seeds),
        }


def _each_log_partition(algorithm: Algorithm, graph: FactorGraph, state: State, parts: int) -> list[float | None]:
    """-F_R of each part of a graph (Eq. 4.6)."""
    assert isinstance(algorithm, EnergyNetwork)
    assert isinstance(state, NetworkState)
    tables = algorithm.tables(graph)
    potentials = region_potentials(graph, tables, graph.no_evidence())
    terms = tables.counting * state.log_beliefs.exp() * (potentials - state.log_beliefs)
    first = np.array([region[0] for region in tables.regions.regions]) * parts // graph.variables
    owner = np.repeat(first[tables.order], tables.sizes[tables.order])
    return [float(value) for value in np.bincount(owner, terms.numpy(), parts)]


def read() -> list[dict[str, object]]:
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def write_tables() -> None:
    """Mean ± deviation over the graphs measured so far, and how many they are."""
    records = read()
    chosen = [s for s in settings() if any(r["setting"] == s.name for r in records)]
    lines = ["# Inference on region graphs: [Liu20]'s tables made again", ""]
    lines += [(__doc__ or "").split("\n\n")[-1].strip(), ""]
    words = (
        "In brackets what [Liu20] prints for RENN on its own 20 graphs; every row says how many were measured "
        "here. `settled` counts graphs on which a method of messages reached 1e-6 within 500 iterations; the "
        "networks take 200 steps. GBP means damped messages from parents to children. Networks take all complete "
        "graphs of a setting in one batch; seconds are then each graph's share. RENN's defaults (start, softening, 64 "
        "numbers a variable, rate) were chosen on the first four to eight graphs of most of these settings, by the ℓ1 "
        "printed here, its scores of single regions on other graphs altogether; nothing was searched for the other "
        "methods. RENN starts from twenty sweeps of the double loop, which stands above it, or from the potentials; "
        "`RENN, as published` has [Liu20]'s settings: uniform start, λ = 5 throughout, 200 numbers a variable, rate "
        "0.001, layers alone. Variants of RENN and other regions are in `benchmarks/region_variants.md`, where the "
        "minimum of the energy lies on complete graphs in `benchmarks/region_minima.md`: with complete graphs of 16 "
        "it lies away from the truth, which is why numbers there are worse than print; with two shared nodes they "
        "are not. Where `as published` is worse than print the graphs are others, and the reason is not known; `from "
        "potentials` at u = 10 is 0.001 above print, a hundredth of the deviation over its 10 graphs. ℓ1 of "
        "RENN on the graphs from the ninth on, which "
        f"were never looked at: {_unseen(records)}."
    )
    lines += [*textwrap.wrap(words, 120, break_on_hyphens=False), ""]
    for table in sorted({s.table for s in chosen}):
        lines += [f"## Table {table}", ""]
        for setting in (s for s in chosen if s.table == table):
            lines += _table(setting, [r for r in records if r["setting"] == setting.name])
    write_text(TABLES, "\n".join(lines))


def _unseen(records: list[dict[str, object]]) -> str:
    """RENN's mean ℓ1 on the graphs that had no part in choosing its defaults, by setting."""
    found = []
    for setting in settings():
        own = [r["l1"] for r in records if r["setting"] == setting.name and r["method"] == "RENN" and r["seed"] >= 8]  # type: ignore[operator]
        if own:
            found.append(f"{setting.name} {np.mean(np.array(own, dtype=np.float64)):.4f} ({len(own)})")
    return ", ".join(found) or "none measured yet"


def _table(setting: Setting, records: list[dict[str, object]]) -> list[str]:
    sign = "u" if setting.draw == "uniform" else "γ"
    lines = [f"### N = {setting.nodes}, {sign} = {setting.width:g}"]
    lines += ["", "| method | graphs | ℓ1 | ρ | log Z error | seconds | settled |", "| --- " * 7 + "|"]
    for method in METHODS:
        own = [r for r in records if r["method"] == method]
        if not own:
            continue
        cells = [_spread([r[key] for r in own], digits) for key, digits in (("l1", 4), ("rho", 3), ("log_z", 3))]
        if method.startswith("RENN"):
            cells[0] += f" ({setting.printed:.3f})"
        settled = f"{sum(bool(r['converged']) for r in own)} of {len(own)}" if METHODS[method][1] is MESSAGES else ""
        seconds = _spread([r["seconds"] for r in own], 2)
        lines.append(f"| {TITLES.get(method, method)} | {len(own)} | {' | '.join(cells)} | {seconds} | {settled} |")
    return [*lines, ""]


def _spread(values: list[object], digits: int) -> str:
    numbers = np.array([v for v in values if v is not None], dtype=np.float64)
    return f"{numbers.mean():.{digits}f} ± {numbers.std():.{digits}f}" if len(numbers) else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--graphs", type=int, default=20)
    parser.add_argument("--only", default="", help="settings whose name begins so")
    parser.add_argument("--table", action="store_true", help="write the tables and stop")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    done = {(r["setting"], r["seed"], r["method"]) for r in read()}
    for setting in [] if options.table else [s for s in settings() if s.name.startswith(options.only)]:
        missing = {
            method: [seed for seed in range(options.graphs) if (setting.name, seed, method) not in done]
            for method in setting.methods
        }
        truths: dict[int, Truth] = {}
        for method, seeds in missing.items():
            many = setting.at_once and METHODS[method][1] is STEPS
            for group in [seeds] if many and seeds else [[seed] for seed in seeds]:
                for seed in group:
                    if seed not in truths:
                        truths[seed] = Truth.of(setting.graph(seed))
                with RESULTS.open("a") as stream:
                    for record in measure(setting, group, method, truths):
                        stream.write(json.dumps(record) + "\n")
            if seeds:
                print(f"{setting.name}, {method}: {len(seeds)} graphs", flush=True)
        write_tables()
    write_tables()


if __name__ == "__main__":
    main()
