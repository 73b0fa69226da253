"""Belief propagation on bipartite binary models, as matrices of log-odds.

Only outer units that are not observed carry messages. For a batch of evidence they are laid out as `unit` (B, U): the
numbers of the unknown outer units of each item, padded with O to the longest list. The padding has weight 0, and
f_0 = 0, so that it is silent. What observed units say is constant, ±w, and is added to the hidden totals as the
`field` (B, H).

Messages are log-odds (B, U, H) in both directions:

    to_outer  = f_W(h_total - to_hidden),   h_total = c_H + evidence + field + Σ_units to_hidden
    to_hidden = f_W(o_total - to_outer),    o_total = c_O + evidence + Σ_hidden to_outer
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.messages.transfer import Transfer, transfer
from mrfstudio.engine.inference.residuals import SATURATED, largest_ratio_change
from mrfstudio.engine.runtime.threads import shared_out

BLOCK = 65536
"""Messages worked on at once: a few such tensors fit the cache of a core."""
WORTH_TWO_HERE = 300_000
"""Messages of a direction from which on a second thread takes every other block."""


@dataclass(frozen=True, eq=False)
class BipartiteQuery:
    """Evidence on a bipartite model, prepared for message passing; axes B items, U unknown outer units, H hidden."""

    batch: torch.Size  # the leading axes of the evidence; B is their product
    unit: Tensor  # (B, U) outer units, O where there is none
    weights: Tensor  # (B, U, H), or (1, U, H) where no unit of any item is observed
    outer: Tensor  # (B, U) bias and soft evidence
    hidden: Tensor  # (B, H) bias and evidence, ±inf where clamped
    field: Tensor  # (B, H) what the observed units say
    spins: Tensor  # (B, O) -1 or +1 where observed, else 0
    strongest: float  # the largest |w| of the model


def unknown_units(known: Tensor) -> Tensor:
    """`unit` (B, U) for known outer units (B, O): the unknown ones of each row in order, then padding O."""
    count = (~known).sum(1)
    longest = int(count.max()) if len(count) else 0
    order = torch.argsort(known.to(torch.uint8), dim=1, stable=True)[:, :longest]
    return torch.where(torch.arange(longest, device=count.device) < count[:, None], order, known.shape[1])


def with_silence(tensor: Tensor) -> Tensor:
    """The tensor (n, …) with one more row of zeros, (n + 1, …), for the padding."""
    return torch.cat([tensor, tensor.new_zeros(1, *tensor.shape[1:])])


def prepare(model: RBM, evidence: Evidence) -> BipartiteQuery:
    """The query that evidence asks; computed once while the parameters stay."""
    version = "-".join(str(tensor._version) for tensor in model.tensors().values())
    return evidence.derived(model, "query " + version, lambda: _prepare(model, evidence))


@torch.no_grad()
def _prepare(model: RBM, evidence: Evidence) -> BipartiteQuery:
    outer, hidden = model.log_odds(evidence)
    batch = outer.shape[:-1]
    outer, hidden = outer.reshape(-1, model.outer), hidden.reshape(-1, model.hidden)
    known = outer.isinf()
    spins = torch.where(known, torch.sign(outer), torch.zeros_like(outer))
    unit = unknown_units(known)
    soft = torch.where(known, torch.zeros_like(outer), outer) + model.outer_bias
    soft = torch.nn.functional.pad(soft, (0, 1)).gather(1, unit)
    columns = with_silence(model.weights.t())
    whole = not bool(known.any())  # then all items have the same weights, and one copy serves them
    weights = columns[None, : model.outer] if whole else columns[unit]
    field, strongest = spins @ model.weights.t(), float(model.weights.abs().max())
    return BipartiteQuery(batch, unit, weights, soft, hidden + model.hidden_bias, field, spins, strongest)


def hidden_totals(query: BipartiteQuery, to_hidden: Tensor, said: float = 1.0) -> Tensor:
    """Log-odds (B, H) of the hidden units when the observed ones have said a part of their field."""
    return query.hidden + said * query.field + to_hidden.sum(1)


def outer_totals(query: BipartiteQuery, to_outer: Tensor) -> Tensor:
    """Log-odds (B, U) of the unknown outer units."""
    return query.outer + to_outer.sum(2)


def next_messages(
    totals: Tensor,
    heard: Tensor,
    old: Tensor,
    query: BipartiteQuery,
    temperature: float,
    fast: Transfer | None,
    threads: int,
) -> tuple[Tensor, Tensor]:
    """f_W(totals - heard, T) and its largest change against `old`, see `residuals`; all (B, U, H).

    `totals` (B, 1, H) or (B, U, 1); `fast` is the transfer of W / T at T > 0, None at T = 0. Done in blocks of units,
    because scratch that leaves the cache doubles the time.
    """
    found = torch.empty_like(heard)
    saturating = query.strongest > -SATURATED  # because |f| ≤ |w|
    each = max(1, BLOCK // max(1, heard.shape[0] * heard.shape[2]))
    scale = 1.0 if fast is None else 1 / temperature
    totals = totals * scale

    def sent(start: int) -> Tensor:
        part = slice(start, start + each)
        x = torch.sub(totals[:, part] if totals.shape[1] > 1 else totals, heard[:, part], alpha=scale)
        block = found[:, part]
        if fast is None:
            block.copy_(transfer(x, query.weights[:, part], temperature))
        else:
            fast.part(part)(x, out=block)
            if temperature != 1.0:
                block.mul_(temperature)
        if saturating:
            return largest_ratio_change(block, old[:, part])
        return torch.sigmoid(block).sub_(torch.sigmoid(old[:, part])).abs_().amax()

    threads = threads if heard.numel() >= WORTH_TWO_HERE else 1
    changes = shared_out(sent, range(0, heard.shape[1], each), threads)
    return found, torch.stack([heard.new_zeros(()), *changes.values()]).max()


def observed_change(model: RBM, query: BipartiteQuery, said: float) -> Tensor:
    """The residual of what observed units say, while they have said only a part of it."""
    weights = model.weights[:, (query.spins != 0).any(0)]
    return largest_ratio_change(weights, said * weights, query.strongest > -SATURATED)


def visible_beliefs(model: RBM, query: BipartiteQuery, outer: Tensor) -> Tensor:
    """Totals of unknown outer units (B, U) as beliefs of the visible ones, (…, V, 2) or (…, height, width, 2)."""
    whole = _all_outer(query, outer)[:, : model.visible].reshape(*query.batch, model.visible)
    return model.shown(torch.stack([torch.sigmoid(-whole), torch.sigmoid(whole)])).movedim(0, -1)


def hidden_beliefs(model: RBM, query: BipartiteQuery, outer: Tensor, hidden: Tensor) -> Tensor:
    """Totals of both sides as p(1) of the hidden units and, after them, of the second layer, (…, H + second)."""
    second = _all_outer(query, outer)[:, model.visible :]
    return torch.sigmoid(torch.cat([hidden, second], 1)).reshape(*query.batch, -1)


def _all_outer(query: BipartiteQuery, outer: Tensor) -> Tensor:
    """Log-odds (B, O) of all outer units, ±inf where observed."""
    known = torch.where(query.spins != 0, query.spins * torch.inf, torch.zeros_like(query.spins))
    return torch.nn.functional.pad(known, (0, 1)).scatter(1, query.unit, outer)[:, :-1]


def pair_beliefs(model: RBM, query: BipartiteQuery, outer: Tensor, hidden: Tensor, hidden_beliefs: Tensor) -> Tensor:
    """Γ (…, 2, 2, O, H): beliefs of every pair of an outer and a hidden unit, [outer state, hidden state].

    `outer` and `hidden` (B, U, H) are the cavities of both ends; `hidden_beliefs` (B, H) are P(h = 1), which beside an
    observed unit are all there is to say.
    """
    tables = torch.softmax(_pair_logs(query, outer, hidden), 1)
    one = (query.spins > 0).to(tables.dtype)[:, :, None]
    either = torch.stack([1 - hidden_beliefs, hidden_beliefs], 1)[:, :, None, :]  # (B, 2, 1, H)
    observed = torch.stack([(1 - one)[:, None] * either, one[:, None] * either], 1).flatten(1, 2)  # (B, 4, O, H)
    padded = torch.nn.functional.pad(observed, (0, 0, 0, 1))
    where = query.unit[:, None, :, None].expand_as(tables)
    whole = padded.scatter(2, where, tables)[:, :, :-1]
    return whole.unflatten(1, (2, 2)).reshape(*query.batch, 2, 2, model.outer, model.hidden)


def _pair_logs(query: BipartiteQuery, outer: Tensor, hidden: Tensor) -> Tensor:
    """Log-weights (B, 4, U, H) of the states 00, 01, 10, 11 of each pair, the larger hidden one taken as reference.

    So a clamped hidden unit, whose cavity is infinite, has one state of weight 0 and no infinite weights.
    """
    half, off, on = query.weights / 2, -torch.relu(hidden), -torch.relu(-hidden)
    return torch.stack([half + off, on - half, outer - half + off, outer + half + on], 1)


# Unrolled for gradients -----------------------------------------------------------------------------------------------
#
# Parallel messages fall apart into two interleaved runs that never hear of each other: to_outer of iteration N comes
# from to_hidden of N - 1, that from to_outer of N - 2, and so on. Only the run that ends in the answer is computed:
# half the work, with the same numbers as N steps of `bp`. A half-step keeps one tensor for the way back, which is
# written by hand. All is at temperature 1: the caller divides weights, biases and evidence by T and multiplies the
# answer by T.


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
    """`unrolled_log_odds` with its way back; tensors have the shapes given there."""

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
