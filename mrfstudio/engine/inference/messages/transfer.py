"""The transfer function of a binary pair: what a message becomes on its way over a table ½ w s t of spins.

    f_w(x, T) = T log(1 + e^((x+w)/T)) - T log(e^(w/T) + e^(x/T)) = T f_{w/T}(x/T, 1),

x the sender's cavity as log-odds. At T = 0 it is sign(w) times x clipped to ±|w|, and |f_T - f_0| ≤ T log 2.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mrfstudio.engine.inference.messages.ratios import LARGEST_LOG, halvings_of, log_product
from mrfstudio.engine.runtime.powers import exponential_, logarithm

LARGEST = {torch.float32: (10.0, 30.0), torch.float64: (20.0, 60.0)}
"""Largest |w| and |x| of the fast form: products of four exponentials stay finite, and clipping x changes f by less
than e^(|w| - |x|)."""


def transfer(x: Tensor, weights: Tensor, temperature: float) -> Tensor:
    """f_w(x, T) in the form that is safe for any finite w, any x (±inf too) and T ≥ 0.

    x and weights have shapes that broadcast to that of the result.
    """
    limit = weights.abs()
    hard = torch.sign(weights) * torch.maximum(torch.minimum(x, limit), -limit)
    if temperature == 0:
        return hard
    near, far = (x + weights).abs() / -temperature, (x - weights).abs() / -temperature
    return hard + temperature * (torch.log1p(near.exp()) - torch.log1p(far.exp()))


class Transfer:
    """f_w(x, 1) for fixed weights, and its slopes; the fast form where the weights allow it, else the safe one.

    Weights are (batch, units, hidden); x, messages and gradients have the same shape.

    With E = e^x and A = e^w the fast form is log((1 + EA) / (E + A)): one exponential and one logarithm.
    """

    def __init__(self, weights: Tensor) -> None:
        fast, self._clip = LARGEST[weights.dtype]
        largest = float(weights.detach().abs().max()) if weights.numel() else 0.0
        self.weights = weights
        self.factors = weights.exp() if largest <= fast else None
        self._halvings = 0 if self.factors is None else halvings_of(largest)  # because |f| ≤ |w|
        self._squared: Tensor | None = None
        self.one = weights.new_ones(weights.shape[-1])  # a row: broadcast along rows, torch's kernels are vectorised

    def part(self, units: slice) -> Transfer:
        """The same for some units, the second axis of the weights."""
        chosen = object.__new__(Transfer)
        chosen._clip, chosen._squared, chosen.weights = self._clip, None, self.weights[:, units]
        chosen._halvings, chosen.one = self._halvings, self.one
        chosen.factors = None if self.factors is None else self.factors[:, units]
        return chosen

    def __call__(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        """f_w(x, 1), in `out` if that is given; all in the shape of the weights; x is used up."""
        if self.factors is None:
            found = transfer(x, self.weights, 1.0)
            return found if out is None else out.copy_(found)
        odds = exponential_(x.clamp_(-self._clip, self._clip))
        above = torch.addcmul(self.one, odds, self.factors)
        return logarithm(above.div_(odds.add_(self.factors)), out)

    def keep(self, total: Tensor, messages: Tensor | None) -> tuple[Tensor, Tensor]:
        """The messages over from the cavities `total - messages`, (B, U, H), and what `slopes` and `back` need.

        Messages here are in the form that `log_total` adds up: logarithms, or in the fast form ratios e^f, which need
        neither an exponential nor a logarithm for each. Before the first there are none, and `total` is broadcast.
        """
        if self.factors is None:
            x = total - messages if messages is not None else total.expand(self.weights.shape).contiguous()
            return transfer(x, self.weights, 1.0), x
        odds = total.clamp(-LARGEST_LOG, LARGEST_LOG).exp_()  # cavities still exceed the largest |x|
        odds = odds / messages if messages is not None else odds
        odds.clamp_(math.exp(-self._clip), math.exp(self._clip))
        return torch.addcmul(odds.new_ones(()), odds, self.factors).div_(odds + self.factors), odds

    def log_total(self, messages: Tensor, axis: int) -> Tensor:
        """The sum of the messages f, shape of the weights, over an axis, from the form that `keep` gives them."""
        return messages.sum(axis) if self.factors is None else log_product(messages, axis, self._halvings)

    def slopes(self, kept: Tensor) -> tuple[Tensor, Tensor]:
        """∂f/∂x = σ(x + w) - σ(x - w) and ∂f/∂w = σ(x + w) - σ(w - x), both in the shape of the weights.

        Differentiating |x ± w| is wrong at w = 0.
        """
        if self.factors is None:
            plus, minus = torch.sigmoid(kept + self.weights), torch.sigmoid(kept - self.weights)
            return plus - minus, plus - (1 - minus)
        below = kept + self.factors
        scale = (kept * self.factors).add_(1).mul_(below).reciprocal_()
        by_x = (kept * self._squares()).mul_(scale)
        by_w = (kept * kept).sub_(1).mul_(self.factors).mul_(scale)
        return by_x, by_w

    def back(self, kept: Tensor, by_message: Tensor, by_weight: Tensor) -> Tensor:
        """The gradient for x of one use, in the shape of that for f; what the weights get is gathered in `by_weight`.

        The factor A that all uses have in common is left to `finished`.
        """
        if self.factors is None:
            by_x, by_w = self.slopes(kept)
            by_weight.addcmul_(by_message, by_w)
            return by_x.mul_(by_message)
        one = kept.new_ones(())
        scale = torch.addcmul(one, kept, self.factors).mul_(kept + self.factors)
        share = torch.div(by_message, scale, out=scale)
        by_x = torch.mul(share, kept).mul_(self._squares())
        by_weight.addcmul_(share, torch.addcmul(-one, kept, kept))  # a square is slow in torch
        return by_x

    def finished(self, by_weight: Tensor) -> Tensor:
        """The gradient for the weights, in their shape, after all uses."""
        return by_weight if self.factors is None else by_weight.mul_(self.factors)

    def _squares(self) -> Tensor:
        """A² - 1, made once."""
        if self._squared is None:
            assert self.factors is not None
            self._squared = (self.factors * self.factors).sub_(1)
        return self._squared
