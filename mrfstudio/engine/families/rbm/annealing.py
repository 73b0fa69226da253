"""log Z of Boltzmann machines by annealed importance sampling, with an error bar.

Between independent outer units (inverse temperature β = 0) and the machine (β = 1) lie machines with weights βW, hidden
biases βc_H and outer biases (1 - β)b + βc_O. Hidden units are summed out,

    log p*_β(o) = ½ õᵀ((1 - β)b + βc_O) + Σ_j log 2cosh(½β(W õ + c_H)_j),

and each chain gathers Σ_k log p*_{k+1}(o_k) - log p*_k(o_k) on its way. The mean of the exponentiated sums is Z / Z_0
on average, whatever the number of steps; the spread between chains gives the error bar.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.families.rbm.model import RBM, bernoulli
from mrfstudio.engine.protocol.catalogue import Parameters, integer

Report = Callable[[dict[str, Any]], None]


class Annealing(Parameters):
    """How much work goes into the estimate."""

    name = "annealing"

    chains: int = integer(100, "Independent chains; more of them shrink the error bar.", low=2, logarithmic=True)
    temperatures: int = integer(1000, "Steps between independence and the model.", low=1, logarithmic=True)
    seed: int = integer(0, "The same seed gives the same estimate.", low=0)


@dataclass(frozen=True)
class LogZ:
    """An estimate of log Z in nats; `low` and `high` are three standard errors away (low -inf where that is more than
    everything), `effective_chains` how many chains would tell as much if all weighed the same."""

    value: float
    low: float
    high: float
    effective_chains: float

    @classmethod
    def of(cls, log_weights: Tensor, base: float) -> LogZ:
        """From the chains' log-weights (chains,) and log Z_0."""
        log_weights = log_weights.double()
        count = len(log_weights)
        peak = log_weights.max()
        weights = torch.exp(log_weights - peak)
        mean = float(weights.mean())
        error = float(weights.std()) / math.sqrt(count)
        shift = base + float(peak)
        low = shift + math.log(mean - 3 * error) if mean > 3 * error else -math.inf
        effective = float(weights.sum() ** 2 / (weights * weights).sum())
        return cls(shift + math.log(mean), low, shift + math.log(mean + 3 * error), effective)


@torch.no_grad()
def annealed_log_z(
    model: RBM, settings: Annealing, base: Tensor | None = None, report: Report = lambda message: None
) -> LogZ:
    """log Z of φ in the form of 0 and 1. `base` b (O,) are biases of the independent units, else the model's own.

    Biases that give the units the frequencies of the data make a much smaller error. Reports {"done", "total"}.
    """
    exact = model.to(torch.float64)
    weights, hidden_bias, target = exact.weights, exact.hidden_bias, exact.outer_bias
    start = target if base is None else base.double()
    generator = torch.Generator().manual_seed(settings.seed)
    betas = torch.linspace(0, 1, settings.temperatures + 1, dtype=torch.float64).tolist()
    spins = 2 * bernoulli(start.expand(settings.chains, -1), generator) - 1
    total = torch.zeros(settings.chains, dtype=torch.float64)
    every = max(1, settings.temperatures // 100)
    for step, (cold, warm) in enumerate(pairwise(betas), 1):
        field = torch.addmm(hidden_bias, spins, weights.t())
        total += _log_cosh(warm * field / 2) - _log_cosh(cold * field / 2)
        total += (warm - cold) * (spins @ (target - start)) / 2
        hidden = 2 * bernoulli(warm * field, generator) - 1
        spins = 2 * bernoulli(torch.lerp(start, target, warm) + warm * (hidden @ weights), generator) - 1
        if step % every == 0 or step == settings.temperatures:
            report({"done": step, "total": settings.temperatures})
    independent = exact.hidden * math.log(2) + float(torch.logaddexp(start / 2, -start / 2).sum())
    constant = float(target.sum() + hidden_bias.sum() - weights.sum()) / 2
    return LogZ.of(total, independent + constant)


def _log_cosh(x: Tensor) -> Tensor:
    """Σ_j log cosh x_j, (chains,), without overflow; the log 2 of each unit cancels in differences."""
    return (x.abs() + torch.log1p(torch.exp(-2 * x.abs()))).sum(1)


def base_of_rows(rows: Tensor, model: RBM) -> Tensor:
    """Biases (O,) of independent units with the frequencies of rows (N, V); a second layer starts undecided."""
    share = (rows.double().sum(0) + 1) / (len(rows) + 2)
    return torch.nn.functional.pad(torch.logit(share), (0, model.second))


def as_values(found: LogZ, settings: Annealing) -> dict[str, Any]:
    """The estimate ready for JSON, with what it was made of; null where the error bar has no lower end."""
    return {
        "log_partition": found.value,
        "log_partition_low": found.low if math.isfinite(found.low) else None,
        "log_partition_high": found.high,
        "effective_chains": found.effective_chains,
        "chains": settings.chains,
        "temperatures": settings.temperatures,
    }
