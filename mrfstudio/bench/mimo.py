"""How many symbols do α-BP and its neighbours get wrong in MIMO detection? (Figure 3.5.)"""

from __future__ import annotations

import time

import numpy as np
import torch

from mrfstudio.bench.measure import Curve, CurveSet, Report
from mrfstudio.engine.data.mimo import Mimo, mmse, mmse_log_prior, most_probable, posterior_ising, symbol_error_rate
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.messages.alpha_bp import AlphaBP
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.messages.tree_reweighted import TreeReweighted
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.inference.run import run as run_algorithm

SNRS = tuple(float(snr) for snr in np.linspace(1, 40, 10))
CHANNELS, MANY = 1000, 3000
"""Channels a point, and for the two points with printed values."""
PRINTED = {
    ("MMSE", 2): 0.107, ("MAP", 2): 0.031, ("α-BP 0.5", 2): 0.051, ("α-BP 0.5 with MMSE prior", 2): 0.045,
    ("MMSE", 9): 0.032, ("MAP", 9): 0.001, ("α-BP 0.5", 9): 0.011, ("α-BP 0.5 with MMSE prior", 9): 0.005,
}  # fmt: skip
"""Symbol error rates at the SNRs with these numbers, 9.7 and 40."""
LIMITS = Limits(iterations=50, tolerance=1e-5)
ALGORITHMS: dict[str, Algorithm] = {
    "BP": BeliefPropagation(),
    "damped BP": BeliefPropagation(damping=0.5),
    "TRW": TreeReweighted(damping=0.0),
    "mean field": MeanField(),
    "α-BP 0.5": AlphaBP(alpha=0.5),
}


def run() -> Report:
    """Symbol error rate over the linear SNR, all channels of a point as one graph."""
    report = Report(f"symbol error rate of MIMO detection, 4×4 antennas, {LIMITS.iterations} iterations, linear SNR")
    started = time.perf_counter()
    found: dict[str, list[float]] = {}
    for number, snr in enumerate(SNRS):
        rates = error_rates(snr, MANY if ("MAP", number) in PRINTED else CHANNELS, seed=number)
        for name, rate in rates.items():
            found.setdefault(name, []).append(rate)
    for name, rates_of in found.items():
        report.curves.append(Curve(f"symbol error rate over SNR, {name}", list(SNRS), rates_of))
        for number in (2, 9):
            expected = PRINTED.get((name, number))
            beside = "" if expected is None else f" (Liu 2020: {expected})"
            # Sampling error of a few per cent, and rates near zero rest on a handful of errors.
            most = None if expected is None else 1.2 * expected + 0.001
            report.add(f"{name} at SNR {SNRS[number]:.1f}{beside}", rates_of[number], most=most)
    names = tuple(curve.name for curve in report.curves)
    title = "Symbol error rate of MIMO detection, 4×4 antennas"
    report.figures.append(CurveSet("figure-3.5", title, "SNR (linear)", "symbol error rate", names, logarithmic=True))
    report.add("everything", time.perf_counter() - started, "s")
    return report.finish()


def error_rates(snr: float, channels: int, seed: int) -> dict[str, float]:
    """The part of wrong symbols for every detector on the same channels."""
    data = Mimo(count=channels, snr=snr, seed=seed).open()["test"]
    channel, received, sent = data["channel"], data["received"], data["sent"]
    mean, variance = mmse(channel, received, 1 / snr)
    rates = {
        "MMSE": symbol_error_rate(mean, sent),
        "MAP": symbol_error_rate(most_probable(channel, received), sent),
    }
    graph = FactorGraph.ising(*posterior_ising(channel, received, 1 / snr), dtype=torch.float32)

    def rate(algorithm: Algorithm, evidence: Evidence) -> float:
        return symbol_error_rate(_means(algorithm, graph, evidence).reshape(sent.shape), sent)

    for name, algorithm in ALGORITHMS.items():
        rates[name] = rate(algorithm, graph.no_evidence())
    prior = Evidence(graph.pack(list(mmse_log_prior(mean, variance))))
    rates["α-BP 0.5 with MMSE prior"] = rate(ALGORITHMS["α-BP 0.5"], prior)
    return rates


def _means(algorithm: Algorithm, graph: FactorGraph, evidence: Evidence) -> np.ndarray:
    """E[x] of every node, (nodes,)."""
    if isinstance(algorithm, TreeReweighted):
        # Every edge of a complete graph of N nodes is in 2/N of its spanning trees: no need to count.
        algorithm = TreeReweighted(damping=algorithm.damping, edge_probabilities=(2 / 8,) * graph.factors)
    state = run_algorithm(algorithm, graph, evidence, LIMITS).state
    beliefs = np.stack(graph.unpack(algorithm.beliefs(graph, evidence, state)))
    return np.asarray(beliefs[:, 1] - beliefs[:, 0])
