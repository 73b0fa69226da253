"""Densities of conditional RBMs: an RBM for every item, with its own biases."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from mrfstudio.engine.families.crbm.decoding import Decoded, decoded
from mrfstudio.engine.families.crbm.model import CRBM, conditional_rows
from mrfstudio.engine.families.rbm.density import LARGEST_MACHINE, MachineDensity, Moments, machine_refusal
from mrfstudio.engine.families.rbm.matrix_bp import MatrixBP
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.families.rbm.ratio_messages import answers
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.training.density import Inference, PartitionEstimate, chunks, density
from mrfstudio.engine.training.learner import BatchSource

SMALLEST_BELIEF = 1e-6  # a pixel that is believed with certainty to be wrong costs 20 bits


@density("crbm")
class CRBMDensity(MachineDensity):
    """A CRBM with pairs of pictures: what to predict (B, V) given what is seen (B, X)."""

    conditional = True

    def __init__(self, model: CRBM, batch: Mapping[str, Tensor]) -> None:
        """Pictures `images` and `noisy_images`, (B, height, width) each; see `conditional_rows`."""
        clean, damaged = conditional_rows(batch)
        self.model, self.visible, self.features = model, clean.to(model.dtype), damaged.to(model.dtype)
        self.couplings = model.couplings
        self.hidden_bias, self.visible_bias = model.biases(self.features)

    def asked(self) -> tuple[RBM, Evidence]:
        return self.model.machine(self.features)

    def partition(self, inference: Inference) -> PartitionEstimate:
        if self.model.hidden == 0:
            exact = torch.nn.functional.softplus(self.visible_bias).sum(1)
            return PartitionEstimate(exact.detach(), exact, 1.0)
        self.remember(inference)
        algorithm, limits = inference.algorithm, inference.limits
        # Small machines tell log Z too, which these messages do not.
        fast = isinstance(algorithm, MatrixBP) or self.couplings.numel() > LARGEST_MACHINE
        found = answers(algorithm, *self.parameters(), limits.iterations, limits.tolerance) if fast else None
        if found is None or found.pairs is None:
            return super().partition(inference)
        converged = float((found.change <= limits.tolerance).double().mean())
        moments = Moments(torch.sigmoid(found.visible), torch.sigmoid(found.hidden), found.pairs, None, converged)
        return self.energy_of(moments)

    def parameters(self) -> tuple[Tensor, Tensor, Tensor]:
        """A (H, V), a (B, H) and d (B, V), without gradients."""
        return self.couplings.detach(), self.hidden_bias.detach(), self.visible_bias.detach()

    def remember(self, inference: Inference) -> None:
        """Note in the model how it is asked in learning, so that it is asked the same way afterwards."""
        algorithm = inference.algorithm
        self.model.decoder = "mean-field" if algorithm.name == "mean-field" else getattr(algorithm, "product", "sum")
        with torch.no_grad():
            self.model.iterations.fill_(float(inference.limits.iterations))

    @classmethod
    def refusal(cls, model: CRBM, algorithm: Algorithm) -> str | None:
        if model.hidden == 0:
            return None
        machine, _ = model.machine(torch.zeros(1, model.features, dtype=model.dtype))
        reason = machine_refusal(machine, algorithm)
        if reason is None and algorithm.name not in ("bp", "mean-field", "matrix-bp"):
            return f"{algorithm.name} works on one item at a time and a crbm learns from many: use bp or mean-field."
        return reason

    @classmethod
    def measure(cls, model: CRBM, source: BatchSource) -> dict[str, float]:
        return measure(model, source)


@torch.no_grad()
def measure(model: CRBM, source: BatchSource) -> dict[str, float]:
    """`pixel_error` and `changed_error` in percent, and the cross-entropy of the beliefs in bits.

    The first is over all pixels, the second over those that the damage changed (tables 1 to 3 of [PI17]).
    """
    counts, bits, pixels = torch.zeros(3, dtype=torch.float64), 0.0, 0
    for indices in chunks(source):
        clean, damaged = conditional_rows(source[indices])
        answer = decoded(model, damaged.to(model.dtype))
        missed, hit = answer.states != clean, clean != damaged
        counts += torch.stack([missed.sum(), hit.sum(), (missed & hit).sum()])
        bits += _bits(answer, clean)
        pixels += clean.numel()
    wrong, changed, both = counts.tolist()
    return {
        "pixel_error": 100 * wrong / pixels,
        "changed_error": 100 * both / max(changed, 1.0),
        "nce_bits": bits / pixels,
    }


def _bits(answer: Decoded, clean: Tensor) -> float:
    """Cross-entropy in bits of an answer for the true units (B, V), summed."""
    chance = torch.where(clean > 0.5, answer.visible, 1 - answer.visible)
    return float(-chance.clamp_min(SMALLEST_BELIEF).double().log().sum()) / math.log(2)
