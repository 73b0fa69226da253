"""The exact answer that lanes are compared with: at once where it is quick, in a child process where it is not."""

from __future__ import annotations

import json
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mrfstudio.engine.files.atomic import atomic_path
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.exact.exact import Exact, Solution, contraction_size
from mrfstudio.engine.runtime.jobs import Job
from mrfstudio.engine.runtime.memory import available_bytes
from mrfstudio.engine.session.document import Document
from mrfstudio.engine.workspaces.workspace import LaneView

QUICK_OPERANDS, QUICK_BYTES = 300, 4e6
"""Tables and memory up to which an answer takes about 30 ms: a 10×10 grid."""
MOST_GIGABYTES = 4.0
"""What a comparison may take without being asked; a lane with exact inference may take more."""
LARGE, LOOPY = 4000, 1.25
"""Variables, and factors a variable, beyond which exact inference is not even considered by itself."""
REST_SECONDS = 0.3
"""How long evidence must be left alone before a child process is started for it."""


@dataclass(frozen=True, eq=False)
class ExactAnswer:
    """`view` is exact inference under a document's evidence; None while it is computed and where it cannot be."""

    view: LaneView | None
    computing: bool = False
    reason: str = ""
    """Why there is none, in one sentence."""


class ExactReference:
    """Exact inference for one model and document at a time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asked: tuple[Document, Any] | None = None
        self._asked_at = 0.0
        self._answer = ExactAnswer(None)
        self._work: _Child | None = None

    @property
    def waiting(self) -> bool:
        """Whether an answer is on its way."""
        return self._answer.computing

    def answer(self, view: LaneView) -> ExactAnswer:
        """What is known for the model, document and evidence of a view; asking for another forgets the last."""
        asked = self._asked
        if asked is None or asked[0] is not view.document or asked[1] is not view.model:
            self.forget()
            self._asked, self._asked_at = (view.document, view.model), self._clock()
            self._view = view
            self._answer = self._first_answer(view)
        return self._answer

    def poll(self) -> bool:
        """Look whether the answer has come, or begin to compute it; whether there is something new."""
        if not self._answer.computing:
            return False
        if self._work is None:
            if self._clock() - self._asked_at >= REST_SECONDS:
                self._work = _Child(self._view)
            return False
        solution = self._work.poll()
        if solution is None:
            return False
        self._work = None
        self._answer = solution if isinstance(solution, ExactAnswer) else ExactAnswer(_with(self._view, solution))
        return True

    def forget(self) -> None:
        """End what is computed; nobody wants it any more."""
        if self._work is not None:
            self._work.close()
        self._asked, self._work, self._answer = None, None, ExactAnswer(None)

    def _first_answer(self, view: LaneView) -> ExactAnswer:
        graph = view.model
        if not isinstance(graph, FactorGraph):
            return ExactAnswer(None, reason="Exact inference on this model is out of reach")
        if graph.variables > LARGE and graph.factors > LOOPY * graph.variables:
            # The estimate alone would take most of a second, and the answer is nearly always no.
            asked = f"exact inference on {graph.variables} variables with loops is not tried"
            return ExactAnswer(None, reason=f"{asked}; a lane with it would be the reference")
        most = min(MOST_GIGABYTES, 0.5 * available_bytes() / 1e9)
        reason = Exact(memory=most).supports(graph)
        if reason is not None:
            return ExactAnswer(None, reason=reason.split(":")[0])
        operands, size = contraction_size(graph)
        if operands > QUICK_OPERANDS or size > QUICK_BYTES:
            return ExactAnswer(None, computing=True)
        assert isinstance(view.evidence, Evidence)
        return ExactAnswer(_with(view, solve(graph, view.evidence.log_potentials)))


def _with(view: LaneView, solution: Solution) -> LaneView:
    return LaneView(view.document, view.model, Exact(), view.evidence, solution)


def solve(graph: FactorGraph, log_potentials: torch.Tensor) -> Solution:
    """Exact inference in 64 bits, from packed (size,). Raises `StudioError` where evidence contradicts itself."""
    fine = graph.derived("in 64 bits", lambda: graph.to(dtype=torch.float64))
    evidence = Evidence(log_potentials.double())
    exact = Exact()
    solution = exact.step(fine, evidence, exact.init(fine, evidence))
    assert isinstance(solution, Solution)
    return solution


# The child ------------------------------------------------------------------------------------------------------------


class _Child:
    """One answer, computed in a process of its own. Files go with it, whichever way it ends."""

    def __init__(self, view: LaneView) -> None:
        from mrfstudio.engine.workspaces.converge.workspace import GraphWorkspace

        self._folder = tempfile.TemporaryDirectory(prefix="mrfstudio-exact-", ignore_cleanup_errors=True)
        given, self._out = Path(self._folder.name, "graph.npz"), Path(self._folder.name, "answer.npz")
        options, arrays = GraphWorkspace({"graph": view.model}).saved()
        assert isinstance(view.evidence, Evidence)
        named: dict[str, Any] = {f"graph {name}": array for name, array in arrays.items()}
        np.savez(given, evidence=view.evidence.log_potentials.cpu().numpy(), **named)
        arguments = {"graph": str(given), "options": json.dumps(options), "out": str(self._out)}
        self._job = Job(exact_command, arguments)
        # A session that is dropped must not leave a process behind.
        self._end = weakref.finalize(self, _ended, self._job, self._folder)

    def poll(self) -> Solution | ExactAnswer | None:
        """The solution, an answer that says why there is none, or None while it is computed."""
        status = self._job.poll()
        if status == "running":
            return None
        try:
            return _read(self._out) if status == "done" else ExactAnswer(None, reason=self._job.error.rstrip("."))
        finally:
            self.close()

    def close(self) -> None:
        self._end()


def _ended(job: Job, folder: tempfile.TemporaryDirectory[str]) -> None:
    job.close()
    folder.cleanup()


def exact_command(graph: str, options: str, out: str) -> None:
    """The work of the child: a graph and its evidence in, the solution out."""
    from mrfstudio.engine.workspaces.converge.workspace import GraphWorkspace

    with np.load(graph, allow_pickle=False) as file:
        arrays = {name.removeprefix("graph "): file[name] for name in file.files if name.startswith("graph ")}
        evidence = torch.from_numpy(file["evidence"])
    model = GraphWorkspace.restored(json.loads(options), arrays).load("graph")
    solution = solve(model, evidence)
    assert solution.log_z is not None
    assert solution.marginals is not None
    factors: dict[str, Any] = {f"factors {i}": table.numpy() for i, table in enumerate(solution.factor_marginals)}
    with atomic_path(out) as temporary, open(temporary, "wb") as opened:
        np.savez(opened, log_z=solution.log_z.numpy(), marginals=solution.marginals.numpy(), **factors)


def _read(path: Path) -> Solution:
    with np.load(path, allow_pickle=False) as file:
        factors = [torch.from_numpy(file[f"factors {i}"]) for i in range(len(file.files) - 2)]
        log_z, marginals = torch.from_numpy(file["log_z"]), torch.from_numpy(file["marginals"])
    return Solution(1, torch.zeros(()), log_z, marginals, tuple(factors))
