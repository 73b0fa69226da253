"""How a family cuts photographs by scribbles: what `mrfstudio segment --scribbles` and a canvas need of it.

A family says it in a module of its folder:

    @scribbles("scored-grid")
    class ScoredScribbles(Scribbles): ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.protocol.catalogue import Parameters
from mrfstudio.engine.protocol.commands.photographs import Label
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import Parts


@dataclass(frozen=True, eq=False)
class Cut:
    """A photograph's answer at its own size: labels (height, width) from 1, and beliefs (labels, height, width)."""

    labels: NDArray[np.uint8]
    beliefs: NDArray[np.float16]


class Cutting(Protocol):
    """One photograph with strokes. States are values; a step is one iteration, so that each can be shown and kept."""

    def start(self) -> Any: ...

    def step(self, state: Any) -> Any: ...

    def settled(self, state: Any) -> bool: ...

    def beliefs(self, state: Any) -> Tensor:
        """Beliefs at the state's own level, (labels, height, width)."""
        ...


class Scribbles:
    """One family that cuts photographs."""

    settings: ClassVar[type[Parameters]]

    def open(self, rgb: NDArray[np.uint8]) -> Any:
        """What is made once for a photograph (height, width, 3), for every stroke on it."""
        raise NotImplementedError

    def cut(
        self,
        opened: Any,
        strokes: NDArray[np.uint8],
        labels: int,
        settings: Parameters | None = None,
        model: Any = None,
    ) -> Cutting:
        """Strokes (height, width): 0 nothing, 1 … labels, soft ones + LEANING. Raises `StudioError`.

        With a model that was kept, labels are its own in order, and those without strokes are known by it.
        """
        raise NotImplementedError

    def labels(self, model: Any) -> tuple[Label, ...]:
        """The labels of a kept model, in order. Raises `StudioError` for models that know none."""
        raise NotImplementedError

    def answer(self, cutting: Any, state: Any) -> Cut:
        """Labels and beliefs at the photograph's own size."""
        raise NotImplementedError

    def refined(self, rgb: NDArray[np.uint8], belief: NDArray[np.floating]) -> NDArray[np.float32]:
        """Alpha (height, width) of a label from its beliefs, with hair and soft borders."""
        raise NotImplementedError

    def fitted(
        self, examples: Sequence[tuple[Any, NDArray[np.floating]]], labels: Sequence[Any]
    ) -> tuple[Any, dict[str, Any]]:
        """A model for opened photographs with beliefs (labels, height, width) of any size, and its card.

        `labels` are (number, title, #rrggbb) each, in order.
        """
        raise NotImplementedError

    def outside(self, cutting: Any) -> int:
        """The label, from 1, that lies around everything: a cut-out leaves it away."""
        raise NotImplementedError


SCRIBBLES: Parts[Scribbles] = Parts()
ScribblesClass = TypeVar("ScribblesClass", bound=type[Scribbles])


def scribbles(*kinds: str) -> Callable[[ScribblesClass], ScribblesClass]:
    """Class decorator: this family cuts photographs."""

    def register(cls: ScribblesClass) -> ScribblesClass:
        SCRIBBLES.register(*kinds)(cls())
        return cls

    return register


def cutter() -> Scribbles:
    """The family that cuts photographs where nobody names one."""
    kinds = SCRIBBLES.kinds()
    if not kinds:
        raise StudioError("No family of this copy cuts photographs.")
    return SCRIBBLES[kinds[0]]
