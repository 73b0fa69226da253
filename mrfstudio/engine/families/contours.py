"""How a kind of model says what is inside a contour: what Segment and `mrfstudio segment` need of a family.

A family of models that know the labels CONTOUR, OUT and IN says it in `contours.py` of its folder:

    @contours("grid")
    class GridContours(Contours): ...

and then segments in the window and by command.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.graphs.evidence import AnyEvidence
from mrfstudio.engine.protocol.answers import CloneGallery
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import ALGORITHMS, Parts

SEEN, UNSEEN, UNKNOWN = 0, 1, 2
"""What a pixel shows: a contour, none, or something of which nothing is known."""
FLOAT = 4  # bytes


class ContourModel(Protocol):
    """What a model that segments has besides the trainer's contract."""

    @property
    def kind(self) -> str: ...

    @property
    def label_names(self) -> Sequence[str]:
        """CONTOUR, OUT, IN."""

    def evidence_from_image(self, noisy: Any) -> AnyEvidence:
        """What an image (height, width) says: 0 where a contour is seen, 1 where none is."""

    def label_beliefs(self, beliefs: Tensor) -> Tensor:
        """Beliefs of the model's own states as those of labels, (…, labels)."""


class Contours:
    """One kind of model that segments. Beliefs are (height, width, states); the first states may be clones."""

    algorithms: ClassVar[tuple[str, ...]] = ("bp",)
    """Those with a kernel for it; on a factor graph of all pixels an iteration would take seconds."""

    def evidence(
        self, model: Any, observed: NDArray[np.uint8], strength: NDArray[np.float32], hints: NDArray[np.float32]
    ) -> Tensor:
        """Log-potentials (height, width, labels) of `SEEN`, `UNSEEN` and `UNKNOWN` pixels, in the model's precision.

        `hints`, of the same shape, are log-potentials that a person's hints add.
        """
        raise NotImplementedError

    def states(self, model: Any) -> int:
        """States of a pixel."""
        return len(model.label_names)

    def memory(self, model: Any) -> int:
        """Bytes that inference takes for a pixel."""
        return self.states(model) * FLOAT

    def iterations(self, model: Any) -> int | None:
        """How many iterations an answer takes; None where nothing says so."""
        return None

    def unlike(self, model: Any, evidence: Any, state: Any) -> str | None:
        """One sentence where the picture of a settled state is unlike what the model learned; None where it is not."""
        return None

    def sizes_of(self, hyperparameters: Mapping[str, Any]) -> tuple[int, int] | None:
        """Sizes of figures, in pixels, that a model fills, as its card says; None where that is not known."""
        return None

    def clones(self, model: Any) -> int:
        """How many of the first states are clones of CONTOUR, for the clone browser; 0 where there are none."""
        return 0

    def ownership(self, model: Any) -> NDArray[np.float32]:
        """Where each clone expects IN: radians counter-clockwise from right, NaN if nowhere, (clones,)."""
        return np.zeros(0, np.float32)

    def gallery(self, model: Any, name: str, images: int | None) -> Generator[tuple[int, int], None, CloneGallery]:
        """What the clones have learned, measured on so many images; yields (done, total)."""
        raise StudioError(f"The model {name} has no clones to look at.")

    def clones_of(self, hyperparameters: Mapping[str, Any]) -> int:
        """As `clones`, from what a card says. Of two models the one with more is taken for the better one."""
        return 0

    def pixel_of(self, tensor: str, index: tuple[int, ...]) -> int | None:
        """The number of the pixel that an entry of a state's tensor belongs to, row by row; None where unknown."""
        return None


CONTOURS: Parts[Contours] = Parts("contours")
ContoursClass = TypeVar("ContoursClass", bound=type[Contours])


def contours(*kinds: str) -> Callable[[ContoursClass], ContoursClass]:
    """Class decorator: models of these kinds segment contours."""

    def register(cls: ContoursClass) -> ContoursClass:
        CONTOURS.register(*kinds)(cls())
        return cls

    return register


def contours_of(model: Any) -> Contours:
    """How to treat a model. Raises `StudioError` for one that segments no contours."""
    found = CONTOURS.of(model)
    if found is None:
        raise StudioError(f"A {model.kind} segments no contours: choose one of {', '.join(CONTOURS.kinds())}.")
    return found


def contour_algorithms() -> tuple[str, ...]:
    """Every algorithm that some kind of model segments with."""
    wanted = {name for kind in CONTOURS.kinds() for name in CONTOURS[kind].algorithms}
    return tuple(name for name in ALGORITHMS.names() if name in wanted)
