"""Bethe's estimate of log Z on a grid, from messages and beliefs of belief propagation."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from mrfstudio.engine.families.grid.kernel import widest_span
from mrfstudio.engine.families.grid.shape import GridShape
from mrfstudio.engine.runtime.interruption import stop_if_interrupted


@lru_cache(maxsize=64)  # a few shapes, asked for at every log Z
def edge_ends(shape: GridShape, direction: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Pixel numbers (batch, edges) of the first and second ends of all edges of one direction."""
    row, column = shape.directions[direction]
    pixel = torch.arange(shape.pixels, device=device).reshape(shape.batch, shape.height, shape.width)
    rows, columns, left = max(shape.height - row, 0), max(shape.width - abs(column), 0), max(-column, 0)
    first = pixel[:, :rows, left : left + columns]
    second = pixel[:, row:, left + column : left + column + columns]
    return first.flatten(1), second.flatten(1)


def bethe_log_partition(
    potentials: Tensor, span: float, log_evidence: Tensor, messages: Tensor, beliefs: Tensor, shape: GridShape
) -> Tensor:
    """log Z_Bethe = Σ_edges log Z_ij + Σ_i (1 - degree_i) log Z_i, in about the time of one iteration.

    Potentials (matrices, S, S), whose `span` is that of `kernel.span`; evidence and beliefs (S, N), messages
    (directions, S, N). From beliefs instead of totals every edge's term lacks log Z_i + log Z_j, and the second sum
    becomes Σ_i log Z_i. Then no large numbers cancel: the model's own precision does for the terms, only sums of many
    of them need more.
    """
    if span >= widest_span(messages.dtype):  # a quotient can be as large as e^span
        messages, log_evidence = messages.double(), log_evidence.double()
        beliefs = torch.softmax(log_evidence + torch.log(messages).sum(0), 0)
    potentials = potentials.detach().to(messages.dtype)
    # log Z_i from the most probable state alone: its unnormalised weight over its belief.
    top, best = beliefs.max(0, keepdim=True)
    weight = log_evidence.gather(0, best) + torch.log(messages.gather(1, best.expand(len(messages), -1, -1))).sum(0)
    value = (weight - torch.log(top)).sum(dtype=torch.float64)
    for d, matrix in enumerate(potentials):
        stop_if_interrupted()
        senders, receivers = shape.shift(d)
        near, near_scale = _scaled(beliefs[:, senders], messages[shape.opposite(d)][:, senders])
        far, far_scale = _scaled(beliefs[:, receivers], messages[d][:, receivers])
        peak = matrix.max()
        inner = torch.exp(matrix - peak).t() @ near
        terms = torch.log(inner.mul_(far).sum(0)) + near_scale + far_scale + peak
        # What wraps around the border is no edge.
        value = value + terms[edge_ends(shape, d, terms.device)[0].flatten() - senders.start].sum(dtype=torch.float64)
    return value


def _scaled(beliefs: Tensor, messages: Tensor) -> tuple[Tensor, Tensor]:
    """beliefs / messages (S, N) with the largest entry of every pixel brought to 1, and its logarithm (N,)."""
    quotient = beliefs / messages
    largest = quotient.amax(0)
    return quotient.div_(largest), torch.log(largest)
