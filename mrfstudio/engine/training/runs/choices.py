"""What a training plan can be made of: the registries, as plain descriptions."""

from __future__ import annotations

from typing import cast

from mrfstudio.engine.data.dataset import dataset_class
from mrfstudio.engine.data.fetch import fetched
from mrfstudio.engine.protocol.training import DataOption, ModelChoice, TrainingChoices, TrainingPlan
from mrfstudio.engine.registry import DATASETS, LEARNERS, MODELS
from mrfstudio.engine.training.command import training_plan
from mrfstudio.engine.training.learner import Learner
from mrfstudio.engine.training.trainer import FIXED_WHILE_RUNNING


def training_choices() -> TrainingChoices:
    """Every model that can be trained, every learner and every data set."""
    models = [cls for cls in MODELS if cls.trainable()]
    datasets = [dataset_class(name) for name in DATASETS.names()]
    return TrainingChoices(
        models=tuple(
            ModelChoice(cls.entry(), cls.default_data, cls.learner_defaults, cls.demonstration) for cls in models
        ),
        learners=tuple(cls.entry() for cls in LEARNERS),
        datasets=tuple(
            DataOption(cls.entry(), cls.path, cls.path_text, fetched(cls.name) is not None) for cls in datasets
        ),
        fixed=FIXED_WHILE_RUNNING,
        kinds={cls.name: kinds for cls in LEARNERS if (kinds := cast("type[Learner]", cls).kinds())},
    )


def check_plan(plan: TrainingPlan) -> None:
    """Refuse at once what the training process would refuse after seconds of loading: names, paths and ranges."""
    chosen = training_plan(plan.model, plan.learner, plan.data)
    for part in chosen.parts:
        part(**chosen.options_of(part, plan.options))
