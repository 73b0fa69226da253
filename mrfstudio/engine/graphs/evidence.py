"""Evidence: what a person says about single nodes.

Discrete models take `Evidence`, log-potentials. For a factor graph they are packed like its unary vector, (…, size);
for an image model there is one for each node and *label*, (…, height, width, labels). Hard evidence and "unknown" are
cases of it. Models with continuous nodes take `GaussianEvidence`, a precision for each node and that precision times a
mean.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from mrfstudio.engine.protocol.errors import StudioError

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")

SOFT_HINT = -10.0
"""Log-potential of the states that a hint speaks against: strength s < 1 gives s times this, strength 1 forbids."""


class ContradictoryEvidence(StudioError):
    """Every state of one node is impossible."""

    def __init__(self, node: Hashable) -> None:
        super().__init__(
            f"The evidence contradicts the model at node {node}: every state of it is impossible. "
            f"Take back evidence on it or on its neighbours; where there is none, the factors themselves disagree."
        )
        self.node = node


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyEvidence:
    """What every kind of evidence has: a place for values that are computed once from it and a model."""

    _derived: WeakKeyDictionary[Any, dict[str, Any]] = field(default_factory=WeakKeyDictionary, repr=False)

    @property
    def differentiated(self) -> bool:
        """Whether gradients flow into this evidence; then nothing is kept."""
        return False

    def derived(self, model: Any, key: str, make: Callable[[], T]) -> T:
        """A value computed once from this evidence and a model, such as their sum. Not kept while gradients flow."""
        if self.differentiated:
            return make()
        values = self._derived.setdefault(model, {})
        if key not in values:
            made = make()
            if getattr(made, "requires_grad", False):
                return made
            values[key] = made
        value: T = values[key]
        return value


@dataclass(frozen=True, eq=False)
class Evidence(AnyEvidence):
    """Log-potentials to be added to a model's own; 0 says nothing, -inf forbids."""

    log_potentials: Tensor

    @property
    def differentiated(self) -> bool:
        return self.log_potentials.requires_grad


@dataclass(frozen=True, eq=False)
class GaussianEvidence(AnyEvidence):
    """What is known of continuous nodes v, all (…, visible), in the model's own units.

    `observed` marks nodes that are known exactly, to be `values`. Every other node has a Gaussian potential
    exp(information · v - precision · v² / 2): information is precision × mean, and precision 0 says nothing.
    `hidden` (…, hidden) are log-odds added to binary hidden units; ±inf clamps one on or off, None says nothing.
    """

    values: Tensor
    observed: Tensor
    information: Tensor
    precision: Tensor
    hidden: Tensor | None = None
