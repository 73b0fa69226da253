"""Batched belief propagation on a translation-invariant grid: one matrix product a direction, backward by hand.

Layout. A batch of B images of H × W pixels with S states is one matrix (S, N), N = B·H·W, pixels in row-major order:
sums over states run along whole rows, a shift of the image is a shift along N, and the product of a direction is a
(S, S) × (S, N) `mm`. No padding: a shift wraps around at the image's border, and what wrapped is overwritten by the
uniform message.

Linear domain. p ∝ ∏ e(x_i) ∏ E_d(x_i, x_j). With `messages[d]` what travelled in direction d to a pixel,
    total     = e ∏_d messages[d]
    cavity_d  = total / messages[opposite(d)]
    raw_d     = E_dᵀ cavity_d,        messages'[d](pixel + d) = S · raw_d(pixel) / Σ_s raw_d(pixel).
An entry of a message is never smaller than e^-span of its largest, where span is the largest difference within a row or
column of the log-potentials. So the division is safe while span stays below `widest_span`, and a product is rescaled
often enough that it never underflows, whatever the evidence says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mrfstudio.engine.families.grid.shape import GridShape
from mrfstudio.engine.runtime.recycling import recycled
from mrfstudio.engine.runtime.threads import fitting_threads

# A product of messages is scaled to the sum 2^60, so that states far less probable stay above the smallest float.
SCALE_DOWN = 2.0**-60


def exponentiated(potentials: Tensor) -> Tensor:
    """exp(W - max W) of each matrix, (matrices, S, S): a constant factor changes no message."""
    return torch.exp(potentials - potentials.amax(dim=(1, 2), keepdim=True))


def linear_evidence(log_evidence: Tensor) -> Tensor:
    """Evidence (S, N) out of the log domain, 1 at the largest state of a pixel."""
    return torch.exp(log_evidence - log_evidence.amax(dim=0, keepdim=True))


def span(potentials: Tensor) -> float:
    """How far the entries of a message can lie apart, in nats: the largest range in a row or column of (…, S, S)."""
    ranges = [potentials.amax(dim) - potentials.amin(dim) for dim in (1, 2)]
    return float(torch.stack(ranges).max())


def widest_span(dtype: torch.dtype) -> float:
    """The span up to which the linear domain is safe: 2^60 · e^span must not overflow. 42 in single precision."""
    return 0.93 * (math.log(torch.finfo(dtype).max) - 60 * math.log(2.0))


def rescaling_stride(potentials: Tensor) -> int:
    """After how many factors (matrices, S, S) a product must be rescaled: as many as cannot underflow together."""
    room = -0.9 * math.log(torch.finfo(potentials.dtype).tiny)
    return max(1, int(room / max(span(potentials) + math.log(potentials.shape[1]), 1e-3)))


def multiply_all(messages: Tensor, start: Tensor, out: Tensor, stride: int) -> Tensor:
    """Write `start` · ∏_d messages[d], scaled to Σ_s = 2^60 for every pixel, to `out` (S, N)."""
    torch.mul(start, messages[0], out=out)
    for count, message in enumerate(messages[1:], start=1):
        if count % stride == 0:
            out.div_(out.amax(dim=0, keepdim=True))
        out.mul_(message)
    if stride < len(messages):
        # Σ_s may itself be near the smallest float: two divisions by ordinary numbers instead of one by a tiny one.
        out.div_(out.amax(dim=0, keepdim=True))
    return out.div_(out.sum(dim=0, keepdim=True).mul_(SCALE_DOWN))


def send(
    total: Tensor, messages: Tensor, factors: Tensor, shape: GridShape, out: Tensor, norms: Tensor, work: Tensor
) -> None:
    """One parallel update from `messages` (directions, S, N) and their product `total` (S, N) to `out`.

    `factors` is exp(W) (matrices, S, S); `norms` (directions, N) receives the divisors of the raw products by sender;
    `work` (2 or more, S, N) is scratch.
    """
    cavity, raw = work[0], work[1]
    for direction in range(shape.connectivity):
        matrix = factors[direction % shape.matrices]
        torch.div(total, messages[shape.opposite(direction)], out=cavity)
        torch.mm(matrix.t() if direction < shape.matrices else matrix, cavity, out=raw)
        norm = torch.sum(raw, dim=0, out=norms[direction]).mul_(1.0 / len(raw))
        senders, receivers = shape.shift(direction)
        torch.div(raw[:, senders], norm[senders], out=out[direction][:, receivers])
        shape.fill_border(out[direction], direction, 1.0)


class _Sent(NamedTuple):
    """One update as the backward pass needs it: the arguments and results of `send`."""

    received: Tensor
    messages: Tensor
    total: Tensor
    norms: Tensor


def _send_backward(
    gamma: Callable[[int, Tensor], object],
    sent: _Sent,
    factors: Tensor,
    shape: GridShape,
    into_factors: Tensor,
    deltas: Tensor,
    work: Tensor,
) -> Tensor:
    """Transpose of `send` in logarithmic derivatives: γ = ∂loss/∂log message to δ_d = ∂loss/∂log cavity_d.

    `gamma(direction, out)` writes γ (S, N) of the received messages. Fills `deltas` (directions, S, N), adds
    ∂loss/∂exp(W) to `into_factors` and returns Γ = ∂loss/∂log total (S, N).

        δ_d = cavity_d · E_d (γ_d / raw_d),     Γ = Σ_d δ_d - total · Σ_s Σ_d δ_d / Σ_s total

    The loss does not feel the scale of a product, so Σ_s Γ is zero on paper. It must be enforced: rounding errors along
    the constant direction would grow by the degree minus one at every iteration (7^15 on an 8-connected grid).
    """
    cavity, ratio, product = work[0], work[1], work[2]
    for direction in range(shape.connectivity):
        index, opposite = direction % shape.matrices, shape.opposite(direction)
        matrix = factors[index] if direction < shape.matrices else factors[index].t()
        gamma(direction, product)
        senders, receivers = shape.shift(direction)
        ratio[:, : senders.start].zero_()
        ratio[:, senders.stop :].zero_()
        torch.div(product[:, receivers], sent.received[direction][:, receivers], out=ratio[:, senders])
        shape.fill_border(ratio, opposite, 0.0)  # what wrapped around was sent from the opposite border
        torch.div(sent.total, sent.messages[opposite], out=cavity).div_(sent.norms[direction])
        torch.mm(matrix, ratio, out=product)
        torch.mul(product, cavity, out=deltas[direction])
        if direction < shape.matrices:
            into_factors[index].addmm_(cavity, ratio.t())
        else:
            into_factors[index].addmm_(ratio, cavity.t())
    outer = torch.sum(deltas, dim=0)
    return outer.addcmul_(sent.total, outer.sum(dim=0, keepdim=True), value=-SCALE_DOWN)


class _Step(torch.autograd.Function):
    """One iteration: messages (directions, S, N), potentials (matrices, S, S), log evidence (S, N) → messages."""

    @staticmethod
    def forward(ctx: Any, messages: Tensor, potentials: Tensor, log_evidence: Tensor, shape: GridShape) -> Tensor:
        factors = exponentiated(potentials)
        evidence = linear_evidence(log_evidence)
        work = messages.new_empty((3, *evidence.shape))
        norms = messages.new_empty((shape.connectivity, evidence.shape[1]))
        received = torch.empty_like(messages)
        multiply_all(messages, evidence, work[2], rescaling_stride(potentials))
        send(work[2], messages, factors, shape, received, norms, work)
        ctx.shape = shape
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(received, messages, work[2].clone(), norms, factors)
        return received

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,), shape = gradients, ctx.shape
        *tensors, factors = ctx.saved_tensors
        sent = _Sent(*tensors)
        states = factors.shape[1]

        def gamma(direction: int, out: Tensor) -> None:
            """γ of one direction into `out` (S, N)."""
            torch.mul(gradient[direction], sent.received[direction], out=out)
            out.addcmul_(sent.received[direction], out.sum(dim=0, keepdim=True), value=-1.0 / states)

        into_factors, deltas = torch.zeros_like(factors), torch.empty_like(sent.messages)
        work = sent.total.new_empty((3, *sent.total.shape))
        outer = _send_backward(gamma, sent, factors, shape, into_factors, deltas, work)
        flipped = torch.roll(deltas, shape.matrices, 0)
        return (outer - flipped).div_(sent.messages), into_factors.mul_(factors), outer, None


class _Memory:
    """What one unrolled run keeps for its backward pass, and scratch: views of one flat vector, like `like` (S, N)."""

    def __init__(self, like: Tensor, shape: GridShape, iterations: int) -> None:
        states, pixels, directions = *like.shape, shape.connectivity
        sizes = {
            "messages": (iterations + 1, directions, states, pixels),
            "totals": (iterations, states, pixels),
            "norms": (iterations, directions, pixels),
            "deltas": (2, directions, states, pixels),
            "work": (3, states, pixels),
        }
        lengths = [math.prod(size) for size in sizes.values()]
        parts = recycled((sum(lengths),), like).split(lengths)
        views = {name: part.view(size) for (name, size), part in zip(sizes.items(), parts, strict=True)}
        self.messages, self.totals, self.norms = views["messages"], views["totals"], views["norms"]
        self.deltas, self.work = views["deltas"], views["work"]

    def sent(self, step: int) -> _Sent:
        return _Sent(self.messages[step + 1], self.messages[step], self.totals[step], self.norms[step])


def _unroll(
    potentials: Tensor, log_evidence: Tensor, shape: GridShape, iterations: int, start: Tensor | None
) -> _Memory:
    """Run all iterations from uniform messages, or from those of `start` (directions, S, N), and keep them.

    Potentials (matrices, S, S), log evidence (S, N).
    """
    factors, stride = exponentiated(potentials), rescaling_stride(potentials)
    evidence = linear_evidence(log_evidence)
    memory = _Memory(evidence, shape, iterations)
    if start is None:
        memory.messages[0].fill_(1.0)
    else:
        memory.messages[0].copy_(start)
    for step in range(iterations):
        received, messages, total, norms = memory.sent(step)
        multiply_all(messages, evidence, total, stride)
        send(total, messages, factors, shape, received, norms, memory.work)
    return memory


class _UnrolledRun(torch.autograd.Function):
    """Several iterations from the first messages to the products of messages after some of them.

    Potentials (matrices, S, S), log evidence (S, N), first messages (directions, S, N) → (readouts, S, N).
    """

    @staticmethod
    def forward(
        ctx: Any,
        potentials: Tensor,
        log_evidence: Tensor,
        shape: GridShape,
        readouts: tuple[int, ...],
        start: Tensor | None,
    ) -> Tensor:
        memory = _unroll(potentials, log_evidence, shape, readouts[-1], start)
        products = log_evidence.new_empty((len(readouts), *log_evidence.shape))
        ones, stride = torch.ones_like(log_evidence), rescaling_stride(potentials)
        for product, step in zip(products, readouts, strict=True):
            multiply_all(memory.messages[step], ones, product, stride).mul_(SCALE_DOWN)
        ctx.shape, ctx.readouts, ctx.memory, ctx.start = shape, readouts, memory, start
        ctx.save_for_backward(potentials, log_evidence, products)
        return products

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        shape, readouts = ctx.shape, ctx.readouts
        potentials, log_evidence, products = ctx.saved_tensors
        # The memory goes to the next run at once; a second backward pass, which is rare, computes it again.
        memory = ctx.memory or _unroll(potentials, log_evidence, shape, readouts[-1], ctx.start)
        factors = exponentiated(potentials)
        read = gradients[0] * products
        read.addcmul_(products, read.sum(dim=1, keepdim=True), value=-1.0)
        into_factors = torch.zeros_like(factors)
        outer, into_evidence = torch.zeros_like(read[0]), torch.zeros_like(read[0])
        old, new = memory.deltas[0].zero_(), memory.deltas[1]
        for step in range(readouts[-1] - 1, -1, -1):
            if step + 1 in readouts:
                outer.add_(read[readouts.index(step + 1)])

            def gamma(direction: int, out: Tensor, outer: Tensor = outer, old: Tensor = old) -> None:
                """γ of one direction into `out` (S, N)."""
                torch.sub(outer, old[shape.opposite(direction)], out=out)

            outer = _send_backward(gamma, memory.sent(step), factors, shape, into_factors, new, memory.work)
            into_evidence.add_(outer)
            old, new = new, old
        ctx.memory = None
        return into_factors.mul_(factors), into_evidence, None, None, None


def uniform_messages(shape: GridShape, states: int, like: Tensor) -> Tensor:
    """The messages before the first iteration, (directions, S, N), all one."""
    return recycled((shape.connectivity, states, shape.pixels), like).fill_(1.0)


def next_messages(messages: Tensor, potentials: Tensor, log_evidence: Tensor, shape: GridShape) -> Tensor:
    """One sum-product iteration; messages (directions, S, N) have mean 1 over the states. Differentiable in all.

    `potentials` (matrices, S, S) and `log_evidence` (S, N) are natural logarithms.
    """
    stepped: Tensor = _Step.apply(messages, potentials, log_evidence, shape)
    return stepped


def unrolled_beliefs(
    potentials: Tensor,
    log_evidence: Tensor,
    shape: GridShape,
    iterations: int,
    readouts: tuple[int, ...] = (),
    start: Tensor | None = None,
) -> Tensor:
    """Product of all incoming messages after some iterations, (S, N), Σ_s = 1, without the pixel's own evidence.

    `potentials` (matrices, S, S) and `log_evidence` (S, N) are natural logarithms; differentiable in both. With
    `readouts`, ascending iteration counts of which the last is `iterations`, the products after each: (R, S, N).
    `start` are the first messages, (directions, S, N), as constants; without them they are uniform.
    """
    products: Tensor = _UnrolledRun.apply(potentials, log_evidence, shape, readouts or (iterations,), start)
    return products if readouts else products[0]


@torch.no_grad()
def run_messages(
    potentials: Tensor,
    log_evidence: Tensor,
    shape: GridShape,
    iterations: int,
    start: Tensor | None = None,
    hold_back: Callable[[Tensor, Tensor], object] | None = None,
) -> Tensor:
    """Messages (directions, S, N) after some iterations, without gradients, in the memory of two sets of messages.

    `hold_back(new, old)` may change each set of new messages in place before it is used.
    """
    factors, stride = exponentiated(potentials), rescaling_stride(potentials)
    evidence = linear_evidence(log_evidence)
    old = uniform_messages(shape, len(evidence), evidence) if start is None else start
    new, work = recycled(old.shape, old), recycled((3, *evidence.shape), evidence)
    norms = evidence.new_empty((shape.connectivity, shape.pixels))
    with fitting_threads(old.numel()):
        for _ in range(iterations):
            send(multiply_all(old, evidence, work[2], stride), old, factors, shape, new, norms, work)
            if hold_back is not None:
                hold_back(new, old)
            # `start` belongs to the caller and is not written to.
            old, new = new, recycled(old.shape, old) if old is start else old
    return old


@torch.no_grad()
def beliefs_of(messages: Tensor, potentials: Tensor) -> Tensor:
    """The product of messages (directions, S, N) to each pixel, (S, N), Σ_s = 1, without the pixel's own evidence."""
    product, ones = torch.empty_like(messages[0]), torch.ones_like(messages[0])
    return multiply_all(messages, ones, product, rescaling_stride(potentials)).mul_(SCALE_DOWN)


def run_beliefs(
    potentials: Tensor, log_evidence: Tensor, shape: GridShape, iterations: int, start: Tensor | None = None
) -> Tensor:
    """The same (S, N) as `unrolled_beliefs` without gradients, in the memory of two sets of messages."""
    return beliefs_of(run_messages(potentials, log_evidence, shape, iterations, start), potentials)
