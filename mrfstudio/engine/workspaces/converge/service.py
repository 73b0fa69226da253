"""The Converge workspace to the engine: graphs in and out, and what its panels show besides frames."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.algorithm import algorithms_of
from mrfstudio.engine.protocol.answers import ArenaScores, Frustrated, Loaded, MessageWork, TextColumns
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import NO_HINT
from mrfstudio.engine.protocol.requests import Background, Route
from mrfstudio.engine.protocol.requests.converge import (
    AskGuarantee,
    AskGuaranteedAlphas,
    ExplainMessage,
    ExportGraph,
    FindFrustrated,
    FindSuspects,
    FindSwings,
    InferInputs,
    InferWords,
    ListReaders,
    MapSigma,
    OpenGraph,
    ReadEvidence,
    ReadText,
    RunArena,
    StopArena,
    TryTips,
)
from mrfstudio.engine.registry import SERVICES
from mrfstudio.engine.session.document import Document
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.converge.pins import ruled_out
from mrfstudio.engine.workspaces.converge.workspace import GraphWorkspace
from mrfstudio.engine.workspaces.service import Service
from mrfstudio.engine.workspaces.sessions import Sessions

if TYPE_CHECKING:  # scipy takes its time, and nobody has asked yet
    from mrfstudio.engine.workspaces.converge.arenas import Arenas
    from mrfstudio.engine.workspaces.converge.questions import Guarantees, SigmaMaps

Chosen = tuple[str, dict[str, Any]]
"""An algorithm and its parameters."""
FIRST_ALGORITHM: Chosen = ("alpha-bp", {"alpha": 1.0})
"""α-BP at 1 is BP, step for step, with the slider beside it that often helps."""
FILE_ALGORITHM: Chosen = ("bp", {})
"""What any file can be given to, factors of any order too."""


@SERVICES.register
class ConvergeService(Service):
    """Any factor graph; it begins with a grid."""

    name = GraphWorkspace.name
    restores = GraphWorkspace

    def __init__(self, sessions: Sessions, models: Mapping[str, Any]) -> None:
        super().__init__(sessions, models)
        self._text: Session | None = None  # that of the last text
        self._paths: dict[int, Path] = {}  # the file that a session's graph came from, by the session's identity

    def routes(self) -> Iterable[Route]:
        yield OpenGraph.by(self.open_graph)
        yield ReadEvidence.by(lambda asked: self.read_evidence(asked.path))
        yield ListReaders.by(lambda asked: readers())
        yield ReadText.by(self.read_text)
        yield ExportGraph.by(lambda asked: self.export_graph(asked.path))
        yield InferInputs.by(lambda asked: self.infer_inputs(asked.stem))
        yield InferWords.by(lambda asked: self.infer_words(asked.taken))
        yield AskGuarantee.by(lambda asked: Background(self._guarantees.verdict(self.session(), asked.lane)))
        yield AskGuaranteedAlphas.by(lambda asked: Background(self._guarantees.interval(self.session(), asked.lane)))
        yield FindSwings.by(lambda asked: Background(self._guarantees.swings(self.session(), asked.lane)))
        yield ExplainMessage.by(lambda asked: Background(self._explained(asked)))
        yield FindSuspects.by(lambda asked: Background(self._guarantees.suspects(self.session(), asked.lane)))
        yield TryTips.by(lambda asked: Background(self._guarantees.trials(self.session(), asked.lane, asked.tips)))
        yield FindFrustrated.by(lambda asked: Background(self._frustrated(asked.lane)))
        yield RunArena.by(self._run_arena)
        yield StopArena.by(lambda _: self._arenas.stop())
        yield MapSigma.by(lambda asked: self._maps.map(self.session(), asked.lane))

    def loaded(self, so_far: Loaded) -> Loaded:
        from mrfstudio.engine.graphs import sources
        from mrfstudio.engine.graphs.ising import ising_grid
        from mrfstudio.engine.graphs.layouts.placing import LAYOUTS
        from mrfstudio.engine.graphs.sketch import Strengths

        return replace(
            so_far,
            fitting={**so_far.fitting, self.name: algorithms_of(ising_grid(1, 2))},
            sources=sources.entries(),
            strengths=Strengths.entry(),
            layouts=LAYOUTS,
        )

    def warm_up(self) -> None:
        """The first look at a graph would keep the engine for a tenth of a second."""
        import mrfstudio.engine.workspaces.converge.questions  # noqa: F401

    @cached_property
    def _guarantees(self) -> Guarantees:
        from mrfstudio.engine.workspaces.converge.questions import Guarantees

        return Guarantees()

    def _run_arena(self, asked: RunArena) -> Generator[object, None, ArenaScores | None]:
        return self._arenas.run(asked)

    @cached_property
    def _arenas(self) -> Arenas:
        from mrfstudio.engine.workspaces.converge.arenas import Arenas

        return Arenas()

    @cached_property
    def _maps(self) -> SigmaMaps:
        from mrfstudio.engine.workspaces.converge.questions import SigmaMaps

        return SigmaMaps()

    def _explained(self, asked: ExplainMessage) -> Callable[[], MessageWork]:
        from mrfstudio.engine.workspaces.converge.explain import explained

        session = self.session()
        view = session.timeline.runner.view(session.point, session.point.lane(asked.lane))
        if view is None:
            raise StudioError("The lane could not begin, so there is no message to explain.")
        return lambda: explained(view, asked.factor, asked.axis, dict(asked.given))

    def _frustrated(self, lane: int) -> Callable[[], Frustrated]:
        from mrfstudio.engine.convergence.frustration import frustrated_factors

        graph = self.session().point.lane(lane).model

        def work() -> Frustrated:
            found = frustrated_factors(graph)
            return Frustrated(found.factors, found.text)

        return work

    # Graphs in and out ------------------------------------------------------------------------------------------------

    def begin(self) -> str:
        from mrfstudio.engine.graphs.sketch import GENERATED
        from mrfstudio.engine.graphs.sources import GridGraph

        space, source = GraphWorkspace(), GridGraph()
        document = space.begun(source.sketch(), source.title)
        self._show(space, GENERATED, FIRST_ALGORITHM, document)
        return document.name

    def open_graph(self, asked: OpenGraph) -> str:
        """Show a graph, or the one in a file; `shape` (rows, columns) lays its variables out."""
        from mrfstudio.engine.files.graphs.graph import read_graph

        path, name, graph = None, asked.name, asked.graph
        if not isinstance(graph, FactorGraph):
            path = Path(str(graph)).absolute()
            name, graph = path.name, read_graph(path)
        space = GraphWorkspace({name: graph}, asked.shape)
        algorithm = FIRST_ALGORITHM if graph.is_pairwise else FILE_ALGORITHM
        session = self._show(space, name, algorithm, space.of_file(name, asked.shape))
        self._paths = {} if path is None else {id(session): path}
        return name

    def read_text(self, asked: ReadText) -> TextColumns:
        """Show the hidden states under a text as a graph with a variable a column.

        Lanes, speed and pause of the text before it stay; an algorithm that does not cover the new graph goes.
        """
        from mrfstudio.engine.families.lattices import LATTICES
        from mrfstudio.engine.files.open_model import open_fitting

        model = open_fitting(asked.model, LATTICES)
        read = LATTICES.of(model)
        assert read is not None  # `open_fitting` has refused others
        found = read(model, asked.text)
        space = GraphWorkspace({asked.model: found.graph}, (1, len(found.columns)))
        document = space.placed(asked.model, *in_a_row(found.graph))
        before = self.sessions[self.name] if self._text is not None and self.name in self.sessions else None
        before = before if before is self._text else None  # another graph was chosen or opened since
        chosen = [FILE_ALGORITHM] if before is None else algorithms_that_fit(before, found.graph) or [FILE_ALGORITHM]
        self._text = self._show(space, asked.model, chosen[0], document, chosen[1:])
        if before is not None:
            self._text.playing = before.playing
            self._text.set_speed(before.speed)
        return TextColumns(asked.model, found.columns, int(found.graph.cardinalities[0]), found.remark)

    def _show(
        self, space: GraphWorkspace, model: str, algorithm: Chosen, document: Document, beside: Sequence[Chosen] = ()
    ) -> Session:
        session = Session(space, model, *algorithm, document=document, beside=beside, threads=self.sessions.threads)
        self.sessions.show(session)
        return session

    def read_evidence(self, path: str) -> tuple[tuple[int, int], ...]:
        """What an evidence file says about the graph that is shown."""
        from mrfstudio.engine.files.graphs.uai import read_evidence

        return tuple(sorted(read_evidence(path, self._graph()).items()))

    def export_graph(self, path: str) -> str:
        """Write the graph as it is shown, at its strengths and without evidence, as .uai or .fg."""
        from mrfstudio.engine.files.graphs.graph import write_graph

        write_graph(path, self._graph())
        return path

    def infer_inputs(self, stem: str) -> tuple[str, str]:
        """A graph file and an evidence file, or none, from which `mrfstudio infer` computes what is shown.

        The file that was opened where it is untouched; else files that begin with `stem`.
        """
        from mrfstudio.engine.files.graphs.graph import write_graph
        from mrfstudio.engine.files.graphs.uai import write_evidence

        session, graph = self.session(), self._graph()
        document = session.document
        hints, strength = (document.layers[name].ravel()[: graph.variables] for name in ("hints", "hints_strength"))
        hard = np.flatnonzero((hints != NO_HINT) & (strength == 1))
        sketch = document.graph
        soft = bool(((hints != NO_HINT) & (strength < 1)).any()) or bool(sketch is not None and sketch.forbidden)
        path = None if soft else self._untouched_file(session)
        Path(stem).parent.mkdir(parents=True, exist_ok=True)
        if path is None:
            path = Path(f"{stem}.uai")
            write_graph(path, self._with_leanings(session, graph) if soft else graph)
        if not len(hard):
            return str(path), ""
        evidence = Path(f"{stem}.evid")
        write_evidence(evidence, {int(node): int(hints[node]) for node in hard}, graph)
        return str(path), str(evidence)

    def infer_words(self, taken: tuple[str, ...]) -> tuple[str, ...] | None:
        """The graph and its evidence in words; empty where only a file can say them, None where nothing can."""
        from mrfstudio.engine.graphs.words import observed_words, words_of

        document, graph = self.session().document, self._graph()
        if document.graph is not None and document.graph.pins:
            return None
        words = None if document.graph is None else words_of(document.graph, taken)
        if words is None:
            return () if self._untouched_file(self.session()) is not None else self._link_in_words()
        hints, strength = (document.layers[name].ravel()[: graph.variables] for name in ("hints", "hints_strength"))
        return (*words, *observed_words(hints, strength, NO_HINT, graph.labels))

    def _untouched_file(self, session: Session) -> Path | None:
        """The file that a session's graph came from, where nobody has changed the graph since."""
        sketch = session.document.graph
        untouched = sketch is not None and sketch.is_file and sketch.scales == (1.0, 1.0) and not sketch.tables
        return self._paths.get(id(session)) if untouched else None

    def _link_in_words(self) -> tuple[str, ...]:
        """The graph that is shown and its evidence as a link, without what led there; empty where it is too large."""
        from mrfstudio.engine.files.links import LinkError, link_of

        session = self.session()
        lane = session.point.lanes[0]
        try:
            now = Session(session.workspace, lane.model_name, "bp", document=session.document, playing=False)
            return (link_of(now),)
        except LinkError:
            return ()

    def _graph(self) -> FactorGraph:
        model = self.session().point.lanes[0].model
        if not isinstance(model, FactorGraph):
            raise StudioError("There is no graph here: choose one in the Converge workspace.")
        return model.to(dtype=torch.float64)

    def _space(self, session: Session) -> GraphWorkspace:
        assert isinstance(session.workspace, GraphWorkspace)  # `_graph` has refused others
        return session.workspace

    def _with_leanings(self, session: Session, graph: FactorGraph) -> FactorGraph:
        """Evidence of less than full strength, and states ruled out: potentials that an evidence file cannot say."""
        given = self._space(session).evidence(session.document, session.point.lanes[0].model).log_potentials.double()
        leaning = torch.where(torch.isneginf(given), 0.0, given)
        sketch = session.document.graph
        leaning[ruled_out(graph, () if sketch is None else sketch.forbidden)] = -torch.inf
        return FactorGraph(
            graph.cardinalities,
            graph.groups,
            graph.unary + leaning,
            constant=graph.constant,
            labels=graph.labels,
            names=graph.names,
        )


def algorithms_that_fit(session: Session, graph: FactorGraph) -> list[Chosen]:
    """What the lanes of a session run, where it covers another graph too."""
    lanes = [lane.algorithm for lane in session.point.lanes if lane.algorithm.supports(graph) is None]
    return [(algorithm.name, algorithm.values()) for algorithm in lanes]


def in_a_row(graph: FactorGraph) -> tuple[np.ndarray, tuple[int, int] | None]:
    """Positions (n, 2) from left to right, and the lattice that they are.

    Where lines reach further than to the next column they would lie under each other: columns stand up and down by
    turns there.
    """
    column = np.arange(graph.variables)
    far = any(int((group.scopes.amax(0) - group.scopes.amin(0)).max()) > 1 for group in graph.groups)
    positions = np.stack([column + 0.5, 0.5 + 2 * (column % 2) * far], 1).astype(np.float32)
    return positions, None if far else (1, graph.variables)


def readers() -> tuple[str, ...]:
    """Models whose family reads text; only their cards are looked at."""
    from mrfstudio.engine.families.lattices import LATTICES
    from mrfstudio.engine.files.model_file import ModelFileError, read_card, shipped_models, user_models

    found = []
    for name in (*shipped_models(), *user_models()):
        try:
            if LATTICES.knows(read_card(name).kind):
                found.append(name)
        except ModelFileError:  # a damaged file of the person's own is named where models are listed
            continue
    return tuple(found)
