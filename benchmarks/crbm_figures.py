"""Figures 3 and 4 of [PI17]: errors by the size of the hole up to the whole picture, and how many messages converge.

    python benchmarks/crbm_figures.py --mnist mnist.npz --work FOLDER

Every method starts from the logistic regression of its task, as in `crbm_tables.py`. What is done is in
`benchmarks/results/crbm_figures/results.json` and is not done again; `benchmarks/figures.py` draws the pictures.
Models and their checkpoints lie in --work.
"""

from __future__ import annotations

import argparse
import csv
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from crbm_tables import MESSAGES, METHODS, REGRESSION
from kept import Kept

from mrfstudio.engine.tasks.evaluate import evaluate_model
from mrfstudio.engine.training.command import train_command

HERE = Path(__file__).parent / "results" / "crbm_figures"
HOLES = (4, 8, 12, 16, 20, 24, 28)
ROWS = (REGRESSION, "CD-10", "MLE-BP")
EPOCHS = {REGRESSION: 8, "CD-10": 4, "MLE-BP": 2}
LONG_HOLE = 8
SETTINGS = {
    "images": 10_000,
    "validation": 500,
    "test": 2000,
    "hidden": 64,
    "batch_size": 50,
    "learning_rate": 0.002,
    "seed": 0,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mnist", type=Path, required=True, metavar="FILE.npz")
    parser.add_argument("--work", type=Path, required=True, metavar="FOLDER", help="models and checkpoints")
    parser.add_argument("--holes", nargs="+", type=int, choices=HOLES, default=list(HOLES))
    parser.add_argument("--epochs", type=int, default=8, help="of MLE-BP in Figure 4")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    options.work.mkdir(parents=True, exist_ok=True)
    kept = Kept(HERE, SETTINGS, markdown)
    kept.write()
    for hole in options.holes:
        for method in ROWS:
            if kept.get(key := f"{hole}/{method}") is None:
                print(key, flush=True)
                kept.add(key, measured(hole, method, EPOCHS[method], options))
    if kept.get("converged") is None:
        print("converged by epoch", flush=True)
        measured(LONG_HOLE, "MLE-BP", options.epochs, options, name="long")
        kept.add("converged", {"by_epoch": by_epoch(options.work / "long.curves.csv")})


def measured(
    hole: int, method: str, epochs: int, options: argparse.Namespace, name: str | None = None
) -> dict[str, Any]:
    """Train one method on one size of hole, and its errors on the test pictures."""
    out = options.work / f"{name or f'{hole}-{method.lower()}'}.safetensors"
    data = f"noisy:{options.mnist}"
    sizes = {"count": SETTINGS["images"], "validation": SETTINGS["validation"], "test": SETTINGS["test"]}
    sizes |= {"damage": "occlusion", "patch": hole}
    start = None if method == REGRESSION else str(options.work / f"{hole}-{REGRESSION.lower()}.safetensors")
    began = time.process_time()
    train_command(
        "crbm",
        METHODS[method].learner,
        data,
        out,
        resume=True,
        start_from=start,
        seed=SETTINGS["seed"],
        epochs=epochs,
        batch_size=SETTINGS["batch_size"],
        learning_rate=SETTINGS["learning_rate"],
        **{"hidden": SETTINGS["hidden"], **METHODS[method].options, **sizes},
    )
    seconds = time.process_time() - began
    found = evaluate_model(out, data, **sizes)
    return {"pixel_error": found["pixel_error"], "changed_error": found["changed_error"], "cpu_seconds": seconds}


def by_epoch(curves: Path) -> list[float]:
    """The share of items whose messages converged, a mean over the steps of each epoch."""
    shares: dict[int, list[float]] = {}
    with curves.open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if row["converged"]:
                shares.setdefault(int(np.ceil(float(row["epoch"]) - 1e-9)), []).append(float(row["converged"]))
    return [float(np.mean(shares[epoch])) for epoch in sorted(shares)]


def markdown(kept: Kept) -> str:
    """Both figures as tables, with their pictures; cells that are not measured yet are empty."""
    lines = [
        "# Conditional RBMs: holes up to the whole picture",
        "",
        *textwrap.wrap(
            f"Made by `benchmarks/crbm_figures.py` with {kept.settings_in_words}; epochs "
            + ", ".join(f"{method} {epochs}" for method, epochs in EPOCHS.items())
            + ". [PI17] has 256 hidden units, 50,000 images and 50 epochs (200 for CD), and shows curves without "
            "numbers. The whole picture is hidden by a hole of 28.",
            120,
            break_on_hyphens=False,
        ),
        "",
        "## Figure 3: error in percent of all pixels by the side of the hole",
        "",
        "![Errors by the side of the hole](pictures/holes.svg)",
        "",
        "| side of the hole | " + " | ".join(f"{row}: all | changed" for row in ROWS) + " |",
        "| --- " * (1 + 2 * len(ROWS)) + "|",
    ]
    for hole in HOLES:
        cells = [kept.get(f"{hole}/{row}") for row in ROWS]
        if any(cells):
            words = [f"{c['pixel_error']:.3f} | {c['changed_error']:.1f}" if c else "– | –" for c in cells]
            lines.append(f"| {hole} | {' | '.join(words)} |")
    long = kept.get("converged")
    if long is not None:
        lines += [
            "",
            f"## Figure 4: items whose messages converge while MLE-BP learns {LONG_HOLE}×{LONG_HOLE} holes",
            "",
            f"Iterations {MESSAGES['iterations']} + epoch, tolerance 0.001; a mean over the steps of an epoch.",
            "",
            "![Share of converged items by epoch](pictures/converged.svg)",
            "",
            "| epoch | " + " | ".join(str(epoch + 1) for epoch in range(len(long["by_epoch"]))) + " |",
            "| --- " * (1 + len(long["by_epoch"])) + "|",
            "| converged | " + " | ".join(f"{100 * share:.1f} %" for share in long["by_epoch"]) + " |",
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
