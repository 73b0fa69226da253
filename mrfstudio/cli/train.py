"""`mrfstudio train`: any model with any learner, in the terminal."""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from mrfstudio.cli.shared import DONE, REFUSED, add_json, options_in_words, parse_options, print_json
from mrfstudio.engine.protocol.errors import StudioError


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "train",
        help="train a model",
        description="Train a model. Further options are those of the model and the learner, such as --clones 16 or "
        "--learning-rate 0.01; `mrfstudio train MODEL --help` lists them, and a wrong one is answered with the near "
        "name. Several processes share the work when started with torchrun --nproc_per_node=2 -m mrfstudio train …",
    )
    parser.more_help = _own_options
    # Without a model --help still says what there is.
    parser.add_argument("model", nargs="?", metavar="MODEL", help="grid, ising, rbm, crbm, factor-graph, …")
    parser.add_argument("--learner", metavar="NAME", help="how to learn (default: what suits the model, mostly query)")
    parser.add_argument(
        "--data", metavar="NAME[:PATH]", help="what to learn from (default: what the model is made for)"
    )
    parser.add_argument("--max-minutes", metavar="M", help="stop after this time; schedules fit themselves to it")
    parser.add_argument("--seed", default="0", metavar="S", help="the same seed, the same training (default 0)")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint beside --out")
    parser.add_argument("--start-from", metavar="NAME|PATH", help="begin with the parameters of this model")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the model file (default MODEL-LEARNER.safetensors)")
    parser.add_argument(
        "--tensorboard", type=Path, metavar="DIR", help="also write event files there; needs the package tensorboard"
    )
    add_json(parser)
    parser.set_defaults(run=run, open_options=True)


def _own_options(options: argparse.Namespace) -> str:
    """The options of the model, learner and data set that are named beside --help."""
    if options.model is None:
        return ""
    from mrfstudio.engine.registry import LEARNERS, MODELS
    from mrfstudio.engine.training.command import RESERVED, training_plan

    model = MODELS[options.model]
    learner = LEARNERS[options.learner or model.default_learner]
    parts = [("model", model), ("learner", learner)]
    with suppress(StudioError):  # the usual data may not be there; a person who only asks need not have them
        parts.append(("data", training_plan(options.model, options.learner, options.data).data.dataset))
    wanted = {  # a model may want other values of its learner or its data
        "learner": model.learner_defaults.get(learner.name, {}),
        "data": model.data_defaults.get(parts[-1][1].name, {}),
    }
    shown, text = set(RESERVED), ""
    for what, part in parts:
        own = [field for field in part.fields() if field.name not in shown]
        shown.update(field.name for field in own)
        usual = wanted.get(what, {})
        own = [replace(field, default=usual.get(field.name, field.default)) for field in own]
        text += options_in_words(f"options of the {what} {part.name}", own)
    return text


def run(options: argparse.Namespace) -> int:
    if options.model is None:
        raise StudioError("train needs a MODEL, such as grid or rbm: try mrfstudio train --help.")
    from mrfstudio.engine.training.parallel import started_rank

    first = started_rank() == 0
    try:
        result = _train(options)
    except StudioError:
        if first:
            raise
        return REFUSED  # the first process says it for all
    if first and not print_json(options.json, result):
        print(f"model written to {result['model']}")
    return DONE


def _train(options: argparse.Namespace) -> dict[str, Any]:
    from mrfstudio.engine.training.command import train_command, training_plan

    plan = training_plan(options.model, options.learner, options.data)
    chosen = parse_options(options.unknown, tuple(plan.fields().values()), f"Training {options.model}")
    watch = None
    if options.tensorboard is not None:
        from mrfstudio.engine.training.event_files import EventFiles

        watch = EventFiles(options.tensorboard)
    return train_command(
        options.model,
        options.learner,
        options.data,
        options.out,
        resume=options.resume,
        max_minutes=options.max_minutes,
        seed=options.seed,
        start_from=options.start_from,
        command=shlex.join(["mrfstudio", *sys.argv[1:]]),
        bar=True,
        watch=watch,
        **chosen,
    )
