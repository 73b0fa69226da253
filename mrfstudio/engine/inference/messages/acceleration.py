"""Anderson acceleration: the next messages from what the last steps have taught about the map.

A fixed-point map m → g(m) with f(m) = g(m) - m has seen messages m_1 … m_k. The combination of their differences that
would have made f vanish, were g linear, is

    γ = argmin ‖f_k - Σ_j γ_j (f_{j+1} - f_j)‖,     m_{k+1} = m_k + β f_k - Σ_j γ_j (m_{j+1} - m_j + β (f_{j+1} - f_j)),

with β = 1 - damping. Near a fixed point that is nearly Newton's method, where plain steps of a strong graph close in by
a thousandth at a time. Where the residual has doubled since its best, what was learned is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mrfstudio.engine.runtime.device import wide

MOST_NUMBERS = 1_000_000
"""Numbers that the remembered messages may have together: states are kept in histories and files."""
REGULARISER = 1e-13


@dataclass(frozen=True, eq=False)
class AccelerationMemory:
    """Past messages and steps, both (k, …, messages), newest last, and the best residual since it was begun."""

    messages: Tensor
    steps: Tensor
    best: Tensor

    @classmethod
    def none(cls, messages: Tensor) -> AccelerationMemory:
        """A memory of nothing, for messages (…, messages)."""
        empty = messages.new_zeros((0, *messages.shape))
        return cls(empty, empty, messages.new_full((), torch.inf))

    def remembering(self, messages: Tensor, step: Tensor, residual: Tensor, most: int) -> AccelerationMemory:
        """With one more; restarted where the residual has doubled, or is of another shape."""
        most = max(2, min(most, MOST_NUMBERS // max(1, messages.numel())))
        if self.messages.shape[1:] != messages.shape or not bool(residual <= 2 * self.best):
            return AccelerationMemory(messages[None], step[None], residual)
        return AccelerationMemory(
            torch.cat([self.messages, messages[None]])[-most - 1 :],
            torch.cat([self.steps, step[None]])[-most - 1 :],
            torch.minimum(self.best, residual),
        )

    def next(self, keep: float) -> Tensor:
        """m_{k+1} for 1 - β = `keep`."""
        newest, step = self.messages[-1], self.steps[-1]
        plain = newest + (1 - keep) * step
        if len(self.messages) < 2:
            return plain
        turns = wide((self.steps[1:] - self.steps[:-1]).movedim(0, -2))  # (…, k, messages)
        moves = wide((self.messages[1:] - self.messages[:-1]).movedim(0, -2))
        gram = turns @ turns.mT
        size = gram.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]
        eye = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
        floor = torch.finfo(gram.dtype).tiny
        gamma = torch.linalg.solve(gram + (REGULARISER * size + floor) * eye, (turns @ wide(step)[..., None]))
        correction = (gamma.mT @ (moves + (1 - keep) * turns)).squeeze(-2)
        found = plain - correction.to(plain.dtype)
        return torch.where(torch.isfinite(found).all(), found, plain)
