"""How strongly a factor couples its variables, and whether it wants them equal or different.

The log-table θ is what each variable gets alone (the means along its axis) and the rest, the interaction I; the
strength is the root of the mean of I². On a table J x_s x_t + a_s x_s + a_t x_t it is |J|, for any a.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.graphs.links import links_of
from mrfstudio.engine.runtime.device import to_host

DEEPEST = 10.0
"""What is forbidden counts as this far below the largest entry of its table: e^-10 is next to never."""


def strengths_of(graph: FactorGraph) -> tuple[np.ndarray, np.ndarray]:
    """Strength (factors,) float32 and sign (factors,) int8 of every factor, numbered as in `links.py`.

    The sign is +1 where a factor of two variables with the same states favours equal ones, -1 where it favours
    different ones, and 0 where that question has no meaning.
    """
    return graph.derived("strengths", lambda: _strengths(graph))


def _strengths(graph: FactorGraph) -> tuple[np.ndarray, np.ndarray]:
    found = [_of_tables(group.tables.detach()) for group in graph.groups]
    links = links_of(graph)
    strength, sign = np.zeros(links.factors, np.float32), np.zeros(links.factors, np.int8)
    for number, (strong, signed) in enumerate(found):
        mine = links.where[:, 0] == number
        places = links.where[mine, 1]
        strength[mine], sign[mine] = strong[places], signed[places]
    return strength, sign


def _of_tables(tables: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Strength and sign, (n,) each, of log-tables (k_1, …, k_r, n)."""
    rest = interaction(tables.double())
    axes = tuple(range(rest.ndim - 1))
    strength = rest.square().mean(axes).sqrt()
    sign = torch.zeros_like(strength)
    if rest.ndim == 3 and rest.shape[0] == rest.shape[1]:
        equal = rest.diagonal(dim1=0, dim2=1).mean(-1)
        sign = torch.where(equal.abs() > 1e-9, equal.sign(), sign)
    return to_host(strength.to(torch.float32)), to_host(sign.to(torch.int8))


def interaction(tables: Tensor) -> Tensor:
    """θ without what single variables get, (k_1, …, k_r, n)."""
    axes = tuple(range(tables.ndim - 1))
    theta = torch.maximum(tables, tables.amax(axes, keepdim=True) - DEEPEST)
    mean = theta.mean(axes, keepdim=True)
    rest = theta - mean
    for axis in axes:
        rest = rest - (theta.mean(tuple(other for other in axes if other != axis), keepdim=True) - mean)
    return rest
