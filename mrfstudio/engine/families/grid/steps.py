"""Iterations of the cloned grid as a session needs them: without gradients, and they can be interrupted.

Evidence is the same for all clones of a label, so a product of messages is kept by label:

    ∏_d messages[d](s) = weight(label of s) · within(s),     Σ_{s of a label} within(s) = 1.

Beliefs of labels are then softmax(log weight + log evidence): a stroke changes them without a look at any clone. And
what the next iteration begins with is what the beliefs of this one were shown from.

Large canvases do not fit a core's own cache, so an iteration takes a block of image rows after the other, direction by
direction, and multiplies the new messages of a block while they are at hand. A message is divided by its mean where it
is written to its receivers, and the mean is one more row of the matrix product. Directions of blocks are shared out
among threads: each operation on two would wait for the second one again and again. Blocks depend on the model and the
canvas alone, so that the numbers do not depend on the threads.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.families.grid.blocks import Way, ways
from mrfstudio.engine.families.grid.kernel import SCALE_DOWN, exponentiated, rescaling_stride, span, uniform_messages
from mrfstudio.engine.families.grid.shape import GridShape
from mrfstudio.engine.runtime.arrays import library_of, quick
from mrfstudio.engine.runtime.interruption import Interrupted, asked_to_stop, interruptible
from mrfstudio.engine.runtime.recycling import recycled
from mrfstudio.engine.runtime.threads import fitting_threads, shared_out

if TYPE_CHECKING:
    from mrfstudio.engine.families.grid.model import GridMRF

SHARED = 100_000_000
"""Multiplications of an iteration from which on a second thread is woken. One of 157 million is a quarter quicker with
it; one of 31 million a twentieth on an idle machine, and a tenth to four fifths slower where others compute."""
LEAN = 1_000_000
"""Entries of all messages below which calls cost more than what they go through: `kernel.run_messages` has fewer."""


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


# By model, with the version of its weights (a trainer changes them in place) and whether they are those of a pass.
_ready: WeakKeyDictionary[GridMRF, dict[bool, tuple[int, Prepared]]] = WeakKeyDictionary()


def prepared_for(model: GridMRF, loose: bool = False) -> Prepared:
    """What depends on a model alone, made once for the same weights; `loose` for a pass of a coarse start."""
    known, loose = _ready.setdefault(model, {}), loose and model.eased > 0
    version, ready = known.get(loose, (-1, None))
    if ready is None or version != model.weights._version:
        ready = prepared((model.loose_potentials if loose else model.potentials).detach(), model.clones)
        known[loose] = model.weights._version, ready
    return ready


@torch.no_grad()
def products(messages: Tensor, ready: Prepared) -> Products:
    """The product of all messages (directions, S, N) to each pixel."""
    made = _no_products(messages, ready)
    _multiply_all(messages, ready, made)
    return made


def _multiply_all(messages: Tensor, ready: Prepared, made: Products) -> None:
    """Write the product of messages (directions, S, N) to `made`, with a part of the pixels for each thread."""
    threads, pixels = _threads(messages), messages.shape[2]
    ends = [round(share * pixels / threads) for share in range(threads + 1)]

    def multiplied(share: int) -> None:
        part = slice(ends[share], ends[share + 1])
        _multiply(messages[:, :, part], ready, made.within[:, part], made.log_weight[:, part])

    if threads > 1:
        shared_out(multiplied, range(threads), threads)
    else:
        with fitting_threads(0):
            multiplied(0)


def _no_products(messages: Tensor, ready: Prepared) -> Products:
    """Room for the products of messages (directions, S, N)."""
    within = recycled(messages.shape[1:], messages)
    return Products(within, within.new_empty((len(ready.clones), within.shape[1])))


def _threads(messages: Tensor) -> int:
    """How many threads an update of messages (directions, S, N) is worth."""
    worth = messages.numel() * messages.shape[1] >= SHARED and messages.device.type == "cpu"
    return torch.get_num_threads() if worth else 1


def _multiply(messages: Tensor, ready: Prepared, within: Tensor, log_weight: Tensor) -> None:
    """Write the product of messages (directions, S, n) to `within` (S, n) and `log_weight` (labels, n)."""
    torch.prod(messages[: ready.stride], 0, out=within)
    parts, logs = _by_label(quick(within), ready.clones), quick(log_weight)
    library = library_of(logs)
    taken = library.empty_like(logs)

    def taken_out(reduced: Callable[..., Any]) -> Any:
        """Divide each label's part by its sum or largest entry; the logarithms (labels, n) of those."""
        for part, number in zip(parts, taken, strict=True):
            reduced(part, 0, out=number)
            library.divide(part, number, out=part)
        return library.log(taken, out=taken)

    logs[...] = 0.0
    with np.errstate(all="ignore"):
        for begin in range(ready.stride, len(messages), ready.stride):
            logs += taken_out(library.amax)
            for message in messages[begin : begin + ready.stride]:
                within.mul_(message)
        logs += taken_out(library.sum)


def label_beliefs(log_weight: Tensor, log_evidence: Tensor) -> Tensor:
    """Beliefs of labels (labels, N) from what messages say of them, under evidence, both (labels, N) in logarithms."""
    return torch.softmax(log_weight + log_evidence, 0)


def state_beliefs(product: Products, log_evidence: Tensor, clones: tuple[int, ...]) -> Tensor:
    """Beliefs of states (S, N)."""
    by_label, beliefs = label_beliefs(product.log_weight, log_evidence), recycled(product.within.shape, product.within)
    _spread(product.within, quick(by_label), clones, beliefs)
    return beliefs


def _by_label(states: Any, clones: tuple[int, ...]) -> list[Any]:
    """Views of an array or tensor (S, …): the rows of each label."""
    ends = itertools.accumulate(clones)
    return [states[end - number : end] for end, number in zip(ends, clones, strict=True)]


def _spread(within: Tensor, by_label: Any, clones: tuple[int, ...], out: Tensor) -> None:
    """Write `within` (S, n) times the number of its label, from an array or tensor (labels, n), to `out` (S, n)."""
    library = library_of(by_label)
    parts, targets = _by_label(quick(within), clones), _by_label(quick(out), clones)
    for part, number, target in zip(parts, by_label, targets, strict=True):
        library.multiply(part, number, out=target)


class Update(NamedTuple):
    """New messages (directions, S, N), the largest change of an entry, and the new products.

    Changes are () of all of them, or (N,) to each pixel where old messages count: then before the mean with those.
    """

    messages: Tensor
    changes: Tensor
    product: Products


@dataclass(frozen=True, eq=False)
class PartialUpdate:
    """An interrupted update: what it fills, the belief (S, N) it began with, and changes by the number of a way."""

    messages: Tensor
    product: Products
    total: Tensor
    changes: dict[int, Any]


@torch.no_grad()
def advanced(
    messages: Tensor,
    product: Products,
    ready: Prepared,
    log_evidence: Tensor,
    shape: GridShape,
    kept: Tensor | None = None,
    partial: PartialUpdate | None = None,
) -> Update:
    """One sum-product update of messages (directions, S, N).

    `product` is that of the same messages; `log_evidence` (labels, N). With `kept` (N,) a new message is a mean in
    which the old one counts so much. May raise `Interrupted`, whose `state` is a `PartialUpdate`: given with the same
    values, the update goes on from there.
    """
    begun = _begun(messages, product, ready, log_evidence) if partial is None else partial
    every, threads = ways(shape, messages.shape[1]), _threads(messages)
    blocks, last = every[-1].block + 1, shape.connectivity - 1
    send = _Sending(messages, begun, ready, shape, kept)
    work = [_Scratch(messages, max(way.length for way in every)) for _ in range(threads)]
    done = Counter(every[number].block for number in begun.changes)
    finished = [itertools.count(done[block]) for block in range(blocks)]

    def sent(number: int) -> Any:
        """Fill the messages to a block from one direction; the last one of a block, of several, also their product."""
        way, scratch = every[number], work.pop()
        change = send(way, scratch)
        if blocks > 1 and next(finished[way.block]) == last:
            within, log_weight = begun.product
            _multiply(begun.messages[:, :, way.pixels], ready, within[:, way.pixels], log_weight[:, way.pixels])
        work.append(scratch)
        return change

    left = [number for number in range(len(every)) if number not in begun.changes]
    changes = begun.changes | shared_out(sent, left, threads, asked_to_stop)
    if len(changes) < len(every):
        raise Interrupted(replace(begun, changes=changes))
    if blocks == 1:
        _multiply_all(begun.messages, ready, begun.product)
    return Update(begun.messages, _joined(changes, every, messages, kept is None), begun.product)


def _joined(changes: dict[int, Any], every: tuple[Way, ...], messages: Tensor, whole: bool) -> Tensor:
    """The largest of the changes of all ways, () where `whole`, else (N,), like messages (directions, S, N)."""
    if whole:
        library = library_of(changes[0])
        return torch.as_tensor(reduce(library.maximum, changes.values()), device=messages.device)
    found = torch.empty_like(messages[0, 0])
    for _, block in itertools.groupby(range(len(every)), lambda number: every[number].block):
        numbers = list(block)
        library = library_of(changes[numbers[0]])
        quick(found)[every[numbers[0]].pixels] = reduce(library.maximum, [changes[number] for number in numbers])
    return found


def _begun(messages: Tensor, product: Products, ready: Prepared, log_evidence: Tensor) -> PartialUpdate:
    """An update of messages (directions, S, N) with nothing done yet; `log_evidence` (labels, N)."""
    with fitting_threads(0), np.errstate(all="ignore"):  # where evidence contradicts itself there is no belief
        # Scaled to the sum 2^60, so that labels far less probable stay above the smallest float.
        logs = quick(product.log_weight) + quick(log_evidence)
        library = library_of(logs)
        logs -= library.amax(logs, 0) + math.log(SCALE_DOWN)
        raised = library.exp(logs, out=logs)
        raised /= library.sum(raised, 0) * SCALE_DOWN
        total = recycled(product.within.shape, product.within)
        _spread(product.within, raised, ready.clones, total)
    return PartialUpdate(recycled(messages.shape, messages), _no_products(messages, ready), total, {})


class _Scratch:
    """Memory for a block of pixels: a cavity (S, n), and what is sent (S + 1, n)."""

    def __init__(self, messages: Tensor, pixels: int) -> None:
        """For messages (directions, S, N) and blocks of up to so many pixels."""
        self.states = messages.shape[1]
        self.memory = recycled(((2 * self.states + 1) * pixels,), messages)
        self.known: dict[int, tuple[Tensor, Tensor, Any, Any]] = {}

    def of(self, pixels: int) -> tuple[Tensor, Tensor, Any, Any]:
        """Views (S, pixels) and (S + 1, pixels), and the same for quick calls."""
        if pixels not in self.known:
            whole = self.memory[: (2 * self.states + 1) * pixels].view(2 * self.states + 1, pixels)
            cavity, sent = whole[: self.states], whole[self.states :]
            self.known[pixels] = cavity, sent, quick(cavity), quick(sent)
        return self.known[pixels]


class _Sending:
    """Fills a block of the new messages (directions, S, N) from the old ones and their product with the evidence."""

    def __init__(
        self, messages: Tensor, begun: PartialUpdate, ready: Prepared, shape: GridShape, kept: Tensor | None
    ) -> None:
        """With `kept` (N,), what old messages (directions, S, N) count in a mean."""
        self.old, self.new, self.total = quick(messages), quick(begun.messages), quick(begun.total)
        self.tensors, self.kept = (messages, begun.messages), kept
        self.sending, self.width, self.library = ready.sending, shape.width, library_of(self.total)
        self.larger = max if self.library is np else torch.maximum  # numbers of numpy are compared where they are

    def __call__(self, way: Way, work: _Scratch) -> Any:
        """The largest change of an entry, before a mean: () of all, or with `kept` (n,) to each pixel of the block."""
        cavity_tensor, sent_tensor, cavity, sent = work.of(way.length)
        library = self.library
        library.divide(self.total[:, way.senders], self.old[way.opposite][:, way.senders], out=cavity)
        torch.mm(self.sending[way.direction], cavity_tensor, out=sent_tensor)
        library.divide(sent[:-1, way.heard], sent[-1, way.heard], out=self.new[way.direction][:, way.receivers])
        new, old = self.new[way.direction][:, way.pixels], self.old[way.direction][:, way.pixels]
        image = new.reshape(new.shape[0], -1, self.width)
        image[:, way.edge] = 1.0
        if way.column is not None:
            image[:, :, way.column] = 1.0
        library.subtract(new, old, out=cavity)
        if self.kept is None:
            return self.larger(cavity.max(), -cavity.min())
        before, after = (messages[way.direction, :, way.pixels] for messages in self.tensors)
        after.lerp_(before, self.kept[way.pixels].expand_as(before))
        return library.amax(library.abs(cavity, out=cavity), 0)


@torch.no_grad()
def run(messages: Tensor, ready: Prepared, log_evidence: Tensor, shape: GridShape, iterations: int) -> Tensor:
    """Messages (directions, S, N) so many updates further, not interrupted; without any (0, S, N), from uniform ones.

    `log_evidence` (labels, N).
    """
    if not len(messages):
        messages = uniform_messages(shape, ready.sending.shape[2], log_evidence)
    product = products(messages, ready)
    with interruptible(lambda: False):
        for _ in range(iterations):
            messages, _, product = advanced(messages, product, ready, log_evidence, shape)
    return messages
