"""The engine in a few lines, for notebooks: what a researcher can do in the window without one.

import mrfstudio
graph = mrfstudio.FactorGraph.ising([(0, 1), (1, 2)], [0.5, -1.0], [0.1, 0.0, 0.0])
answer = mrfstudio.infer(graph, "bp", evidence={2: 1}, damping=0.2)
answer.marginals[0], answer.log_partition, answer.converged, answer.history, answer.plot()
network = mrfstudio.read_graph("asia.bif")  # variables and states have names
mrfstudio.infer(network, evidence={"smoke": "yes"})["lung"]
mrfstudio.view(graph)                       # in a notebook the window opens beside it
cut = mrfstudio.segment(photo, strokes)     # strokes (height, width): 0 nothing, 1 … N; cut.labels, cut.beliefs
done = mrfstudio.inpaint(photo, mask)       # mask (height, width): what is unknown; done.colours, done.deviation
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from mrfstudio.engine.exchange.with_networkx import from_networkx, to_networkx
from mrfstudio.engine.exchange.with_pgmax import from_pgmax, to_pgmax
from mrfstudio.engine.exchange.with_pgmpy import from_pgmpy, to_pgmpy
from mrfstudio.engine.families.repairs import Repaired
from mrfstudio.engine.families.scribbles import Cut, cutter
from mrfstudio.engine.files.graphs.graph import read_graph, write_graph
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.files.strokes import MOST_LABELS
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.ising import ising_grid
from mrfstudio.engine.graphs.names import Names
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.protocol.commands.photographs import LEANING
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.tasks.answers import Answer, AnswerHistory
from mrfstudio.engine.tasks.infer import make_algorithm
from mrfstudio.engine.tasks.repair import repair_picture
from mrfstudio.engine.tasks.viewer import Viewer, in_notebook

__all__ = [
    "Answer",
    "Cut",
    "FactorGraph",
    "Names",
    "Repaired",
    "StudioError",
    "Viewer",
    "from_networkx",
    "from_pgmax",
    "from_pgmpy",
    "infer",
    "inpaint",
    "ising_grid",
    "open_model",
    "read_graph",
    "segment",
    "to_networkx",
    "to_pgmax",
    "to_pgmpy",
    "view",
    "write_graph",
]


def infer(
    graph: FactorGraph,
    algorithm: str = "bp",
    evidence: Mapping[int, int] | Mapping[str, str | int] | None = None,
    *,
    iterations: int = 1000,
    tolerance: float = 1e-9,
    **parameters: Any,
) -> Answer:
    """Run a registered algorithm; `parameters` are its own, such as `damping=0.5`.

    Evidence says which variables are in which state, by number, or by name where the graph has names.
    """
    chosen = make_algorithm(algorithm, parameters)
    given = graph.evidence(evidence or {})
    history = AnswerHistory(chosen, graph, given)
    limits = Limits(iterations=iterations, tolerance=tolerance)
    outcome = run(chosen, graph, given, limits, on_step=history.add)
    log_partition = chosen.log_partition(graph, given, outcome.state)
    return Answer(
        graph.unpack(chosen.beliefs(graph, given, outcome.state)),
        log_partition.value,
        log_partition.kind,
        outcome.converged,
        outcome.state.iteration,
        outcome.residuals,
        outcome.notices,
        outcome.state,
        graph,
        history,
        algorithm,
    )


def segment(
    photo: ArrayLike,
    strokes: ArrayLike | None = None,
    *,
    soft: ArrayLike | None = None,
    model: Any = None,
    **settings: Any,
) -> Cut:
    """Label every pixel of a photograph from a few that are given.

    photo (height, width, 3) or (height, width), 8 bits or numbers in [0, 1]; strokes (height, width): 0 nothing, 1 … N.
    Where `soft` (height, width) is true a stroke only leans to its label. `model` is one that was kept from strokes
    (`open_model("mine")`): its labels need no strokes. `settings` are those of cutting, such as `smoothness=3`. The
    answer has `labels` and `beliefs`.
    """
    pixels = np.asarray(photo)
    if pixels.ndim == 2:
        pixels = np.repeat(pixels[..., None], 3, -1)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.size == 0:
        raise StudioError(f"The photograph has shape {pixels.shape}: expected (height, width) or (height, width, 3).")
    if pixels.dtype != np.uint8:
        if not np.isfinite(pixels).all() or pixels.min() < 0 or pixels.max() > 1:
            raise StudioError("The photograph has values outside [0, 1]: expected 8 bits, or numbers from 0 to 1.")
        pixels = np.rint(255 * pixels).astype(np.uint8)
    if strokes is None and model is None:
        raise StudioError("A photograph needs strokes, or a model that was kept from strokes.")
    marks = np.zeros(pixels.shape[:2], np.uint8) if strokes is None else np.asarray(strokes)
    if marks.dtype.kind not in "bui" or marks.size == 0 or marks.min() < 0 or marks.max() > MOST_LABELS:
        raise StudioError(f"The strokes are {marks.dtype}: expected whole numbers, 0 nothing and 1 to {MOST_LABELS}.")
    family = cutter()
    with torch.inference_mode():
        count = max(2, int(marks.max())) if model is None else len(family.labels(model))
        given = marks.astype(np.uint8)
        if soft is not None:
            given[np.asarray(soft, bool) & (given > 0)] += LEANING
        cutting = family.cut(family.open(pixels), given, count, family.settings(**settings), model)
        state = cutting.start()
        while not cutting.settled(state):
            state = cutting.step(state)
        return family.answer(cutting, state)


def inpaint(photo: ArrayLike, mask: ArrayLike, model: str | None = None) -> Repaired:
    """Repair a photograph where `mask` (height, width) is not 0, at its own size.

    photo (height, width, 3) or (height, width), 8 bits or numbers in [0, 1]; what lies in the hole does not matter.
    The answer has `colours` (height, width, channels) in [0, 1], `deviation` and `component` (height, width).
    """
    return repair_picture(photo, mask, model)


def view(
    graph: FactorGraph, name: str = "graph", shape: tuple[int, int] | None = None, *, block: bool | None = None
) -> int | Viewer:
    """Show a graph and what belief propagation says of it.

    In a running notebook the window opens in a process of its own, and the next cell can run at once; elsewhere this
    waits until the window is closed and returns its exit status. `block` says which, where it is given. `shape` (rows,
    columns) lays the variables out, row by row. Without a display it draws the tour instead, as the command does.
    """
    if not in_notebook() if block is None else block:
        return _view_here(graph, name, shape)
    return Viewer.of(graph, name)


def _view_here(graph: FactorGraph, name: str, shape: tuple[int, int] | None) -> int:
    from mrfstudio.engine.protocol.requests.converge import OpenGraph
    from mrfstudio.log import setup_logging
    from mrfstudio.ui.window.app import open_window

    setup_logging()
    return open_window(shown=OpenGraph(graph, name, shape))
