"""Which messages, factors and variables keep a run from settling, and what would help, each remedy tried in a copy."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from mrfstudio.engine.convergence.loops import loops_through
from mrfstudio.engine.convergence.oscillation import IRREGULAR, Advice, Oscillation
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.links import links_of
from mrfstudio.engine.inference.algorithm import Algorithm, State
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.protocol.answers import FoundLoop, Suspect, Suspects, Tip, Trial
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.session.lanes import compatible, make_algorithm
from mrfstudio.engine.workspaces.converge.messages import message_change
from mrfstudio.engine.workspaces.converge.picking import LARGE
from mrfstudio.engine.workspaces.workspace import LaneView

MOST = 400
"""Suspects of each kind that a table shows, the worst ones."""
SECONDS, LONG = 2.0, 8.0
"""Of one trial, and of one of a large graph, of the processor's time: another program must not change what is said."""
AT_ONCE = ("bp", "alpha-bp")
STRONGLY = 0.9
"""Damping that is tried besides the gentlest that may help."""
EXACT_ENTRIES = 20_000
"""Entries of all messages up to which exact marginals are computed to compare with."""


def suspects_of(view: LaneView, lane: int, found: Oscillation, converged: bool = False) -> Suspects:
    """Messages, factors and variables with what there is to say of each; `found` is by link."""
    graph: FactorGraph = view.model
    links = links_of(graph)
    count = len(links.messages)
    amplitude = found.amplitude if len(found.amplitude) == count else np.zeros(count)
    period = found.period if len(found.period) == count else np.zeros(count, np.int64)
    change = message_change(graph, view.state, view.previous)
    residual = np.zeros(count) if change is None else np.concatenate([change[0].ravel(), change[1]])
    of_factors, of_variables = energy_shares(view)
    wrong = _disagreement(view)
    rows = [
        _row("message", link, amplitude[link], period[link], residual[link], np.nan, wrong[links.variables[link]])
        for link in _worst(amplitude, residual).tolist()
    ]
    for kind, owner, number, shares in (
        ("factor", links.owners, links.factors, of_factors),
        ("variable", links.variables, graph.variables, of_variables),
    ):
        swing, moved, which = np.zeros(number), np.zeros(number), np.zeros(number, np.int64)
        np.maximum.at(swing, owner, amplitude)
        np.maximum.at(moved, owner, residual)
        np.maximum.at(which, owner, period)
        irregular = np.zeros(number, np.bool_)
        irregular[owner[period == IRREGULAR]] = True
        which[irregular] = IRREGULAR  # one message without a period leaves its factor without one
        far = wrong
        if kind == "factor":
            far = np.full(number, -np.inf)
            np.fmax.at(far, owner, wrong[links.variables])
        chosen = _worst(swing, moved, np.nan_to_num(np.abs(shares)) * 1e-6, np.nan_to_num(far))
        rows += [_row(kind, n, swing[n], which[n], moved[n], shares[n], far[n]) for n in chosen.tolist()]
    messages = sorted((r for r in rows if r.kind == "message"), key=lambda r: (r.amplitude, r.residual), reverse=True)
    several = np.bincount(links.variables, minlength=graph.variables) > 1
    # What is said to a variable of one factor never comes back, however much it swings: others made it swing.
    worst = next((row for row in messages if several[links.variables[row.number]]), next(iter(messages), None))
    loops: tuple[FoundLoop, ...] = ()
    if worst is not None:
        factor = int(links.owners[worst.number])
        loops = tuple(
            FoundLoop(loop.factors, loop.variables, loop.strength, loop.sign)
            for loop in loops_through(graph, factor, links.axis(worst.number))
        )
    link = None if worst is None else worst.number
    return Suspects(lane, view.state.iteration, tuple(rows), loops, link, converged)


def _row(kind: str, number: int, amplitude: Any, period: Any, residual: Any, share: Any, wrong: Any) -> Suspect:
    known = [None if not np.isfinite(value) else float(value) for value in (share, wrong)]
    return Suspect(kind, int(number), float(amplitude), int(period), float(residual), known[0], known[1])


def _worst(*measures: np.ndarray) -> np.ndarray:
    """The numbers of the worst, by the first measure, then by the others."""
    return np.lexsort([-measure for measure in measures[::-1]])[:MOST]


def energy_shares(view: LaneView) -> tuple[np.ndarray, np.ndarray]:
    """What each factor and each variable contributes to the Bethe free energy, as parts of all that is contributed.

    A factor has Σ b_a (θ_a - log b_a), a variable Σ b_i local_i + (d_i - 1) Σ b_i log b_i; NaN without such beliefs.
    """
    graph: FactorGraph = view.model
    links = links_of(graph)
    try:
        with torch.no_grad():
            tables = view.algorithm.factor_beliefs(graph, view.evidence, view.state)
    except (StudioError, NotImplementedError):
        return np.full(links.factors, np.nan), np.full(graph.variables, np.nan)
    factors = np.zeros(links.factors)
    for number, (group, belief) in enumerate(zip(graph.groups, tables, strict=True)):
        theta = torch.where(belief > 0, group.tables.double(), torch.zeros_like(belief, dtype=torch.float64))
        each = (belief.double() * theta + torch.special.entr(belief.double())).sum(tuple(range(group.order)))
        mine = links.where[:, 0] == number
        factors[mine] = to_host(each)[links.where[mine, 1]]
    assert isinstance(view.evidence, Evidence)
    local = graph.unpack(graph.local_potentials(view.evidence))
    degrees = np.bincount(links.variables, minlength=graph.variables)
    variables = np.array(
        [
            np.sum(np.where(b > 0, b * np.where(b > 0, own, 0.0), 0.0))
            + (degree - 1) * np.sum(np.where(b > 0, b * np.log(np.maximum(b, 1e-300)), 0.0))
            for b, own, degree in zip(graph.unpack(view.beliefs), local, degrees.tolist(), strict=True)
        ]
    )
    total = np.abs(factors).sum() + np.abs(variables).sum()
    return (factors / total, variables / total) if total > 0 else (factors, variables)


def _disagreement(view: LaneView) -> np.ndarray:
    """Half the sum of |belief - exact marginal| of each variable, (n,); NaN where exact inference would take long."""
    graph: FactorGraph = view.model
    nothing = np.full(graph.variables, np.nan)
    exact = make_algorithm("exact", {})
    if graph.packing.message_size > EXACT_ENTRIES or exact.supports(graph) is not None:
        return nothing
    evidence = view.evidence

    def make() -> np.ndarray:
        with torch.no_grad():
            state = exact.step(graph, evidence, exact.init(graph, evidence))
            return np.concatenate(graph.unpack(exact.beliefs(graph, evidence, state)))

    try:
        truth = evidence.derived(graph, "exact marginals of suspects", make)
    except StudioError:
        return nothing
    mine = np.concatenate(graph.unpack(view.beliefs))
    owner = np.repeat(np.arange(graph.variables), graph.cardinalities)
    return np.bincount(owner, np.abs(mine - truth), minlength=graph.variables) / 2


# Remedies -------------------------------------------------------------------------------------------------------------


def more_advice(algorithm: Algorithm, graph: FactorGraph) -> tuple[Advice, ...]:
    """Other algorithms and schedules that can work on this graph, for messages that do not settle."""
    offers = []
    damping = getattr(algorithm, "damping", None)
    if damping is not None and damping < STRONGLY:
        reason = f"{STRONGLY:g} of the old message is kept: slow, and calm where less is not enough."
        offers.append(Advice(f"Damp: {STRONGLY:g}", reason, algorithm.name, {"damping": STRONGLY}))
    if algorithm.name == "bp" and getattr(algorithm, "schedule", "") == "parallel":
        reason = "One group of factors after the other: what swings between two sides meets in the middle."
        offers.append(Advice("One after the other", reason, "bp", {"schedule": "sequential"}))
    if algorithm.name != "trw" and graph.is_pairwise:
        reason = "Tree-reweighted messages settle on nearly every graph and bound log Z."
        offers.append(Advice("Tree-reweighted BP", reason, "trw", {}))
    if algorithm.name != "join-graph":
        reason = "Larger clusters of variables talk to each other: closer to exact, and calmer."
        offers.append(Advice("Join graph", reason, "join-graph", {}))
    return tuple(offers)


def tried(view: LaneView, tips: tuple[Tip, ...], limits: Limits, asked: bool = True) -> tuple[Trial, ...]:
    """What each tip would do, found by doing it to a copy from the present messages, or anew where they do not fit.

    On a large graph nothing is tried that nobody asked for, and then with more time, but only what begins at once:
    other algorithms may need longer than a trial before their first step. What plans its own time is not tried.
    """
    large = view.model.variables + sum(group.count for group in view.model.groups) > LARGE
    if large and not asked:
        return ()
    return tuple(
        _trial(view, tip, limits, LONG if large else SECONDS)
        if not large or tip.algorithm in (view.algorithm.name, *AT_ONCE)
        else Trial(tip, False, 0, "not tried on so large a graph")
        for tip in tips
        if not make_algorithm(tip.algorithm, {}).staged
    )


class _TooLong(Exception):
    pass


def _trial(view: LaneView, tip: Tip, limits: Limits, seconds: float) -> Trial:
    same = tip.algorithm == view.algorithm.name
    parameters = {**(view.algorithm.values() if same else {}), **tip.parameters}
    until, done = time.thread_time() + seconds, 0

    def watch(state: State) -> None:
        nonlocal done
        done += 1
        if time.thread_time() > until:
            raise _TooLong

    try:
        algorithm = make_algorithm(tip.algorithm, parameters)
        reason = algorithm.supports(view.model)
        if reason is not None:
            return Trial(tip, False, 0, reason)
        with torch.no_grad():
            first = algorithm.init(view.model, view.evidence)
            start = view.state if same and compatible(view.state, first) else first
            outcome = run(algorithm, view.model, view.evidence, limits, start=start, on_step=watch)
    except _TooLong:
        return Trial(tip, False, done, f"takes longer than the {seconds:g} s of a trial")
    except StudioError as error:
        return Trial(tip, False, done, str(error))
    if outcome.converged:
        return Trial(tip, True, done, f"converges in {done} iteration{'s' if done != 1 else ''}")
    return Trial(tip, False, done, f"does not settle in {done} iterations")
