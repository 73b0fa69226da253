"""What the Converge workspace asks besides frames: guarantee, interval of α, oscillations, the map of σ_max.

Each function takes a session and returns work that needs the session no more, because states and couplings are never
written to: the engine's thread has it done beside itself, and a stroke does not wait.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from mrfstudio.engine.convergence.oscillation import (
    IRREGULAR,
    ITERATIONS,
    Advice,
    Oscillation,
    advice,
    find_oscillations,
    region_advice,
)
from mrfstudio.engine.convergence.verdict import Verdict, interval_of, not_defined, verdict_on
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.links import links_of
from mrfstudio.engine.graphs.pairwise import Couplings, couplings_of
from mrfstudio.engine.inference.algorithm import State
from mrfstudio.engine.inference.messages.alpha_bp import AlphaBP
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.protocol.answers import Guarantee, GuaranteedAlphas, SigmaMap, Suspects, Swings, Tip, Trial
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import NO_HINT
from mrfstudio.engine.protocol.requests import NotYet
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.session.lanes import Lane
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.converge.messages import owners, probabilities
from mrfstudio.engine.workspaces.converge.picking import auto_advice
from mrfstudio.engine.workspaces.converge.suspects import more_advice, suspects_of, tried
from mrfstudio.engine.workspaces.converge.workspace import GraphWorkspace
from mrfstudio.engine.workspaces.workspace import LaneView

LOOK = 0.05
"""Seconds between two looks at a job."""
ALPHAS = (0.05, 1.5)
WIDEST = 2.0
"""The map reaches to this coupling, or to half more than the present one."""

LongWork = Generator[object, None, "SigmaMap | None"]


class Guarantees:
    """Verdicts of one workspace; each search starts from where the last one ended."""

    def __init__(self) -> None:
        self._near: Verdict | None = None
        self._interval: GuaranteedAlphas | None = None
        self._picked: tuple[tuple[int, int], Advice | None] | None = None

    def verdict(self, session: Session, number: int) -> Callable[[], Guarantee]:
        """What M says about a lane, or why there is none."""
        lane, revision = session.point.lane(number), session.revision
        reason = _no_matrix(lane)
        if reason:
            return lambda: Guarantee(number, revision, reason=reason)
        couplings, (alpha, temperature) = _couplings(session, lane), _alpha(lane)

        def work() -> Guarantee:
            found = verdict_on(couplings(), alpha, temperature=temperature, near=self._near)
            self._near = found
            return Guarantee(
                number,
                revision,
                alpha,
                found.sigma_max.upper,
                found.spectral_radius.upper,
                found.norm_1,
                found.norm_inf,
                found.guaranteed,
                found.tolerance,
            )

        return work

    def interval(self, session: Session, number: int) -> Callable[[], GuaranteedAlphas]:
        """The α that are guaranteed for a lane's graph and evidence."""
        lane, revision = session.point.lane(number), session.revision
        if _no_matrix(lane):
            return lambda: GuaranteedAlphas(revision)
        couplings, (_, temperature) = _couplings(session, lane), _alpha(lane)

        def work() -> GuaranteedAlphas:
            given = couplings()
            found = interval_of(replace(given, couplings=given.couplings / temperature))
            self._interval = GuaranteedAlphas(revision, *((found.low, found.high) if found is not None else (0, 0)))
            return self._interval

        return work

    def suspects(self, session: Session, number: int) -> Callable[[], Suspects]:
        """What keeps a lane from settling."""
        lane = session.point.lane(number)
        view, states = _view(session, number), _consecutive(session, lane)

        def work() -> Suspects:
            with torch.no_grad():
                return suspects_of(view, number, _oscillations(view.model, states)[0], lane.status == "converged")

        return work

    def trials(self, session: Session, number: int, tips: tuple[Tip, ...]) -> Callable[[], tuple[Trial, ...]]:
        """What tips would do; without any, all that apply to the lane's algorithm."""
        view, find, limits = _view(session, number), self.swings(session, number), session.point.limits

        def work() -> tuple[Trial, ...]:
            chosen = tips
            if not chosen:
                more = more_advice(view.algorithm, view.model)
                chosen = (*find().tips, *(Tip(**offer.as_dict()) for offer in more))
            return tried(view, chosen, limits, asked=not tips)

        return work

    def swings(self, session: Session, number: int) -> Callable[[], Swings]:
        """Which messages of a lane oscillate, and what helps. Messages between regions belong to no edge: of them it is
        only known that they do not settle.
        """
        lane = session.point.lane(number)
        graph: FactorGraph = lane.model
        states = _consecutive(session, lane)
        known = self._interval
        certain = None
        if known is not None and known.revision == session.revision and known.high > 0:
            certain = (known.low, known.high)
        key, given = (session.revision, id(graph)), session.workspace.evidence(session.document, graph)
        assert isinstance(given, Evidence)

        def work() -> Swings:
            with torch.no_grad():
                found, period = _oscillations(graph, states)
            offers = advice(
                found, lane.algorithm.name, lane.algorithm.values(), pairwise=graph.is_pairwise, guaranteed=certain
            )
            if lane.diverging:
                offers += region_advice(lane.algorithm.name, lane.algorithm.values())
            if offers and getattr(lane.algorithm, "temperature", 1.0) == 1:
                offers += self._auto(key, graph, given)
            tips = tuple(Tip(**offer.as_dict()) for offer in offers)
            common = found.commonest or IRREGULAR
            return Swings(number, lane.iteration, period, found.count, common, tips, found.sharing, found.shrinks)

        return work

    def _auto(self, key: tuple[int, int], graph: FactorGraph, given: Evidence) -> tuple[Advice, ...]:
        """What `auto` would pick, found once for a graph and its evidence."""
        if self._picked is None or self._picked[0] != key:
            self._picked = key, auto_advice(graph, given)
        return () if self._picked[1] is None else (self._picked[1],)


def _view(session: Session, number: int) -> LaneView:
    view = session.timeline.runner.view(session.point, session.point.lane(number))
    if view is None:
        raise StudioError("The lane could not begin: see what the badge says.")
    return view


def _no_matrix(lane: Lane) -> str:
    """Why a lane has no contraction matrix; empty if it has one."""
    if not isinstance(lane.algorithm, AlphaBP | BeliefPropagation):
        return f"The matrix M speaks about bp and alpha-bp, not about {lane.algorithm.name}."
    if isinstance(lane.algorithm, BeliefPropagation) and lane.algorithm.temperature == 0:
        return "At temperature 0 messages are maxima, for which M is not defined."
    return not_defined(lane.model) or ""


def _alpha(lane: Lane) -> tuple[float, float]:
    """α and the temperature of the messages."""
    algorithm = lane.algorithm
    if isinstance(algorithm, BeliefPropagation):
        return 1.0, algorithm.temperature
    assert isinstance(algorithm, AlphaBP)
    return algorithm.alpha, 1.0


def _couplings(session: Session, lane: Lane, *, at_one: bool = False) -> Callable[[], Couplings]:
    """The couplings of a lane's graph and what is observed; `at_one` with the graph's coupling strength set to 1."""
    document = session.point.document
    sketch = document.graph
    if at_one and sketch is not None:
        sketch = replace(sketch, strengths=sketch.strengths.replace(coupling=1.0))
    if sketch is None or sketch.is_file or sketch.tables:
        space = session.workspace
        assert isinstance(space, GraphWorkspace)
        graph = space.model(replace(document, graph=sketch), lane.model_name)
        evidence = space.evidence(document, graph)
        return lambda: couplings_of(graph, evidence)
    hints, strength = (document.layers[name].ravel()[: sketch.nodes] for name in ("hints", "hints_strength"))
    observed = (hints != NO_HINT) & (strength == 1)
    coupling, field = sketch.scales
    return lambda: Couplings(sketch.edges, coupling * sketch.couplings, field * sketch.fields, observed)


def _consecutive(session: Session, lane: Lane) -> list[State]:
    """The last states of a lane since its last edit, one an iteration, the newest last; none where it has converged."""
    if lane.status == "converged":  # what is left of a swing is smaller than anybody wants to know
        return []
    points = session.timeline.history.since(max(lane.base, lane.iteration - ITERATIONS) - 1)
    found: list[State] = []
    expected = lane.iteration
    for point in reversed([point for point in points if point.iteration <= lane.iteration]):
        past = next((each for each in point.lanes if each.number == lane.number), None)
        if past is None or past.state is None or past.iteration != expected or past.model is not lane.model:
            break
        found.append(past.state)
        expected -= 1
    return found[::-1]


def _oscillations(graph: FactorGraph, states: list[State]) -> tuple[Oscillation, np.ndarray]:
    """What the messages do, link by link, and their periods (links,) int16."""
    read = [probabilities(graph, state) for state in states]
    history = [to_host(each) for each in read if each is not None]
    if not history or len(history) < len(states):
        nothing = np.zeros(0)
        still = np.zeros(len(links_of(graph).messages), np.int16)
        return Oscillation(nothing.astype(np.int64), nothing, nothing), still
    found = find_oscillations(np.stack(history), owners(graph))
    return found, found.period.astype(np.int16)


# The map --------------------------------------------------------------------------------------------------------------


class SigmaMaps:
    """At most one map is being computed; another one takes its place."""

    def __init__(self) -> None:
        self._serial = 0

    def map(self, session: Session, number: int) -> LongWork:
        """Maps of σ_max over (α, coupling), each finer than the one before, as they come; the last one at the end."""
        lane = session.point.lane(number)
        reason = not_defined(lane.model)
        if reason:
            raise StudioError(reason)
        strength = session.workspace.sketch(session.document).strengths.coupling
        self._serial += 1
        return self._work(_couplings(session, lane, at_one=True), strength, self._serial)

    def _work(self, couplings: Callable[[], Couplings], strength: float, serial: int) -> LongWork:
        from mrfstudio.engine.convergence.sigma_map import read_sigma_map, sigma_map
        from mrfstudio.engine.runtime.jobs import Job

        given = couplings()
        unit = given.couplings[given.free]
        newest: SigmaMap | None = None
        with tempfile.TemporaryDirectory(prefix="mrfstudio-map-") as folder:
            arguments = {
                "edges": given.edges[given.free].tolist(),
                "couplings": unit.tolist(),
                "out": str(Path(folder, "map.npz")),
                "alpha_range": ALPHAS,
                "coupling_range": (0.0, max(WIDEST, 1.5 * strength)),
                "levels": 4 if len(unit) < 3000 else 3,
            }
            with Job(sigma_map, arguments) as job:
                while True:
                    ended = job.poll() != "running"
                    for message in job.messages():
                        if "file" in message:
                            newest = read_sigma_map(message["file"])
                            yield newest
                    if self._serial != serial:
                        return None
                    if ended:
                        break
                    yield NotYet(LOOK)
                if job.error:
                    raise StudioError(job.error)
        return newest
