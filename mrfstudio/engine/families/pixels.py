"""How a kind of model takes a picture and gives one back: what Inpaint and `mrfstudio inpaint` need of a family.

A family of models of pictures says it in `pixels.py` of its folder:

    @pixels("rbm", "dbm")
    class BinaryPixels(Pixels): ...

and then fills in pictures in the window and by command. Grey levels are numbers from 0 (black) to 1 (white) unless a
name says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.graphs.evidence import AnyEvidence
from mrfstudio.engine.inference.algorithm import Algorithm, State
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import ALGORITHMS, Parts
from mrfstudio.engine.runtime.device import to_host

Grey = NDArray[np.float32]


class PictureModel(Protocol):
    """What a model of pictures has besides the trainer's contract; pictures are (height, width)."""

    @property
    def kind(self) -> str: ...

    @property
    def image_shape(self) -> Sequence[int] | None:
        """Height and width; None for a model that was trained on rows."""

    def evidence_from_image(
        self, grey: Tensor, unknown: Tensor | None = None, strength: Tensor | float = 1.0, hidden: Tensor | None = None
    ) -> AnyEvidence:
        """What a picture says where it is not `unknown`, and how firmly.

        `hidden` (hidden,) are log-odds of hidden units, ±inf holds one; only models that have some are given any.
        """

    def bits(self, beliefs: Tensor, grey: Tensor) -> Tensor:
        """Cross-entropy in bits (…) of each pixel's belief at its true grey level (…)."""


class Pixels:
    """One kind of model of pictures. Beliefs (height, width, k) hold the probabilities of k even grey levels.

    A family whose beliefs hold something else overrides what reads them.
    """

    algorithms: ClassVar[tuple[str, ...]] = ("bp", "gibbs")
    """What fills in pictures; others would work on a factor graph of a hundred thousand edges."""
    field_unit: ClassVar[str] = "log-odds of white"
    """What `fields` are measured in."""

    answers_all: ClassVar[bool] = False
    """Whether the answer is another picture than the one given, so that known pixels change too."""

    def shape(self, model: PictureModel) -> tuple[int, int]:
        """Raises `StudioError` for a model that was trained on rows."""
        if model.image_shape is None:
            raise StudioError("This model was trained on rows, not on pictures: choose one with an image shape.")
        height, width = model.image_shape
        return int(height), int(width)

    def mean_and_deviation(self, beliefs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation (height, width) of each pixel's belief."""
        levels = torch.linspace(0, 1, beliefs.shape[-1], dtype=beliefs.dtype, device=beliefs.device)
        mean = (beliefs * levels).sum(-1)
        return mean, ((beliefs * levels**2).sum(-1) - mean**2).clamp_min(0).sqrt()

    def histogram(self, beliefs: Tensor, pixel: tuple[int, int]) -> NDArray[np.float64]:
        """The probability of each of some equal parts of the grey scale, (parts,)."""
        return np.asarray(to_host(beliefs[pixel].double()))

    def drawn(self, model: Any, sampler: Algorithm, evidence: Any, state: State) -> Tensor:
        """What the chains of a sampler show, (chains, height, width); their hidden units are drawn, pixels are means.

        Pixels drawn each by itself would look like static. A family without hidden units shows where its chains are.
        """
        return sampler.samples(model, evidence, state)

    def unlike(self, model: Any, evidence: Any) -> str | None:
        """Why a picture is unlike those that the model has learned, in one sentence; None where it is not."""
        return None

    def brightness(self, model: Any) -> tuple[float, float] | None:
        """Mean and deviation of the grey levels that the model was trained on; None where it knows none."""
        return None

    def hidden(self, model: Any) -> int:
        """Hidden units that are shown and can be held."""
        return int(getattr(model, "hidden", 0))

    def fields(self, model: Any) -> Grey:
        """What turning each hidden unit on adds to the picture, (hidden, height, width)."""
        if not self.hidden(model):
            return np.zeros((0, *self.shape(model)), np.float32)
        return np.ascontiguousarray(to_host(model.receptive_fields().float()))


PIXELS: Parts[Pixels] = Parts("pixels")
PixelsClass = TypeVar("PixelsClass", bound=type[Pixels])


def pixels(*kinds: str) -> Callable[[PixelsClass], PixelsClass]:
    """Class decorator: models of these kinds fill in pictures."""

    def register(cls: PixelsClass) -> PixelsClass:
        PIXELS.register(*kinds)(cls())
        return cls

    return register


def pixels_of(model: Any) -> Pixels:
    """How to treat a model. Raises `StudioError` for one that is no model of pictures."""
    found = PIXELS.of(model)
    if found is None:
        raise StudioError(f"A {model.kind} fills in no pictures: choose one of {', '.join(PIXELS.kinds())}.")
    return found


def picture_algorithms() -> tuple[str, ...]:
    """Every algorithm that some kind of model fills in pictures with."""
    wanted = {name for kind in PIXELS.kinds() for name in PIXELS[kind].algorithms}
    return tuple(name for name in ALGORITHMS.names() if name in wanted)


def clamp_log_odds(model: Any, held: Mapping[int, int]) -> Tensor | None:
    """Log-odds (hidden,) that hold units on or off; None if there are none. Raises for units it does not have."""
    if not held:
        return None
    hidden = pixels_of(model).hidden(model)
    beyond = [unit for unit in held if unit >= hidden]
    if beyond:
        known = f"has the units 0 to {hidden - 1}" if hidden else "has no hidden units"
        raise StudioError(f"Unit {beyond[0]} was to be held: this model {known}.")
    odds = torch.zeros(hidden)
    for unit, value in held.items():
        odds[unit] = torch.inf if value else -torch.inf
    return odds
