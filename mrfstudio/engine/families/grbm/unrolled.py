"""Many iterations on a GRBM at once, with a backward pass written by hand: for training.

The arithmetic is that of `messages.py`, in its symbols. Forward keeps the messages of every iteration, (η, λ), and
small vectors; backward recomputes everything else from them, so that 50 iterations on 280 unknown pixels and 200
hidden units take 23 MB instead of what autograd would keep. With a, l the gradients of η', λ', and Σ over the rows of
an image:

    u = a r (p - y m) - y l w r,   G = w r u                           y = pq;  G is minus the gradient of y z
    gX = y Σ (a w r - (q - p)(w (a r m + l w r) + G z))                 through p, q and y
    gm = gX - y a w r,   gz = gX/2 - y G
    gw = u - y l w r + gm D/A + 2 gz w/A
    gA = -(gm m + gz z)/A,   gD = gm w/A
    gλ = Σ_h gA - gA,   gη = Σ_h gD - gD                               Σ_h over the units; no Σ_h gA at the floor

Before that, from gradients of η'', λ' to those of η', λ' (*carried* there), with V = Λ' - κS, μ = N/Λ and e = Σ_h a λ':

    gU = κ e/V,   gV = -gU s,   gΛ' = gV - μ gU,   gS = gΛ' - κ gV                        no gΛ' at the floor
    a += gU,   l += κ s a + gS,   gn = gU,   gt = gΛ',   gμ = -Λ' gU,   gκ = e s - S gV
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.families.grbm.messages import Rows, write_messages
from mrfstudio.engine.runtime.recycling import recycled


def unrolled_beliefs(rows: Rows, iterations: int, readouts: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Information N and precision Λ of the pixels' beliefs, (readouts, rows) each, after each of `readouts` iterations.

    Differentiable in weights, vectors and bias of the rows; equals stepping with `next_messages`.
    """
    found: tuple[Tensor, Tensor] = _UnrolledGaussian.apply(
        rows.weights,
        rows.information,
        rows.precision,
        rows.bias,
        rows.low,
        rows.high,
        rows.shared,
        rows,
        iterations,
        tuple(readouts),
    )
    return found


class _UnrolledGaussian(torch.autograd.Function):
    """Weights (rows, hidden), vectors (rows,), bias (B, hidden) → N and Λ, (readouts, rows) each."""

    @staticmethod
    def forward(
        ctx: Any,
        weights: Tensor,
        information: Tensor,
        precision: Tensor,
        bias: Tensor,
        low: Tensor,
        high: Tensor,
        shared: Tensor,
        rows: Rows,
        iterations: int,
        readouts: tuple[int, ...],
    ) -> tuple[Tensor, Tensor]:
        kept = _KeptIterations.empty(weights, bias, iterations)
        unary, scratch = torch.stack([information, precision]), weights.new_empty((3, *weights.shape))
        messages, (information_of, precision_of) = kept.messages.unbind(), _by_step(kept.beliefs)
        eta, lam = _by_step(kept.messages)
        for k, (beliefs, means) in enumerate(zip(kept.beliefs.unbind(), kept.means.unbind(), strict=True)):
            _pixels(rows, unary, messages[k], beliefs, means)
            if k < iterations:
                before = information_of[k], precision_of[k], eta[k], lam[k]
                kept.logits[k] = write_messages(rows, *before, eta[k + 1], lam[k + 1], scratch)
        ctx.kept, ctx.rows, ctx.readouts = kept, rows, readouts
        chosen = list(readouts)
        return kept.beliefs[chosen, 0], kept.beliefs[chosen, 1]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        kept, rows, readouts = ctx.kept, ctx.rows, ctx.readouts
        back = _Backward(rows, kept)
        back.g_beliefs[list(readouts)] = torch.stack(gradients, 1)
        for k in range(len(kept.means) - 1, 0, -1):
            back.pixels(k)
            back.carried(k - 1)
            back.messages(k - 1)
        back.bounds(0)
        return *back.into(), None, None, None


@dataclass(frozen=True, eq=False)
class _KeptIterations:
    """Of every iteration: messages (iterations + 1, 2, rows, hidden), η and λ; beliefs (…, 2, rows), N and Λ; logits.

    `means` (…, rows) are those of the beliefs before they are kept within reach, `logits` (iterations, B, hidden).
    """

    messages: Tensor
    beliefs: Tensor
    means: Tensor
    logits: Tensor

    @classmethod
    def empty(cls, weights: Tensor, bias: Tensor, iterations: int) -> _KeptIterations:
        """Memory for all iterations, the first messages 0; weights (rows, hidden), bias (B, hidden)."""
        count, rows = iterations + 1, len(weights)
        messages = recycled((count, 2, *weights.shape), weights)
        messages[0] = 0
        logits = bias.new_empty((iterations, *bias.shape))
        return cls(messages, weights.new_empty((count, 2, rows)), weights.new_empty((count, rows)), logits)


def _by_step(pairs: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The first and the second of (iterations, 2, …) for every iteration: views, made all at once."""
    flat = pairs.flatten(0, 1).unbind()
    return flat[::2], flat[1::2]


def _pixels(rows: Rows, unary: Tensor, messages: Tensor, beliefs: Tensor, means: Tensor) -> None:
    """`bounded_beliefs` (2, rows) from messages (2, rows, hidden) and n, t as `unary` (2, rows), in few operations.

    `means` (rows,) receives N/Λ as it was before it was kept within reach.
    """
    torch.sum(messages, 2, out=beliefs).add_(unary)
    information, precision = beliefs
    torch.maximum(precision, rows.least, out=precision)
    torch.div(information, precision, out=means)
    reached = means.clamp(rows.low, rows.high)
    if not torch.equal(reached, means):
        torch.where(reached == means, information, reached.mul_(precision), out=information)


class _Backward:
    """Gradients on their way down the iterations. All work is in place, in buffers that stay in the cache.

    What belongs to pixels or units alone is computed for all iterations at once, before or after: an operation on so
    few numbers takes as long to call as it takes, and two threads would wait for each other's calls.
    """

    def __init__(self, rows: Rows, kept: _KeptIterations) -> None:
        self.rows, self.kept = rows, kept
        self.g_beliefs = torch.zeros_like(kept.beliefs)
        self.g_messages = rows.weights.new_zeros((2, *rows.weights.shape))
        self.g_eta, self.g_lam = self.g_messages
        self.g_weights = rows.weights.new_zeros(rows.weights.shape)
        self.g_logits = torch.empty_like(kept.logits)
        self.scratch = rows.weights.new_empty((7, *rows.weights.shape)).unbind()
        self.one, self.signs = rows.weights.new_ones(()), rows.weights.new_tensor([[1.0], [-1.0]])
        p, q = torch.sigmoid(kept.logits), torch.sigmoid(-kept.logits)
        self.p, self.y, self.minus_y, self.p_minus_q = (each.unbind() for each in (p, p * q, -p * q, p - q))
        self.eta, self.lam = _by_step(kept.messages)
        self.information, self.precision = _by_step(kept.beliefs[..., None])
        self.g_beliefs_of, self.g_logits_of = self.g_beliefs.unbind(), self.g_logits.unbind()
        information, precision = kept.beliefs.unbind(1)
        self.below, self.above = kept.means < rows.low, kept.means > rows.high
        inside = ~(self.below | self.above)
        self.mean_outside = torch.where(inside, 0.0, information / precision)
        self.free = torch.stack([inside, precision > rows.least], 1).to(precision.dtype)
        self.all_free, self.all_inside = bool(self.free.all()), bool(inside.all())
        self.taken = kept.messages[:, 1].sum(-1)
        self.floor = float(rows.least[0] / rows.precision[0]) if len(rows.least) else 1.0
        self.g_unary, self.g_shared = torch.zeros_like(kept.beliefs[0]), torch.zeros_like(rows.shared)

    def carried(self, k: int) -> None:
        """From the gradients of messages k + 1 to what they were before they were carried along with the mean."""
        rows, a, l = self.rows, self.g_eta, self.g_lam  # noqa: E741  # the letters of the equations
        precision, taken, mean = (
            self.kept.beliefs[k + 1, 1],
            self.taken[k + 1],
            self.kept.beliefs[k, 0] / self.kept.beliefs[k, 1],
        )
        shift, part = self.kept.means[k + 1] - mean, precision - rows.shared * taken
        e = torch.einsum("rh,rh->r", a, self.lam[k + 1])
        g_u = rows.shared * e / part
        g_v = -g_u * shift
        g_precision = g_v - mean * g_u
        free = self.free[k + 1, 1]
        l.addcmul_(a, (rows.shared * shift)[:, None]).add_((free * g_precision - rows.shared * g_v)[:, None])
        a.add_(g_u[:, None])
        self.g_unary.add_(torch.stack([g_u, g_precision * (free + (1 - free) * self.floor)]))
        self.g_shared.addcmul_(e, shift).addcmul_(taken, g_v, value=-1.0)
        g_mean = -precision * g_u / self.kept.beliefs[k, 1]
        self.g_beliefs[k].add_(torch.stack([g_mean, -mean * g_mean]))

    def messages(self, k: int) -> None:
        """From the gradients of messages k + 1 to those of messages k at fixed beliefs, and of the beliefs."""
        rows, w, g_weights = self.rows, self.rows.weights, self.g_weights
        a, l = self.g_eta, self.g_lam  # noqa: E741  # the letters of the equations
        invA, mu, m, w_over_A, z, r, u = self.scratch
        minus_y = rows.to_rows(self.minus_y[k])
        torch.sub(self.precision[k], self.lam[k], out=invA).reciprocal_()
        torch.sub(self.information[k], self.eta[k], out=mu).mul_(invA)
        torch.mul(w, mu, out=m)
        torch.mul(w, invA, out=w_over_A)
        torch.mul(w, w_over_A, out=z)
        torch.addcmul(self.one, z, minus_y, value=-1.0, out=r).reciprocal_()
        a.mul_(r)
        r.mul_(w)
        l.mul_(r)
        torch.addcmul(rows.to_rows(self.p[k]), m, minus_y, out=u).mul_(a).addcmul_(l, minus_y)
        g_weights.add_(u).addcmul_(l, minus_y)
        a.mul_(w)
        u.mul_(r)  # G of the equations
        l.mul_(w).addcmul_(a, m).addcmul_(u, z)
        first, second = rows.over_pixels(self.g_messages)
        g_logits = torch.addcmul(first, second, self.p_minus_q[k], out=self.g_logits_of[k]).mul_(self.y[k])
        g_rows = rows.to_rows(g_logits)
        g_m = torch.addcmul(g_rows, a, minus_y, out=a)
        g_z = torch.addcmul(0.5 * g_rows, u, minus_y, out=u)
        g_weights.addcmul_(g_m, mu).addcmul_(g_z, w_over_A, value=2.0)
        torch.mul(g_m, m, out=l).addcmul_(g_z, z).mul_(invA)  # minus gA
        g_m.mul_(w_over_A)  # minus the gradient of η
        self.g_beliefs_of[k].addcmul_(self.g_messages.sum(2), self.signs)

    def bounds(self, k: int) -> None:
        """Where N = low · Λ or high · Λ, whatever the messages say, its gradient is one of Λ."""
        if not self.all_inside:
            self.g_beliefs[k, 1].addcmul_(self.g_beliefs[k, 0], self.mean_outside[k])

    def pixels(self, k: int) -> None:
        """From the gradients of the beliefs of iteration k to its messages."""
        self.bounds(k)
        direct = self.g_beliefs_of[k] if self.all_free else self.g_beliefs_of[k] * self.free[k]
        information, precision = direct[..., None]
        torch.sub(information, self.g_eta, out=self.g_eta)
        self.g_lam.add_(precision)

    def into(self) -> tuple[Tensor, ...]:
        """Gradients of weights, information, precision, bias, low, high and shared, in the shapes of those."""
        (g_information, g_precision), (inside, free) = self.g_beliefs.unbind(1), self.free.unbind(1)
        at_bound = g_information * self.kept.beliefs[:, 1]
        return (
            self.g_weights,
            (g_information * inside).sum(0) + self.g_unary[0],
            (g_precision * (free + (1 - free) * self.floor)).sum(0) + self.g_unary[1],
            self.g_logits.sum(0),
            (at_bound * self.below).sum(0),
            (at_bound * self.above).sum(0),
            self.g_shared,
        )
