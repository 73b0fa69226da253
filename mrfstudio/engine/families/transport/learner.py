"""Learning by transport: EOTGM, and EOTGAN with a learned cost ([Liu20], Algorithms 5 and 6).

    loss(θ) = W(data, g(z)),   ∇ = Σ π_ij ∇ M_ij with π held;      debiased: - ½ W(g(z), g(z')) as well

EOTGAN compares features f(x) in place of points; f goes the other way: it raises W(data, g) and lowers W(data, data'),
by the same plans. As printed the losses have Σ π M where the objective has W: with π held both have the same gradient.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.families.transport.model import Generator, points_in
from mrfstudio.engine.families.transport.sinkhorn import MassPlan, distances, sinkhorn
from mrfstudio.engine.protocol.catalogue import choice, flag, integer, number
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.training.learner import BatchContext, BatchResult, BatchSource, Learner, derive_seed

JUDGED = 400
"""Held-out points that a validation carries."""


@LEARNERS.register
class Sinkhorn(Learner):
    """Parameters of learning by transport."""

    name = "sinkhorn"
    title = "Optimal transport (Sinkhorn)"
    summary = "Carries generated points to the data along the cheapest plan, and moves the generator down its cost."
    loss_unit = "cost"
    of_batches = False

    learning_rate: float = number(0.004, "How far one step goes.", low=0.0, low_open=True, high=1.0, logarithmic=True)
    batch_size: int = integer(128, "Points of the data in one step; as many are generated.", low=2, high=10_000)
    epochs: float = number(60.0, "Passes over the training data.", low=0.0, low_open=True)
    strength: float = number(
        0.05, "λ: how evenly mass is spread; small plans are sharp.", low=1e-4, high=100.0, logarithmic=True
    )
    plan_iterations: int = integer(40, "Iterations for one plan.", low=1, high=100_000, logarithmic=True)
    cost: str = choice("distance", ("distance", "square"), "What carrying costs: the distance, or half its square.")
    debiased: bool = flag(False, "Take off what generated points cost among themselves: clouds then do not shrink.")
    hinge: float = number(1.0, "Learned cost: what W of two batches of data counts against it.", low=0.0, advanced=True)

    @classmethod
    def kinds(cls) -> tuple[str, ...]:
        return ("transport",)

    def supports(self, model: Any) -> str | None:
        if isinstance(model, Generator):
            return None
        kind = getattr(model, "kind", type(model).__name__)
        return f"Sinkhorn trains a network that makes points, and this is a {kind}: use query, likelihood or cd."

    def plan(self, model: Generator, one: Tensor, other: Tensor) -> tuple[MassPlan, Tensor]:
        """The plan between points (N, D) and (M, D), and the surrogate, a scalar, whose gradient is that of W."""
        cost = distances(model.features(one), model.features(other), self.cost == "square")
        found = sinkhorn(cost.detach(), self.strength, iterations=self.plan_iterations)
        return found, (found.plan * cost).sum()

    def batch(self, model: Generator, batch: Any, state: Mapping[str, Tensor], context: BatchContext) -> BatchResult:
        data = points_in(batch)
        draw = context.generator("noise")
        made = model.generated(model.drawn_noise(len(data), draw))
        tensors = model.tensors()
        found, surrogate = self.plan(model, data, made)
        loss, value = surrogate, found.value
        if self.debiased:
            again = model.generated(model.drawn_noise(len(data), draw))
            own, bias = self.plan(model, made, again)
            loss, value = loss - 0.5 * bias, value - 0.5 * own.value
        names = [name for name in tensors if not name.startswith("feature")]
        for name, gradient in zip(names, torch.autograd.grad(loss, [tensors[n] for n in names]), strict=True):
            tensors[name].grad = gradient
        scalars = {"marginal_error": found.error}
        if model.learns_cost:
            scalars["data_cost"] = self._raise_cost(model, data, made.detach())
        return BatchResult(value, float(len(data)), scalars, state)

    def _raise_cost(self, model: Generator, data: Tensor, made: Tensor) -> float:
        """Leave the gradient that makes the features tell data (N, D) and generated points (N, D) apart."""
        half = len(data) // 2
        _, apart = self.plan(model, data, made)
        alike, same = self.plan(model, data[:half], data[half : 2 * half])
        tensors = {name: tensor for name, tensor in model.tensors().items() if name.startswith("feature")}
        gradients = torch.autograd.grad(self.hinge * same - apart, list(tensors.values()))
        for tensor, gradient in zip(tensors.values(), gradients, strict=True):
            tensor.grad = gradient
        return alike.value

    def validate(self, model: Generator, source: BatchSource) -> dict[str, float]:
        """`cost`: W between held-out points and as many generated ones, of the points themselves."""
        data = points_in(source[torch.arange(min(JUDGED, len(source)))])
        draw = torch.Generator().manual_seed(derive_seed("judged noise"))
        made = model.generated(model.drawn_noise(len(data), draw))
        return {"cost": sinkhorn(distances(data, made), self.strength, iterations=200).value}
