"""How much of belief propagation has converged within the iterations that training unrolls."""

from __future__ import annotations

import math

from torch import Tensor

SETTLED = 0.001
"""A variable is settled when no probability in its belief changed by more than this in the last iteration."""


def settled_share(log_beliefs: Tensor) -> float:
    """The share of settled variables, from log-beliefs (readouts, variables, states) of consecutive iterations.

    NaN with fewer than two readouts. The same for every learner that unrolls: its name among the scalars of a batch is
    `converged`.
    """
    if len(log_beliefs) < 2:
        return math.nan
    change = (log_beliefs[-1].exp() - log_beliefs[-2].exp()).abs().amax(-1)
    return _share(change)


def settled_targets(beliefs: list[Tensor], owner: Tensor, asked: Tensor) -> float:
    """The same for packed beliefs (B, size) of consecutive iterations, over the variables asked for, (B, variables).

    `owner` (size,) is the variable that an entry belongs to.
    """
    if len(beliefs) < 2:
        return math.nan
    change = (beliefs[-1].detach() - beliefs[-2].detach()).abs()
    largest = change.new_zeros(asked.shape).scatter_reduce(1, owner.expand_as(change), change, "amax")
    return _share(largest[asked])


def settled_gaussians(information: Tensor, precision: Tensor) -> float:
    """The same for Gaussian beliefs (readouts, variables): the mean moved by less than `SETTLED` of its deviation."""
    if len(information) < 2:
        return math.nan
    moved = information[-1] / precision[-1] - information[-2] / precision[-2]
    return _share(moved.abs() * precision[-1].sqrt())


def _share(change: Tensor) -> float:
    # Where nothing is asked for, nothing moves: several processes must all have a number, or none.
    return float((change <= SETTLED).float().mean()) if change.numel() else 1.0
