"""The script that remakes a table of the query-training paper."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import boltzmann_table
from mrfstudio.engine.data.dataset import parse_data
from mrfstudio.engine.inference.exact.exact import Exact
from mrfstudio.engine.inference.run import run
from tests.engine.helpers.boltzmann import random_machine


def test_beliefs_by_sampling_are_near_the_exact_ones() -> None:
    model = random_machine(0, 5, 3, scale=0.7).to(torch.float32)
    rows = torch.randint(0, 2, (40, 5), generator=torch.Generator().manual_seed(0)).float()
    unknown = torch.rand(40, 5, generator=torch.Generator().manual_seed(1)) < 0.5
    found = boltzmann_table.gibbs_scores(model, rows, unknown, 0)
    bits = 0.0
    for row, asked in zip(rows, unknown, strict=True):
        given = model.observe(row, ~asked)
        state = run(Exact(), model, given).state
        bits += float(model.bits(Exact().beliefs(model, given, state), row)[asked].sum())
    assert found.targets == int(unknown.sum())
    assert found.bits == pytest.approx(bits, rel=0.03)


def test_the_table_leaves_a_dash_where_nothing_was_measured(tmp_path: Path) -> None:
    entry = {
        "set": "mushrooms", "model": "rbm", "learner": "query", "preset": "quick", "seed": 0, "epochs": 2.0, "steps": 8,
        "training_seconds": 3.0, "cpu_seconds": 1.0, "ended": "time", "nce_bits": 0.25, "independent": 0.44,
    }  # fmt: skip
    (tmp_path / "entries.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    table = boltzmann_table.table(tmp_path)
    assert "| mushrooms | 0.440 | 0.250 (0.124) | – (0.124) | – (0.159) | – (0.159) |" in table


def test_seeds_have_a_mean_and_a_run_made_again_counts_once(tmp_path: Path) -> None:
    entry = {
        "set": "mushrooms", "model": "rbm", "learner": "query", "preset": "quick", "epochs": 2.0, "steps": 8,
        "training_seconds": 3.0, "cpu_seconds": 1.0, "ended": "finished", "independent": 0.44,
    }  # fmt: skip
    found = [(0, 0.9), (0, 0.20), (1, 0.10)]  # the first of seed 0 was made again
    lines = [json.dumps({**entry, "seed": seed, "nce_bits": bits}) for seed, bits in found]
    (tmp_path / "entries.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert "| mushrooms | 0.440 | 0.1500 ± 0.0707 (0.124) |" in boltzmann_table.table(tmp_path)


def test_pcd_is_scored_with_the_rate_that_validation_prefers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (np.random.default_rng(0).random((120, 1)) < 0.5).astype(np.uint8).repeat(6, 1)  # all units agree
    np.savez(tmp_path / "few.npz", train=rows[:80], valid=rows[80:100], test=rows[100:])
    few = boltzmann_table.Set("few.npz", 4, 0.01, 5, 5, 0.03, 40, 0.1, 0.1, 0.1, 0.1)
    monkeypatch.setitem(boltzmann_table.SETS, "few", few)
    monkeypatch.setattr(boltzmann_table, "BURN_IN", 2)
    monkeypatch.setattr(boltzmann_table, "SWEEPS", 2)
    options = argparse.Namespace(data=tmp_path, work=tmp_path, rates=[1e-5, 0.1], minutes=None, preset="quick")
    found = boltzmann_table._trained(tmp_path / "few.safetensors", "few", "rbm", "pcd", 0, options)
    assert found["rate"] == 0.1
    assert found["validation"]["0.1"] < found["validation"]["1e-05"]
    assert found["nce_bits"] < found["independent"]


def test_nothing_of_the_digits_is_held_out_where_all_are_learned_from(tmp_path: Path) -> None:
    digits = np.arange(90 * 4, dtype=np.uint8).reshape(90, 4) % 16
    np.savez(tmp_path / "binary_digits.npz", qt_train=digits, qt_test=digits[:9], scale_max=np.full(4, 16.0))
    options = argparse.Namespace(data=tmp_path, work=tmp_path)
    splits = parse_data(f"binary:{boltzmann_table._file('digits-all', options)}").open()
    assert np.array_equal(splits["train"]["x"] * 16, digits)
    assert np.array_equal(splits["val"]["x"], splits["train"]["x"][-10:])


def test_processor_time_adds_up_over_the_parts_of_a_run(tmp_path: Path) -> None:
    boltzmann_table.Stopwatch(tmp_path / "a.cpu").write()
    (tmp_path / "a.cpu").write_text("100.0", encoding="ascii")
    assert 100 <= boltzmann_table.Stopwatch(tmp_path / "a.cpu").write() < 101
