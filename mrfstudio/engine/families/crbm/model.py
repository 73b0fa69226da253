"""Conditional restricted Boltzmann machines: the biases of both layers depend on what is seen ([PI17], Eq. 2).

    φ(v, h | x) = hᵀAv + (a + Qx)ᵀh + (d + Rx)ᵀv,    log p(v, h | x) = φ(v, h | x) - log Z(x)

with units of 0 and 1, features x, and any number of hidden units: with none it is a logistic regression for each v_i.
Given x it is an RBM with soft evidence, so that every algorithm for RBMs works on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.data.binary_rows import binary_rows, image_shape
from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.families.rbm.model import RBM, BoltzmannError
from mrfstudio.engine.graphs.evidence import AnyEvidence, Evidence
from mrfstudio.engine.protocol.catalogue import integer, number
from mrfstudio.engine.registry import MODELS

if TYPE_CHECKING:
    from mrfstudio.engine.training.learner import TrainingData

NAMES = ("couplings", "hidden_bias", "visible_bias", "hidden_features", "visible_features", "iterations")
DECODERS = ("mean-field", "sum", "max", "mixed")
DEFAULT_ITERATIONS = 20
STEPS = {"learning_rate": 0.003, "batch_size": 100}


class CRBM:
    """A (H, V), a (H,), d (V,), Q (H, X) and R (V, X); how it is asked is part of it, because it was learned so.

    `decoder` is mean-field, or the product of matrix belief propagation; `iterations` () counts its steps.
    """

    kind = "crbm"

    def __init__(
        self,
        visible: int,
        features: int,
        hidden: int,
        *,
        image_shape: tuple[int, int] | list[int] | None = None,
        decoder: str = "mean-field",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        if min(visible, features) < 1 or hidden < 0:
            raise BoltzmannError(
                f"There are {visible} visible units, {features} features and {hidden} hidden units: "
                "expected at least 1, 1 and 0."
            )
        if decoder not in DECODERS:
            raise BoltzmannError(f"The decoder is {decoder!r}: expected one of {', '.join(DECODERS)}.")
        self.visible, self.features, self.hidden = int(visible), int(features), int(hidden)
        self.image_shape = None if image_shape is None else (int(image_shape[0]), int(image_shape[1]))
        self.decoder = decoder
        self.couplings = torch.zeros(hidden, visible, dtype=dtype)
        self.hidden_bias, self.visible_bias = torch.zeros(hidden, dtype=dtype), torch.zeros(visible, dtype=dtype)
        self.hidden_features = torch.zeros(hidden, features, dtype=dtype)
        self.visible_features = torch.zeros(visible, features, dtype=dtype)
        self.iterations = torch.tensor(float(DEFAULT_ITERATIONS))

    @property
    def dtype(self) -> torch.dtype:
        return self.couplings.dtype

    # The trainer's contract -------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        return {name: getattr(self, name) for name in NAMES}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the tensors of a model of the same size, or of one without hidden units: then ours stay as they are."""
        for name, tensor in self.tensors().items():
            given = tensors.get(name)
            if given is not None and given.ndim and len(given) == 0:
                continue
            if given is None or given.shape != tensor.shape or not bool(torch.isfinite(given).all()):
                found = "missing" if given is None else f"not finite or of shape {tuple(given.shape)}"
                raise BoltzmannError(f"The tensor {name!r} is {found}: expected finite {tuple(tensor.shape)}.")
            with torch.no_grad():
                tensor.copy_(given)

    def hyperparameters(self) -> dict[str, Any]:
        return {
            "visible": self.visible,
            "features": self.features,
            "hidden": self.hidden,
            "image_shape": None if self.image_shape is None else list(self.image_shape),
            "decoder": self.decoder,
        }

    def continue_as(self, hyperparameters: Mapping[str, Any]) -> None:
        """Be asked as the model of a file that this training goes on from: a run that is over has no more steps."""
        self.decoder = str(hyperparameters.get("decoder", self.decoder))

    # The distribution -------------------------------------------------------------------------------------------------

    def biases(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """a + Qx (B, H) and d + Rx (B, V) for features (B, X); gradients flow to the parameters."""
        hidden = torch.nn.functional.linear(features, self.hidden_features, self.hidden_bias)
        return hidden, torch.nn.functional.linear(features, self.visible_features, self.visible_bias)

    def evidence_from_image(
        self,
        grey: Tensor,
        unknown: Tensor | None = None,
        strength: Tensor | float = 1.0,
        hidden: Tensor | None = None,
    ) -> AnyEvidence:
        """A damaged picture (height, width) as what is seen; see `pixels.py`."""
        from mrfstudio.engine.families.crbm.pixels import seen_picture  # it imports this module

        return seen_picture(self, grey, unknown, strength, hidden)

    def bits(self, beliefs: Tensor, grey: Tensor) -> Tensor:
        """Cross-entropy in bits of beliefs (…, 2) at true values (…) from 0 to 1, for each pixel."""
        logs = torch.log2(beliefs.clamp_min(torch.finfo(beliefs.dtype).tiny))
        return -(grey * logs[..., 1] + (1 - grey) * logs[..., 0])

    @torch.inference_mode(False)  # kernels tell parameters apart by their versions, which inference mode does not count
    @torch.no_grad()
    def machine(self, features: Tensor, extra: Tensor | None = None) -> tuple[RBM, Evidence]:
        """The RBM with couplings A and no biases, and all biases given features (B, X) as evidence.

        `extra` (B, V) is added to the visible ones, such as the loss of a margin.
        """
        machine = RBM(self.visible, self.hidden, dtype=self.dtype, device=self.couplings.device)
        zeros = torch.zeros_like
        machine.set_binary_form(self.couplings, zeros(self.hidden_bias), zeros(self.visible_bias))
        hidden, visible = self.biases(features)
        if extra is not None:
            visible = visible + extra
        odds = torch.cat([visible, hidden], 1)
        return machine, Evidence(torch.stack([torch.zeros_like(odds), odds], -1))


def conditional_rows(batch: Mapping[str, Tensor], name: str = "data") -> tuple[Tensor, Tensor]:
    """What to predict (B, V) and what is seen (B, X) of a batch with `images` and `noisy_images`."""
    if not {"images", "noisy_images"} <= set(batch):
        raise BoltzmannError(
            f"The data {name!r} are no pairs of clean and damaged pictures: use --data noisy or noisy:FILE.npz."
        )
    return binary_rows({"images": batch["images"]}, name), binary_rows({"images": batch["noisy_images"]}, name)


def log_odds(states: Tensor, counted: Tensor) -> Tensor:
    """log P(1) / P(0) of each column of states (N, V) where `counted` (N, V) is 1, half a case more on each side."""
    on = (states * counted).sum(0)
    return torch.log((on + 0.5) / (counted.sum(0) - on + 0.5))


@MODELS.register
class ConditionalBoltzmann(ModelPlan):
    """A new CRBM."""

    name = "crbm"
    title = "Conditional RBM"
    default_data = "noisy"
    default_learner = "likelihood"
    learner_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        **dict.fromkeys(("pseudolikelihood", "cd", "max-margin"), STEPS),
        "perceptron": {**STEPS, "rival": "last"},  # measured: `best` makes more errors
        # Few iterations, and more as couplings grow, as in [PI17]; messages as matrices have the fast kernel.
        "likelihood": {**STEPS, "algorithm": "matrix-bp", "iterations": 7, "more_iterations": 1, "tolerance": 1e-3},
    }
    summary = "Predicts a whole binary picture from a damaged one; hidden units know what pictures look like."

    hidden: int = integer(256, "Hidden units; 0 is a logistic regression for each pixel.", low=0, high=100_000)
    start_scale: float = number(0.01, "Standard deviation of the first couplings.", low=0.0, advanced=True)

    @classmethod
    def shapes(cls, hyperparameters: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        visible, features, hidden = (int(hyperparameters[name]) for name in ("visible", "features", "hidden"))
        return {
            "couplings": (hidden, visible),
            "hidden_bias": (hidden,),
            "visible_bias": (visible,),
            "hidden_features": (hidden, features),
            "visible_features": (visible, features),
        }

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> CRBM:
        """An empty model like the one a file describes."""
        return CRBM(**hyperparameters)

    def build_for(self, data: TrainingData, seed: int) -> CRBM:
        """A new model for pairs of pictures: small random couplings, and each pixel by what is seen at its own place.

        R and d begin as the logistic regression of every pixel on that one feature, which counts give at once: from
        zero, most steps of a training would go into learning that damaged pictures resemble clean ones.
        """
        some = data.train[torch.arange(min(5000, len(data.train)))]
        clean, damaged = conditional_rows(some, data.name)
        model = CRBM(clean.shape[1], damaged.shape[1], self.hidden, image_shape=image_shape(some))
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            model.couplings.normal_(generator=generator).mul_(self.start_scale)
            model.hidden_features.normal_(generator=generator).mul_(self.start_scale)
            off = log_odds(clean, 1 - damaged)
            model.visible_bias.copy_(off)
            model.visible_features.diagonal().copy_(log_odds(clean, damaged) - off)
        for name in NAMES[:-1]:
            getattr(model, name).requires_grad_()
        return model
