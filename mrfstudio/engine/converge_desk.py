"""The questions of the Converge workspace: graphs in and out, and what its panels show besides frames."""

from __future__ import annotations

import os
from collections.abc import Generator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from mrfstudio.engine.answers import Aside
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.frames import NO_HINT
from mrfstudio.engine.models.factor_graph import FactorGraph
from mrfstudio.engine.session import Session
from mrfstudio.engine.workspaces.graph import GraphWorkspace

if TYPE_CHECKING:  # scipy takes its time, and nobody has asked yet
    from mrfstudio.engine.converge import Guarantees, SigmaMaps

FIRST_ALGORITHM: tuple[str, dict[str, Any]] = ("alpha-bp", {"alpha": 1.0})
"""α-BP at 1 is BP, step for step, with the slider beside it that often helps."""
FILE_ALGORITHM: tuple[str, dict[str, Any]] = ("bp", {})
"""What any file can be given to, factors of any order too."""
GENERATED = "graph"
"""The model's name in lanes whose graph is no file."""


class ConvergeDesk:
    """Holds the sessions by workspace; `Desk` adds the rest."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._sessions: dict[str, Session] = {}
        self._paths: dict[int, Path] = {}  # the file that a session's graph came from, by the session's identity

    @cached_property
    def _guarantees(self) -> Guarantees:
        from mrfstudio.engine.converge import Guarantees

        return Guarantees()

    @cached_property
    def _maps(self) -> SigmaMaps:
        from mrfstudio.engine.converge import SigmaMaps

        return SigmaMaps()

    def session(self, workspace: str) -> Session:
        raise NotImplementedError

    # Graphs in and out ------------------------------------------------------------------------------------------------

    def begin_graph(self, workspace: str) -> str:
        """Show the first graph, as something to look at rather than as somebody's work."""
        from mrfstudio.engine.graph_sources import Grid

        space, source = GraphWorkspace(), Grid()
        document = space.begun(source.sketch(), source.title)
        self._sessions[workspace] = Session(
            space, GENERATED, *FIRST_ALGORITHM, document=document, threads=self._threads
        )
        return document.name

    def open_graph(
        self,
        workspace: str,
        graph: FactorGraph | str | os.PathLike[str],
        name: str = "graph",
        shape: tuple[int, int] | None = None,
    ) -> str:
        """Show a graph, or the one in a .uai or .fg file; `shape` (rows, columns) lays its variables out."""
        from mrfstudio.engine.files.graph import read_graph

        path = None
        if not isinstance(graph, FactorGraph):
            path = Path(graph).absolute()
            name, graph = path.name, read_graph(path)
        space = GraphWorkspace({name: graph}, shape)
        algorithm = FIRST_ALGORITHM if graph.is_pairwise else FILE_ALGORITHM
        session = Session(space, name, *algorithm, document=space.of_file(name, shape), threads=self._threads)
        self._sessions[workspace] = session
        self._paths = {} if path is None else {id(session): path}
        return name

    def export_graph(self, workspace: str, path: str) -> str:
        """Write the graph as it is shown, at its strengths and without evidence, as .uai or .fg."""
        from mrfstudio.engine.files.graph import write_graph

        write_graph(path, self._graph(workspace))
        return path

    def infer_inputs(self, workspace: str, stem: str) -> tuple[str, str]:
        """A graph file and an evidence file, or none, from which `mrfstudio infer` computes what is shown.

        The file that was opened where it is untouched; else files that begin with `stem`.
        """
        from mrfstudio.engine.files.graph import write_graph
        from mrfstudio.engine.files.uai import write_evidence

        session, graph = self.session(workspace), self._graph(workspace)
        document = session.document
        hints, strength = (document.layers[name].ravel()[: graph.variables] for name in ("hints", "hints_strength"))
        hard = np.flatnonzero((hints != NO_HINT) & (strength == 1))
        soft = bool(((hints != NO_HINT) & (strength < 1)).any())
        sketch = document.graph
        untouched = sketch is not None and sketch.is_file and sketch.scales == (1.0, 1.0) and not soft
        path = self._paths.get(id(session)) if untouched else None
        Path(stem).parent.mkdir(parents=True, exist_ok=True)
        if path is None:
            path = Path(f"{stem}.uai")
            write_graph(path, self._with_leanings(session, graph) if soft else graph)
        if not len(hard):
            return str(path), ""
        evidence = Path(f"{stem}.evid")
        write_evidence(evidence, {int(node): int(hints[node]) for node in hard}, graph)
        return str(path), str(evidence)

    def _graph(self, workspace: str) -> FactorGraph:
        model = self.session(workspace).moment.lanes[0].model
        if not isinstance(model, FactorGraph):
            raise StudioError("There is no graph here: choose one in the Converge workspace.")
        return model.to(dtype=torch.float64)

    def _space(self, session: Session) -> GraphWorkspace:
        assert isinstance(session.workspace, GraphWorkspace)  # `_graph` has refused others
        return session.workspace

    def _with_leanings(self, session: Session, graph: FactorGraph) -> FactorGraph:
        """Evidence of less than full strength is a potential of its own, which an evidence file cannot say."""
        given = self._space(session).evidence(session.document, session.moment.lanes[0].model).log_potentials.double()
        leaning = torch.where(torch.isneginf(given), 0.0, given)
        return FactorGraph(
            graph.cardinalities, graph.groups, graph.unary + leaning, constant=graph.constant, labels=graph.labels
        )

    # What panels ask --------------------------------------------------------------------------------------------------

    def guarantee(self, workspace: str, lane: int) -> Aside:
        """`frames.Guarantee` of a lane."""
        return Aside(self._guarantees.verdict(self.session(workspace), lane))

    def guaranteed_alphas(self, workspace: str, lane: int) -> Aside:
        """`frames.GuaranteedAlphas` for a lane's graph and evidence."""
        return Aside(self._guarantees.interval(self.session(workspace), lane))

    def swings(self, workspace: str, lane: int) -> Aside:
        """`frames.Swings` of a lane."""
        return Aside(self._guarantees.swings(self.session(workspace), lane))

    def sigma_map(self, workspace: str, lane: int) -> Generator[object, None, object]:
        """`frames.SigmaMap` over (α, coupling), coarse ones as progress; None if another one was asked for since."""
        return self._maps.map(self.session(workspace), lane)
