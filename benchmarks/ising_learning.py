"""Tables 5.1 and 5.2 of [Liu20]: Ising models learned with each inference method, by their exact likelihood.

    python benchmarks/ising_learning.py --grid5 ising_grid5.npz --grid10 ising_grid10.npz --out FOLDER

The published samples are used where their files are given; complete graphs, and a grid with strong couplings, are drawn
exactly here. Every method sees the same samples. FOLDER/tables.md holds the negative log-likelihood of the test samples
in nats, beside that of the model which drew them. What is done is not done again.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from kept import Kept

from mrfstudio.engine.tasks.evaluate import evaluate_model
from mrfstudio.engine.training.command import train_command

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "Exact": ("likelihood", {"algorithm": "exact"}),
    "Mean field": ("likelihood", {"algorithm": "mean-field", "iterations": 200}),
    "Loopy BP": ("likelihood", {"algorithm": "bp", "iterations": 200}),
    "Damped BP": ("likelihood", {"algorithm": "bp", "algorithm_options": "damping=0.5", "iterations": 200}),
    "α-BP (0.5)": ("likelihood", {"algorithm": "alpha-bp", "algorithm_options": "alpha=0.5", "iterations": 200}),
    "TRW": ("likelihood", {"algorithm": "trw", "iterations": 200}),
    "GBP, double loop": ("likelihood", {"algorithm": "gbp", "iterations": 200}),
    "Inference net": ("likelihood", {"algorithm": "bethe-net", "iterations": 100}),
    "RENN, from the double loop": ("likelihood", {"algorithm": "renn", "iterations": 100}),
    "RENN, from potentials": (
        "likelihood",
        {"algorithm": "renn", "algorithm_options": "start=potentials", "iterations": 100},
    ),
    "RENN, as published": (
        "likelihood",
        {
            "algorithm": "renn",
            "algorithm_options": "start=uniform,annealing=false,growth=1,penalty=5,embedding=200,learning_rate=0.001,"
            "own_scores=false",
            "iterations": 100,
        },
    ),
    "Pseudolikelihood": ("pseudolikelihood", {}),
    "CD-1": ("cd", {}),
    "CD-10": ("cd", {"steps": 10}),
    # One sweep a step lags behind a model with strong couplings, and then drives it away.
    "PCD": ("pcd", {"chains": 1000, "steps": 5}),
}


@dataclass(frozen=True)
class Task:
    """One column. `published` are the numbers of [Liu20], by method, where its samples are the same."""

    title: str
    count: int
    samples: dict[str, Any]
    model: dict[str, Any]
    file: str | None = None
    published: tuple[tuple[str, float], ...] = ()


TASKS = {
    "grid5": Task(
        "Grid, N = 25, published samples (4,000)",
        4000,
        {},
        {"graph": "grid"},
        "grid5",
        (
            ("True", 9.000),
            ("Exact", 9.004),
            ("Mean field", 9.811),
            ("Loopy BP", 9.139),
            ("Damped BP", 9.196),
            ("GBP", 10.56),
            ("Inference net", 9.252),
            ("RENN", 9.048),
        ),
    ),
    "grid10": Task(
        "Grid, N = 100, published samples (4,000)",
        4000,
        {},
        {"graph": "grid"},
        "grid10",
        (
            ("True", 19.34),
            ("Exact", 19.38),
            ("Mean field", 23.48),
            ("Loopy BP", 19.92),
            ("Damped BP", 20.02),
            ("GBP", 28.61),
            ("Inference net", 20.29),
            ("RENN", 19.76),
        ),
    ),
    "own5": Task("Grid, N = 25, drawn here (4,000)", 4000, {"side": 5}, {}),
    "complete9": Task("Complete, N = 9, drawn here (100,000)", 100_000, {"shape": "complete", "nodes": 9}, {}),
    # As few samples as in [Liu20]: they hold 21 distinct states, two opposite groups of three have 99% of the
    # probability, and two pairs of spins never show one of their four states: no finite parameters are the most likely.
    "few9": Task("Complete, N = 9, drawn here (2,000)", 2000, {"shape": "complete", "nodes": 9}, {}),
    "complete16": Task("Complete, N = 16, drawn here (100,000)", 100_000, {"shape": "complete", "nodes": 16}, {}),
}


def main() -> None:
    options = _options()
    settings = {name: getattr(options, name) for name in ("steps", "batch_size", "learning_rate", "seed")}
    kept = Kept(options.out, settings, markdown)
    for task_name in options.tasks:
        file = None if TASKS[task_name].file is None else getattr(options, str(TASKS[task_name].file))
        if TASKS[task_name].file is not None and file is None:
            print(f"{task_name} is left out: give --{TASKS[task_name].file} FILE.npz")
            continue
        for method in options.methods:
            key = f"{task_name}/{method}"
            if kept.get(key) is None:
                print(key, flush=True)
                kept.add(key, _measured(TASKS[task_name], method, file, options))
    print(f"tables written to {options.out / 'tables.md'}")


def _measured(task: Task, method: str, file: Path | None, options: argparse.Namespace) -> dict[str, Any]:
    learner, chosen = METHODS[method]
    data = "ising" if file is None else f"ising:{file}"
    out = options.out / "model.safetensors"
    samples = task.samples if file is not None else {**task.samples, "count": task.count}
    began = time.process_time()
    train_command(
        "ising",
        learner,
        data,
        out,
        seed=options.seed,
        epochs=options.steps * options.batch_size / task.count,
        validate_every=options.steps,
        batch_size=options.batch_size,
        learning_rate=options.learning_rate,
        keep="last",  # the published validation samples are fifty, too few to choose by
        **{**task.model, **samples, **chosen},
    )
    seconds = time.process_time() - began
    found = evaluate_model(out, data, **samples)
    return {"nll": found["nll"], "true_nll": found["true_nll"], "cpu_seconds": seconds}


def markdown(kept: Kept) -> str:
    """One table a task: what was measured, and what [Liu20] prints for the same samples."""
    lines = [
        "# Ising models learned with different inference methods: exact negative log-likelihood of test samples, nats",
        "",
        f"Measured with: {kept.settings_in_words}; torch {torch.__version__}, CPU. The last parameters were kept: "
        "fifty validation samples are too few to choose by.",
    ]
    for name, task in TASKS.items():
        results = {method: kept.get(f"{name}/{method}") for method in METHODS}
        measured = {method: found for method, found in results.items() if found is not None}
        if not measured:
            continue
        published = dict(task.published)
        truth = next(iter(measured.values()))["true_nll"]
        lines += ["", f"## {task.title}", "", "| method | NLL ([Liu20]) | CPU s |", "|---|---|---|"]
        lines.append(f"| True | {truth:.3f}{_printed(published.get('True'))} | |")
        for method, found in measured.items():
            kind = method.partition(",")[0]  # RENN, whatever it starts from
            own = f"{found['nll']:.3f}{_printed(published.get(kind))}"
            lines.append(f"| {method} | {own} | {found['cpu_seconds']:.0f} |")
    return "\n".join(lines) + "\n"


def _printed(value: float | None) -> str:
    return "" if value is None else f" ({value:g})"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid5", type=Path, metavar="FILE.npz")
    parser.add_argument("--grid10", type=Path, metavar="FILE.npz")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch-size", type=int, default=1000)
    parser.add_argument("--learning-rate", type=float, default=0.03)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    return parser.parse_args()


if __name__ == "__main__":
    main()
