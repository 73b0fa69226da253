"""Exact sums over hidden chains of any order, in logarithms ([WK19], section 4.3).

    α_t(z_{t-L+1}, …, z_t) = e_t(z_t) + log Σ_{z_{t-L}} exp(α_{t-1}(z_{t-L}, …, z_{t-1}) + W(z_{t-L}, …, z_t))

W has L axes of K + 1 states and a last one of K: the state K of an earlier axis means "before the beginning". Maxima
are taken out before the products, so that the sum over the oldest state is a matrix product and nothing overflows.
What underflows there, because α prefers what W denies, is summed once more in logarithms.
The gradients of log Z with respect to e and W are the posteriors of states and the expected counts of transitions.
"""

from __future__ import annotations

import torch
from torch import Tensor


def log_partitions(scores: Tensor, emissions: Tensor, lengths: Tensor) -> Tensor:
    """log Σ_z exp(Σ_t W + e) of each sequence, (B,).

    `scores` is W, (K+1, …, K+1, K); `emissions` e is (B, T, K); only the first `lengths` (B,) columns count.
    """
    order, batch, steps = scores.ndim - 1, *emissions.shape[:2]
    alpha = emissions.new_zeros(batch, *(1,) * order)  # all that came before is the beginning
    longest = int(lengths.max()) if batch else 0
    for step in range(min(steps, longest)):
        moved = _onward(alpha, window(scores, step))
        moved = moved + emissions[:, step].reshape(batch, *(1,) * (order - 1), -1)
        if bool((lengths > step).all()):
            alpha = moved
        else:
            alpha = torch.where(_like(lengths > step, moved), moved, _grown(alpha, moved))
    return alpha.flatten(1).logsumexp(1)


def free_log_partitions(scores: Tensor, longest: int) -> Tensor:
    """log Z_T for T = 1 … longest, (longest,): the sums without any emission."""
    order = scores.ndim - 1
    alpha, found = scores.new_zeros(1, *(1,) * order), []
    for step in range(longest):
        alpha = _onward(alpha, window(scores, step))
        found.append(alpha.flatten().logsumexp(0))
    return torch.stack(found)


def window(scores: Tensor, step: int) -> Tensor:
    """W (K+1, …, K+1, K) at column `step`: (i, j, …, K), 1 for every earlier column that does not exist, else K."""
    order, states = scores.ndim - 1, scores.shape[-1]
    place = tuple(slice(states, states + 1) if axis < order - step else slice(0, states) for axis in range(order))
    return scores[place]


def _onward(alpha: Tensor, scores: Tensor) -> Tensor:
    """α (B, i, j, …) and W (i, j, …, l) → log Σ_i exp(α + W), (B, j, …, l)."""
    batch, oldest, *rest = alpha.shape
    states = scores.shape[-1]
    a, w = alpha.reshape(batch, oldest, -1), scores.reshape(oldest, -1, states)
    top_a, top_w = _finite(a.amax(1)), _finite(w.amax(0))
    product = torch.einsum("bij,ijl->bjl", (a - top_a[:, None]).exp(), (w - top_w).exp())
    # log 0 has no gradient; what is impossible has none either.
    safe = product.clamp_min(torch.finfo(product.dtype).tiny)
    log = torch.where(product > 0, safe.log() + top_a[..., None] + top_w, -torch.inf)
    lost = _underflown(a, w, product)
    if len(lost[0]):
        items, middle, last = lost
        log = log.index_put(lost, torch.logsumexp(a[items, :, middle] + w[:, middle, last].T, 1))
    return log.reshape(batch, *rest, states)


@torch.no_grad()
def _underflown(a: Tensor, w: Tensor, product: Tensor) -> tuple[Tensor, ...]:
    """Places (b, j, l) of a product that lost digits, or all of them, though some old state is possible there."""
    small = torch.finfo(product.dtype).tiny / torch.finfo(product.dtype).eps
    low = product < small
    if bool(low.any()):
        ways = torch.einsum("bij,ijl->bjl", (~a.isneginf()).to(product), (~w.isneginf()).to(product))
        low = low & (ways > 0)
    return low.nonzero(as_tuple=True)


def _finite(top: Tensor) -> Tensor:
    """A maximum (…) that can be subtracted, where everything is impossible too; it needs no gradient."""
    return torch.where(top.isneginf(), torch.zeros_like(top), top).detach()


def _like(mask: Tensor, target: Tensor) -> Tensor:
    """A mask (B,) as (B, 1, …, 1), with as many axes as the target (B, …)."""
    return mask.reshape(-1, *(1,) * (target.ndim - 1))


def _grown(alpha: Tensor, moved: Tensor) -> Tensor:
    """α (B, i, …) of sequences that have ended, in the shape of those that go on: their sums stay what they are."""
    if alpha.shape == moved.shape:
        return alpha
    total = alpha.flatten(1).logsumexp(1)
    ended = torch.full_like(moved, -torch.inf).flatten(1)
    return torch.cat([total[:, None], ended[:, 1:]], 1).reshape(moved.shape)
