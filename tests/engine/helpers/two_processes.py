"""Trains a few small models through the command line. Started by torchrun, each process runs this whole file."""

from __future__ import annotations

import sys
from pathlib import Path

from mrfstudio.cli import main

ISING = "--side 3 --count 90 --validation 20 --test 5 --batch-size 20 --epochs 2"
BORDER = "--data border --count 12 --validation 4 --test 1 --clones 8 --batch-size 5 --epochs 1 --iterations 3"
PAIRS = "--count 30 --validation 6 --test 1 --hidden 4 --batch-size 8 --epochs 1 --iterations 4"
RUNS = {
    "cd": f"ising --learner cd {ISING}",
    "pcd": f"ising --learner pcd --chains 7 {ISING}",
    "likelihood": f"ising --learner likelihood {ISING}",
    "rbm": f"rbm --learner cd --data ising --hidden 4 {ISING}",
    "crbm": f"crbm --learner likelihood --tolerance 0.01 {PAIRS}",
    "margin": f"crbm --learner max-margin {PAIRS}",
    "query": f"grid --learner query {BORDER} --validate-every 2",
}


def train_all(folder: Path) -> list[int]:
    """The exit status of each run; the models lie in `folder` under the names above."""
    return [
        main(["train", *words.split(), "--out", str(folder / f"{name}.safetensors")]) for name, words in RUNS.items()
    ]


if __name__ == "__main__":
    place = Path(sys.argv[1])
    statuses = train_all(place)
    statuses.append(main(["train", "ising", "--learner", "cd", "--update", "nonsense"]))
    assert statuses == [0] * len(RUNS) + [2], statuses
