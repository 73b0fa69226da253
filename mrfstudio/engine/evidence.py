"""Evidence: what a person says about single nodes, as log-potentials.

For a factor graph `log_potentials` is packed like its unary vector, (…, size); for an image model it is a
log-potential for each node and *label*, (…, height, width, labels). Hard evidence and "unknown" are cases of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from torch import Tensor

from mrfstudio.engine.errors import StudioError

T = TypeVar("T")


class ContradictoryEvidence(StudioError):
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
    _derived: WeakKeyDictionary[Any, dict[str, Any]] = field(default_factory=WeakKeyDictionary, repr=False)

    def derived(self, model: Any, key: str, make: Callable[[], T]) -> T:
        """A value computed once from this evidence and a model, such as their sum. Not kept while gradients flow."""
        if self.log_potentials.requires_grad:
            return make()
        values = self._derived.setdefault(model, {})
        if key not in values:
            made = make()
            if isinstance(made, Tensor) and made.requires_grad:
                return made
            values[key] = made
        value: T = values[key]
        return value
