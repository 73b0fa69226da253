"""How parameters move: Adam or gradient descent with momentum, state in named tensors, and the rate over a run.

torch has optimisers too, but the first use of one imports for about two seconds, and their state would have to be taken
apart for a checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from mrfstudio.engine.training.learner import Learner

# The usual guard of Adam against a division by zero; far below any gradient that matters here.
EPSILON = 1e-8

Moments = dict[str, Tensor]


def start_moments(parameters: Mapping[str, Tensor], method: str) -> Moments:
    """Zero moments in the shapes (…) of the parameters: `first/NAME` for both methods, `second/NAME` for Adam only."""
    kinds = ("first", "second") if method == "adam" else ("first",)
    return {f"{kind}/{name}": torch.zeros_like(tensor) for kind in kinds for name, tensor in parameters.items()}


@torch.no_grad()
def update(
    parameters: Mapping[str, Tensor], moments: Moments, method: str, step: int, rate: float, betas: tuple[float, float]
) -> None:
    """One step of tensors of any shape (…) down the gradients in `.grad`, in place. `step` counts from 1."""
    for name, parameter in parameters.items():
        gradient = parameter.grad
        if gradient is None:
            continue
        first = moments[f"first/{name}"]
        if method == "sgd":
            first.mul_(betas[0]).add_(gradient)
            parameter.sub_(first, alpha=rate)
            continue
        second = moments[f"second/{name}"]
        first.lerp_(gradient, 1 - betas[0])
        second.mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
        # Both moments start at zero; dividing by what they could have gathered so far removes that bias.
        scale = second.sqrt().div_(math.sqrt(1 - betas[1] ** step)).add_(EPSILON)
        parameter.addcdiv_(first, scale, value=-rate / (1 - betas[0] ** step))


@torch.no_grad()
def follow(average: Moments, parameters: Mapping[str, Tensor], memory: float, step: int) -> None:
    """Move the averages towards the parameters, both of any shape (…), in place. `step` counts from 1.

    An exponential mean with the given memory; early on a shorter one, so that the start is forgotten.
    """
    keep = min(memory, step / (step + 9.0))
    for name, parameter in parameters.items():
        average[name].lerp_(parameter, 1 - keep)


@torch.no_grad()
def gradient_squares(parameters: Mapping[str, Tensor]) -> dict[str, float]:
    """The squared length of the gradient (…) of each tensor, added up in float64 so that it overflows late."""
    squares = {}
    for name, parameter in parameters.items():
        if parameter.grad is not None:
            # MPS has no float64; the sum over tensors is in Python floats either way.
            exact = parameter.grad if parameter.grad.device.type == "mps" else parameter.grad.double()
            squares[name] = float(exact.square().sum())
    return squares


def gradient_norm(parameters: Mapping[str, Tensor]) -> float:
    """The Euclidean norm of all gradients (…) together."""
    return math.sqrt(sum(gradient_squares(parameters).values()))


@torch.no_grad()
def clip(parameters: Mapping[str, Tensor], norm: float, longest: float) -> None:
    """Shorten the gradients (…), of norm `norm` together, to `longest`; 0 leaves them."""
    if longest > 0 and norm > longest:
        for parameter in parameters.values():
            if parameter.grad is not None:
                parameter.grad.mul_(longest / norm)


# The learning rate over a run -----------------------------------------------------------------------------------------


def steps_in_all(learner: Learner, items: int) -> int:
    """The steps of a run over `items` training items; the last batch of an epoch may be smaller."""
    return max(1, math.ceil(learner.epochs * steps_per_epoch(learner, items)))


def steps_per_epoch(learner: Learner, items: int) -> int:
    return math.ceil(items / learner.batch_size)


def progress(step: int, total_steps: int, seconds: float = 0.0, budget: float | None = None) -> float:
    """The finished part of a run in [0, 1]: of its steps or of its time budget, whichever is further.

    With a budget the clock has a say, so that a falling learning rate is down when the time is up. Then the numbers of
    two runs differ, unless the steps run out first on both; without a budget they are the same.
    """
    done = step / total_steps
    if budget is not None:
        done = max(done, seconds / budget)
    return min(done, 1.0)


def learning_rate(learner: Learner, step: int, done: float) -> float:
    """The rate of the step after `step` finished ones, when the part `done` of the run is finished."""
    rate = learner.learning_rate
    if learner.schedule == "cosine":
        rate *= learner.final_rate + (1 - learner.final_rate) * 0.5 * (1 + math.cos(math.pi * done))
    if step < learner.warm_up:
        rate *= (step + 1) / learner.warm_up
    return rate
