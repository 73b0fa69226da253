"""Held-out likelihood of Ising models learned by several methods: Tables 5.1 and 5.2 of the thesis, Table 2 of
Wiseman and Kim, made anew.

    python benchmarks/saddle.py --only grid-25        settings whose name begins so
    python benchmarks/saddle.py --table               only write the table from what was measured

A model with J ~ N(0, 1) and h ~ N(0, γ²) draws exact samples; every method learns from them, from near zero, with the
same batches, epochs and rates. Each result is one line of `benchmarks/saddle.jsonl`: a run that was stopped goes on.
NLL is exact, in nats, on samples that only chose the best epoch. Seconds are CPU time of one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

import torch

from mrfstudio.engine.data.contract import parse_data
from mrfstudio.engine.files.atomic import write_text
from mrfstudio.engine.learning.run import train_command

HERE = Path(__file__).parent
RESULTS, TABLE = HERE / "saddle.jsonl", HERE / "saddle.md"

SHARED: dict[str, Any] = {"epochs": 8, "batch_size": 100, "learning_rate": 0.05}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "exact": ("likelihood", {"algorithm": "exact"}),
    "mean field": ("likelihood", {"algorithm": "mean-field"}),
    "BP": ("likelihood", {"algorithm": "bp"}),
    "damped BP": ("likelihood", {"algorithm": "bp", "algorithm_options": "damping=0.5"}),
    "GBP, double loop": ("likelihood", {"algorithm": "gbp", "tolerance": 1e-4}),
    "saddle, Bethe": ("saddle", {"energy": "bethe"}),
    "saddle, regions": ("saddle", {"energy": "regions"}),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "grid-25": {"shape": "grid", "side": 5, "count": 4000, "validation": 1000, "field": 0.1},
    "complete-9": {"shape": "complete", "nodes": 9, "count": 2000, "validation": 1000, "field": 0.1},
    "grid-25-paper": {"shape": "grid", "side": 5, "count": 1000, "validation": 1000, "field": 1.0},
    "grid-100": {"shape": "grid", "side": 10, "count": 4000, "validation": 1000, "field": 0.1},
    "complete-16": {"shape": "complete", "nodes": 16, "count": 2000, "validation": 1000, "field": 0.1},
    "grid-100-paper": {"shape": "grid", "side": 10, "count": 1000, "validation": 1000, "field": 1.0},
    "grid-225": {"shape": "grid", "side": 15, "count": 4000, "validation": 1000, "field": 0.1},
    "grid-225-paper": {"shape": "grid", "side": 15, "count": 1000, "validation": 1000, "field": 1.0},
}


def read() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def measure(setting: str, method: str) -> dict[str, Any]:
    learner, options = METHODS[method]
    data = SETTINGS[setting]
    truth = -float(parse_data("ising").open(**data)["val"]["logp"].mean())
    started = time.process_time()
    with tempfile.TemporaryDirectory(prefix="mrfstudio-saddle-") as folder:
        out = Path(folder, "model.safetensors")
        scores = train_command("ising", learner, "ising", out, **SHARED, **data, **options)["scores"]
    seconds = time.process_time() - started
    # A validation has no exact likelihood where that would take more memory than it may: then there is no number.
    return {"setting": setting, "method": method, "nll": scores.get("nll"), "true": truth, "seconds": seconds}


def write_table() -> None:
    records = read()
    lines = ["# Learning Ising models: held-out NLL", "", (__doc__ or "").split("\n\n")[-1].strip(), ""]
    lines += ["One graph a setting. `-paper` settings have 1,000 samples and γ = 1, the others γ = 0.1.", ""]
    lines += ["| setting | true model | " + " | ".join(METHODS) + " |", "| --- " * (len(METHODS) + 2) + "|"]
    for setting in SETTINGS:
        own = {r["method"]: r for r in records if r["setting"] == setting}
        if own:
            true = next(iter(own.values()))["true"]
            cells = [_cell(own.get(method)) for method in METHODS]
            lines.append(f"| {setting} | {true:.3f} | " + " | ".join(cells) + " |")
    write_text(TABLE, "\n".join([*lines, ""]))


def _cell(record: dict[str, Any] | None) -> str:
    if record is None or record["nll"] is None:
        return "–"
    return f"{record['nll']:.3f} ({record['seconds']:.0f} s)"


def main() -> None:
    parser = argparse.ArgumentParser(description="Learn Ising models by several methods.")
    parser.add_argument("--only", default="", help="settings whose name begins so")
    parser.add_argument("--table", action="store_true", help="write the table and stop")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    done = {(r["setting"], r["method"]) for r in read()}
    for setting in [] if options.table else [s for s in SETTINGS if s.startswith(options.only)]:
        for method in METHODS:
            if (setting, method) in done:
                continue
            record = measure(setting, method)
            with RESULTS.open("a") as stream:
                stream.write(json.dumps(record) + "\n")
            print(f"{setting}, {method}: {record['nll']}", flush=True)
            write_table()
    write_table()


if __name__ == "__main__":
    main()
