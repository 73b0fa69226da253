"""Evidence: what a person says about single nodes, as log-potentials.

For a factor graph `log_potentials` is packed like its unary vector, (…, size); for an image model it is a
log-potential for each node and *label*, (…, height, width, labels). Hard evidence and "unknown" are cases of it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from torch import Tensor


class ContradictoryEvidence(ValueError):
    """Every state of one node is impossible."""

    def __init__(self, node: Hashable) -> None:
        super().__init__(
            f"The evidence contradicts the model at node {node}: every state of it is impossible. "
            f"Take back evidence on it or on its neighbours."
        )
        self.node = node


@dataclass(frozen=True, eq=False)
class Evidence:
    """Log-potentials to be added to a model's own; 0 says nothing, -inf forbids."""

    log_potentials: Tensor
