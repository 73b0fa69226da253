"""Data-parallel training: two processes give the curve of one, and only the first of them writes and prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from mrfstudio.engine.learning.contract import TensorSource, TrainingData
from mrfstudio.engine.learning.curves import CHANCE
from mrfstudio.engine.learning.parallel import Solo
from mrfstudio.engine.learning.progress import TrainingError
from mrfstudio.engine.learning.trainer import Trainer
from tests.engine.toy import LogisticModel, ToyLearner, toy_learner
from tests.engine.two_processes import RUNS, train_all

ROOT = Path(__file__).resolve().parents[2]


def curves(path: Path) -> dict[str, list[Any]]:
    found = json.loads(path.read_text())["columns"]
    return {name: values for name, values in found.items() if name not in CHANCE}


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this build of torch has no torch.distributed")
def test_two_processes_give_the_curves_of_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    alone.mkdir()
    shared.mkdir()
    before = torch.get_num_threads()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    ran = subprocess.run(
        [*command, str(ROOT / "tests/engine/two_processes.py"), str(shared)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert train_all(alone) == [0] * len(RUNS)
    torch.set_num_threads(before)
    for name in RUNS:
        one, two = (curves(folder / f"{name}.curves.json") for folder in (alone, shared))
        assert one.keys() == two.keys()
        assert one["loss"] == pytest.approx(two["loss"], rel=1e-4, abs=1e-5)
        assert one["gradient_norm"] == pytest.approx(two["gradient_norm"], rel=1e-3)
    assert sorted(path.name for path in alone.iterdir()) == sorted(path.name for path in shared.iterdir())
    assert ran.stdout.count("model written to") == len(RUNS)
    assert ran.stderr.count("update is 'nonsense'") == 1


def test_groups_of_items_stay_in_one_process() -> None:
    for size in (1, 2, 3):
        for items in (1, 2, 5, 10, 11):
            for together in (1, 2, 4):
                taken = []
                for rank in range(size):
                    border = Solo()
                    border.rank, border.size = rank, size
                    rows = border.rows(items, together)
                    assert rows.start % together == 0
                    assert rows.stop % together == 0 or rows.stop == items
                    taken += list(range(items))[rows]
                enough = -(-items // together) >= size
                assert taken == list(range(items)) * (1 if enough else size)


def test_a_learner_that_is_no_gradient_of_a_batch_says_so() -> None:
    class Alone(ToyLearner):
        of_batches = False

    two = Solo()
    two.size = 2
    data = TrainingData(TensorSource(points=torch.zeros(2, 5), labels=torch.zeros(2)))
    with pytest.raises(TrainingError, match="without torchrun"):
        Trainer(LogisticModel(), Alone(**toy_learner().values()), data, parallel=two)
