"""How long does one iteration of belief propagation take on a 100×100 Ising grid?"""

from __future__ import annotations

import torch

from mrfstudio.bench.measure import Report, calibrate, seconds
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation

SIDE = 100


def run() -> Report:
    """Binary and generic kernel on one and on two threads, 32 bits, residual included."""
    report = Report(f"one iteration of BP on a {SIDE}×{SIDE} Ising grid, 32 bits, residual included")
    threads = torch.get_num_threads()
    graph = ising_grid(SIDE, SIDE, coupling=0.5, dtype=torch.float32)
    try:
        torch.set_num_threads(1)
        calibrate(report)
        one = {name: _iteration(graph, name) for name in ("auto", "generic")}
        torch.set_num_threads(2)
        two = {name: _iteration(graph, name) for name in ("auto", "generic")}
    finally:
        torch.set_num_threads(threads)
    report.add("binary kernel, one thread", 1e3 * one["auto"], "ms", most=0.8)
    report.add("generic kernel, one thread", 1e3 * one["generic"], "ms", most=3.0)
    report.add("binary kernel, two threads / one", two["auto"] / one["auto"], "×", most=1.1)
    report.add("generic kernel, two threads / one", two["generic"] / one["generic"], "×", most=1.1)
    return report.finish()


def _iteration(graph: FactorGraph, kernel: str) -> float:
    algorithm = BeliefPropagation(kernel=kernel)
    evidence = graph.no_evidence()
    state = algorithm.init(graph, evidence)
    for _ in range(10):
        state = algorithm.step(graph, evidence, state)
    return seconds(lambda: algorithm.step(graph, evidence, state), repeats=200)
