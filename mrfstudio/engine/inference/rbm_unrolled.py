"""Belief propagation of Boltzmann machines unrolled for gradients, with a backward pass written by hand.

Parallel messages fall apart into two interleaved runs that never hear of each other: to_outer of iteration N comes from
to_hidden of N - 1, that from to_outer of N - 2, and so on. Only the run that ends in the answer is computed, half the
work, with the same numbers as N steps of `bp`. A half-step keeps one tensor for the way back.

All is at temperature 1: the caller divides weights, biases and evidence by T and multiplies the answer by T.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.inference.transfer import Transfer

Gradients = tuple[Tensor, Tensor, Tensor, Tensor]


def unrolled_log_odds(
    columns: Tensor, unit: Tensor, outer: Tensor, hidden: Tensor, field: Tensor, iterations: int
) -> Tensor:
    """Log-odds (B, U) of unknown outer units after some iterations, messages from zero; differentiable.

    `columns` (O + 1, H) are the weights of each outer unit, the last of them 0 for padding; `unit` (B, U) the unknown
    units of each item; `outer` (B, U) and `hidden` (H,) biases and evidence; `field` (B, H) what observed units say.
    """
    found: Tensor = _Unrolled.apply(columns, unit, outer, hidden, field, iterations)
    return found


class _Unrolled(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, columns: Tensor, unit: Tensor, outer: Tensor, hidden: Tensor, field: Tensor, iterations: int
    ) -> Tensor:
        transfer = Transfer(columns[unit])
        kept: list[Tensor] = []
        messages: Tensor | None = None
        for iteration in range(1, iterations + 1):
            if (iterations - iteration) % 2:
                total = outer if messages is None else outer + transfer.log_total(messages, 2)
                total = total[:, :, None]
            else:  # observed units too are heard from the second iteration on
                total = hidden[None] if messages is None else hidden + field + transfer.log_total(messages, 1)
                total = total[:, None]
            messages, kept_here = transfer.keep(total, messages)
            kept.append(kept_here)
        assert messages is not None
        ctx.transfer, ctx.kept, ctx.unit, ctx.rows = transfer, kept, unit, len(columns)
        return outer + transfer.log_total(messages, 2)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (given,) = gradients
        transfer, last = ctx.transfer, len(ctx.kept)
        by_outer = given.clone()
        by_hidden = torch.zeros_like(transfer.weights[:, 0])  # (B, H)
        by_field = torch.zeros_like(by_hidden)
        by_weight = torch.zeros_like(transfer.weights)
        by_message = given[:, :, None].expand_as(by_weight)
        for iteration in range(last, 0, -1):
            by_x = transfer.back(ctx.kept[iteration - 1], by_message, by_weight)
            if (last - iteration) % 2:
                total = by_x.sum(2)
                by_outer += total
                by_message = torch.sub(total[:, :, None], by_x, out=by_x)
            else:
                total = by_x.sum(1)
                by_hidden += total
                if iteration > 1:
                    by_field += total
                    by_message = torch.sub(total[:, None], by_x, out=by_x)
        rows = transfer.finished(by_weight).flatten(0, 1)
        by_columns = rows.new_zeros(ctx.rows, rows.shape[1]).index_add_(0, ctx.unit.flatten(), rows)
        return by_columns, None, by_outer, by_hidden.sum(0), by_field, None
