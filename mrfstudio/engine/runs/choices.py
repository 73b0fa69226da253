"""What a training plan can be made of: the registries, as plain descriptions."""

from __future__ import annotations

from typing import cast

from mrfstudio.engine.data.contract import dataset_class
from mrfstudio.engine.data.fetch import fetched
from mrfstudio.engine.learning.contract import Learner
from mrfstudio.engine.learning.run import training_plan
from mrfstudio.engine.learning.trainer import FIXED_WHILE_RUNNING
from mrfstudio.engine.registry import DATASETS, LEARNERS, MODELS
from mrfstudio.engine.training_frames import DataChoice, ModelChoice, TrainingChoices, TrainingPlan


def training_choices() -> TrainingChoices:
    """Every model that can be trained, every learner and every data set."""
    models = [cls for cls in MODELS if hasattr(cls, "build_for")]
    datasets = [dataset_class(name) for name in DATASETS.names()]
    return TrainingChoices(
        models=tuple(
            ModelChoice(cls.entry(), str(getattr(cls, "default_data", "")), dict(getattr(cls, "learner_defaults", {})))
            for cls in models
        ),
        learners=tuple(cls.entry() for cls in LEARNERS),
        datasets=tuple(
            DataChoice(cls.entry(), cls.path, cls.path_text, fetched(cls.name) is not None) for cls in datasets
        ),
        fixed=FIXED_WHILE_RUNNING,
        kinds={cls.name: kinds for cls in LEARNERS if (kinds := cast("type[Learner]", cls).kinds())},
    )


def check_plan(plan: TrainingPlan) -> None:
    """Refuse at once what the training process would refuse after seconds of loading: names, paths and ranges."""
    chosen = training_plan(plan.model, plan.learner, plan.data)
    for part in chosen.parts:
        part(**chosen.options_of(part, plan.options))
