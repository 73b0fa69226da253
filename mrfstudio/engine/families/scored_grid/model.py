"""A grid whose scores come from a network of the picture [McA19]: labels of pixels, and what neighbours agree on.

Three convolutions of 3×3 see the picture and whether a pixel is on its rim; one head gives each pixel a score for each
label, another gives each pair of neighbours a score for each pair of labels, from the mean of what both see. Heads of
edges begin at zero: the untrained model is a classifier of pixels, and training starts from something that works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.families.scored_grid.field import UNLABELLED, ScoreField
from mrfstudio.engine.protocol.catalogue import integer
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import MODELS

if TYPE_CHECKING:
    from mrfstudio.engine.training.learner import TrainingData

LAYERS = 3
NO_LABEL = 255
"""Value of a pixel without a label in pictures of labels."""
MOST_LABELS = 32
STEPS = {"learning_rate": 0.003, "batch_size": 10}


def tensor_shapes(labels: int, channels: int, features: int) -> dict[str, tuple[int, ...]]:
    """The shapes of all tensors of a model."""
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in range(LAYERS):
        inputs = channels + 1 if layer == 0 else features
        shapes[f"layer.{layer}.weight"] = (features, inputs, 3, 3)
        shapes[f"layer.{layer}.bias"] = (features,)
    for head, outputs in (("node", labels), ("right", labels**2), ("down", labels**2)):
        shapes[f"{head}.weight"] = (outputs, features)
        shapes[f"{head}.bias"] = (outputs,)
    return shapes


class ScoredGrid:
    """Weights of the network: `layer.K.weight`, `layer.K.bias`, and `node`, `right`, `down` heads by name."""

    kind = "scored-grid"

    def __init__(
        self, labels: int, channels: int = 1, features: int = 16, *, dtype: torch.dtype = torch.float32
    ) -> None:
        if not 2 <= labels <= MOST_LABELS or channels not in (1, 3) or features < 1:
            raise StudioError(
                f"The model has {labels} labels, {channels} channels and {features} features: expected 2 to "
                f"{MOST_LABELS} labels, 1 or 3 channels and at least 1 feature."
            )
        self.labels, self.channels, self.features = int(labels), int(channels), int(features)
        shapes = tensor_shapes(self.labels, self.channels, self.features)
        self._tensors = {name: torch.zeros(shape, dtype=dtype) for name, shape in shapes.items()}

    @property
    def dtype(self) -> torch.dtype:
        return self._tensors["node.bias"].dtype

    # The trainer's contract -------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        return dict(self._tensors)

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the tensors of a model of the same size."""
        for name, tensor in self._tensors.items():
            given = tensors.get(name)
            if given is None or given.shape != tensor.shape or not bool(torch.isfinite(given).all()):
                found = "missing" if given is None else f"not finite or of shape {tuple(given.shape)}"
                raise StudioError(f"The tensor {name!r} is {found}: expected finite {tuple(tensor.shape)}.")
            with torch.no_grad():
                tensor.copy_(given)

    def hyperparameters(self) -> dict[str, Any]:
        return {"labels": self.labels, "channels": self.channels, "features": self.features}

    def randomise(self, seed: int) -> None:
        """Convolutions by He's rule, node heads small, edge heads zero."""
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for layer in range(LAYERS):
                weight = self._tensors[f"layer.{layer}.weight"]
                weight.normal_(generator=generator).mul_((2 / (9 * weight.shape[1])) ** 0.5)
            self._tensors["node.weight"].normal_(generator=generator).mul_(self.features**-0.5)

    # The distribution -------------------------------------------------------------------------------------------------

    def field(self, pictures: Tensor) -> ScoreField:
        """Scores given pictures (…, channels, H, W) in [0, 1]; gradients flow to the parameters."""
        batch = pictures.reshape(-1, *pictures.shape[-3:]).to(self.dtype)
        if batch.shape[1] != self.channels:
            raise StudioError(f"The pictures have {batch.shape[1]} channels: this model takes {self.channels}.")
        rim = functional.pad(torch.zeros_like(batch[:, :1, 1:-1, 1:-1]), (1, 1, 1, 1), value=1.0)
        if rim.shape[-2:] != batch.shape[-2:]:
            rim = torch.ones_like(batch[:, :1])  # a picture of one or two rows is all rim
        seen = torch.cat([batch, rim], 1)
        for layer in range(LAYERS):
            weight, bias = self._tensors[f"layer.{layer}.weight"], self._tensors[f"layer.{layer}.bias"]
            seen = functional.relu(functional.conv2d(seen, weight, bias, padding=1))
        seen = seen.permute(0, 2, 3, 1)
        node = functional.linear(seen, self._tensors["node.weight"], self._tensors["node.bias"])
        right = self._edges("right", (seen[:, :, 1:] + seen[:, :, :-1]) / 2)
        down = self._edges("down", (seen[:, 1:] + seen[:, :-1]) / 2)
        leading = pictures.shape[:-3]
        return ScoreField(*(each.reshape(*leading, *each.shape[1:]) for each in (node, right, down)))

    def _edges(self, head: str, seen: Tensor) -> Tensor:
        """Edge scores (…, labels, labels) of features (…, features)."""
        scores = functional.linear(seen, self._tensors[f"{head}.weight"], self._tensors[f"{head}.bias"])
        return scores.reshape(*seen.shape[:-1], self.labels, self.labels)


def pictures_of(batch: Mapping[str, Tensor]) -> Tensor:
    """Pictures (B, channels, H, W) in [0, 1]: `pictures` (B, H, W, 3) of 8 bits, or `noisy_images`, 1 where seen."""
    if "pictures" in batch:
        return batch["pictures"].permute(0, 3, 1, 2).float() / 255
    if "noisy_images" not in batch:
        raise StudioError("The data have no pictures beside their labels: use --data border or painted:FOLDER.")
    return (batch["noisy_images"] == 0).float().unsqueeze(1)


def labels_of(batch: Mapping[str, Tensor], labels: int) -> Tensor:
    """Labels (B, H, W); 255 becomes UNLABELLED."""
    given = batch["images"].long()
    given = torch.where(given == NO_LABEL, UNLABELLED, given)
    if int(given.max()) >= labels:
        raise StudioError(f"The data have a label {int(given.max())}: this model knows 0 to {labels - 1}.")
    return given


@MODELS.register
class ScoredGridPlan(ModelPlan):
    """A new scored grid."""

    name = "scored-grid"
    title = "Scored grid"
    default_data = "border"
    learner_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "query": {"learning_rate": 0.01, "batch_size": 10, "iterations": 12, "first_iterations": 4},
        **dict.fromkeys(("pseudolikelihood", "cd", "perceptron", "max-margin"), STEPS),
        "likelihood": {**STEPS, "iterations": 20, "tolerance": 1e-3},
    }
    summary = "A small network scores labels of pixels and of neighbours; the field makes them agree."

    features: int = integer(16, "Features of each layer of the network.", low=1, high=256)

    @classmethod
    def shapes(cls, hyperparameters: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        return tensor_shapes(*(int(hyperparameters[name]) for name in ("labels", "channels", "features")))

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> ScoredGrid:
        """An empty model like the one a file describes."""
        return ScoredGrid(**hyperparameters)

    def build_for(self, data: TrainingData, seed: int) -> ScoredGrid:
        """As many labels and channels as the data have."""
        some = data.train[torch.arange(min(500, len(data.train)))]
        pictures = pictures_of(some)
        given = some["images"]
        known = given[given != NO_LABEL]
        model = ScoredGrid(max(2, int(known.max()) + 1), pictures.shape[1], self.features)
        model.randomise(seed)
        for tensor in model.tensors().values():
            tensor.requires_grad_()
        return model
