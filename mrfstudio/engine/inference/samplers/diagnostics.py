"""What samples of many chains can know: standard errors, effective numbers of draws, and whether the chains agree.

Chains start dispersed, so that those which are stuck are stuck in different places. With M chains, n sweeps each and
means f_c of a quantity within chain c:

    standard error       the larger of  sd(f_c) / √M  and  √(p̃ (1 - p̃) / (Mn + 2)),   p̃ = (hits + 1) / (Mn + 2)
    effective draws      variance of one draw / (sd(f_c)² / M)
    split R̂             √(1 + var(means of half chains) / variance within half chains)

The second term of the error is what Mn independent draws would leave open even where all of them agree: an event that
was never seen may have a probability of about 1 / Mn. A variable that no chain ever moved counts one draw a chain.

A run looks at its error only at sweeps a quarter further apart each time: a rule that looks after every sweep stops at
the first lucky one, and so prefers answers that happen to have too small an error.

Whatever the rule, an answer from the draws that decide when to stop is biased: a run that waits until a rare state was
seen ends soon after it was, and finds it too often. So the first half of the chains judges, and the answer is that of
the other half, the witnesses (chains share nothing but the graph): whenever the judges say stop, the witnesses'
frequencies are what they are on average. Whether chains agree is asked of all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

LARGEST_R_HAT = 1.05
"""Split R̂ above which chains are said to disagree."""
FEWEST_DRAWS = 400.0
"""Effective draws below which a standard error is itself too uncertain to stop by."""
PACE = math.log(1.25)


def judges(chains: Tensor) -> Tensor:
    """The first half of (chains, ...): those that say when to stop."""
    return chains[: len(chains) // 2]


def witnesses(chains: Tensor) -> Tensor:
    """The other half of (chains, ...): those that give the answer."""
    return chains[len(chains) // 2 :]


def looks_at(counted: int) -> bool:
    """Whether the error is looked at after so many counted sweeps."""
    return counted in (2, 3) or (counted > 3 and int(math.log(counted) / PACE) != int(math.log(counted - 1) / PACE))


@dataclass(frozen=True, eq=False)
class Halves:
    """Sums per chain (chains, n) as they were after `early_counted` sweeps, between a quarter and half of all, and
    after `late_counted`, twice as many.
    """

    early: Tensor
    late: Tensor

    @classmethod
    def none(cls, sums: Tensor) -> Halves:
        """Before anything was counted; sums (chains, n)."""
        return cls(torch.zeros_like(sums), torch.zeros_like(sums))

    def updated(self, sums: Tensor, counted: int) -> Halves:
        """With sums (chains, n) after sweep `counted`: at powers of two what was the whole becomes the first half."""
        return Halves(self.late, sums) if counted >= 1 and counted & (counted - 1) == 0 else self


def early_counted(counted: int) -> int:
    """Sweeps that `Halves.early` holds after `counted` of them."""
    return 2 ** (counted.bit_length() - 2) if counted > 1 else 0


def standard_error(sums: Tensor, counted: int, draws: Tensor | int | None = None) -> Tensor:
    """Of each mean (n,) of per-chain sums (chains, n) of numbers from 0 to 1 over `counted` sweeps.

    `draws` (n,) are as many as independent ones could be at most; None leaves their floor away, for other numbers.
    """
    chains = sums.shape[0]
    if chains < 2:  # one chain says nothing of its own error, and no probability is further off than this
        return torch.full_like(sums[0], 0.5)
    means = sums / max(counted, 1)
    between = means.std(0) / chains**0.5
    if draws is None:
        return between
    mean = means.mean(0)
    shrunk = (mean * draws + 1) / (draws + 2)
    return torch.maximum(between, (shrunk * (1 - shrunk) / (draws + 2)).sqrt())


def r_hat(sums: Tensor, halves: Halves, counted: int, within: Tensor | None = None) -> Tensor:
    """Split R̂ (n,) of per-chain sums (chains, n). `within` (n,) is the variance of one draw within a chain; None takes
    that of events, f (1 - f).
    """
    first = early_counted(counted)
    if first < 1:
        return sums.new_full(sums.shape[1:], torch.inf)
    parts = torch.cat([halves.early / first, (sums - halves.early) / (counted - first)])
    if within is None:
        within = (parts * (1 - parts)).mean(0)
    between = parts.var(0)
    quotient = torch.where(between > 0, between / within.clamp(min=0), torch.zeros_like(between))
    return (1 + quotient).sqrt()


def effective_draws(sums: Tensor, counted: int, variance: Tensor | None = None) -> Tensor:
    """(n,), infinite where all chains have the same mean, 0 for one chain. `variance` (n,) of one draw; None takes that
    of events.
    """
    chains = sums.shape[0]
    if chains < 2:
        return torch.zeros_like(sums[0])
    means = sums / max(counted, 1)
    if variance is None:
        variance = means.mean(0) * (1 - means.mean(0))
    spread = means.var(0) / chains
    return torch.where(spread > 0, variance / spread, torch.full_like(spread, torch.inf))


def doubt_of(worst_r_hat: float, fewest: float) -> str | None:
    """A sentence where chains disagree or are too short to tell."""
    if not worst_r_hat <= LARGEST_R_HAT:
        grade = f"{worst_r_hat:.2g}" if math.isfinite(worst_r_hat) else "infinite"
        return f"The chains disagree (split R̂ is {grade}): they have not mixed, and the standard error cannot tell."
    if fewest == 0:
        return "Fewer than four chains cannot tell how far off they are: run more of them."
    if not fewest >= FEWEST_DRAWS:
        return f"Only {fewest:.0f} effective draws so far: the standard error cannot tell yet."
    return None
