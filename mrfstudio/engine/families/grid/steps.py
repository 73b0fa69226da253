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
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from mrfstudio.engine.families.grid.kernel import SCALE_DOWN, exponentiated, rescaling_stride, span, uniform_messages
from mrfstudio.engine.families.grid.shape import GridShape
from mrfstudio.engine.runtime.interruption import Interrupted, asked_to_stop, interruptible
from mrfstudio.engine.runtime.recycling import recycled
from mrfstudio.engine.runtime.threads import fitting_threads, shared_out

if TYPE_CHECKING:
    from mrfstudio.engine.families.grid.model import GridMRF

SHARED = 100_000_000
"""Multiplications of an iteration from which on waking a second thread costs less than it brings (median of many, with
two threads beside one: 31 million a third slower, 42 million an eighth slower, 157 million a quarter quicker)."""
LEAN = 1_000_000
"""Entries of all messages below which calls cost more than what they go through: `kernel.run_messages` has fewer."""
BLOCK = 300_000
"""Entries (S, pixels) of a block at most: fewer cost more calls than they save memory traffic."""


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

    shared_out(multiplied, range(threads), threads)


def _no_products(messages: Tensor, ready: Prepared) -> Products:
    """Room for the products of messages (directions, S, N)."""
    within = recycled(messages.shape[1:], messages)
    return Products(within, within.new_empty((len(ready.clones), within.shape[1])))


def blocks(shape: GridShape, states: int) -> list[slice]:
    """Pixels of the pieces of an iteration: whole image rows."""
    rows = shape.batch * shape.height
    pieces = min(math.ceil(states * shape.pixels / BLOCK), rows)
    ends = [round(number * rows / pieces) * shape.width for number in range(pieces + 1)]
    return [slice(begin, end) for begin, end in itertools.pairwise(ends)]


def _threads(messages: Tensor) -> int:
    """How many threads an update of messages (directions, S, N) is worth."""
    worth = messages.numel() * messages.shape[1] >= SHARED and messages.device.type == "cpu"
    return torch.get_num_threads() if worth else 1


def _multiply(messages: Tensor, ready: Prepared, within: Tensor, log_weight: Tensor) -> None:
    """Write the product of messages (directions, S, n) to `within` (S, n) and `log_weight` (labels, n)."""
    parts = within.split(ready.clones)
    log_weight.zero_()
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


def label_beliefs(log_weight: Tensor, log_evidence: Tensor) -> Tensor:
    """Beliefs of labels (labels, N) from what messages say of them, under evidence, both (labels, N) in logarithms."""
    return torch.softmax(log_weight + log_evidence, 0)


def state_beliefs(product: Products, log_evidence: Tensor, clones: tuple[int, ...]) -> Tensor:
    """Beliefs of states (S, N)."""
    by_label, beliefs = label_beliefs(product.log_weight, log_evidence), recycled(product.within.shape, product.within)
    _spread(product.within, by_label, clones, beliefs)
    return beliefs


def _spread(within: Tensor, by_label: Tensor, clones: tuple[int, ...], out: Tensor) -> None:
    """Write `within` (S, n) times the number (labels, n) of its label to `out` (S, n)."""
    for part, number, target in zip(within.split(clones), by_label, out.split(clones), strict=True):
        torch.mul(part, number, out=target)


class Update(NamedTuple):
    """New messages (directions, S, N), the largest change of an entry to each pixel (N,), and the new products.

    The change is that before the mean with the old messages, where there is one.
    """

    messages: Tensor
    changes: Tensor
    product: Products


@dataclass(frozen=True, eq=False)
class PartialUpdate:
    """An interrupted update: what it fills, the belief (S, N) it began with, and what is done.

    `changes` has the largest change of an entry to each pixel of a block, by block and direction.
    """

    update: Update
    total: Tensor
    changes: dict[tuple[int, int], Tensor]


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
    pieces, found, threads = blocks(shape, messages.shape[1]), begun.update, _threads(messages)
    work = [_Scratch(messages, max(map(_length, pieces))) for _ in range(threads)]
    done = [sum(known == number for known, _ in begun.changes) for number in range(len(pieces))]
    finished = [itertools.count(directions) for directions in done]

    def sent(item: tuple[int, int]) -> Tensor:
        """Fill the messages to a block from one direction; the last one of a block, of several, also their product."""
        number, direction = item
        scratch, pixels = work.pop(), pieces[number]
        change = _send(direction, pixels, messages, begun.total, ready, shape, kept, found.messages, scratch)
        if next(finished[number]) == shape.connectivity - 1 and len(pieces) > 1:
            within, log_weight = found.product
            _multiply(found.messages[:, :, pixels], ready, within[:, pixels], log_weight[:, pixels])
        work.append(scratch)
        return change

    every = list(itertools.product(range(len(pieces)), range(shape.connectivity)))
    changes = begun.changes | shared_out(sent, [i for i in every if i not in begun.changes], threads, asked_to_stop)
    if len(changes) < len(every):
        raise Interrupted(PartialUpdate(found, begun.total, changes))
    if len(pieces) == 1:
        _multiply_all(found.messages, ready, found.product)
    for number, pixels in enumerate(pieces):
        heard = torch.stack([changes[number, direction] for direction in range(shape.connectivity)])
        torch.amax(heard, 0, out=found.changes[pixels])
    return found


def _length(pixels: slice) -> int:
    return int(pixels.stop - pixels.start)


def _begun(messages: Tensor, product: Products, ready: Prepared, log_evidence: Tensor) -> PartialUpdate:
    """An update of messages (directions, S, N) with nothing done yet; `log_evidence` (labels, N)."""
    with fitting_threads(0):
        # Scaled to the sum 2^60, so that labels far less probable stay above the smallest float.
        logs = product.log_weight + log_evidence
        raised = logs.sub_(logs.amax(0)).sub_(math.log(SCALE_DOWN)).exp_()
        raised.div_(raised.sum(0).mul_(SCALE_DOWN))
        total = recycled(product.within.shape, product.within)
        _spread(product.within, raised, ready.clones, total)
    room = Update(recycled(messages.shape, messages), torch.empty_like(messages[0, 0]), _no_products(messages, ready))
    return PartialUpdate(room, total, {})


class _Scratch:
    """Memory for a block of pixels: a cavity (S, n), and what is sent (S + 1, n)."""

    def __init__(self, messages: Tensor, pixels: int) -> None:
        """For messages (directions, S, N) and blocks of up to so many pixels."""
        self.states = messages.shape[1]
        self.memory = recycled(((2 * self.states + 1) * pixels,), messages)
        self.known: dict[int, tuple[Tensor, Tensor]] = {}

    def of(self, pixels: int) -> tuple[Tensor, Tensor]:
        """Views (S, pixels) and (S + 1, pixels)."""
        if pixels not in self.known:
            whole = self.memory[: (2 * self.states + 1) * pixels].view(2 * self.states + 1, pixels)
            self.known[pixels] = whole[: self.states], whole[self.states :]
        return self.known[pixels]


def _send(
    direction: int,
    pixels: slice,
    messages: Tensor,
    total: Tensor,
    ready: Prepared,
    shape: GridShape,
    kept: Tensor | None,
    received: Tensor,
    work: _Scratch,
) -> Tensor:
    """Fill `received` (directions, S, N) with what a block of pixels hears from one direction.

    From messages (directions, S, N) and their product with the evidence, `total` (S, N). The largest change of an
    entry to each pixel of the block, before the mean with the old messages.
    """
    offset, length = shape.offset(direction), _length(pixels)
    begin, end = max(pixels.start, offset), min(pixels.stop, shape.pixels + offset)
    cavity, sent = work.of(length)
    if begin < end:
        low = min(max(pixels.start - offset, 0), shape.pixels - length)  # as many senders for every direction
        senders, heard = slice(low, low + length), slice(begin - offset - low, end - offset - low)
        torch.div(total[:, senders], messages[shape.opposite(direction), :, senders], out=cavity)
        torch.mm(ready.sending[direction], cavity, out=sent)
        torch.div(sent[:-1, heard], sent[-1, heard], out=received[direction, :, begin:end])
    new, old = received[direction, :, pixels], messages[direction, :, pixels]
    shape.fill_border(new, direction, 1.0, pixels.start // shape.width)
    change = torch.sub(new, old, out=cavity).abs_().amax(0)
    if kept is not None:
        new.lerp_(old, kept[pixels].expand_as(old))
    return change


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
