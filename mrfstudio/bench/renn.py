"""How long does RENN take on a grid of 25, and how near the truth does it come?"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import Tensor

from mrfstudio.bench.measure import Report, seconds
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import grid_edges
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.exact.exact import Exact, Solution
from mrfstudio.engine.inference.regions.generalized_bp import GeneralizedBP
from mrfstudio.engine.inference.regions.on_regions import region_potentials
from mrfstudio.engine.inference.regions.region_network import RegionNetwork
from mrfstudio.engine.inference.regions.renn import RegionEnergyNetwork
from mrfstudio.engine.inference.regions.tables import RegionTables
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.inference.run import run as run_algorithm

SIDE, GRAPHS, STEPS = 5, 10, 200
AS_PUBLISHED = RegionEnergyNetwork(
    start="uniform", annealing=False, growth=1.0, penalty=5.0, embedding=200, learning_rate=0.001, own_scores=False
)
"""[Liu20]'s settings: uniform start, λ = 5 throughout, 200 numbers a variable, layers alone."""
BESIDE: dict[str, tuple[Algorithm, Limits]] = {
    "the double loop alone": (GeneralizedBP(method="double-loop"), Limits(iterations=500, tolerance=1e-6)),
    "RENN from potentials": (RegionEnergyNetwork(start="potentials"), Limits(iterations=STEPS, tolerance=0.0)),
    "RENN as published": (AS_PUBLISHED, Limits(iterations=STEPS, tolerance=0.0)),
}
"""What `renn`, which starts from a few sweeps of the double loop, is to be seen beside."""
PRINTED = {0.1: 0.049, 1.0: 0.027}
"""ℓ1 error of RENN in Tables 4.1 and 4.2, by the strength of the fields."""
PLAIN_STEPS = 10
RENN = (RegionEnergyNetwork(), Limits(iterations=STEPS, tolerance=0.0))


def run() -> Report:
    """Time of one graph, of many at once, and against the same optimisation written region by region."""
    report = Report(f"RENN on {SIDE}×{SIDE} grids, J ~ N(0, 1), {STEPS} steps, {GRAPHS} graphs")
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        for field, printed in PRINTED.items():
            graphs = [_grids(seed, 1, field) for seed in range(GRAPHS)]
            truths = [_truth(graph) for graph in graphs]
            title = f"ℓ1 error, fields N(0, {field:g}²)"
            for name, (algorithm, limits) in {"RENN from the double loop": RENN, **BESIDE}.items():
                errors = [_error(each, truth, algorithm, limits) for each, truth in zip(graphs, truths, strict=True)]
                mean = float(np.mean(errors))
                if algorithm is RENN[0]:
                    report.add(f"{title}: {name} (Liu 2020: {printed})", mean, most=printed)
                else:
                    report.add(f"{title}: {name}", mean)
        _times(report)
    finally:
        torch.set_num_threads(threads)
    return report.finish()


def _times(report: Report) -> None:
    clock = time.process_time
    whole = seconds(lambda: _solved(_grids(0, 1, 0.1)), repeats=5, warm=1, most=5.0, clock=clock)
    together = seconds(lambda: _solved(_grids(0, GRAPHS, 0.1)), repeats=3, warm=0, most=5.0, clock=clock)
    plain = STEPS * Plain(_grids(0, 1, 0.1)).seconds_of_a_step()
    report.add("one graph, its regions built again", whole, "s of CPU")
    report.add(f"{GRAPHS} graphs at once, each", together / GRAPHS, "s of CPU")
    report.add("region by region, autograd, vectors of 200, as published", plain, "s of CPU")
    report.add("how many times faster than that", plain / whole, least=5.0)


def _grids(seed: int, count: int, field: float) -> FactorGraph:
    """Grids side by side as one graph of several parts."""
    rng = np.random.default_rng(seed)
    edges = grid_edges(SIDE, SIDE)
    parts = np.concatenate([edges + number * SIDE**2 for number in range(count)])
    return FactorGraph.ising(parts, rng.normal(size=len(parts)), field * rng.normal(size=count * SIDE**2))


def _solved(
    graph: FactorGraph, algorithm: Algorithm = RENN[0], limits: Limits = RENN[1]
) -> tuple[Tensor, list[Tensor]]:
    """Marginals of nodes (packed) and of pairs."""
    given = graph.no_evidence()
    state = run_algorithm(algorithm, graph, given, limits).state
    return algorithm.beliefs(graph, given, state), algorithm.factor_beliefs(graph, given, state)


def _vector(graph: FactorGraph, nodes: Tensor, pairs: list[Tensor]) -> np.ndarray:
    """p(x_i = 1) of all nodes, then p(x_i = 1, x_j = 1) of all edges, from packed marginals and tables of pairs."""
    return np.array([*(marginal[1] for marginal in graph.unpack(nodes)), *pairs[0][1, 1].tolist()])


def _truth(graph: FactorGraph) -> np.ndarray:
    exact = run_algorithm(Exact(), graph, graph.no_evidence()).state
    assert isinstance(exact, Solution)
    assert exact.marginals is not None
    return _vector(graph, exact.marginals, list(exact.factor_marginals))


def _error(graph: FactorGraph, truth: np.ndarray, algorithm: Algorithm, limits: Limits) -> float:
    """Mean |error| over all entries."""
    return float(np.abs(_vector(graph, *_solved(graph, algorithm, limits)) - truth).mean())


class Plain:
    """The same objective as its equations stand, a few operations for each region, for autograd and torch's Adam."""

    def __init__(self, graph: FactorGraph) -> None:
        renn = RegionEnergyNetwork(embedding=200)
        self.tables = renn.tables(graph)
        self.potentials = region_potentials(graph, self.tables, graph.no_evidence()).float()
        self.network = RegionNetwork(self.tables, 200, 1, 2)
        self.parameters = self.network.start(0, self.potentials.device).requires_grad_()
        self.optimiser = torch.optim.Adam([self.parameters], lr=0.001)
        self.order = np.argsort(self.tables.regions.levels, kind="stable").tolist()
        self.within = {
            (parent, child): torch.from_numpy(_entries(self.tables, parent, child))
            for parent, child in self.tables.edges.tolist()
        }

    def seconds_of_a_step(self) -> float:
        return seconds(self.step, repeats=PLAIN_STEPS, warm=2, clock=time.process_time)

    def step(self) -> None:
        loss = self.loss(self.network.scores(self.parameters), penalty=5.0)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()

    def loss(self, scores: Tensor, penalty: float) -> Tensor:
        """F_R + λ Σ of squared disagreements (Eq. 4.10-4.12)."""
        regions = self.tables.regions
        beliefs: dict[int, Tensor] = {}
        loss = scores.new_zeros(())
        for region in self.order:
            start = int(self.tables.offsets[region])
            own = slice(start, start + int(self.tables.sizes[region]))
            said = [beliefs[p][self.within[p, region]].sum(1) for p in regions.parents[region]]
            belief = torch.stack(said).mean(0) if said else torch.softmax(scores[own], 0)
            beliefs[region] = belief
            energy = (belief * (belief.clamp(min=1e-30).log() - self.potentials[own])).sum()
            loss = loss + int(regions.counting[region]) * energy
            for other in said:
                loss = loss + penalty * (belief - other).square().sum()
        return loss


def _entries(tables: RegionTables, parent: int, child: int) -> np.ndarray:
    """For each entry of a child's table the entries of its parent's that agree with it."""
    found: np.ndarray = tables.entries_within(tables.regions.regions[child], parent) - tables.offsets[parent]
    return found
