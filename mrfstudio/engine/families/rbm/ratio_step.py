"""Messages between the layers of a machine as ratios e^f: no exponential and no logarithm for each.

With A = e^w and the sender's cavity c as odds, the product of what others say to it, a message becomes on its way

    e^f = (1 + c A) / (c + A),    c = e^total / e^heard,

the fast form of `transfer.py` at temperature 1. No |f| exceeds |w|, so that for weights up to `LARGEST_WEIGHT` products
of many ratios stay finite (`ratios.py`), and rounding costs a message as much as it does there.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mrfstudio.engine.families.rbm.bipartite import WORTH_TWO_HERE, BipartiteQuery
from mrfstudio.engine.inference.messages.ratios import log_of_products, terms_of
from mrfstudio.engine.inference.messages.transfer import Transfer
from mrfstudio.engine.inference.residuals import SATURATED
from mrfstudio.engine.runtime.recycling import recycled
from mrfstudio.engine.runtime.threads import shared_out

LARGEST_WEIGHT = -SATURATED
"""Where messages can be stronger their change is one of logarithms, which then are kept anyway."""
FAR = 40.0
"""Log-odds at which a total is stopped: cavities still exceed 30, which decide alone to within e^-22, and products of
two ratios and a total are finite in 32 bits."""
BLOCK = 262_144
"""Messages worked on at once. Fewer would fit a core's own cache, but threads then wait for each other's calls."""


def within_ratios(query: BipartiteQuery, temperature: float) -> bool:
    """Whether messages of this query can be kept as ratios."""
    return temperature == 1.0 and query.strongest <= LARGEST_WEIGHT


def log_sum(query: BipartiteQuery, ratios: Tensor, axis: int) -> Tensor:
    """Σ f over an axis of ratios e^f (B, U, H), which the result lacks."""
    return log_of_products(ratios, axis, terms_of(query.strongest))


def next_ratios(
    totals: Tensor, heard: Tensor, old: Tensor, query: BipartiteQuery, fast: Transfer, threads: int
) -> tuple[Tensor, Tensor]:
    """The ratios that follow from `heard`, and their largest change against `old` as probabilities; all (B, U, H).

    `totals` (B, 1, H) or (B, U, 1) are log-odds, ±inf allowed; `fast` is the transfer of the query's weights.
    """
    assert fast.factors is not None
    factors, found = fast.factors, recycled(heard.shape, heard)
    each = max(1, BLOCK // max(1, heard.shape[0] * heard.shape[2]))
    odds, one = totals.clamp(-FAR, FAR).exp_(), fast.one

    def sent(start: int) -> Tensor:
        part = slice(start, start + each)
        cavity = torch.div(odds[:, part] if odds.shape[1] > 1 else odds, heard[:, part])
        scratch = torch.addcmul(one, cavity, factors[:, part])
        new = torch.div(scratch, cavity.add_(factors[:, part]), out=found[:, part])
        # 1/(1+old) - 1/(1+new) = (new - old) / ((1 + new) (1 + old))
        change = torch.sub(new, old[:, part], out=cavity)
        torch.add(new, 1.0, out=scratch)
        return change.div_(scratch.addcmul_(scratch, old[:, part])).abs_().amax()

    threads = threads if heard.numel() >= WORTH_TWO_HERE else 1
    changes = shared_out(sent, range(0, heard.shape[1], each), threads)
    return found, torch.stack([heard.new_zeros(()), *changes.values()]).max()
