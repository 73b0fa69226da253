"""Small sessions for tests: a Potts-like graph laid out as an image, and a grid model with few clones."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.commands import Paint
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.session.lanes import TimelinePoint, state_tensors
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.converge.workspace import GraphWorkspace
from mrfstudio.engine.workspaces.segment.workspace import SegmentWorkspace

ROWS, COLUMNS = 5, 6
HINT = Paint("hints", 1, ((2.5, 1.5),), 0.3)


def ising_image(coupling: float = 0.4, seed: int = 0, shape: tuple[int, int] = (ROWS, COLUMNS)) -> FactorGraph:
    """A grid with random fields; variable r · columns + c is pixel (r, c). A negative coupling has random signs."""
    rows, columns = shape
    pixel = np.arange(rows * columns).reshape(shape)
    edges = np.concatenate(
        [
            np.stack([pixel[:, :-1].ravel(), pixel[:, 1:].ravel()], 1),
            np.stack([pixel[:-1].ravel(), pixel[1:].ravel()], 1),
        ]
    )
    generator = np.random.default_rng(seed)
    fields = generator.normal(0, 0.3, rows * columns)
    signs = generator.choice([-1.0, 1.0], len(edges)) if coupling < 0 else 1.0
    return FactorGraph.ising(edges, coupling * signs * np.ones(len(edges)), fields)


def graph_session(iterations: int = 50, tolerance: float = 1e-6, **options: Any) -> Session:
    graphs = {"weak": ising_image(), "strong": ising_image(1.2, 1), "frustrated": ising_image(-2.0, 2)}
    workspace = GraphWorkspace(graphs, (ROWS, COLUMNS))
    limits = Limits(iterations=iterations, tolerance=tolerance)
    return Session(workspace, options.pop("model", "weak"), limits=limits, **{"playing": False, **options})


def small_grid_model(seed: int = 0, clones: int = 3) -> GridMRF:
    model = GridMRF((clones, 1, 1), emission=(0.8, 0.03, 0.01))
    model.randomise(seed, (0.2, 0.5, 0.3))
    return model


def segment_session(**options: Any) -> Session:
    workspace = SegmentWorkspace({"a": small_grid_model(0), "b": small_grid_model(1, 2)})
    workspace.shape = options.pop("shape", (9, 11))
    return Session(workspace, options.pop("model", "a"), **{"playing": False, **options})


def run(session: Session, most: int = 10_000) -> list[Frame]:
    """Advance until there is nothing to do; all frames on the way."""
    frames = []
    for _ in range(most):
        if session.wait is None:
            return frames
        frame = session.advance(0.0)
        if frame is not None:
            frames.append(frame)
    raise AssertionError(f"the session is still busy after {most} calls")


def assert_same_point(left: TimelinePoint, right: TimelinePoint) -> None:
    """Documents, lanes and every tensor of every state are equal bit for bit."""
    assert left.iteration == right.iteration
    assert left.document.same(right.document)
    assert left.limits == right.limits
    assert len(left.lanes) == len(right.lanes)
    for mine, theirs in zip(left.lanes, right.lanes, strict=True):
        for name in ("number", "model_name", "algorithm", "limit", "iteration", "base", "done", "extra", "status"):
            assert getattr(mine, name) == getattr(theirs, name), name
        assert mine.message == theirs.message
        assert mine.residuals == theirs.residuals
        assert (mine.state is None) == (theirs.state is None)
        if mine.state is not None and theirs.state is not None:
            pairs = zip(state_tensors(mine.state), state_tensors(theirs.state), strict=True)
            assert all(torch.equal(a, b) for (_, a), (_, b) in pairs)


def fixed_grid_model() -> GridMRF:
    """A model whose numbers no random generator decides, so that stored sessions fit it for ever."""
    weights = np.sin(np.arange(4 * 5 * 5, dtype=np.float64)).reshape(4, 5, 5)
    return GridMRF((3, 1, 1), emission=(0.8, 0.03, 0.01), weights=torch.from_numpy(weights.astype(np.float32)))


def messages(session: Any, lane: int = 0) -> torch.Tensor:
    """The messages of a lane at the present point."""
    state = session.point.lanes[lane].state
    return getattr(state, "ratios", None) if hasattr(state, "ratios") else state.messages


def last(session: Any) -> Any:
    """The last frame of a run."""
    return run(session)[-1]
