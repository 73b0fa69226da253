"""What a person chooses about a new machine of binary units, restricted or deep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from mrfstudio.engine.data.binary_rows import binary_rows, image_shape
from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.families.rbm.model import DBM, RBM
from mrfstudio.engine.protocol.catalogue import integer, number
from mrfstudio.engine.protocol.training import TrainingPlan
from mrfstudio.engine.registry import MODELS

if TYPE_CHECKING:
    from mrfstudio.engine.training.learner import TrainingData


class _Machine(ModelPlan):
    """What a person chooses about a new machine, restricted or deep."""

    default_data = "mnist"
    learner_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "query": {
            "learning_rate": 0.003,
            "batch_size": 500,
            "beta2": 0.999,
            "iterations": 10,
            "first_iterations": 10,
            "jitter": 0,
            "readouts": 1,
            "validate_every": 0,
            "validation_items": 2000,
        }
    }

    hidden: int = integer(50, "Hidden units.", low=1, high=100_000, logarithmic=True)
    start_scale: float = number(0.01, "Standard deviation of the first weights.", low=0.0, advanced=True)

    @classmethod
    def shapes(cls, hyperparameters: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        hidden, second = int(hyperparameters["hidden"]), int(hyperparameters.get("second", 0))
        outer = int(hyperparameters["visible"]) + second
        return {"weights": (hidden, outer), "outer_bias": (outer,), "hidden_bias": (hidden,), "log_temperature": ()}

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> RBM:
        """An empty model like the one a file describes."""
        return RBM(**hyperparameters)

    def _sizes(self) -> dict[str, int]:
        return {"hidden": self.hidden, "second": 0}

    def build_for(self, data: TrainingData, seed: int) -> RBM:
        """A new machine for rows or images: small random weights, visible biases at the frequencies of the data.

        Hidden units are undecided at the mean of the data, so that they differ in what tells items apart.
        """
        some = data.train[torch.arange(min(5000, len(data.train)))]
        rows = binary_rows(some, data.name)
        hyperparameters = {"visible": rows.shape[1], "image_shape": image_shape(some), **self._sizes()}
        model = self.restore(hyperparameters)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            model.weights.normal_(generator=generator).mul_(self.start_scale)
            share = (rows.sum(0) + 0.5) / (len(rows) + 1)  # half a count each, so that no logit is infinite
            model.outer_bias[: model.visible] = torch.logit(share)
            model.hidden_bias.copy_(-model.weights[:, : model.visible] @ (2 * share - 1))  # undecided at the mean
        return model.train_all()


@MODELS.register
class RestrictedBoltzmann(_Machine):
    """A new RBM."""

    name = "rbm"
    title = "Restricted Boltzmann machine"
    demonstration = TrainingPlan(
        "rbm",
        "pcd",
        "glyphs",
        minutes=1.0,
        options={"hidden": 64, "batch_size": 100, "learning_rate": 0.003, "epochs": 1000.0},
    )
    summary = "Binary visible and hidden units, joined across but not within; answers any query about the visible ones."


@MODELS.register
class DeepBoltzmann(_Machine):
    """A new DBM."""

    name = "dbm"
    title = "Deep Boltzmann machine"
    summary = "Binary visible units and two hidden layers, each joined to the next."

    second: int = integer(50, "Units of the second hidden layer.", low=1, high=100_000, logarithmic=True)

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> RBM:
        return DBM(**hyperparameters)

    def _sizes(self) -> dict[str, int]:
        return {"hidden": self.hidden, "second": self.second}
