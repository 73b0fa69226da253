"""Contraction of small, tame graphs in numpy: torch would take longer to note what it did than to do it.

Tame means that the spans of all tables together stay so far within 64 bits that no product can vanish: nothing is
scaled on the way. Going back, for each product R = Σ A B, dA = Σ dR B and dB = Σ dR A; the marginals of a factor are
ψ · ∂ log Z / ∂ ψ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Scope = tuple[int, ...]
Steps = Sequence[tuple[tuple[int, ...], Scope]]

TAME = 600.0
"""Nats that all tables and all assignments together may span."""
LETTERS = 52
"""Axes that einsum can tell apart, from 0."""


@dataclass(frozen=True)
class _Product:
    """Which operands were multiplied, and what it gave, by number."""

    parts: tuple[int, ...]
    result: int


def tame(logs: Sequence[Floats], assignments: float) -> bool:
    """Whether no product of log-tables (k_1, …, k_r, n), the largest entry of each 0, can vanish or overflow;
    `assignments` is the logarithm of their number.
    """
    total = assignments
    for log in logs:
        states = tuple(range(log.ndim - 1))
        low = log.min(axis=states)
        if np.isneginf(low).any():
            low = np.min(log, axis=states, where=np.isfinite(log), initial=0.0)
        total -= float(low.sum())
    return total < TAME


def contracted_small(tables: Sequence[Floats], scopes: Sequence[Scope], steps: Steps) -> tuple[float, list[Floats]]:
    """log Z, and the marginals of each table's variables; a table has an axis for each variable of its scope.

    Without any possible assignment log Z is -inf, and there are none.
    """
    values, axes, tape = list(tables), list(scopes), []
    few = all(v < LETTERS for scope in scopes for v in scope)
    alive = list(range(len(values)))
    for chosen, kept in steps:
        parts = tuple(alive[place] for place in chosen)
        for number in parts:
            alive.remove(number)
        alive.append(len(values))
        tape.append(_Product(parts, len(values)))
        values.append(_summed([(values[number], axes[number]) for number in parts], kept, few))
        axes.append(kept)
    if any(values[number] <= 0 for number in alive):
        return -math.inf, []
    gradients: list[Floats] = [np.zeros(0)] * len(values)
    for number in alive:
        gradients[number] = 1 / values[number]
    for product in reversed(tape):
        back = (gradients[product.result], axes[product.result])
        for number in product.parts:
            others = [(values[other], axes[other]) for other in product.parts if other != number]
            gradients[number] = _spread([back, *others], axes[number], values[number].shape, few)
    log_z = sum(math.log(float(values[number])) for number in alive)
    return log_z, [table * gradient for table, gradient in zip(tables, gradients, strict=False)]


def _summed(picked: Sequence[tuple[Floats, Scope]], kept: Scope, few: bool) -> Floats:
    """The product of tables, each in the shape of its scope, summed over the variables that are not kept; variables are
    their own letters where the graph has `few`.
    """
    given: list[Any] = []
    if few:
        for each in picked:
            given += each
        return np.asarray(np.einsum(*given, kept))
    letter: dict[int, int] = {}
    for table, scope in picked:
        given += [table, [letter.setdefault(v, len(letter)) for v in scope]]
    return np.asarray(np.einsum(*given, [letter[v] for v in kept]))


def _spread(picked: Sequence[tuple[Floats, Scope]], scope: Scope, shape: tuple[int, ...], few: bool) -> Floats:
    """The same over a scope of which some variables are in none of the tables: all their states have that value."""
    known = {v for _, own in picked for v in own}
    if known.issuperset(scope):
        return _summed(picked, scope, few)
    found = _summed(picked, tuple(v for v in scope if v in known), few)
    places = [size if v in known else 1 for v, size in zip(scope, shape, strict=True)]
    return np.broadcast_to(found.reshape(places), shape)
