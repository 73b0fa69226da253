"""How do time and memory grow with the size of a task? Powers, from straight lines on logarithmic axes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from mrfstudio.bench.measure import Curve, CurveSet, Report, exponent, power_law, seconds
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.scribbles import cutter
from mrfstudio.engine.graphs.evidence import AnyEvidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import grid_edges, ising_grid
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.protocol.commands import AddLane, SetImage
from mrfstudio.engine.session.lanes import state_tensors
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.segment.workspace import SegmentWorkspace

SLACK = 0.2
"""By how much a power may lie above the one that counting operations gives: caches end somewhere."""
Problem = tuple[Any, AnyEvidence]


def run() -> Report:
    """One iteration of belief propagation on one thread, in processor time; memory is that of messages."""
    report = Report("growth of time and memory with size, as powers; one thread")
    threads, denormals = torch.get_num_threads(), torch.set_flush_denormal(True)
    try:
        torch.set_num_threads(1)
        _grow(report, "Ising grid, pixels", (32, 64, 128, 256), _ising, 1.0, lambda side: side**2)
        _grow(report, "grid of pairs, states", (4, 8, 16, 32), _states, 2.0, float, memory=1.0)
        _grow(report, "cloned grid, pixels", (32, 64, 128, 256), lambda side: _cloned(side, 16, 1), 1.0, lambda s: s**2)
        _grow(
            report,
            "cloned grid, clones",
            (16, 32, 64, 128),
            lambda clones: _cloned(30, clones, 1),
            2.0,
            float,
            memory=1.0,
        )
        _grow(report, "cloned grid, images", (1, 2, 4, 8), lambda images: _cloned(30, 64, images), 1.0, float)
        _lanes(report)
        _photographs(report)
    finally:
        torch.set_num_threads(threads)
        if denormals:
            torch.set_flush_denormal(False)
    return report.finish()


def _grow(
    report: Report,
    what: str,
    sizes: Sequence[int],
    problem: Callable[[int], Problem],
    power: float,
    measure: Callable[[int], float],
    memory: float | None = None,
) -> None:
    """Time an iteration at every size; `power` is what counting operations gives, `memory` the same for messages."""
    bp, taken, kept = BeliefPropagation(), [], []
    for size in sizes:
        model, evidence = problem(size)
        with torch.no_grad():
            state = bp.step(model, evidence, bp.init(model, evidence))
            taken.append(seconds(lambda: bp.step(model, evidence, state), most=1.5, clock=time.process_time))  # noqa: B023
        kept.append(float(sum(tensor.numel() * tensor.element_size() for _, tensor in state_tensors(state))))
    along = [float(measure(size)) for size in sizes]
    _add(report, f"time of an iteration: {what}", along, taken, power)
    _add(report, f"memory of messages: {what}", along, kept, power if memory is None else memory, "bytes")


def _add(
    report: Report, what: str, sizes: list[float], values: list[float], power: float, unit: str = "seconds"
) -> None:
    """A row, and a figure on two logarithmic axes with the line of that power; `what` ends in what grows."""
    found = exponent(sizes, values)
    report.add(f"{what}, power", found, most=power + SLACK)
    names = f"{what}, measured", f"{what}, power {found:.2f}"
    report.curves += [Curve(names[0], sizes, values), Curve(names[1], sizes, power_law(sizes, values))]
    file = what.replace(" ", "-").replace(":", "").replace(",", "")
    grows = re.split(", |: ", what)[-1]
    report.figures.append(CurveSet(file, what, grows, unit, names, logarithmic=True, logarithmic_across=True))


def _ising(side: int) -> Problem:
    graph = ising_grid(side, side, coupling=0.5, dtype=torch.float32)
    return graph, graph.no_evidence()


def _states(states: int) -> Problem:
    edges = grid_edges(20, 20)
    draw = np.random.default_rng(0)
    factors = [(tuple(map(int, edge)), draw.normal(size=(states, states))) for edge in edges]
    graph = FactorGraph.from_factors([states] * 400, factors, dtype=torch.float32)
    return graph, graph.no_evidence()


def _cloned(side: int, clones: int, images: int) -> Problem:
    model = GridMRF((clones, 1, 1), emission=[0.8, 0.03, 1e-10])
    model.randomise(0, [0.08, 0.8, 0.12])
    noisy = torch.rand(images, side, side, generator=torch.Generator().manual_seed(0)) < 0.9
    return model, model.evidence_from_image(noisy.numpy())


def _lanes(report: Report) -> None:
    """One tick of a session with more and more lanes on the same drawing."""
    model, numbers, taken = _cloned(30, 16, 1)[0], (1, 2, 4, 6), []
    for number in numbers:
        drawing = np.ones((30, 30), np.uint8)
        drawing[8:20, 8] = 0
        workspace = SegmentWorkspace({"model": model})
        session = Session(workspace, "model", document=workspace.opened(SetImage(drawing)), playing=False)
        for _ in range(number - 1):
            session.apply(AddLane("model"))
        runner, point = session.timeline.runner, session.point
        taken.append(seconds(lambda: runner.tick(point), most=1.5, clock=time.process_time))  # noqa: B023
    _add(report, "time of a tick: lanes", [float(number) for number in numbers], taken, 1.0)


def _photographs(report: Report) -> None:
    """A whole cut-out of a noisy disc, two labels, from strokes to labels."""
    family, sides, taken = cutter(), (128, 256, 512), []
    for side in sides:
        draw = np.random.default_rng(0)
        row, column = np.indices((side, side)) / side - 0.5
        inside = np.hypot(row, column) < 0.3
        rgb = np.clip(np.where(inside, 170, 80)[..., None] + draw.normal(0, 20, (side, side, 3)), 0, 255).astype(
            np.uint8
        )
        strokes = np.zeros((side, side), np.uint8)
        strokes[side // 2, side // 2 - 5 : side // 2 + 5] = 2
        strokes[2:5, 2:-2] = 1

        def work(rgb: Any = rgb, strokes: Any = strokes) -> None:
            cutting = family.cut(family.open(rgb), strokes, 2)
            state = cutting.start()
            while not cutting.settled(state):
                state = cutting.step(state)

        with torch.inference_mode():
            taken.append(seconds(work, repeats=3, warm=1, most=4.0, clock=time.process_time))
    _add(report, "time of a cut-out: photograph, pixels", [float(side**2) for side in sides], taken, 1.0)
