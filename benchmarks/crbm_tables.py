"""Tables 1 to 3 of "Belief Propagation in Conditional RBMs for Structured Prediction" on any number of images.

    python benchmarks/crbm_tables.py --mnist mnist.npz --silhouettes caltech.npz --out FOLDER

Trains every method on noisy and occluded MNIST and on silhouettes, asks each model as it was learned, and writes
FOLDER/tables.md. What is done is in FOLDER/results.json and is not done again, and a killed training goes on from its
last checkpoint; so the same command finishes what was begun.

Two things are not as in [PI17], because a small machine has no 125,000 steps: every method starts from the logistic
regression of its task, so that its steps go into the hidden units, and steps are Adam's. With --start mean-field all
but LR and MLE-MF start from the model of MLE-MF, whose epochs cost a tenth of those of messages. With --start zero,
256 hidden units, 50 epochs and --sampling-times 4 it is [PI17]'s experiment. With --copies N each training picture is
there N times, each time damaged anew: 50,000 pictures that are always damaged at the same pixels are learned by heart.
An epoch is then a pass over all copies, and may be a part of one.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from boltzmann_table import Stopwatch
from kept import Kept

from mrfstudio.engine.data.dataset import parse_data
from mrfstudio.engine.families.crbm.density import measure
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.training.command import train_command
from mrfstudio.engine.training.learner import TensorSource

STARTED = {
    "zero": "No method starts from another.",
    "regression": "All methods start from LR.",
    "mean-field": "MLE-MF starts from LR, all others from MLE-MF; their time is that after MLE-MF's.",
}
REGRESSION, MEAN_FIELD = "LR", "MLE-MF"
STARTS = {"zero": None, "regression": REGRESSION, "mean-field": MEAN_FIELD}
MESSAGES: dict[str, Any] = {"iterations": 7, "more_iterations": 1}  # T = 7 + epoch, without damping


@dataclass(frozen=True)
class Method:
    """One row: a learner with its options."""

    learner: str
    options: dict[str, Any]
    sampling: bool = False


METHODS = {
    REGRESSION: Method("pseudolikelihood", {"hidden": 0}),
    "CD-1": Method("cd", {"steps": 1}, sampling=True),
    "CD-10": Method("cd", {"steps": 10}, sampling=True),
    "CD-PercLoss": Method("perceptron", {"steps": 10, "rival": "last"}, sampling=True),
    MEAN_FIELD: Method("likelihood", {"algorithm": "mean-field", "tolerance": 1e-3, **MESSAGES}),
    "MLE-BP": Method("likelihood", {"algorithm": "matrix-bp", "tolerance": 1e-3, **MESSAGES}),
    "LSSVM": Method("max-margin", {"variant": "lssvm", **MESSAGES}),
    "MSSVM": Method("max-margin", {"variant": "mssvm", **MESSAGES}),
}


@dataclass(frozen=True)
class Task:
    """One pair of columns, with what [PI17] measured, in the order of the methods: percent of all pixels wrong, and of
    those that the damage changed.
    """

    table: int
    title: str
    data: str
    damage: dict[str, Any]
    paper: tuple[float, ...]
    changed: tuple[float, ...]


TASKS = {
    "noisy-10": Task(
        1,
        "Noisy MNIST (10%)",
        "mnist",
        {"damage": "noise", "rate": 0.1},
        (1.960, 1.925, 1.816, 1.760, 1.862, 1.688, 1.807, 1.751),
        (12.531, 12.229, 11.103, 11.121, 11.319, 10.718, 11.565, 11.023),
    ),
    "noisy-20": Task(
        1,
        "Noisy MNIST (20%)",
        "mnist",
        {"damage": "noise", "rate": 0.2},
        (4.088, 4.012, 3.995, 3.970, 3.917, 3.691, 3.910, 3.804),
        (12.609, 12.597, 11.271, 10.876, 10.939, 10.409, 11.175, 10.627),
    ),
    "occluded-8": Task(
        2,
        "Occluded MNIST (8×8)",
        "mnist",
        {"damage": "occlusion", "patch": 8},
        (1.468, 1.814, 1.707, 1.394, 1.492, 1.329, 1.496, 1.391),
        (61.304, 63.130, 67.925, 45.684, 49.553, 39.785, 44.037, 41.829),
    ),
    "occluded-12": Task(
        2,
        "Occluded MNIST (12×12)",
        "mnist",
        {"damage": "occlusion", "patch": 12},
        (3.498, 3.983, 3.921, 3.483, 3.477, 3.117, 3.468, 3.273),
        (53.971, 58.376, 63.237, 35.755, 40.703, 36.233, 39.140, 35.712),
    ),
    "silhouettes-noisy-20": Task(
        3,
        "Noisy silhouettes (20%)",
        "silhouettes",
        {"damage": "noise", "rate": 0.2},
        (5.653, 5.876, 5.736, 5.622, 5.617, 5.445, 5.628, 5.549),
        (11.460, 12.423, 12.013, 10.808, 11.083, 10.731, 11.468, 11.389),
    ),
    "silhouettes-occluded-12": Task(
        3,
        "Occluded silhouettes (12×12)",
        "silhouettes",
        {"damage": "occlusion", "patch": 12},
        (4.771, 5.033, 5.149, 5.081, 4.692, 4.548, 4.703, 4.534),
        (16.587, 20.300, 21.087, 15.102, 15.995, 16.541, 16.014, 14.918),
    ),
}


def main() -> None:
    options = _options()
    kept = Kept(options.out, _settings(options), markdown)
    files = {"mnist": options.mnist, "silhouettes": options.silhouettes}
    for task_name in options.tasks:
        file = files[TASKS[task_name].data]
        if file is None:
            print(f"{task_name} is left out: give --{TASKS[task_name].data} FILE.npz")
            continue
        for method_name in options.methods:
            key = f"{task_name}/{method_name}"
            if kept.get(key) is None:
                print(key, flush=True)
                kept.add(key, _measured(task_name, method_name, file, options))
    print(f"tables written to {options.out / 'tables.md'}")


def _measured(task_name: str, method_name: str, file: Path, options: argparse.Namespace) -> dict[str, Any]:
    task, method = TASKS[task_name], METHODS[method_name]
    out, data = _file(task_name, method_name, options), f"noisy:{file}"
    sizes = {"count": options.images, "validation": options.validation, "test": options.test, **task.damage}
    sizes["copies"] = options.copies
    steps = {"iterations": options.iterations, "more_iterations": 0} if options.iterations else {}
    chosen = {name: steps.get(name, value) for name, value in method.options.items()}
    watch = Stopwatch(out.with_suffix(".cpu"))
    trained = train_command(
        "crbm",
        method.learner,
        data,
        out,
        resume=True,
        start_from=_start(task_name, method_name, file, options),
        seed=options.seed,
        epochs=_epochs(method_name, options),
        **_rates(method_name, options),
        validate_every=options.validate_every,
        watch=watch,
        **{"hidden": options.hidden, **chosen, **sizes},
    )
    epoch = trained["kept_step"] * _rates(method_name, options)["batch_size"] / options.images / options.copies
    return {**_asked(out, data, sizes, options.ask), "epoch": epoch, "cpu_seconds": watch.write()}


def _asked(file: Path, data: str, sizes: dict[str, Any], iterations: list[int]) -> dict[str, Any]:
    """Errors on the test pictures, asked with as many iterations as make the fewest on those of validation."""
    model, splits = open_model(file), parse_data(data).open(**sizes)
    sources = {name: TensorSource(**_tensors(splits[name])) for name in ("val", "test")}
    found: dict[int, float] = {}
    for count in iterations if model.hidden else ():
        model.iterations.fill_(float(count))
        found[count] = measure(model, sources["val"])["pixel_error"]
    if found:
        model.iterations.fill_(float(min(found, key=lambda count: found[count])))
    scores = {"validation": found, "iterations": int(model.iterations), "images": len(sources["test"])}
    return {**measure(model, sources["test"]), **scores}


def _tensors(arrays: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _file(task_name: str, method_name: str, options: argparse.Namespace) -> Path:
    return Path((options.work or options.out) / f"{task_name}-{method_name.lower()}.safetensors")


def _epochs(method_name: str, options: argparse.Namespace) -> float:
    if method_name == REGRESSION:
        return float(options.regression_epochs)
    if method_name == MEAN_FIELD and options.mean_field_epochs:
        return float(options.mean_field_epochs)
    return float(options.epochs * (options.sampling_times if METHODS[method_name].sampling else 1))


def _rates(method_name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Batch size and learning rate: LR may have its own."""
    own = options.regression_rates if method_name == REGRESSION else None
    batch_size, rate = own or (options.batch_size, options.learning_rate)
    return {"batch_size": int(batch_size), "learning_rate": float(rate)}


def _start(task_name: str, method_name: str, file: Path, options: argparse.Namespace) -> str | None:
    """The model that a method starts from, trained now if that was not done."""
    first = STARTS[options.start]
    if method_name == MEAN_FIELD and first == MEAN_FIELD:
        first = REGRESSION
    if first is None or method_name == REGRESSION:
        return None
    start = _file(task_name, first, options)
    if not start.exists():
        _measured(task_name, first, file, options)
    return str(start)


def markdown(kept: Kept) -> str:
    """All tables as Markdown; cells that are not measured yet are empty, and rows of such cells are left out."""
    anew = ", damage drawn anew" if kept.settings["copies"] > 1 else ""
    anew += f", {kept.settings['iterations']} iterations" if kept.settings["iterations"] else ""
    of = {task.data for name, task in TASKS.items() if any(kept.get(f"{name}/{method}") for method in METHODS)}
    anew += ", silhouettes" if of == {"silhouettes"} else ""
    words = (
        f"Measured with: {kept.settings_in_words}; torch {torch.__version__}, CPU. The CD methods ran `sampling times` "
        f"as many epochs. {STARTED[kept.settings['start']]} The parameters of the best validation were kept. "
        "In brackets what [PI17] prints, from all training images and 256 hidden units."
    )
    note = kept.folder / "note.txt"
    lines = [
        f"# Conditional RBMs{anew}: wrong pixels in percent, of all and of changed ones",
        "",
        *textwrap.wrap(words, 120, break_on_hyphens=False),
        *(["", *textwrap.wrap(" ".join(note.read_text("utf-8").split()), 120)] if note.exists() else []),
    ]
    for table in sorted({task.table for task in TASKS.values()}):
        tasks = {name: task for name, task in TASKS.items() if task.table == table}
        if not any(kept.get(f"{name}/{method}") for name in tasks for method in METHODS):
            continue
        titles = " | ".join(f"{task.title}: all | changed | CPU s" for task in tasks.values())
        lines += ["", f"## Table {table}", "", f"| method | {titles} |", "|---" * (1 + 3 * len(tasks)) + "|"]
        for place, method in enumerate(METHODS):
            if not any(kept.get(f"{name}/{method}") for name in tasks):
                continue
            cells = [_cell(kept.get(f"{name}/{method}"), task, place) for name, task in tasks.items()]
            lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(found: dict[str, Any] | None, task: Task, place: int) -> str:
    if found is None:
        return f"– ({task.paper[place]:.3f}) | – ({task.changed[place]:.3f}) |"
    seconds = "–" if found["cpu_seconds"] is None else f"{found['cpu_seconds']:.0f}"
    changed = f"{found['changed_error']:.3f} ({task.changed[place]:.3f})"
    return f"{found['pixel_error']:.3f} ({task.paper[place]:.3f}) | {changed} | {seconds}"


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    names = ("images", "copies", "validation", "test", "hidden", "epochs", "regression_epochs", "mean_field_epochs")
    more = ("sampling_times", "batch_size", "learning_rate", "regression_rates", "iterations", "ask", "start", "seed")
    return {name: getattr(options, name) for name in (*names, *more)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mnist", type=Path, metavar="FILE.npz")
    parser.add_argument("--silhouettes", type=Path, metavar="FILE.npz")
    parser.add_argument("--images", type=int, default=50_000, help="training images")
    parser.add_argument("--copies", type=int, default=1, help="of each training image, each damaged anew")
    parser.add_argument("--validation", type=int, default=1000)
    parser.add_argument("--test", type=int, default=5000)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--regression-epochs", type=float, default=8)
    parser.add_argument("--regression-rates", nargs=2, type=float, help="batch size and learning rate of LR")
    parser.add_argument("--mean-field-epochs", type=float, default=0, help="those of MLE-MF; 0: as the others")
    parser.add_argument("--iterations", type=int, default=0, help="of messages; 0: 7 + epoch")
    parser.add_argument(
        "--ask", nargs="+", type=int, default=[], help="iterations of answers, for validation to choose"
    )
    parser.add_argument("--validate-every", type=int, default=0, help="steps; 0: after every epoch")
    parser.add_argument("--sampling-times", type=int, default=2, help="epochs of the CD methods for one of the others")
    parser.add_argument("--batch-size", type=int, default=100)
    parser.add_argument("--learning-rate", type=float, default=0.003)
    parser.add_argument("--start", choices=list(STARTS), default="regression", help="what the methods start from")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="models and checkpoints; else they lie in --out")
    return parser.parse_args()


if __name__ == "__main__":
    main()
