"""Answers of many Boltzmann machines with common couplings and their own biases, without an exponential for each pair.

The updates are those of `matrix_bp.py` and `mean_field.py`, alternating, undamped, from messages of zero. With
E = e^A, totals t as log-odds and messages m = e^L as ratios, sum-product needs exponentials of totals only:

    to_outer  = (q + E) / (q + 1) = 1 + (E - 1) / (q + 1),   q = to_hidden · e^(-t_h),   t_v = d + log Π_h to_outer
    to_hidden = (r + E) / (r + 1) = 1 + (E - 1) / (r + 1),   r = to_outer · e^(-t_v),    t_h = a + log Π_v to_hidden
    P(h = 1, v = 1) = σ(t_h) · E / (r + E)

Mixed-product replaces to_hidden by E^v̂, max-product has no exponentials. Time goes into passes over all pairs: two for
messages in the second form, one for their product. What cancels there costs a message 1e-7 / E, see LARGEST_COUPLING.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from mrfstudio.engine.families.rbm.matrix_bp import MatrixBP
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.messages.ratios import log_of_products, terms_of

PAIRS_AT_ONCE = 250_000
"""Pairs of units worked on together: 1 MB each for messages and scratch, which stay in the cache of a core."""
WORTH_STOPPING = 20_000
"""Pairs of units from which an item is worked on alone, so that it can stop when it has converged."""
LARGEST_COUPLING = 6.0
"""Up to here messages are right to 3e-5 in float32 and all products finite; beyond, `matrix_bp.py` has log-odds."""
HUGE = 1e30  # odds against a unit beyond which it is off; times e^6 still finite in float32


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
    shared = Shared(columns, terms_of(float(columns.abs().max())), tolerance if alone else -1.0)
    each = 1 if alone else max(1, PAIRS_AT_ONCE // columns.numel())
    found = [
        machines(shared, a, d, iterations)
        for a, d in zip(hidden_bias.split(each), visible_bias.split(each), strict=True)
    ]
    pairs = shared.pairs.t() / len(hidden_bias) if product == "sum" else None
    visible, hidden, before = (torch.cat(parts) for parts in zip(*found, strict=True))
    return Answers(visible, hidden, pairs, _change(visible, before))


def _product(algorithm: Algorithm) -> str | None:
    if isinstance(algorithm, MeanField):
        return "mean-field" if algorithm.damping == 0 else None
    if isinstance(algorithm, MatrixBP) and algorithm.damping == 0 and algorithm.schedule == "alternating":
        return algorithm.product
    return None


@dataclass(frozen=True)
class Shared:
    """What all items have in common: A as (V, H), how many ratios may be multiplied, where items stop."""

    columns: Tensor
    terms: int
    tolerance: float

    @cached_property
    def factors(self) -> Tensor:
        """E = e^A, (V, H)."""
        return self.columns.exp()

    @cached_property
    def gains(self) -> Tensor:
        """E - 1, (V, H)."""
        return self.columns.expm1()

    @cached_property
    def ones(self) -> Tensor:
        """A row (H,): where nothing but one tensor is broadcast along rows, torch has vectorised kernels."""
        return self.columns.new_ones(self.columns.shape[1])

    @cached_property
    def pairs(self) -> Tensor:
        """The sum of the pair beliefs (V, H) of all items so far."""
        return torch.zeros_like(self.columns)

    def rests(self, outer: Tensor, before: Tensor) -> bool:
        """Whether no belief of totals t_v (1, V) has changed by more than the tolerance since `before` (1, V)."""
        return self.tolerance >= 0 and float(_change(outer, before)) <= self.tolerance


Part = tuple[Tensor, Tensor, Tensor]
"""t_v (b, V), t_h (b, H), and t_v one iteration earlier."""


def _sum_product(shared: Shared, a: Tensor, d: Tensor, iterations: int) -> Part:
    """Sums of both layers from biases a (b, H) and d (b, V); adds to `shared.pairs`."""
    heard = shared.columns.new_ones(len(a), *shared.columns.shape)
    scratch = torch.empty_like(heard)
    outer, hidden, before = d, a, d
    for _ in range(iterations):
        before = outer
        _answered(shared, heard, _odds_against(hidden)[:, None], scratch)
        outer = d + log_of_products(heard, 2, shared.terms)
        _answered(shared, heard, _odds_against(outer)[:, :, None], scratch)
        hidden = a + log_of_products(heard, 1, shared.terms)
        if shared.rests(outer, before):
            break
    # The last answer left r + 1 in the scratch, and the message times that is r + E.
    torch.div(torch.sigmoid(hidden)[:, None], heard.mul_(scratch), out=heard)
    shared.pairs.addcmul_(shared.factors, heard[0] if len(a) == 1 else heard.sum(0))
    return outer, hidden, before


def _mixed_product(shared: Shared, a: Tensor, d: Tensor, iterations: int) -> Part:
    """Sums over hidden units, maxima over visible ones, from biases a (b, H) and d (b, V)."""
    outer, hidden, before, best = d, a, d, torch.zeros_like(d)
    scratch = shared.columns.new_empty(len(a), *shared.columns.shape)
    for _ in range(iterations):
        before = outer
        heard = torch.where(best[:, :, None] > 0, shared.factors, 1.0)
        _answered(shared, heard, _odds_against(hidden)[:, None], scratch)
        outer = d + log_of_products(heard, 2, shared.terms)
        best = (outer > 0).to(outer.dtype)
        hidden = a + best @ shared.columns
        if shared.rests(outer, before):
            break
    return outer, hidden, before


def _max_product(shared: Shared, a: Tensor, d: Tensor, iterations: int) -> Part:
    """Maxima of both layers from biases a (b, H) and d (b, V)."""
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
    return outer, hidden, before


def _mean_field(couplings: Tensor, a: Tensor, d: Tensor, iterations: int) -> Answers:
    """The mean field of A (H, V), a (B, H) and d (B, V)."""
    rows = couplings.t()
    outer, before = d, d
    hidden = a + couplings.sum(1) / 2  # as if every visible unit were on with probability ½
    for _ in range(iterations):
        before = outer
        outer = torch.addmm(d, torch.sigmoid(hidden), couplings)
        hidden = torch.addmm(a, torch.sigmoid(outer), rows)
    pairs = torch.sigmoid(hidden).t() @ torch.sigmoid(outer) / len(a)
    return Answers(outer, hidden, pairs, _change(outer, before))


def _answered(shared: Shared, heard: Tensor, odds_against: Tensor, scratch: Tensor) -> None:
    """1 + (E - 1) / (q + 1) with q = heard · odds, in place; the scratch is left with q + 1.

    `heard` and `scratch` (b, V, H); `odds_against` (b, 1, H) or (b, V, 1).
    """
    torch.addcmul(shared.ones, heard, odds_against, out=scratch)
    torch.addcdiv(shared.ones, shared.gains, scratch, out=heard)


def _best(x: Tensor, columns: Tensor) -> Tensor:
    """max(x + A, 0) - max(x, 0), (b, V, H); x (b, V, H) is used up, A is (V, H)."""
    return (x + columns).relu_().sub_(x.relu_())


def _odds_against(totals: Tensor) -> Tensor:
    """e^(-t), at most `HUGE`, of totals (b, n)."""
    return totals.neg().exp_().clamp_max_(HUGE)


def _change(outer: Tensor, before: Tensor) -> Tensor:
    """The largest change (b,) of a visible belief, from totals (b, V)."""
    return (torch.sigmoid(outer) - torch.sigmoid(before)).abs().amax(1)
