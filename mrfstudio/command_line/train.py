"""`mrfstudio train`: any model with any learner, in the terminal."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from mrfstudio.command_line.shared import DONE, REFUSED, add_json, parse_options, print_json
from mrfstudio.engine.errors import StudioError


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "train",
        help="train a model",
        description="Train a model. Further options are those of the model and the learner, such as --clones 16 or "
        "--learning-rate 0.01; a wrong one is answered with the near name. Several processes share the work "
        "when started with torchrun --nproc_per_node=2 -m mrfstudio train …",
    )
    parser.add_argument("model", metavar="MODEL", help="grid, ising, rbm, crbm, factor-graph, …")
    parser.add_argument("--learner", default="query", metavar="NAME", help="how to learn (default query)")
    parser.add_argument(
        "--data", metavar="NAME[:PATH]", help="what to learn from (default: what the model is made for)"
    )
    parser.add_argument("--max-minutes", metavar="M", help="stop after this time; schedules fit themselves to it")
    parser.add_argument("--seed", default="0", metavar="S", help="the same seed, the same training (default 0)")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint beside --out")
    parser.add_argument("--start-from", metavar="NAME|PATH", help="begin with the parameters of this model")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the model file (default MODEL-LEARNER.safetensors)")
    add_json(parser)
    parser.set_defaults(run=run, open_options=True)


def run(options: argparse.Namespace) -> int:
    from mrfstudio.engine.learning.parallel import started_rank

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
    from mrfstudio.engine.learning.run import train_command, training_plan

    plan = training_plan(options.model, options.learner, options.data)
    chosen = parse_options(options.unknown, tuple(plan.fields().values()), f"Training {options.model}")
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
        **chosen,
    )
