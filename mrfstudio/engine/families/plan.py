"""What a family registers in MODELS: what a person chooses about a model, and how one is made and made again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from mrfstudio.engine.protocol.catalogue import Parameters
from mrfstudio.engine.protocol.training import TrainingPlan

if TYPE_CHECKING:
    from mrfstudio.engine.training.learner import TrainableModel, TrainingData


class ModelPlan(Parameters):
    """Base of the entries of MODELS. Its parameters become options of `mrfstudio train` and a form in the window."""

    default_data: ClassVar[str] = ""
    """What it is trained on where nobody says; empty: data must be named."""
    default_learner: ClassVar[str] = "query"
    """How it is trained where nobody says."""
    data_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Values for parameters of data sets, by data set: a model of small pieces has pictures cut into them."""
    learner_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Values for parameters of learners, by learner: what suits one kind of model is not the default of another."""
    settled_after: ClassVar[int] = 0
    """Iterations after which beliefs have settled, where that takes more than it was trained with."""
    demonstration: ClassVar[TrainingPlan | None] = None
    """A run that is worth watching: minutes from nothing to something that can be recognised."""

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> TrainableModel:
        """An empty model like the one a file describes; its tensors are loaded next."""
        raise NotImplementedError

    @classmethod
    def shapes(cls, hyperparameters: Mapping[str, Any]) -> Mapping[str, tuple[int, ...]]:
        """The shapes of the tensors of such a model, from numbers alone: a file is asked before memory is taken.

        A family that names none is not asked. Raises `StudioError`, or what wrong numbers raise.
        """
        return {}

    def build_for(self, data: TrainingData, seed: int) -> TrainableModel:
        """A new model of these parameters for the data, such as one as large as its images.

        Random starts depend on the seed alone. A family that cannot be trained leaves this out.
        """
        raise NotImplementedError

    @classmethod
    def trainable(cls) -> bool:
        """Whether the family can make new models."""
        return cls.build_for is not ModelPlan.build_for
