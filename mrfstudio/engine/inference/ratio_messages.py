"""Answers of many Boltzmann machines with common couplings and their own biases, without an exponential for each pair.

The updates are those of `matrix_bp.py` and `rbm_mean_field.py`, alternating, undamped, from messages of zero. With
E = e^A, totals t as log-odds and messages m = e^L as ratios, sum-product needs exponentials of totals only:

    to_outer  = (q + E) / (q + 1),   q = to_hidden · e^(-t_h),    t_v = d + log Π_h to_outer
    to_hidden = (r + E) / (r + 1),   r = to_outer · e^(-t_v),     t_h = a + log Π_v to_hidden
    P(h = 1, v = 1) = σ(t_h) · E / (r + E)

All terms are positive, so nothing cancels. Mixed-product replaces to_hidden by E^v̂, max-product has no exponentials.
A machine of 784×256 units takes a tenth of the time of the messages as log-odds, item by item in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.inference.contract import Algorithm
from mrfstudio.engine.inference.matrix_bp import MatrixBP
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.ratios import halvings_of, log_product

PAIRS_AT_ONCE = 250_000
"""Pairs of units worked on together: 1 MB each for messages and scratch, which stay in the cache of a core."""
WORTH_STOPPING = 20_000
"""Pairs of units from which an item is worked on alone, so that it can stop when it has converged."""
LARGEST_COUPLING = 10.0
"""Up to here all products below are finite in float32; beyond, the log-odds of `matrix_bp.py` are needed."""
HUGE = 1e30  # odds against a unit beyond which it is off; times e^10 still finite in float32


@dataclass(frozen=True)
class Answers:
    """Log-odds of visible (B, V) and hidden units (B, H), the mean of P(h = 1, v = 1) over the batch, (H, V).

    `change` (B,) is the largest change of a visible belief in the last iteration. For `max` and `mixed` the log-odds
    are those of max-marginals, and there are no pairs.
    """

    visible: Tensor
    hidden: Tensor
    pairs: Tensor | None
    change: Tensor


@torch.no_grad()
def answers(
    algorithm: Algorithm,
    couplings: Tensor,
    hidden_bias: Tensor,
    visible_bias: Tensor,
    iterations: int,
    tolerance: float = -1.0,
) -> Answers | None:
    """What an algorithm says after some iterations given A (H, V), a (B, H) and d (B, V); None if not covered here.

    Messages of large machines stop earlier where no visible belief changes by more than the tolerance. That is decided
    for each item alone: what it is answered must not depend on the items beside it.
    """
    product = _product(algorithm)
    if product is None or (product in ("sum", "mixed") and float(couplings.abs().max()) > LARGEST_COUPLING):
        return None
    if product == "mean-field":
        return _mean_field(couplings, hidden_bias, visible_bias, iterations)
    machines = {"sum": _sum_product, "max": _max_product, "mixed": _mixed_product}[product]
    columns = couplings.t().contiguous()
    alone = tolerance >= 0 and columns.numel() >= WORTH_STOPPING
    shared = Shared(columns, columns.exp(), halvings_of(float(columns.abs().max())), tolerance if alone else -1.0)
    each = 1 if alone else max(1, PAIRS_AT_ONCE // columns.numel())
    found = [
        machines(shared, a, d, iterations)
        for a, d in zip(hidden_bias.split(each), visible_bias.split(each), strict=True)
    ]
    sums = [part[3] for part in found if part[3] is not None]
    pairs = torch.stack(sums).sum(0).t() / len(hidden_bias) if sums else None
    visible, hidden, before = (torch.cat(parts) for parts in list(zip(*found, strict=True))[:3])
    return Answers(visible, hidden, pairs, _change(visible, before))


def _product(algorithm: Algorithm) -> str | None:
    if isinstance(algorithm, MeanField):
        return "mean-field" if algorithm.damping == 0 else None
    if isinstance(algorithm, MatrixBP) and algorithm.damping == 0 and algorithm.schedule == "alternating":
        return algorithm.product
    return None


@dataclass(frozen=True)
class Shared:
    """What all items have in common: A as (V, H), E = e^A, how far ratios may be multiplied, where items stop."""

    columns: Tensor
    factors: Tensor
    halvings: int
    tolerance: float

    def rests(self, outer: Tensor, before: Tensor) -> bool:
        return self.tolerance >= 0 and float(_change(outer, before).max()) <= self.tolerance


Part = tuple[Tensor, Tensor, Tensor, Tensor | None]
"""t_v (b, V), t_h (b, H), t_v one iteration earlier, and the sum of the pair beliefs (V, H) where there are any."""


def _sum_product(shared: Shared, a: Tensor, d: Tensor, iterations: int) -> Part:
    factors, halvings = shared.factors, shared.halvings
    heard = factors.new_ones(len(a), *factors.shape)
    scratch = torch.empty_like(heard)
    outer, hidden, before = d, a, d
    for _ in range(iterations):
        before = outer
        _answered(heard, _odds_against(hidden)[:, None], factors, scratch)
        outer = d + log_product(heard, 2, halvings)
        _answered(heard, _odds_against(outer)[:, :, None], factors, scratch)
        hidden = a + log_product(heard, 1, halvings)
        if shared.rests(outer, before):
            break
    # The last answer left r + E in the scratch.
    pairs = torch.div(factors, scratch, out=scratch).mul_(torch.sigmoid(hidden)[:, None])
    return outer, hidden, before, pairs.sum(0)


def _mixed_product(shared: Shared, a: Tensor, d: Tensor, iterations: int) -> Part:
    factors, halvings = shared.factors, shared.halvings
    outer, hidden, before, best = d, a, d, torch.zeros_like(d)
    scratch = factors.new_empty(len(a), *factors.shape)
    for _ in range(iterations):
        before = outer
        heard = torch.where(best[:, :, None] > 0, factors, 1.0)
        _answered(heard, _odds_against(hidden)[:, None], factors, scratch)
        outer = d + log_product(heard, 2, halvings)
        best = (outer > 0).to(outer.dtype)
        hidden = a + best @ shared.columns
        if shared.rests(outer, before):
            break
    return outer, hidden, before, None


def _max_product(shared: Shared, a: Tensor, d: Tensor, iterations: int) -> Part:
    columns = shared.columns
    heard = columns.new_zeros(len(a), *columns.shape)
    outer, hidden, before = d, a, d
    for _ in range(iterations):
        before = outer
        heard = _best(hidden[:, None] - heard, columns)
        outer = d + heard.sum(2)
        heard = _best(outer[:, :, None] - heard, columns)
        hidden = a + heard.sum(1)
        if shared.rests(outer, before):
            break
    return outer, hidden, before, None


def _mean_field(couplings: Tensor, a: Tensor, d: Tensor, iterations: int) -> Answers:
    rows = couplings.t()
    outer, before = d, d
    hidden = a + couplings.sum(1) / 2  # as if every visible unit were on with probability ½
    for _ in range(iterations):
        before = outer
        outer = torch.addmm(d, torch.sigmoid(hidden), couplings)
        hidden = torch.addmm(a, torch.sigmoid(outer), rows)
    pairs = torch.sigmoid(hidden).t() @ torch.sigmoid(outer) / len(a)
    return Answers(outer, hidden, pairs, _change(outer, before))


def _answered(heard: Tensor, odds_against: Tensor, factors: Tensor, scratch: Tensor) -> None:
    """(q + E) / (q + 1) with q = heard · odds, in place; the scratch is left with q + E."""
    heard.mul_(odds_against)
    torch.add(heard, factors, out=scratch)
    torch.div(scratch, heard.add_(1), out=heard)


def _best(x: Tensor, columns: Tensor) -> Tensor:
    """max(x + A, 0) - max(x, 0); x is used up."""
    return (x + columns).relu_().sub_(x.relu_())


def _odds_against(totals: Tensor) -> Tensor:
    return totals.neg().exp_().clamp_max_(HUGE)


def _change(outer: Tensor, before: Tensor) -> Tensor:
    return (torch.sigmoid(outer) - torch.sigmoid(before)).abs().amax(1)
