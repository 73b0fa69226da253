"""Blocked Gibbs sampling of Boltzmann machines: all hidden units at once, then all outer ones.

The same chains, counts and standard errors as
on a factor graph (`gibbs.py`), with two matrix products for a sweep.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mrfstudio.engine.families.rbm.model import RBM, bernoulli
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.algorithm import Kernel, Unsupported, kernel
from mrfstudio.engine.inference.samplers.gibbs import Gibbs, Samples


@kernel(Gibbs, RBM)
class BlockedGibbs(Kernel):
    """One item of evidence, many chains; chains and counts of ones (chains, O + H), outer units first."""

    def covers(self, algorithm: Gibbs, model: RBM) -> bool:
        return algorithm.sampler == "gibbs"

    def entries(self, model: RBM, evidence: Evidence) -> int | None:
        return model.weights.numel()

    def init(self, algorithm: Gibbs, model: RBM, evidence: Evidence) -> Samples:
        outer, hidden = _fields(model, evidence)
        generator = torch.Generator().manual_seed(algorithm.seed)
        odds = torch.cat([outer, hidden]).detach()
        # Dispersed: what is not observed begins with 0 or 1 alike.
        chains = bernoulli(torch.where(odds.isinf(), odds, 0.0).expand(algorithm.chains, -1), generator)
        return Samples.begun(chains, torch.zeros_like(chains), generator)

    @torch.no_grad()
    def step(self, algorithm: Gibbs, model: RBM, evidence: Evidence, state: Samples) -> Samples:
        outer_field, hidden_field = _fields(model, evidence)
        generator = torch.Generator()
        generator.set_state(state.generator)
        spins = 2 * state.chains[:, : model.outer] - 1
        hidden = bernoulli(torch.addmm(hidden_field, spins, model.weights.t()), generator)
        outer = bernoulli(torch.addmm(outer_field, 2 * hidden - 1, model.weights), generator)
        chains = torch.cat([outer, hidden], 1)
        after = state.swept(chains, chains if state.iteration >= algorithm.burn_in else None, generator)
        return after.judged(after.moved, _certain(model, evidence))

    def doubt(self, algorithm: Gibbs, model: RBM, evidence: Evidence, state: Samples, tolerance: float) -> str | None:
        return state.doubt(
            _certain(model, evidence), torch.arange(model.outer + model.hidden, device=model.weights.device)
        )

    def beliefs(self, algorithm: Gibbs, model: RBM, evidence: Evidence, state: Samples) -> Tensor:
        one = model.shown(_frequencies(state)[: model.visible])
        return torch.stack([1 - one, one], -1)

    def hidden_beliefs(self, algorithm: Gibbs, model: RBM, evidence: Evidence, state: Samples) -> Tensor:
        one = _frequencies(state)
        return torch.cat([one[model.outer :], one[model.visible : model.outer]])

    def samples(self, algorithm: Gibbs, model: RBM, evidence: Evidence, state: Samples) -> Tensor:
        return model.shown(state.chains[:, : model.visible])


def _frequencies(state: Samples) -> Tensor:
    """How often each unit was 1, (O + H,); while burning in, in how many chains it is."""
    return state.chains.mean(0) if state.counted == 0 else state.frequencies


def _fields(model: RBM, evidence: Evidence) -> tuple[Tensor, Tensor]:
    """Biases and evidence as log-odds (O,) and (H,); ±inf where observed."""
    outer, hidden = model.log_odds(evidence)
    if outer.ndim != 1:
        raise Unsupported(
            f"gibbs samples one item of evidence, and {outer.shape[0]} were given: sample them one by one."
        )
    return outer + model.outer_bias.detach(), hidden + model.hidden_bias.detach()


def _certain(model: RBM, evidence: Evidence) -> Tensor:
    """(O + H,) Which units are observed."""
    return torch.cat(_fields(model, evidence)).isinf()
