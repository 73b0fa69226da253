"""The Gaussian restricted Boltzmann machine: continuous pixels v, binary hidden units h.

    log p(v, h) = -½ Σ_i τ_i (v_i - b_i)² + cᵀh + hᵀWv - log Z,     so     v | h ~ N(b + Wᵀh/τ, 1/τ)

with a precision τ_i for each pixel: 1 everywhere, as in [QT21], or learned. Inside, pixels are in
standard units, v = (grey - mean) / deviation with one mean and deviation for all pixels; both are kept in the model, so
that it takes and gives grey levels from 0 (black) to 1 (white).

What other rooms use of it:

    model.image_shape, model.visible, model.hidden          (height, width), height · width, hidden units
    model.evidence_from_image(grey, unknown)                GaussianEvidence of a picture (…, height, width)
    model.evidence_from_image(grey, unknown, strength)      the same with soft evidence where strength < 1
    bp.beliefs(model, evidence, state)                      (…, height, width, 2): mean and variance, grey levels
    bp.hidden_beliefs(model, evidence, state)               (…, hidden): p(h = 1)
    gibbs.samples(model, evidence, state)                   (chains, height, width): pictures drawn, grey levels
    model.bits(beliefs, grey)                               cross-entropy of each pixel, bits in standard units
    model.receptive_fields()                                (hidden, height, width): what turning a unit on adds
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.families.grbm.components import component_start
from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.graphs.evidence import GaussianEvidence
from mrfstudio.engine.protocol.catalogue import choice, integer, number
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import MODELS

if TYPE_CHECKING:
    from mrfstudio.engine.training.learner import TrainingData

FLOOR = 0.1
"""Part of a pixel's own precision below which that of its belief may not fall; see `families/grbm/messages.py`."""
STRONGEST = 1e6
"""Precision of soft evidence in units of τ, at most: strengths next to 1 would overflow."""


class GrbmError(StudioError):
    """A GRBM that cannot be: sizes that do not fit, numbers that are not finite."""


class GRBM:
    """The parameters: weights W (hidden, visible), visible_bias b, hidden_bias c, log_precision log τ."""

    kind = "grbm"

    def __init__(
        self,
        image_shape: Sequence[int],
        hidden: int,
        *,
        variance: str = "learned",
        floor: float = FLOOR,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.image_shape = (int(image_shape[0]), int(image_shape[1]))
        self.hidden, self.variance, self.floor = int(hidden), variance, float(floor)
        self._check()
        self.weights = torch.zeros(self.hidden, self.visible, dtype=dtype)
        self.visible_bias = torch.zeros(self.visible, dtype=dtype)
        self.hidden_bias = torch.zeros(self.hidden, dtype=dtype)
        self.log_precision = torch.zeros(self.visible, dtype=dtype)
        self.mean, self.deviation = torch.zeros((), dtype=dtype), torch.ones((), dtype=dtype)

    def _check(self) -> None:
        if min(self.image_shape) < 1 or self.hidden < 1:
            size = f"{self.image_shape[1]}×{self.image_shape[0]} pixels and {self.hidden} hidden units"
            raise GrbmError(f"A GRBM of {size} is empty: expected at least one of each.")
        if self.variance not in ("unit", "learned"):
            raise GrbmError(f"The variance is {self.variance!r}: expected unit or learned.")
        if not 0 < self.floor <= 1:
            raise GrbmError(f"The floor of precisions is {self.floor}: expected a part of τ in (0, 1].")

    @property
    def visible(self) -> int:
        return self.image_shape[0] * self.image_shape[1]

    @property
    def precision(self) -> Tensor:
        """τ (visible,)."""
        return self.log_precision.exp()

    # The trainer's contract -------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        names = ("weights", "visible_bias", "hidden_bias", "log_precision", "mean", "deviation")
        return {name: getattr(self, name) for name in names}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the tensors of an equal model, or of one with fewer hidden units: the others then stay as they are."""
        tensors = self._grown(tensors)
        for name, tensor in self.tensors().items():
            given = tensors.get(name)
            if given is None or given.shape != tensor.shape:
                found = "missing" if given is None else tuple(given.shape)
                raise GrbmError(f"The tensor {name!r} is {found}: expected shape {tuple(tensor.shape)}.")
            if not bool(torch.isfinite(given).all()):
                raise GrbmError(f"The tensor {name!r} holds numbers that are not finite: expected finite ones.")
            with torch.no_grad():
                tensor.copy_(given)
        if self.variance == "unit" and bool(self.log_precision.detach().any()):
            raise GrbmError("The variance is unit, but some precisions are not 1: expected variance learned.")
        if not float(self.deviation) > 0:
            raise GrbmError(f"The deviation of grey levels is {float(self.deviation)}: expected a number above 0.")

    def _grown(self, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Tensors of a smaller model with this one's further units behind its own: large models best grow from small.

        Weights (fewer, visible) become (hidden, visible), and biases (fewer,) become (hidden,). A further unit is on
        half of the time at first, if its bias is 0 at the mean picture; the pixels' biases make up for what it then
        adds.
        """
        weights, bias = tensors.get("weights"), tensors.get("hidden_bias")
        if weights is None or bias is None or weights.ndim != 2 or not 0 < len(weights) < self.hidden:
            return tensors
        if weights.shape[1] != self.visible or bias.shape != (len(weights),):
            return tensors
        further = self.weights.detach()[len(weights) :]
        precision, start = torch.exp(tensors["log_precision"]), tensors["visible_bias"]
        middle = start + torch.sigmoid(bias + weights @ start) @ weights / precision
        return {
            **tensors,
            "weights": torch.cat([weights, further]),
            "hidden_bias": torch.cat([bias, -further @ middle]),
            "visible_bias": start - 0.5 * further.sum(0) / precision,
        }

    def hyperparameters(self) -> dict[str, Any]:
        return {
            "image_shape": list(self.image_shape),
            "hidden": self.hidden,
            "variance": self.variance,
            "floor": self.floor,
        }

    def trained(self) -> GRBM:
        """This model with gradients on everything that is learned."""
        for name in (
            "weights",
            "visible_bias",
            "hidden_bias",
            *(["log_precision"] if self.variance == "learned" else []),
        ):
            getattr(self, name).requires_grad_()
        return self

    def to(self, dtype: torch.dtype) -> GRBM:
        """The same model in another precision."""
        other = GRBM(**self.hyperparameters(), dtype=dtype)
        other.load_tensors({name: tensor.detach() for name, tensor in self.tensors().items()})
        return other

    # Grey levels and standard units -----------------------------------------------------------------------------------

    def standardise(self, grey: Tensor) -> Tensor:
        """Grey levels (…, height, width) in standard units, (…, visible)."""
        if grey.shape[-2:] != self.image_shape:
            height, width = self.image_shape
            raise GrbmError(f"The picture has shape {tuple(grey.shape)}: this model takes {width}×{height} pixels.")
        flat = grey.to(self.weights.dtype).flatten(-2)
        return (flat - self.mean) / self.deviation

    def to_grey(self, standard: Tensor) -> Tensor:
        """Standard units (…, visible) as grey levels (…, height, width)."""
        return (standard * self.deviation + self.mean).unflatten(-1, self.image_shape)

    def gaussian_beliefs(self, mean: Tensor, variance: Tensor) -> Tensor:
        """Mean and variance (…, visible) in standard units as beliefs (…, height, width, 2) in grey levels."""
        grey = (variance * self.deviation.square()).unflatten(-1, self.image_shape)
        return torch.stack([self.to_grey(mean), grey], -1)

    def bits(self, beliefs: Tensor, grey: Tensor) -> Tensor:
        """-log2 of the belief's density at the true grey levels, (…, height, width), in standard units.

        Standard units make the number comparable between pictures of different contrast. Pixels that were observed
        (variance 0) have no density and give 0.
        """
        mean, variance = beliefs.unbind(-1)
        known = variance <= 0
        scaled = torch.where(known, 1.0, variance) / self.deviation.square()
        error = (grey - mean).square() / self.deviation.square()
        nats = 0.5 * (math.log(2 * math.pi) + scaled.log() + error / scaled)
        return torch.where(known, 0.0, nats / math.log(2))

    def receptive_fields(self) -> Tensor:
        """What turning a hidden unit on adds to the picture, (hidden, height, width) in grey levels: W/τ."""
        shift = self.weights / self.precision * self.deviation
        return shift.detach().unflatten(-1, self.image_shape)

    # Evidence ---------------------------------------------------------------------------------------------------------

    def evidence_from_image(
        self,
        grey: Tensor,
        unknown: Tensor | None = None,
        strength: Tensor | float = 1.0,
        hidden: Tensor | None = None,
    ) -> GaussianEvidence:
        """What a picture says where it is not `unknown`; all (…, height, width), grey levels from 0 to 1.

        `strength` s in (0, 1] is how firmly: 1 observes the pixel exactly, less gives it precision τ·s/(1 - s) around
        its grey level, 0 says nothing. `hidden` (…, hidden) are log-odds for hidden units; ±inf clamps them.
        """
        values = self.standardise(grey)
        shape = values.shape
        firm = torch.as_tensor(strength, dtype=values.dtype, device=values.device).expand(*grey.shape).flatten(-2)
        if not bool(torch.isfinite(values).all()):
            raise GrbmError("The picture holds values that are not finite: expected grey levels from 0 to 1.")
        if not bool(((firm >= 0) & (firm <= 1)).all()):
            raise GrbmError(
                f"The strength reaches from {firm.min():g} to {firm.max():g}: expected numbers from 0 to 1."
            )
        if unknown is not None:
            firm = torch.where(unknown.expand(*grey.shape).flatten(-2).bool(), 0.0, firm)
        observed = firm >= 1
        soft = torch.where(observed, 0.0, firm)
        precision = self.precision.detach() * (soft / (1 - soft)).clamp_max(STRONGEST)
        kept = torch.where(firm > 0, values, 0.0)
        return GaussianEvidence(kept, observed.expand(shape), precision * kept, precision, hidden=hidden)


@MODELS.register
class GrbmPlan(ModelPlan):
    """What a person chooses about a new GRBM."""

    name = "grbm"
    title = "Gaussian RBM"
    summary = "Grey pictures with binary hidden units; fills in missing pixels with a mean and a standard deviation."
    default_data = "faces"
    settled_after = 50
    """Iterations after which beliefs have settled; it learns with fewer, first-order ones among them."""
    learner_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "query": {
            "learning_rate": 5e-3,
            "batch_size": 32,
            "iterations": 10,
            "first_iterations": 4,
            "growth": 1.0,
            "jitter": 1,
            "readouts": 2,
            "first_order": 0.95,
            "clip_norm": 0.5,
            "averaging": 0.998,
            "images_at_once": 4,  # one at a time, two threads wait for each other's calls more than they compute
            "beta2": 0.999,
        }
    }

    hidden: int = integer(200, "Hidden units.", low=1, high=100_000, logarithmic=True)
    variance: str = choice(
        "learned", ("unit", "learned"), "Whether pixels have variance 1 given the hidden units, or each one its own."
    )
    floor: float = number(
        FLOOR,
        "Part of a pixel's own precision below which its belief's may not fall: messages stay finite.",
        low=0.0,
        high=1.0,
        low_open=True,
        advanced=True,
    )
    start: str = choice(
        "noise",
        ("noise", "components"),
        "First weights at random, or along the principal components of the data: a start that is far ahead.",
    )
    start_noise: float = number(0.05, "Standard deviation of the first weights.", low=0.0, advanced=True)

    @classmethod
    def shapes(cls, hyperparameters: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        height, width = (int(side) for side in hyperparameters["image_shape"])
        hidden, visible = int(hyperparameters["hidden"]), height * width
        units = {"visible_bias": (visible,), "hidden_bias": (hidden,), "log_precision": (visible,)}
        return {"weights": (hidden, visible), **units, "mean": (), "deviation": ()}

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> GRBM:
        """An empty model like the one a file describes."""
        return GRBM(**hyperparameters)

    def build_for(self, data: TrainingData, seed: int) -> GRBM:
        """A new model as large as the pictures, which starts from the mean and the variance of every pixel."""
        grey = pictures_of(data.train[torch.arange(len(data.train))], data.name)
        model = GRBM(grey.shape[-2:], self.hidden, variance=self.variance, floor=self.floor)
        mean, deviation = grey.mean(), grey.std(correction=0)
        if "mean" in data.constants and "deviation" in data.constants:  # in 8-bit grey levels, of the whole part
            mean, deviation = (torch.as_tensor(data.constants[key] / 255) for key in ("mean", "deviation"))
        with torch.no_grad():
            model.mean.copy_(mean)
            # A data set of equal pictures has no deviation; any unit will do then.
            model.deviation.copy_(deviation if float(deviation) > 0 else torch.ones(()))
            pixels = model.standardise(grey)
            model.visible_bias.copy_(pixels.mean(0))
            if self.variance == "learned":
                # Half of a pixel's variance is left to the hidden units; a pixel that never changes keeps a little.
                model.log_precision.copy_(-torch.log(0.5 * pixels.var(0, correction=0) + 1e-4))
            generator = torch.Generator().manual_seed(seed)
            model.weights.copy_(self.start_noise * torch.randn(model.weights.shape, generator=generator))
            if self.start == "components":
                self._put_components(model, pixels)
        return model.trained()

    def _put_components(self, model: GRBM, pixels: Tensor) -> None:
        """Staircases along the principal components of pixels (N, visible), in standard units.

        The random weights stay on top: they make equal units differ.
        """
        found = component_start(pixels, self.hidden, None if self.variance == "learned" else model.precision)
        model.weights += found.weights.to(model.weights)
        model.visible_bias.copy_(found.visible_bias)
        model.hidden_bias.copy_(found.hidden_bias)
        model.log_precision.copy_(found.precision.log())


def pictures_of(batch: Any, name: str = "") -> Tensor:
    """The pictures of a batch as grey levels (batch, height, width) float32 from 0 to 1; bytes are divided by 255."""
    images = batch.get("images") if isinstance(batch, Mapping) else batch
    if not isinstance(images, Tensor) or images.ndim != 3:
        raise GrbmError(f"The data {name!r} are no grey pictures: try faces, frey:FILE.npz or images:FOLDER.")
    return images.float() / 255 if images.dtype == torch.uint8 else images.float()
