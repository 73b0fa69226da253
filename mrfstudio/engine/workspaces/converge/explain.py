"""How a message was computed: the terms of its equation with the numbers of one iteration.

With θ the factor's log-table, c_j what its variable j says to it (`messages.reply`), and the powers of `reweighted.py`

    m'(x_i) ∝ m(x_i)^keep · Σ_{x_j, j ≠ i} exp(scale θ(x)) ∏_{j ≠ i} exp(c_j(x_j)),

in BP with keep 0 and scale 1; at temperature T the sum is T log Σ exp(… / T), at 0 a maximum. Damping mixes the
logarithms of the old and of this message.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp
from torch import Tensor

from mrfstudio.engine.graphs.links import entries_of, links_of, scope_of, table_of
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.protocol.answers import MessageTerm, MessageWork
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.workspaces.converge.messages import (
    local_potential,
    log_messages,
    normalised,
    powers_of,
    reply,
    said_to,
)
from mrfstudio.engine.workspaces.workspace import LaneView

LARGEST = 1 << 16
"""Entries of a table that is shown whole."""
MOST_PARTS = 12


def explained(view: LaneView, factor: int, axis: int, given: dict[int, tuple[float, ...]]) -> MessageWork:
    """The work behind the message of a factor to its variable `axis` in the present state.

    It was computed from the state before; where that is not kept, the next message is explained instead. `given`
    replaces what some variables say, to see what would follow. An algorithm without messages has the table alone.
    """
    graph, state = view.model, view.state
    scope = scope_of(graph, factor)
    if not 0 <= axis < len(scope):
        raise StudioError(f"Factor {factor} has no variable {axis}: expected 0 to {len(scope) - 1}.")
    table = table_of(graph, factor)
    if table.size > LARGEST:
        raise StudioError(f"The table has {table.size} entries: at most {LARGEST} can be shown.")
    if log_messages(graph, state, entries_of(graph, factor, axis)) is None:
        return _table_alone(factor, axis, state.iteration, table)
    past = view if view.previous is None else replace(view, state=view.previous, previous=None)
    terms = tuple(_term(past, factor, other, given.get(other)) for other in range(len(scope)) if other != axis)
    scale, keep = _powers(past, factor, axis)
    joint = scale * table
    for term in terms:
        with np.errstate(divide="ignore"):
            said = np.log(np.asarray(term.values, np.float64))
        joint = joint + said.reshape([-1 if each == term.axis else 1 for each in range(len(scope))])
    others = tuple(each for each in range(len(scope)) if each != axis)
    summed = _reduced(joint, others, _temperature(view))
    old = log_messages(graph, past.state, entries_of(graph, factor, axis))
    assert old is not None
    with np.errstate(invalid="ignore"):
        fresh = summed + (keep * np.where(np.isneginf(old), 0.0, old) if keep else 0.0)
    damping = float(getattr(view.algorithm, "damping", 0.0))
    now = log_messages(graph, state, entries_of(graph, factor, axis))
    return MessageWork(
        factor=factor,
        axis=axis,
        iteration=state.iteration if view.previous is not None else state.iteration + 1,
        equation=_equation(view, scale, keep, damping),
        table=np.exp(table - table.max()),
        log_scale=float(table.max()),
        terms=terms,
        product=np.exp(joint - joint.max()) if np.isfinite(joint.max()) else np.zeros_like(joint),
        summed=np.exp(summed - summed.max()) if np.isfinite(summed.max()) else np.zeros(len(summed)),
        fresh=normalised(fresh),
        damped=normalised(_damped(fresh, old, damping)),
        old=normalised(old),
        sent=normalised(now) if view.previous is not None and not given else None,
    )


def _table_alone(factor: int, axis: int, iteration: int, table: np.ndarray) -> MessageWork:
    words = "This algorithm sends no messages: choose bp, alpha-bp or trw to see how they are made of this table."
    linear, nothing = np.exp(table - table.max()), np.zeros(0)
    scale = float(table.max())
    return MessageWork(
        factor, axis, iteration, words, linear, scale, (), nothing, nothing, nothing, nothing, nothing, None
    )


def _term(past: LaneView, factor: int, axis: int, given: tuple[float, ...] | None) -> MessageTerm:
    """What a variable says, and of what that is made."""
    graph = past.model
    variable = scope_of(graph, factor)[axis]
    own = normalised(local_potential(past, variable))
    parts: list[tuple[str, np.ndarray]] = [("its own potential and evidence", own)]
    for (other, _), said in said_to(past, variable, factor).items():
        names = ", ".join(graph.name_of(v) for v in scope_of(graph, other) if v != variable)
        parts.append((f"factor with {names}", normalised(said)))
    left_out = max(0, len(parts) - MOST_PARTS)
    values = normalised(reply(past, factor, axis))
    if given is not None:
        values = np.asarray(given, np.float64)
        if values.shape != own.shape or not np.isfinite(values).all() or (values < 0).any() or not values.any():
            raise StudioError("A changed message has values that are no probabilities: expected some above 0.")
        values = values / values.sum()
    return MessageTerm(axis, variable, values, tuple(parts[:MOST_PARTS]), left_out, given is not None)


def _powers(view: LaneView, factor: int, axis: int) -> tuple[float, float]:
    """`scale` and `keep` of the equation."""
    e = powers_of(view)
    if e is None:
        return 1.0, 0.0
    group, place = links_of(view.model).where[factor].tolist()
    entry = int(entries_of(view.model, factor, axis)[0])
    return float(e.scales[group][place]), float(e.keep[entry]) if isinstance(e.keep, Tensor) else e.keep


def _temperature(view: LaneView) -> float:
    return view.algorithm.temperature if isinstance(view.algorithm, BeliefPropagation) else 1.0


def _reduced(joint: np.ndarray, axes: tuple[int, ...], temperature: float) -> np.ndarray:
    if temperature == 0:
        return np.asarray(joint.max(axes))
    if np.isneginf(joint.max()):
        return np.full(joint.max(axes).shape, -np.inf)
    found: Any = temperature * logsumexp(joint / temperature, axes)
    return np.asarray(found)


def _damped(fresh: np.ndarray, old: np.ndarray, damping: float) -> np.ndarray:
    if not damping:
        return fresh
    fresh, old = (each - logsumexp(each) for each in (fresh, old))
    mixed = (1 - damping) * np.where(np.isneginf(fresh), 0.0, fresh) + damping * np.where(np.isneginf(old), 0.0, old)
    return np.where(np.isneginf(fresh) | np.isneginf(old), fresh, mixed)


def _equation(view: LaneView, scale: float, keep: float, damping: float) -> str:
    """The equation in a line, with the powers that are not 1."""
    temperature = _temperature(view)
    table = "φ(x)" if scale == 1 else f"φ(x)^{scale:.3g}"
    kept = "" if not keep else f"old(x)^{keep:.3g} · "
    sign = "max" if temperature == 0 else "Σ"
    power = "" if temperature in (0, 1) else f", all to the power 1/{temperature:g}"
    damped = "" if not damping else f"; {damping:g} of the old message is kept"
    return f"message ∝ {kept}{sign} over the others of {table} · ∏ what they say{power}{damped}"
