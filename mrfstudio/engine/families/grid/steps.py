"""Iterations of the cloned grid as a session needs them: without gradients, and they can be interrupted.

Evidence is the same for all clones of a label, so a product of messages is kept by label:

    ∏_d messages[d](s) = weight(label of s) · within(s),     Σ_{s of a label} within(s) = 1.

Beliefs of labels are then softmax(log weight + log evidence): a stroke changes them without a look at any clone. And
what the next iteration begins with is what the beliefs of this one were shown from.

Whole (S, N) matrices at every step, although they do not fit a core's own cache: pieces of them were slower, because
their rows lie far apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from mrfstudio.engine.families.grid.kernel import SCALE_DOWN, exponentiated, rescaling_stride, span
from mrfstudio.engine.families.grid.shape import GridShape
from mrfstudio.engine.runtime.interruption import Interrupted, stop_if_interrupted
from mrfstudio.engine.runtime.recycling import recycled


class Prepared(NamedTuple):
    """What depends on the model alone: exp(W) (matrices, S, S), the rescaling stride, the span, clones by label."""

    factors: Tensor
    stride: int
    span: float
    clones: tuple[int, ...]


class Products(NamedTuple):
    """∏_d messages[d] by label: `within` (S, N) sums to 1 over the clones of a label; `log_weight` (labels, N)."""

    within: Tensor
    log_weight: Tensor


def prepared(potentials: Tensor, clones: tuple[int, ...]) -> Prepared:
    """Once for a model whose potentials (matrices, S, S) stay, instead of at every iteration."""
    return Prepared(exponentiated(potentials), rescaling_stride(potentials), span(potentials), clones)


@torch.no_grad()
def products(messages: Tensor, ready: Prepared) -> Products:
    """The product of all messages (directions, S, N) to each pixel."""
    within = torch.mul(messages[0], messages[1], out=recycled(messages.shape[1:], messages))
    parts = within.split(ready.clones)
    log_weight = within.new_zeros((len(parts), within.shape[1]))
    for count, message in enumerate(messages[2:], start=2):
        if count % ready.stride == 0:
            for part, log in zip(parts, log_weight, strict=True):
                largest = part.amax(0)
                part.div_(largest)
                log.add_(largest.log_())
        within.mul_(message)
    for part, log in zip(parts, log_weight, strict=True):
        total = part.sum(0)
        part.div_(total)
        log.add_(total.log_())
    return Products(within, log_weight)


def label_beliefs(product: Products, log_evidence: Tensor) -> Tensor:
    """Beliefs of labels (labels, N) under evidence (labels, N) in logarithms."""
    return torch.softmax(product.log_weight + log_evidence, 0)


def state_beliefs(product: Products, log_evidence: Tensor, clones: tuple[int, ...]) -> Tensor:
    """Beliefs of states (S, N)."""
    return _spread(product.within, label_beliefs(product, log_evidence), clones)


def _spread(within: Tensor, by_label: Tensor, clones: tuple[int, ...]) -> Tensor:
    """`within` (S, N) times the number (labels, N) of its label."""
    spread = recycled(within.shape, within)
    for part, number, target in zip(within.split(clones), by_label, spread.split(clones), strict=True):
        torch.mul(part, number, out=target)
    return spread


@dataclass(frozen=True, eq=False)
class PartialUpdate:
    """An interrupted update: the belief (S, N) it began with, and the new messages of the directions that are done.

    `received` (directions, S, N) is filled as far as `extremes`, the least and the largest change of each direction.
    """

    total: Tensor
    received: Tensor
    extremes: tuple[tuple[Tensor, Tensor], ...]


def _begun(messages: Tensor, product: Products, ready: Prepared, log_evidence: Tensor) -> PartialUpdate:
    """An update of messages (directions, S, N) with no direction done yet; `log_evidence` (labels, N)."""
    # Scaled to the sum 2^60, so that labels far less probable stay above the smallest float.
    raised = product.log_weight + log_evidence
    raised.sub_(raised.amax(0, keepdim=True)).sub_(math.log(SCALE_DOWN)).exp_()
    raised.div_(raised.sum(0, keepdim=True).mul_(SCALE_DOWN))
    return PartialUpdate(_spread(product.within, raised, ready.clones), recycled(messages.shape, messages), ())


@torch.no_grad()
def advanced(
    messages: Tensor,
    product: Products,
    ready: Prepared,
    log_evidence: Tensor,
    shape: GridShape,
    partial: PartialUpdate | None = None,
) -> tuple[Tensor, Tensor]:
    """One sum-product update of messages (directions, S, N), and the largest change of an entry of one.

    `product` is that of the same messages; `log_evidence` (labels, N). May raise `Interrupted`, whose `state` is a
    `PartialUpdate`: given with the same values, the update goes on from there.
    """
    begun = _begun(messages, product, ready, log_evidence) if partial is None else partial
    total, received, extremes = begun.total, begun.received, list(begun.extremes)
    cavity, raw = (recycled(total.shape, total) for _ in range(2))
    for direction in range(len(extremes), shape.connectivity):
        matrix = ready.factors[direction % shape.matrices]
        torch.div(total, messages[shape.opposite(direction)], out=cavity)
        torch.mm(matrix.t() if direction < shape.matrices else matrix, cavity, out=raw)
        raw.div_(raw.sum(0).mul_(1.0 / len(raw)))
        shape.move(raw, direction, received[direction])
        shape.fill_border(received[direction], direction, 1.0)
        extremes.append(torch.aminmax(torch.sub(received[direction], messages[direction], out=cavity)))
        if direction + 1 < shape.connectivity:
            try:
                stop_if_interrupted()
            except Interrupted:
                raise Interrupted(PartialUpdate(total, received, tuple(extremes))) from None
    return received, torch.stack([torch.maximum(most, -least) for least, most in extremes]).amax()
