"""Where a stroke would help most: the error that is expected nearby, as far as messages would carry the stroke.

Expected error of a pixel: e = 1 - b(x*), x* the label that wins. b is the mean of the field's belief and of what the
pixel's own scores say: beliefs of a strong field are sure nearly everywhere, also where all of it hangs on neighbours.

A message of a Potts edge with weight w, a = e^w, from a pixel with odds t changes with them by

    s = ∂ log r' / ∂ log t = (a² - 1) t / ((a t + 1)(t + a)),

(a - 1) / (a + 1) = tanh(w / 2) in full doubt, 0 across a wall. What a stroke at p would settle, in pixels:

    g(p) = e(p) + Σ_q s_pq / max(1, Σ_q s_pq) g(q),     q the neighbours of p,

iterated a few times; the shares keep the sum finite on a graph with loops.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from mrfstudio.engine.families.photographs.rules import neighbour_weights

STEPS = 40
LOSS = 0.95
"""What is left of an influence after one edge at most."""
DOUBT = 0.02
"""Least doubt: no pixel is so sure that a stroke would move nothing."""


def expected_error(beliefs: Tensor, scores: Tensor) -> Tensor:
    """e (height, width) from beliefs and node scores, both (labels, height, width)."""
    winner = beliefs.argmax(0, keepdim=True)
    own = torch.softmax(scores, 0).gather(0, winner)
    return 1 - 0.5 * (beliefs.gather(0, winner) + own)[0]


def settled_by_a_stroke(error: Tensor, gains: list[Tensor], steps: int = STEPS) -> Tensor:
    """g (height, width) for expected errors (height, width) and gains e^w - 1 of the grid's edges."""
    sure = (1 - error).clamp(DOUBT, 1 - DOUBT)
    odds = sure / (1 - sure)
    moved = []
    for offset, weight in neighbour_weights(gains, error):
        a = weight.exp()
        moved.append((offset, (a * a - 1) * odds / ((a * odds + 1) * (odds + a))))
    most = torch.stack([s for _, s in moved]).sum(0).clamp_min(1.0)
    shares = [(offset, LOSS * s / most) for offset, s in moved]
    height, width = error.shape
    reached = error
    for _ in range(steps):
        around = functional.pad(reached, (1, 1, 1, 1))
        reached = error.clone()
        for (dy, dx), share in shares:
            reached += share * around[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]
    return reached
