"""From cavities to messages, for all factors of a few shapes at once.

Cavities and messages are flat, (…, entries): for each factor shape and each of its axes a block (states, factors), as
`Packing` lays them out. Two ways to sum: in the linear domain, with exponentiated tables, where that cannot underflow;
in the log domain where a table has zeros or spans too many orders of magnitude, and for maxima.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor

from mrfstudio.engine.graphs.factor_graph import FactorGraph
from mrfstudio.engine.inference.residuals import SATURATED
from mrfstudio.engine.runtime.powers import exponential, logarithm


class FactorMessages:
    """Tables (k_1, …, k_r, n) for each shape, and the message arithmetic on them."""

    def __init__(self, tables: list[Tensor]) -> None:
        self.tables = tables
        self._linear: dict[tuple[int, float], Tensor] = {}

    @classmethod
    def of_graph(cls, graph: FactorGraph) -> FactorMessages:
        return graph.derived("factor messages", lambda: cls([group.tables for group in graph.groups]))

    def messages(self, cavities: Tensor, temperature: float) -> Tensor:
        """Normalised log-messages (…, message size) to every axis of every factor, flat like `cavities`."""
        parts = []
        for number, blocks in enumerate(self._blocks(cavities)):
            if temperature > 0 and self._spans[number] / temperature <= _safe_span(cavities.dtype):
                parts += self._linear_messages(number, blocks, temperature)
            else:
                parts += self._log_messages(number, blocks, temperature)
        return torch.cat(parts, -1) if parts else cavities

    def normalise(self, messages: Tensor) -> Tensor:
        """Shift every message of (…, message size) so that its exponentials sum to 1."""
        parts = [_normalised(block).flatten(-2) for blocks in self._blocks(messages) for block in blocks]
        return torch.cat(parts, -1) if parts else messages

    def beliefs(self, cavities: Tensor) -> list[Tensor]:
        """Normalised factor beliefs (…, k_1, …, k_r, n), one tensor a shape."""
        found = []
        for table, order in self._joint(cavities):
            axes = _table_axes(table, order)
            # Divided, not subtracted as a logarithm: beside messages that ran off log 2 is less than their rounding.
            shares = torch.exp(table - table.amax(axes, keepdim=True))
            found.append(shares / shares.sum(axes, keepdim=True))
        return found

    def log_normalisers_by_factor(self, cavities: Tensor) -> list[Tensor]:
        """log Σ_{x_a} exp(θ_a + Σ_j c_j), (…, n) for each shape."""
        return [torch.logsumexp(t, _table_axes(t, n)) for t, n in self._joint(cavities)]

    def log_normalisers(self, cavities: Tensor) -> Tensor:
        """Σ_a log Σ_{x_a} exp(θ_a + Σ_j c_j), (…)."""
        sums = [each.sum(-1) for each in self.log_normalisers_by_factor(cavities)]
        return sum(sums) if sums else cavities.new_zeros(cavities.shape[:-1])  # type: ignore[return-value]

    def _joint(self, cavities: Tensor) -> list[tuple[Tensor, int]]:
        """θ_a + Σ cavities of each group, (…, states of each variable, factors), with its order.

        `cavities` are (…, message size).
        """
        joint = []
        for table, blocks in zip(self.tables, self._blocks(cavities), strict=True):
            total = table
            for axis, block in enumerate(blocks):
                total = total + _along(block, axis, len(blocks))
            joint.append((total, len(blocks)))
        return joint

    def _blocks(self, flat: Tensor) -> list[list[Tensor]]:
        """Views (…, states, factors): a list a shape, an entry an axis."""
        groups, start = [], 0
        for table in self.tables:
            count, blocks = table.shape[-1], []
            for states in table.shape[:-1]:
                stop = start + states * count
                blocks.append(flat[..., start:stop].unflatten(-1, (states, count)))
                start = stop
            groups.append(blocks)
        return groups

    def _linear_messages(self, number: int, blocks: list[Tensor], temperature: float) -> list[Tensor]:
        """Messages of one group from `blocks`, one (…, states, factors) for each axis, as sums of exponentials.

        They are flat, (…, states · factors).
        """
        weights = []
        for block in blocks:
            peak = block.detach().amax(-2, keepdim=True)
            scaled = block - peak
            weights.append(exponential(scaled if temperature == 1.0 else scaled / temperature))
        if temperature == 1.0:  # no table has zeros here, and the largest weight is 1: there is something to share
            return [logarithm(share) for share in self._shares(number, weights)]
        table = self._linear_table(number, temperature)
        totals = [contract(table, weights, axis, weighted_sum) for axis in range(len(blocks))]
        return [_normalised(temperature * logarithm(total)).flatten(-2) for total in totals]

    def shares(self, weights: Tensor) -> Tensor:
        """Messages at temperature 1 as probabilities (…, message size), of cavities as weights, flat too."""
        parts = [part for number, own in enumerate(self._blocks(weights)) for part in self._shares(number, own)]
        return torch.cat(parts, -1) if parts else weights

    def _shares(self, number: int, weights: list[Tensor]) -> list[Tensor]:
        """The same of one group, flat (…, states · factors), from `weights` (…, states, factors) for each axis."""
        table = self._linear_table(number, 1.0)
        totals = [contract(table, weights, axis, weighted_sum) for axis in range(len(weights))]
        return [(total / _state_sum(total)).flatten(-2) for total in totals]

    def _log_messages(self, number: int, blocks: list[Tensor], temperature: float) -> list[Tensor]:
        """The same in the log domain, for tables too wide for exponentials; `blocks` (…, states, factors)."""

        def reduce(total: Tensor, weight: Tensor, dim: int) -> Tensor:
            """Soft or hard maximum of (…, states, factors) along `dim`, which goes."""
            joint = total + weight
            if temperature == 0:
                return joint.amax(dim)
            if temperature == 1:
                return torch.logsumexp(joint, dim)
            return temperature * torch.logsumexp(joint / temperature, dim)

        table = self.tables[number]
        return [_normalised(contract(table, blocks, axis, reduce)).flatten(-2) for axis in range(len(blocks))]

    def _linear_table(self, number: int, temperature: float) -> Tensor:
        key = (number, temperature)
        if key not in self._linear:
            if len(self._linear) > 32:  # a temperature slider passes many values
                self._linear.clear()
            table = self.tables[number]
            peak = table.detach().amax(tuple(range(table.ndim - 1)), keepdim=True)
            self._linear[key] = torch.exp((table - peak) / temperature)
        return self._linear[key]

    @cached_property
    def faintest(self) -> float:
        """Minus the logarithm of the least that a message can give to a state: no message spans more than its table."""
        pairs = zip(self._spans, self.tables, strict=True)
        return max((span + math.log(max(table.shape[:-1])) for span, table in pairs), default=0.0)

    @property
    def saturating(self) -> bool:
        """Whether messages can have entries below e^`SATURATED`."""
        return self.faintest > -SATURATED

    @cached_property
    def _spans(self) -> list[float]:
        """Largest difference within one log-table, for each shape; infinite where a table has a zero."""
        spans = []
        for table in self.tables:
            axes = tuple(range(table.ndim - 1))
            detached = table.detach()
            spans.append(float((detached.amax(axes) - detached.amin(axes)).max()) if table.numel() else 0.0)
        return spans


def _safe_span(dtype: torch.dtype) -> float:
    """Below this span no product of a table entry and the largest weight, 1, underflows."""
    return 0.8 * -math.log(torch.finfo(dtype).tiny)


def contract(
    table: Tensor, weights: list[Tensor], axis: int, reduce: Callable[[Tensor, Tensor, int], Tensor]
) -> Tensor:
    """Reduce every axis but one, the last first, so that what remains shrinks quickly. (…, k_axis, n)."""
    total = table
    for other in reversed(range(len(weights))):
        if other == axis:
            continue
        # Axes after `other` are gone, except `axis` itself when it comes later.
        after = 1 if axis > other else 0
        weight = weights[other]
        shape = (*weight.shape[:-2], *([1] * other), weight.shape[-2], *([1] * after), weight.shape[-1])
        total = reduce(total, weight.reshape(shape), -2 - after)
    return total


FEW = 6
"""States up to which adding them one by one is quicker than a sum over an axis (measured: a third)."""


def weighted_sum(total: Tensor, weight: Tensor, dim: int) -> Tensor:
    """Σ total · weight over an axis; both (…, states, factors), broadcast against each other."""
    if total.shape[dim] > FEW:
        return (total * weight).sum(dim)
    (first, by), *others = zip(total.unbind(dim), weight.unbind(dim), strict=True)
    found = first * by
    for each, by in others:
        found = torch.addcmul(found, each, by)
    return found


def _state_sum(total: Tensor) -> Tensor:
    """Σ over the states of (…, states, factors), (…, 1, factors)."""
    if total.shape[-2] != 2:
        return total.sum(-2, keepdim=True)
    return total[..., :1, :] + total[..., 1:, :]


def _along(block: Tensor, axis: int, order: int) -> Tensor:
    """(…, k, n) → (…, 1, …, k, …, 1, n), to be added to a table of that order."""
    shape = (*block.shape[:-2], *([1] * axis), block.shape[-2], *([1] * (order - 1 - axis)), block.shape[-1])
    return block.reshape(shape)


def _table_axes(table: Tensor, order: int) -> tuple[int, ...]:
    """The axes of the states of a table (…, states of each variable, factors)."""
    return tuple(range(-1 - order, -1))


def _normalised(message: Tensor) -> Tensor:
    """A log-message (…, states, factors) whose exponentials sum to 1 over the states."""
    total = torch.logsumexp(message, -2, keepdim=True)
    # A message that forbids every state stays so: the step then names the variable instead of spreading NaN.
    return message - total.masked_fill(torch.isneginf(total), 0.0)


FAR = 1e15
"""Where log-messages of graphs with zeros are stopped: on loops they can grow by a factor in every iteration, and a
number that overflows would look like a state that is impossible."""


def within_reach(graph: FactorGraph, messages: Tensor) -> Tensor:
    """Messages (…, message size) with nothing finite below -`FAR`; without zeros none gets there."""
    if not graph.has_zeros:
        return messages
    return torch.where(messages.isneginf(), messages, messages.clamp(min=-FAR))


def runaway(messages: Tensor) -> str | None:
    """A sentence where messages (…, messages) have run off: they only rest because there is nothing beyond."""
    finite = messages.masked_fill(messages.isneginf(), 0.0)
    if not finite.numel() or float(finite.min()) > -FAR / 100:
        return None
    return "Messages have run off beyond all that the potentials say: this is no fixed point."


def totals_and_cavities(graph: FactorGraph, local: Tensor, messages: Tensor) -> tuple[Tensor, Tensor]:
    """Each variable's log-total (…, size), and what it says without the factor it speaks to (…, messages)."""
    packing = graph.packing
    if not graph.has_zeros:
        totals = local + packing.sum_incoming(messages)
        return totals, packing.spread(totals) - messages
    # -inf minus -inf has no value, so messages that forbid a state are counted apart from the finite sum.
    blocked = torch.isneginf(messages)
    finite = messages.masked_fill(blocked, 0.0)
    sums = local + packing.sum_incoming(finite)
    counts = packing.sum_incoming(blocked.to(messages.dtype))
    others = packing.spread(counts) - blocked.to(messages.dtype)
    cavities = (packing.spread(sums) - finite).masked_fill(others > 0.5, -torch.inf)
    return sums.masked_fill(counts > 0.5, -torch.inf), cavities
