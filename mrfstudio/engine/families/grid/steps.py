"""Iterations of the cloned grid as a session needs them: without gradients, and they can be interrupted.

Evidence is the same for all clones of a label, so a product of messages is kept by label:

    ∏_d messages[d](s) = weight(label of s) · within(s),     Σ_{s of a label} within(s) = 1.

Beliefs of labels are then softmax(log weight + log evidence): a stroke changes them without a look at any clone. And
what the next iteration begins with is what the beliefs of this one were shown from.

Whole (S, N) matrices at every step, although they do not fit a core's own cache: pieces of them were slower, because
their rows lie far apart. A message is divided by its mean where it is written to its receivers, and the mean is one
more row of the matrix product. Directions are shared out among threads: each operation on two would wait for the second
one again and again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from mrfstudio.engine.families.grid.kernel import SCALE_DOWN, exponentiated, rescaling_stride, span
from mrfstudio.engine.families.grid.shape import GridShape
from mrfstudio.engine.runtime.interruption import Interrupted, asked_to_stop
from mrfstudio.engine.runtime.recycling import recycled
from mrfstudio.engine.runtime.threads import fitting_threads, shared_out

SHARED = 1_000_000
"""Entries of all messages from which on waking a second thread for an iteration costs less than it brings."""


class Prepared(NamedTuple):
    """What depends on the model alone: what senders multiply with, the rescaling stride, the span, clones by label.

    `sending` (directions, S + 1, S) is exp(W) as each direction needs it, receiver by sender, and below it the mean
    over the receiver's states.
    """

    sending: Tensor
    stride: int
    span: float
    clones: tuple[int, ...]


class Products(NamedTuple):
    """∏_d messages[d] by label: `within` (S, N) sums to 1 over the clones of a label; `log_weight` (labels, N)."""

    within: Tensor
    log_weight: Tensor


def prepared(potentials: Tensor, clones: tuple[int, ...]) -> Prepared:
    """Once for a model whose potentials (matrices, S, S) stay, instead of at every iteration."""
    factors = exponentiated(potentials)
    both_ways = torch.cat([factors.transpose(1, 2), factors])
    sending = torch.cat([both_ways, both_ways.mean(1, keepdim=True)], 1)
    return Prepared(sending, rescaling_stride(potentials), span(potentials), clones)


@torch.no_grad()
def products(messages: Tensor, ready: Prepared) -> Products:
    """The product of all messages (directions, S, N) to each pixel."""
    within = recycled(messages.shape[1:], messages)
    log_weight = within.new_zeros((len(ready.clones), within.shape[1]))

    threads = _threads(messages)
    ends = [round(share * within.shape[1] / threads) for share in range(threads + 1)]

    def multiplied(share: int) -> None:
        pixels = slice(ends[share], ends[share + 1])
        _multiply(messages[:, :, pixels], ready, within[:, pixels], log_weight[:, pixels])

    shared_out(multiplied, range(threads), threads)
    return Products(within, log_weight)


def _threads(messages: Tensor) -> int:
    """How many threads an update of messages (directions, S, N) is worth."""
    return torch.get_num_threads() if messages.numel() >= SHARED and messages.device.type == "cpu" else 1


def _multiply(messages: Tensor, ready: Prepared, within: Tensor, log_weight: Tensor) -> None:
    """Write the product of messages (directions, S, n) to `within` (S, n) and add to `log_weight` (labels, n)."""
    parts = within.split(ready.clones)
    torch.prod(messages[: ready.stride], 0, out=within)
    for some in messages[ready.stride :].split(ready.stride):
        for part, log in zip(parts, log_weight, strict=True):
            largest = part.amax(0)
            part.div_(largest)
            log.add_(largest.log_())
        for message in some:
            within.mul_(message)
    for part, log in zip(parts, log_weight, strict=True):
        total = part.sum(0)
        part.div_(total)
        log.add_(total.log_())


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

    `received` (directions, S, N) is filled where `changes` has a direction, with the largest change to each pixel (N,).
    """

    total: Tensor
    received: Tensor
    changes: dict[int, Tensor]


def _begun(messages: Tensor, product: Products, ready: Prepared, log_evidence: Tensor) -> PartialUpdate:
    """An update of messages (directions, S, N) with no direction done yet; `log_evidence` (labels, N)."""
    # Scaled to the sum 2^60, so that labels far less probable stay above the smallest float.
    raised = torch.log_softmax(product.log_weight + log_evidence, 0).sub_(math.log(SCALE_DOWN)).exp_()
    return PartialUpdate(_spread(product.within, raised, ready.clones), recycled(messages.shape, messages), {})


@torch.no_grad()
def advanced(
    messages: Tensor,
    product: Products,
    ready: Prepared,
    log_evidence: Tensor,
    shape: GridShape,
    partial: PartialUpdate | None = None,
) -> tuple[Tensor, Tensor]:
    """One sum-product update of messages (directions, S, N), and the largest change of an entry to each pixel, (N,).

    `product` is that of the same messages; `log_evidence` (labels, N). May raise `Interrupted`, whose `state` is a
    `PartialUpdate`: given with the same values, the update goes on from there.
    """
    with fitting_threads(0):
        begun = _begun(messages, product, ready, log_evidence) if partial is None else partial
    total, received, threads = begun.total, begun.received, _threads(messages)
    scratch = [recycled((2 * len(total) + 1, shape.pixels), total) for _ in range(threads)]

    def sent(direction: int) -> Tensor:
        """Fill the messages of one direction; the largest change of an entry to each pixel, (N,)."""
        work = scratch.pop()
        cavity, raw = work.split((len(total), len(total) + 1))
        torch.div(total, messages[shape.opposite(direction)], out=cavity)
        torch.mm(ready.sending[direction], cavity, out=raw)
        senders, receivers = shape.shift(direction)
        torch.div(raw[:-1, senders], raw[-1, senders], out=received[direction][:, receivers])
        shape.fill_border(received[direction], direction, 1.0)
        change = torch.sub(received[direction], messages[direction], out=cavity).abs_().amax(0)
        scratch.append(work)
        return change

    left = [direction for direction in range(shape.connectivity) if direction not in begun.changes]
    changes = begun.changes | shared_out(sent, left, threads, asked_to_stop)
    if len(changes) < shape.connectivity:
        raise Interrupted(PartialUpdate(total, received, changes))
    return received, torch.stack(list(changes.values())).amax(0)
