"""Data-parallel training: two processes give the curve of one, and only the first of them writes and prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from mrfstudio.engine.training.checkpoint import CHANCE
from mrfstudio.engine.training.learner import TensorSource, TrainingData
from mrfstudio.engine.training.parallel import OneProcess
from mrfstudio.engine.training.progress import Progress, TrainingError
from mrfstudio.engine.training.trainer import Trainer
from tests.engine.helpers import lost_worker
from tests.engine.helpers.toy import LogisticModel, ToyLearner, toy_learner, toy_trainer
from tests.engine.helpers.training import finish
from tests.engine.helpers.two_processes import RUNS, train_all
from tests.places import ROOT


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
        [*command, str(ROOT / "tests/engine/helpers/two_processes.py"), str(shared)],
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
                    border = OneProcess()
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

    two = OneProcess()
    two.size = 2
    data = TrainingData(TensorSource(points=torch.zeros(2, 5), labels=torch.zeros(2)))
    with pytest.raises(TrainingError, match="without torchrun"):
        Trainer(LogisticModel(), Alone(**toy_learner().values()), data, parallel=two)


class Rank(OneProcess):
    """Processes played by threads that meet at a barrier."""

    def __init__(self, rank: int, shared: dict[str, Any]) -> None:
        self.rank, self.size, self.shared = rank, 2, shared

    def _all(self, value: Any) -> list[Any]:
        self.shared["values"][self.rank] = value
        self.shared["barrier"].wait(10)
        values = list(self.shared["values"])
        self.shared["barrier"].wait(10)
        return values

    def all_reduce(self, tensor: torch.Tensor) -> torch.Tensor:
        return sum(self._all(tensor.clone()), torch.zeros_like(tensor))

    def broadcast(self, value: Any) -> Any:
        return self._all(value)[0]


def test_two_ranks_give_the_curve_of_one_to_rounding(tmp_path: Path) -> None:
    alone = finish(toy_trainer())
    shared: dict[str, Any] = {"values": [None, None], "barrier": threading.Barrier(2)}
    results: list[list[Progress]] = [[], []]

    def work(rank: int) -> None:
        results[rank] = finish(toy_trainer(tmp_path / f"{rank}.safetensors", parallel=Rank(rank, shared)))

    threads = [threading.Thread(target=work, args=(rank,)) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for records in results:
        assert [record.loss for record in records] == pytest.approx([record.loss for record in alone], rel=1e-5)
        assert [record.gradient_norm for record in records] == pytest.approx(
            [record.gradient_norm for record in alone], rel=1e-4
        )
    assert (tmp_path / "0.train.safetensors").exists()
    assert not (tmp_path / "1.train.safetensors").exists()


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.skipif(not torch.distributed.is_available(), reason="this build of torch has no torch.distributed")
def test_a_lost_worker_is_started_again_and_the_curve_is_that_of_one(tmp_path: Path) -> None:
    alone, shared = tmp_path / "alone.safetensors", tmp_path / "shared.safetensors"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "--max_restarts=1"]
    ran = subprocess.run(
        [*command, str(ROOT / "tests/engine/helpers/lost_worker.py"), str(shared), "6"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert shared.with_suffix(".killed").exists()
    before = torch.get_num_threads()
    lost_worker.train(alone)
    torch.set_num_threads(before)
    one, two = (curves(path.with_suffix(".curves.json")) for path in (alone, shared))
    assert len(one["loss"]) == 16
    assert one["loss"] == pytest.approx(two["loss"], rel=1e-4, abs=1e-5)
