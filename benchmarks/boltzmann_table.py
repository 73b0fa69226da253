"""Remake Table 1 of [QT21]: binary RBMs and DBMs on eight sets of binary rows.

    python benchmarks/boltzmann_table.py --data FOLDER                      everything, as [QT21] trained it (hours)
    python benchmarks/boltzmann_table.py --data FOLDER --preset quick --sets mushrooms digits

FOLDER holds binary_adult.npz and its neighbours. Every entry of the table is one trained model in `--work`: a run that
was stopped goes on where it was. Scores are lines of `entries.jsonl` in `--kept`, and an entry that has been finished
there with the same epochs is not made again; of several for one set, model, learner and seed the last counts. The table
is written after every entry; the words of `note.txt` in that folder go into it.

Columns: query training (QT), and for RBMs persistent contrastive divergence answered by belief propagation (PCD-BP) and
by Gibbs sampling (PCD-Gibbs). NCE in bits over the units asked for, uniform queries at probability ½, test split. PCD
is trained with every rate of `--rates`, and the one with the least NCE on the validation split is scored, as in [QT21].

The set `digits-all` is digits with nothing held out: [QT21] validates on training digits. Its epochs are those that
were chosen with the last tenth held out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.data.binary_rows import binary_rows
from mrfstudio.engine.data.dataset import parse_data
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.families.rbm.query import BinaryScores
from mrfstudio.engine.files.open_model import open_model
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.tasks.evaluate import evaluate_model
from mrfstudio.engine.training.command import train_command

ITERATIONS = 10
BURN_IN, SWEEPS, CHAINS = 50, 50, 4
GIBBS_ITEMS = 500
"""Test items for the column by sampling, which costs a hundred times more than belief propagation."""


@dataclass(frozen=True)
class Set:
    """One data set: its file, hidden units, learning rate and epochs in [QT21], and what [QT21] printed.

    `quick` is the epochs of the preset of that name, chosen for a minute or three of one core each, `quick_rate` its
    learning rate: 400 rows are learned by heart at a larger one. `pcd` is the epochs of PCD, some 20,000 steps or more.
    """

    file: str
    hidden: int
    rate: float
    epochs: float
    quick: float
    quick_rate: float
    pcd: float
    rbm: float
    dbm: float
    pcd_bp: float
    pcd_gibbs: float


SETS = {
    "adult": Set("binary_adult.npz", 50, 0.01, 1000, 200, 0.03, 500, 0.167, 0.169, 0.215, 0.218),
    "connect4": Set("binary_connect4.npz", 50, 0.003, 1000, 40, 0.03, 200, 0.148, 0.146, 0.285, 0.288),
    "digits": Set("binary_digits.npz", 50, 0.003, 1000, 150, 0.03, 300, 0.472, 0.471, 0.530, 0.516),
    "digits-all": Set("binary_digits.npz", 50, 0.003, 1000, 150, 0.03, 300, 0.472, 0.471, 0.530, 0.516),
    "dna": Set("binary_dna.npz", 50, 0.01, 1000, 60, 0.03, 1000, 0.766, 0.765, 0.763, 0.765),
    "mushrooms": Set("binary_mushrooms.npz", 50, 0.003, 1000, 150, 0.03, 1000, 0.124, 0.124, 0.159, 0.159),
    "nips": Set("binary_nips.npz", 200, 0.003, 200, 25, 0.003, 200, 0.787, 0.787, 0.801, 0.804),
    "ocr": Set("binary_ocr_letters.npz", 50, 0.003, 1000, 100, 0.03, 100, 0.377, 0.379, 0.428, 0.427),
    "web": Set("binary_web_w8a.npz", 100, 0.003, 1000, 10, 0.03, 50, 0.133, 0.133, 0.140, 0.144),
}
QUICK: dict[str, Any] = {
    "batch_size": 100,
    "start_scale": 0.05,
    "start_temperature": 1.0,
}
"""Smaller batches and a larger, falling rate: most of the way in a few minutes."""


def main() -> None:
    options = _options()
    if options.table:
        options.out.write_text(table(options.kept), encoding="utf-8")
        return
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    for seed in options.seeds:
        for name in options.sets:
            for kind in options.models if options.query else ():
                _make(f"{name}-{kind}-query-{seed}", name, kind, "query", seed, options)
            if "rbm" in options.models and options.pcd and "pcd" in LEARNERS.names():
                _make(f"{name}-rbm-pcd-{seed}", name, "rbm", "pcd", seed, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("."), help="folder of the binary_*.npz files")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=("rbm", "dbm"), default=["rbm", "dbm"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--preset", choices=("paper", "quick"), default="paper")
    parser.add_argument("--epochs", type=float, help="of query training, in place of the preset's")
    parser.add_argument("--minutes", type=float, help="at most so long for each model")
    parser.add_argument("--no-pcd", dest="pcd", action="store_false", help="leave out the columns of PCD")
    parser.add_argument("--no-query", dest="query", action="store_false", help="leave out the columns of QT")
    parser.add_argument("--rates", nargs="+", type=float, default=[0.001, 0.003, 0.01, 0.03], help="of PCD")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("boltzmann-table"), help="models")
    here = Path(__file__).parent / "results"
    parser.add_argument("--kept", type=Path, default=here / "boltzmann_table", help="scores and note")
    parser.add_argument("--out", type=Path, default=here / "boltzmann_table.md", help="the table")
    parser.add_argument("--table", action="store_true", help="only write the table from what was measured")
    return parser.parse_args()


def _make(entry: str, name: str, kind: str, learner: str, seed: int, options: argparse.Namespace) -> None:
    """Train and measure one entry, unless it is there, and write the table again."""
    file = options.kept / "entries.jsonl"
    wanted = (name, kind, learner, seed, _epochs(name, learner, options))
    if not any(_is_whole(e) and (*_key(e), e.get("planned", e["epochs"])) == wanted for e in read(file)):
        print(f"{entry} …", flush=True)
        found = _trained(options.work / f"{entry}.safetensors", name, kind, learner, seed, options)
        options.kept.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({**found, "planned": wanted[4]}) + "\n")
        print(f"{entry}: {found}", flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(table(options.kept), encoding="utf-8")


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def _key(entry: dict[str, Any]) -> tuple[str, str, str, int]:
    return entry["set"], entry["model"], entry["learner"], entry["seed"]


def _is_whole(entry: dict[str, Any]) -> bool:
    """Whether a training was not cut short, and of PCD whether validation chose its rate."""
    return entry["ended"] != "time" and (entry["learner"] != "pcd" or "validation" in entry)


def _epochs(name: str, learner: str, options: argparse.Namespace) -> float:
    """How many epochs a whole run has."""
    if learner == "pcd":
        return SETS[name].pcd
    whole = SETS[name].quick if options.preset == "quick" else SETS[name].epochs
    return float(options.epochs or whole)


def _trained(path: Path, name: str, kind: str, learner: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    data = f"binary:{_file(name, options)}"
    chosen: dict[str, Any] = {}
    if learner == "pcd":
        path, trained, chosen = _best_rate(path, data, name, seed, options)
    else:
        trained = _train(path, data, kind, learner, seed, options, _query_choices(name, kind, options))
    found: dict[str, Any] = {
        "set": name,
        "model": kind,
        "learner": learner,
        "preset": options.preset if learner == "query" else "pcd",
        "seed": seed,
        "epochs": trained["epoch"],
        "steps": trained["step"],
        "training_seconds": trained["seconds"],
        "cpu_seconds": trained["cpu_seconds"],
        "ended": trained["reason"],
        **chosen,
    }
    measured = evaluate_model(path, data, queries="uniform:0.5", seed=seed, iterations=ITERATIONS)
    found |= {"nce_bits": measured["nce_bits"], "items": measured["images"]}
    found["independent"] = measured["baselines"]["independent_units"]["nce_bits"]
    if learner == "pcd":
        rows = binary_rows({"x": torch.from_numpy(parse_data(data).open()["test"]["x"][:GIBBS_ITEMS])})
        unknown = torch.rand(rows.shape, generator=torch.Generator().manual_seed(seed)) < 0.5
        found["gibbs_nce_bits"] = gibbs_scores(open_model(path), rows, unknown, seed).means()["nce_bits"]
        found["gibbs_items"] = len(rows)
    return found


def _file(name: str, options: argparse.Namespace) -> Path:
    """The data of a set. Of `digits-all` what is held out, the last tenth, is there twice."""
    file: Path = options.data / SETS[name].file
    if name != "digits-all":
        return file
    whole = options.work / "digits-all.npz"
    if not whole.exists():
        arrays = dict(np.load(file))
        train = arrays["qt_train"]
        np.savez_compressed(whole, **{**arrays, "qt_train": np.concatenate([train, train[-(len(train) // 9) :]])})
    return whole


def _query_choices(name: str, kind: str, options: argparse.Namespace) -> dict[str, Any]:
    spec = SETS[name]
    choices: dict[str, Any] = {"hidden": spec.hidden, "epochs": _epochs(name, "query", options)}
    if kind == "dbm":
        choices["second"] = spec.hidden
    if options.preset == "quick":
        return choices | QUICK | {"learning_rate": spec.quick_rate}
    return choices | {"learning_rate": spec.rate, "batch_size": 500, "schedule": "constant"}


def _best_rate(
    path: Path, data: str, name: str, seed: int, options: argparse.Namespace
) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """PCD with every rate: the file of the least NCE on the validation split, its training, and what was compared."""
    spec, runs = SETS[name], {}
    for rate in options.rates:
        file = path.with_stem(f"{path.stem}-{rate:g}")
        choices = {"hidden": spec.hidden, "learning_rate": rate, "batch_size": 100, "epochs": spec.pcd}
        trained = _train(file, data, "rbm", "pcd", seed, options, choices)
        asked = evaluate_model(file, data, split="val", queries="uniform:0.5", seed=seed, iterations=ITERATIONS)
        runs[rate] = asked["nce_bits"], file, trained
        print(f"{file.stem}: {asked['nce_bits']:.4f} on the validation split", flush=True)
    best = min(runs, key=lambda rate: runs[rate][0])
    _, file, trained = runs[best]
    seconds = sum(run[2]["cpu_seconds"] for run in runs.values())
    compared = {"rate": best, "validation": {f"{rate:g}": run[0] for rate, run in runs.items()}}
    return file, trained, {**compared, "cpu_seconds": seconds}


def _train(
    path: Path, data: str, kind: str, learner: str, seed: int, options: argparse.Namespace, choices: dict[str, Any]
) -> dict[str, Any]:
    watch = Stopwatch(path.with_suffix(".cpu"))
    trained = train_command(
        kind, learner, data, path, resume=True, max_minutes=options.minutes, seed=seed, watch=watch, **choices
    )
    return {**trained, "cpu_seconds": watch.write()}


class Stopwatch:
    """Processor time of a training over all its parts: a machine that is shared says little by the clock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = float(path.read_text(encoding="ascii")) if path.exists() else 0.0
        self._began = self._written = time.process_time()

    def __call__(self, trainer: Any, record: Any) -> None:
        if time.process_time() - self._written > 5.0:
            self.write()

    def write(self) -> float:
        """Seconds so far; kept beside the model for a run that goes on."""
        self._written = time.process_time()
        total = self._before + self._written - self._began
        self._path.write_text(f"{total:.1f}", encoding="ascii")
        return total


@torch.no_grad()
def gibbs_scores(model: RBM, rows: Tensor, unknown: Tensor, seed: int) -> BinaryScores:
    """NCE of beliefs by sampling: the mean of p(v | h) over chains and sweeps, given the other units.

    Grey levels that are given are drawn again in every sweep, which is what soft evidence means to a sampler.
    """
    generator = torch.Generator().manual_seed(seed)
    truth, asked = rows.repeat(CHAINS, 1), unknown.repeat(CHAINS, 1)
    states = (torch.rand(truth.shape, generator=generator) < 0.5).float()
    total = torch.zeros_like(truth)
    for sweep in range(BURN_IN + SWEEPS):
        given = (torch.rand(truth.shape, generator=generator) < truth).float()
        hidden = model.sample_hidden(torch.where(asked, states, given), generator)
        chance = torch.sigmoid(model.visible_logits(hidden))
        states = (torch.rand(truth.shape, generator=generator) < chance).float()
        if sweep >= BURN_IN:
            total += chance
    belief = (total / SWEEPS).reshape(CHAINS, *rows.shape).mean(0)
    bits = model.bits(torch.stack([1 - belief, belief], -1), rows)[unknown]
    right = int(((belief > 0.5) == (rows > 0.5))[unknown].sum())
    return BinaryScores(len(rows), int(unknown.sum()), float(bits.double().sum()), right)


def table(kept: Path) -> str:
    """Markdown of everything in the folder: means over seeds, and how each model was trained."""
    entries = list({_key(entry): entry for entry in read(kept / "entries.jsonl")}.values())
    words = (
        "Made by `python benchmarks/boltzmann_table.py --data FOLDER --preset quick`. Test split, uniform queries at "
        "probability ½, "
        f"{ITERATIONS} iterations of belief propagation; lower is better. Mean ± deviation where there are several "
        "seeds, which the second table lists; in brackets what [QT21] printed (means of five). "
        f"PCD-Gibbs is measured on the first {GIBBS_ITEMS} test items. The rows of web are another split than "
        "that of [QT21], so that its numbers cannot be compared; digits-all has nothing held out, as in [QT21]. Not "
        "made: AdVIL, which has networks of its own, and RCV1, which could not be had. "
        "CPU seconds of PCD are those of all the rates that validation chose from."
    )
    lines = ["# Binary RBMs and DBMs: normalised cross-entropy in bits", "", *_filled(words), ""]
    lines.append("| set | independent units | RBM, QT | DBM, QT | RBM, PCD-BP | RBM, PCD-Gibbs |")
    lines.append("| --- " * 6 + "|")
    for name in dict.fromkeys(entry["set"] for entry in entries):
        spec, own = SETS[name], [entry for entry in entries if entry["set"] == name]
        cells = [
            _cell(own, "rbm", "query", "nce_bits", spec.rbm),
            _cell(own, "dbm", "query", "nce_bits", spec.dbm),
            _cell(own, "rbm", "pcd", "nce_bits", spec.pcd_bp),
            _cell(own, "rbm", "pcd", "gibbs_nce_bits", spec.pcd_gibbs),
        ]
        lines.append(f"| {name} | {own[0]['independent']:.3f} | {' | '.join(cells)} |")
    note = kept / "note.txt"
    lines += ["", *_filled(" ".join(note.read_text(encoding="utf-8").split()))] if note.exists() else []
    lines += ["", "## How each model was trained", ""]
    lines.append("| set | model | learner | preset | seed | epochs | steps | CPU seconds | rates | ended | bits |")
    lines.append("| --- " * 11 + "|")
    for e in sorted(entries, key=_key):
        lines.append(
            f"| {e['set']} | {e['model']} | {e['learner']} | {e['preset']} | {e['seed']} | {e['epochs']:.1f} "
            f"| {e['steps']} | {e['cpu_seconds']:.0f} | {_rates(e)} | {e['ended']} | {e['nce_bits']:.4f} |"
        )
    return "\n".join(lines) + "\n"


def _rates(entry: dict[str, Any]) -> str:
    """The rate, and how many there were to choose from where validation chose."""
    if "validation" in entry:
        return f"{entry['rate']:g} of {len(entry['validation'])}"
    return "0.003" if entry["learner"] == "pcd" else f"{SETS[entry['set']].quick_rate:g}"


def _filled(words: str) -> list[str]:
    return textwrap.wrap(words, 120, break_on_hyphens=False)


def _cell(entries: list[dict[str, Any]], model: str, learner: str, key: str, printed: float) -> str:
    """Of the seeds whose runs were planned as long as the longest; some of them stop early."""
    own = [entry for entry in entries if (entry["model"], entry["learner"]) == (model, learner)]
    if not own:
        return f"– ({printed:.3f})"
    longest = max(entry.get("planned", entry["epochs"]) for entry in own)
    values = [entry[key] for entry in own if entry.get("planned", entry["epochs"]) == longest]
    if len(values) == 1:
        return f"{values[0]:.3f} ({printed:.3f})"
    return f"{statistics.mean(values):.4f} ± {statistics.stdev(values):.4f} ({printed:.3f})"


if __name__ == "__main__":
    main()
