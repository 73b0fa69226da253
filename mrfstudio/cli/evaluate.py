"""`mrfstudio evaluate`: scores on held-out data."""

from __future__ import annotations

import argparse
from typing import Any

from mrfstudio.cli.shared import DONE, add_json, parse_options, print_json, progress


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="scores of a model on held-out data",
        description="Scores of a model on held-out data. Further options are those of the data set.",
    )
    parser.add_argument("model", metavar="NAME|PATH", help="a shipped model's name or a model file")
    parser.add_argument("--data", required=True, metavar="NAME[:PATH]", help="such as border:FILE.npz")
    parser.add_argument("--split", choices=("test", "val", "train"), default="test", help="default test")
    asked = "uniform:P, one, patch:HxW, half:SIDE, mask:FILE; several with +"
    parser.add_argument("--queries", metavar="KIND", help=asked)
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N images")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of random queries (default 0)")
    parser.add_argument(
        "--iterations",
        metavar="N",
        help="of belief propagation (default: as trained, or until its kind settles)",
    )
    parser.add_argument(
        "--log-z", metavar="N", help="also estimate log Z and likelihood, by annealing over N temperatures"
    )
    add_json(parser)
    parser.set_defaults(run=run, open_options=True)


def run(options: argparse.Namespace) -> int:
    from mrfstudio.engine.data.dataset import parse_data
    from mrfstudio.engine.inference.run import Limits
    from mrfstudio.engine.tasks.evaluate import evaluate_model
    from mrfstudio.engine.training.evaluation import TEMPERATURES

    dataset = parse_data(options.data).dataset
    chosen = parse_options(options.unknown, dataset.fields(), f"The data set {dataset.name}")
    iterations = None if options.iterations is None else Limits(iterations=options.iterations).iterations
    log_z = 0 if options.log_z is None else TEMPERATURES.check(options.log_z)
    with progress(f"evaluating {options.model}") as tick:
        result = evaluate_model(
            options.model,
            options.data,
            split=options.split,
            queries=options.queries,
            limit=options.limit,
            seed=options.seed,
            iterations=iterations,
            log_z=log_z,
            tick=tick,
            **chosen,
        )
    if not print_json(options.json, result):
        print(f"{result['model']} on {result['images']} {result['split']} images of {result['data']}:")
        _print_scores(result)
    return DONE


def _print_scores(result: dict[str, Any]) -> None:
    for name, value in result.items():
        if isinstance(value, float) and name != "seconds":
            print(f"  {name.replace('_', ' '):<34} {value:.4f}")
    for name, found in result.get("baselines", {}).items():
        words = ", ".join(f"{key.replace('_', ' ')} {value:.4f}" for key, value in found.items())
        print(f"  beside it, {name.replace('_', ' '):<26} {words}")
