"""How the learning rate changes over a run, and how far a run is."""

from __future__ import annotations

import math

from mrfstudio.engine.learning.contract import Learner


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
