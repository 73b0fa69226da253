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

import torch
from torch import Tensor

from mrfstudio.engine.evidence import Evidence
from mrfstudio.engine.inference.transfer import Transfer, transfer
from mrfstudio.engine.models.rbm import RBM

BLOCK = 65536
"""Messages worked on at once: a few such tensors fit the cache of a core."""


@dataclass(frozen=True, eq=False)
class Query:
    """Evidence on a bipartite model, prepared for message passing; axes B items, U unknown outer units, H hidden."""

    batch: torch.Size  # the leading axes of the evidence; B is their product
    unit: Tensor  # (B, U) outer units, O where there is none
    weights: Tensor  # (B, U, H), or (1, U, H) where no unit of any item is observed
    outer: Tensor  # (B, U) bias and soft evidence
    hidden: Tensor  # (B, H) bias and evidence, ±inf where clamped
    field: Tensor  # (B, H) what the observed units say
    spins: Tensor  # (B, O) -1 or +1 where observed, else 0


def unknown_units(known: Tensor) -> Tensor:
    """`unit` (B, U) for known outer units (B, O): the unknown ones of each row in order, then padding O."""
    count = (~known).sum(1)
    longest = int(count.max()) if len(count) else 0
    order = torch.argsort(known.to(torch.uint8), dim=1, stable=True)[:, :longest]
    return torch.where(torch.arange(longest) < count[:, None], order, known.shape[1])


def with_silence(tensor: Tensor) -> Tensor:
    """The tensor with one more row of zeros, for the padding."""
    return torch.cat([tensor, tensor.new_zeros(1, *tensor.shape[1:])])


def prepare(model: RBM, evidence: Evidence) -> Query:
    """The query that evidence asks; computed once while the parameters stay."""
    version = "-".join(str(tensor._version) for tensor in model.tensors().values())
    return evidence.derived(model, "query " + version, lambda: _prepare(model, evidence))


@torch.no_grad()
def _prepare(model: RBM, evidence: Evidence) -> Query:
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
    return Query(batch, unit, weights, soft, hidden + model.hidden_bias, spins @ model.weights.t(), spins)


def hidden_totals(query: Query, to_hidden: Tensor, said: float = 1.0) -> Tensor:
    """Log-odds (B, H) of the hidden units when the observed ones have said a part of their field."""
    return query.hidden + said * query.field + to_hidden.sum(1)


def outer_totals(query: Query, to_outer: Tensor) -> Tensor:
    """Log-odds (B, U) of the unknown outer units."""
    return query.outer + to_outer.sum(2)


def next_messages(
    totals: Tensor, heard: Tensor, old: Tensor, query: Query, temperature: float, fast: Transfer | None
) -> tuple[Tensor, Tensor]:
    """f_W(totals - heard, T) and its largest change against `old` as a probability; all (B, U, H).

    `totals` (B, 1, H) or (B, U, 1); `fast` is the transfer of W / T at T > 0, None at T = 0. Done in blocks of units,
    because scratch that leaves the cache doubles the time.
    """
    found, changes = torch.empty_like(heard), [heard.new_zeros(())]
    each = max(1, BLOCK // max(1, heard.shape[0] * heard.shape[2]))
    scale = 1.0 if fast is None else 1 / temperature
    totals = totals * scale
    for start in range(0, heard.shape[1], each):
        part = slice(start, start + each)
        x = torch.sub(totals[:, part] if totals.shape[1] > 1 else totals, heard[:, part], alpha=scale)
        block = found[:, part]
        if fast is None:
            block.copy_(transfer(x, query.weights[:, part], temperature))
        else:
            fast.part(part)(x, out=block)
            if temperature != 1.0:
                block.mul_(temperature)
        low, high = torch.aminmax(torch.sigmoid(block).sub_(torch.sigmoid(old[:, part])))
        changes += [high, -low]
    return found, torch.stack(changes).max()


def largest_change(proposal: Tensor, old: Tensor) -> Tensor:
    """The residual: the largest change of a message as a probability."""
    if not proposal.numel():
        return proposal.new_zeros(())
    return torch.sigmoid(proposal).sub_(torch.sigmoid(old)).abs_().max()


def observed_change(model: RBM, query: Query, said: float) -> Tensor:
    """The residual of what observed units say, while they have said only a part of it."""
    seen = (query.spins != 0).any(0)
    largest = (torch.sigmoid(model.weights) - torch.sigmoid(said * model.weights)).abs().amax(0)
    return torch.where(seen, largest, torch.zeros_like(largest)).max()


def visible_beliefs(model: RBM, query: Query, outer: Tensor) -> Tensor:
    """Totals of unknown outer units (B, U) as beliefs of the visible ones, (…, V, 2) or (…, height, width, 2)."""
    whole = _all_outer(query, outer)[:, : model.visible].reshape(*query.batch, model.visible)
    return model.shown(torch.stack([torch.sigmoid(-whole), torch.sigmoid(whole)])).movedim(0, -1)


def hidden_beliefs(model: RBM, query: Query, outer: Tensor, hidden: Tensor) -> Tensor:
    """Totals of both sides as p(1) of the hidden units and, after them, of the second layer, (…, H + second)."""
    second = _all_outer(query, outer)[:, model.visible :]
    return torch.sigmoid(torch.cat([hidden, second], 1)).reshape(*query.batch, -1)


def _all_outer(query: Query, outer: Tensor) -> Tensor:
    """Log-odds (B, O) of all outer units, ±inf where observed."""
    known = torch.where(query.spins != 0, query.spins * torch.inf, torch.zeros_like(query.spins))
    return torch.nn.functional.pad(known, (0, 1)).scatter(1, query.unit, outer)[:, :-1]


def pair_beliefs(model: RBM, query: Query, outer: Tensor, hidden: Tensor, hidden_beliefs: Tensor) -> Tensor:
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


def _pair_logs(query: Query, outer: Tensor, hidden: Tensor) -> Tensor:
    """Log-weights (B, 4, U, H) of the states 00, 01, 10, 11 of each pair, the larger hidden one taken as reference.

    So a clamped hidden unit, whose cavity is infinite, has one state of weight 0 and no infinite weights.
    """
    half, off, on = query.weights / 2, -torch.relu(hidden), -torch.relu(-hidden)
    return torch.stack([half + off, on - half, outer - half + off, outer + half + on], 1)
