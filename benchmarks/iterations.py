"""Query training with N unrolled iterations, asked with another number of them: a table N(train) × N(test).

    python benchmarks/iterations.py --data binary_mushrooms.npz --work FOLDER

An RBM of 50 hidden units for each N(train), otherwise trained alike; normalised cross-entropy in bits on the test
split, uniform queries at probability ½. Kept in `benchmarks/results/iterations`; models lie in --work.
"""

from __future__ import annotations

import argparse
import textwrap
import time
from pathlib import Path
from typing import Any

import torch
from kept import Kept

from mrfstudio.engine.tasks.evaluate import evaluate_model
from mrfstudio.engine.training.command import train_command

HERE = Path(__file__).parent / "results" / "iterations"
TRAINED = (1, 2, 5, 10, 20)
ASKED = (1, 2, 5, 10, 20, 50)
SETTINGS = {"set": "mushrooms", "hidden": 50, "epochs": 60, "batch_size": 100, "learning_rate": 0.03, "seed": 0}
START = {"start_scale": 0.05, "start_temperature": 1.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FILE.npz")
    parser.add_argument("--work", type=Path, required=True, metavar="FOLDER", help="models and checkpoints")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    options.work.mkdir(parents=True, exist_ok=True)
    kept = Kept(HERE, SETTINGS, markdown)
    kept.write()
    for trained in TRAINED:
        if kept.get(str(trained)) is None:
            print(f"N(train) = {trained}", flush=True)
            kept.add(str(trained), measured(trained, f"binary:{options.data}", options.work))


def measured(trained: int, data: str, work: Path) -> dict[str, Any]:
    """One model, asked with every number of iterations."""
    out = work / f"{trained}.safetensors"
    chosen = {name: SETTINGS[name] for name in ("hidden", "epochs", "batch_size", "learning_rate", "seed")}
    number = {"iterations": trained, "first_iterations": trained, "growth": 0.0}
    began = time.process_time()
    train_command("rbm", "query", data, out, resume=True, **chosen, **START, **number)
    seconds = time.process_time() - began
    bits = {str(asked): evaluate_model(out, data, iterations=asked)["nce_bits"] for asked in ASKED}
    return {"bits": bits, "cpu_seconds": seconds}


def markdown(kept: Kept) -> str:
    """A row a number of iterations in training."""
    lines = [
        "# Query training: N iterations in training, another number in the test",
        "",
        *textwrap.wrap(
            f"Made by `benchmarks/iterations.py`: RBM, {kept.settings_in_words}; normalised cross-entropy in bits on "
            "the test split, uniform queries at probability ½. The least of each row in italics. One seed. [QT21] "
            "prints no such table. After one iteration hidden units have said nothing yet. A model answers best "
            "with as many iterations as it was trained with, or more; with fewer its answers are not answers yet.",
            120,
            break_on_hyphens=False,
        ),
        "",
        "| N(train) | " + " | ".join(f"N(test) = {asked}" for asked in ASKED) + " | CPU s |",
        "| --- " * (2 + len(ASKED)) + "|",
    ]
    for trained in TRAINED:
        found = kept.get(str(trained))
        if found is not None:
            least = min(found["bits"].values())
            bits = [found["bits"][str(asked)] for asked in ASKED]
            cells = [f"*{value:.3f}*" if value == least else f"{value:.3f}" for value in bits]
            lines.append(f"| {trained} | {' | '.join(cells)} | {found['cpu_seconds']:.0f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
