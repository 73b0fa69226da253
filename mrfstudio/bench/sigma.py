"""When is α-BP guaranteed to converge on random graphs, and how quickly is that known? (Figures 3.3 and 3.4.)"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch

from mrfstudio.bench.measure import Curve, CurveSet, Report, seconds
from mrfstudio.engine.convergence.contraction import ContractionMatrix, sigma_max
from mrfstudio.engine.convergence.many import sigma_max_each
from mrfstudio.engine.convergence.verdict import verdict_on
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import complete_edges, grid_edges
from mrfstudio.engine.graphs.pairwise import Couplings
from mrfstudio.engine.inference.messages.alpha_bp import AlphaBP, AlphaMessages

NODES, GRAPHS, ITERATIONS = 16, 100, 200
DEVIATIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
PRINTED = {(0.2, 1.0): 1.087, (0.4, 1.0): 1.802, (0.2, 0.5): 0.918, (0.4, 0.5): 1.234}
"""Mean σ_max at σ = 0.1 for (γ, α)."""
SIDE = 100


@dataclass(frozen=True, eq=False)
class RandomGraphs:
    """Many Erdős–Rényi graphs as one of many components: exp(-xᵀJx - bᵀx), so that θ_ts = -2 J_ts and θ_s = -b_s."""

    edges: np.ndarray
    couplings: np.ndarray
    fields: np.ndarray
    count: int

    @classmethod
    def draw(cls, count: int, gamma: float, deviation: float, rng: np.random.Generator) -> RandomGraphs:
        pairs = complete_edges(NODES)
        chosen = rng.random((count, len(pairs))) < gamma
        graph, pair = np.nonzero(chosen)
        couplings = -2 * deviation * rng.normal(size=len(graph))
        fields = -deviation / 4 * rng.normal(size=count * NODES)
        return cls(pairs[pair] + NODES * graph[:, None], couplings, fields, count)

    def sigmas(self, alpha: float) -> np.ndarray:
        return sigma_max_each(self.edges, self.couplings, alpha, self.count, NODES)

    def keep(self, wanted: np.ndarray) -> RandomGraphs:
        """The graphs (m,) with these numbers, renumbered."""
        place = np.full(self.count, -1)
        place[wanted] = np.arange(len(wanted))
        owner = self.edges // NODES
        mine = place[owner[:, 0]] >= 0
        edges = self.edges[mine] % NODES + NODES * place[owner[mine]]
        fields = self.fields.reshape(-1, NODES)[wanted].reshape(-1)
        return RandomGraphs(edges, self.couplings[mine], fields, len(wanted))


def run() -> Report:
    """Both figures, and the time of σ_max on a 100×100 grid, cold and after a small step of a slider."""
    report = Report(
        f"σ_max of the contraction matrix: {GRAPHS} random graphs of {NODES} nodes a point, and a large grid"
    )
    started = time.perf_counter()
    _figure_3_3(report)
    _figure_3_4(report, "a", "γ = 0.4, α = 1, σ = 0.5", 0.4, 1.0, 0.5, only_guaranteed=False)
    _figure_3_4(report, "b", "γ = 0.2, α = 0.5, σ = 0.1, σ_max < 1", 0.2, 0.5, 0.1, only_guaranteed=True)
    report.add("both figures together", time.perf_counter() - started, "s", most=10.0)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        _grid_times(report)
    finally:
        torch.set_num_threads(threads)
    return report.finish()


def _figure_3_3(report: Report) -> None:
    deviations = []
    for (gamma, alpha), expected in PRINTED.items():
        means = []
        for number, deviation in enumerate(DEVIATIONS):
            graphs = RandomGraphs.draw(GRAPHS, gamma, deviation, np.random.default_rng([number, int(10 * gamma)]))
            means.append(float(graphs.sigmas(alpha).mean()))
        report.curves.append(Curve(f"σ_max over σ, γ = {gamma:g}, α = {alpha:g}", list(DEVIATIONS), means))
        report.add(f"mean σ_max, γ = {gamma:g}, α = {alpha:g}, σ = 0.1 (Liu 2020: {expected})", means[0])
        deviations.append(abs(means[0] / expected - 1))
    names = tuple(curve.name for curve in report.curves)
    title = f"The largest singular value of M on random graphs of {NODES} nodes, mean of {GRAPHS}"
    report.figures.append(CurveSet("figure-3.3", title, "standard deviation σ of the potentials", "σ_max", names))
    report.add("largest deviation from Liu (2020)", 100 * max(deviations), "%", most=5.0)


def _figure_3_4(
    report: Report, letter: str, title: str, gamma: float, alpha: float, deviation: float, *, only_guaranteed: bool
) -> None:
    rng = np.random.default_rng(1)
    graphs = RandomGraphs.draw(4 * GRAPHS if only_guaranteed else GRAPHS, gamma, deviation, rng)
    if only_guaranteed:  # as [Liu20] does: graphs without the guarantee are drawn again
        graphs = graphs.keep(np.flatnonzero(graphs.sigmas(alpha) < 1)[:GRAPHS])
    errors = message_errors(graphs, alpha)
    mean, low, high = errors.mean(1), errors.min(1), errors.max(1)
    x = [float(n) for n in range(1, ITERATIONS)]
    name = f"message error, {title}"
    report.curves.append(Curve(name, x, mean.tolist(), low.tolist(), high.tolist()))
    heading = f"Distance from the messages after {ITERATIONS} iterations, {GRAPHS} random graphs"
    report.figures.append(
        CurveSet(f"figure-3.4{letter}", heading, "iteration", "‖m − m*‖ / ‖m*‖", (name,), logarithmic=True)
    )
    for iteration in (10, 50, 150):
        report.add(f"message error at {iteration}, {title}: mean", float(mean[iteration - 1]))
        report.add(f"message error at {iteration}, {title}: largest", float(high[iteration - 1]))


def message_errors(graphs: RandomGraphs, alpha: float) -> np.ndarray:
    """‖m⁽ⁿ⁾ - m*‖ / ‖m*‖ with m* the messages after all iterations, (iterations - 1, graphs)."""
    graph = FactorGraph.ising(graphs.edges, graphs.couplings, graphs.fields)
    owner = torch.from_numpy(np.concatenate([np.tile(graphs.edges[:, 0] // NODES, 2)] * 2))
    algorithm, nothing = AlphaBP(alpha=alpha), graph.no_evidence()
    state, seen = algorithm.init(graph, nothing), []
    for _ in range(ITERATIONS):
        state = algorithm.step(graph, nothing, state)
        assert isinstance(state, AlphaMessages)
        seen.append(state.messages.exp())

    def norms(values: torch.Tensor) -> np.ndarray:
        return torch.zeros(graphs.count, dtype=values.dtype).index_add(0, owner, values**2).sqrt().numpy()

    size = np.maximum(norms(seen[-1]), np.finfo(float).tiny)  # a graph without edges has no messages, and no error
    return np.stack([norms(messages - seen[-1]) / size for messages in seen[:-1]])


def _grid_times(report: Report) -> None:
    rng = np.random.default_rng(0)
    edges = grid_edges(SIDE, SIDE)
    for name, couplings in (("random", 0.5 * rng.normal(size=len(edges))), ("equal", np.full(len(edges), 0.5))):
        given = Couplings(edges, couplings, np.zeros(SIDE**2), np.zeros(SIDE**2, dtype=bool))
        _time_of_a_grid(report, f"{SIDE}×{SIDE} grid, {name} couplings", given)


def _time_of_a_grid(report: Report, title: str, given: Couplings) -> None:
    here = ContractionMatrix(given.edges, given.couplings, 0.5)
    there = ContractionMatrix(given.edges, given.couplings, 0.505)
    first, everything = sigma_max(here, 1e-4), verdict_on(given, 0.5)
    cold = seconds(lambda: sigma_max(here, 1e-4), repeats=7, warm=1, clock=time.process_time)
    warm = seconds(lambda: sigma_max(there, 1e-4, first.vector), repeats=15, warm=1, clock=time.process_time)
    all_four = seconds(lambda: verdict_on(given, 0.505, near=everything), repeats=7, warm=1, clock=time.process_time)
    report.add(f"{title}: σ_max to 1e-4, cold", 1e3 * cold, "ms of CPU", most=300.0)
    report.add(f"{title}: after α moved by 0.005, warm", 1e3 * warm, "ms of CPU", most=30.0)
    report.add(f"{title}: all four numbers, M built again, warm", 1e3 * all_four, "ms of CPU")
    report.add(f"{title}: how far the enclosure is open", first.upper / first.lower - 1, most=1e-4)
