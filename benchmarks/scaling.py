"""How training scales under torchrun, and a batch with its workers: one process and two, on a machine with two cores.

    python benchmarks/scaling.py training        on a quiet machine; writes benchmarks/results/scaling.md
    python benchmarks/scaling.py batches         the same for batches: benchmarks/results/batches.md

A batch is timed from its start to its end: starting the processes, and reading torch in each, is part of it.

In training, each process has one thread, so that two of them use two cores. The time of a step is the median after the
first five. The time that a processor spent on it says how the work is shared also where other programs run beside it;
what the processes wait for each other is only in the time of the clock, which needs a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[1]
DRAWINGS, GRAPHS = 40, 60
TRAININGS = [
    "| training | one process, ms a step | two, ms a step | speed-up | one, ms of a processor | two, ms of each | "
    "share | gradient, kB | all-reduce, ms |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
]
BATCHES = ["| batch | one worker, s | two, s | speed-up |", "| --- | --- | --- | --- |"]
WORK = {
    "grid, 16 clones, batches of 32 pictures": (
        "grid",
        "query",
        "border",
        dict(count=400, validation=4, test=1, clones=16, batch_size=32, epochs=100, iterations=5, first_iterations=5),
    ),
    "rbm, 200 hidden units, batches of 256 pictures": (
        "rbm",
        "pcd",
        "glyphs",
        dict(count=600, validation=10, test=1, hidden=200, batch_size=256, epochs=100),
    ),
}


def child(name: str, steps: int, out: Path) -> None:
    """Train for some steps; the first process writes the times and the size of what is added up."""
    import torch
    from torch import distributed

    from mrfstudio.engine.training.command import assemble, training_plan
    from mrfstudio.engine.training.parallel import process_group
    from mrfstudio.engine.training.trainer import Trainer

    torch.set_num_threads(1)
    model_name, learner, data, options = WORK[name]
    model, trained, loaded = assemble(training_plan(model_name, learner, data), 0, options)
    border = process_group()
    times, work, before = [], [], (time.perf_counter(), time.process_time())
    for record in Trainer(model, trained, loaded, parallel=border).run():
        if record.step > len(times):
            now = (time.perf_counter(), time.process_time())
            times.append(now[0] - before[0])
            work.append(now[1] - before[1])
            before = now
        if len(times) >= steps + 5:
            break
    size = sum(tensor.numel() * tensor.element_size() for tensor in model.tensors().values())
    reduced = 0.0
    if border.size > 1:
        block, taken = torch.zeros(size // 4), []
        for _ in range(30):
            distributed.barrier()
            begin = time.perf_counter()
            border.all_reduce(block)
            taken.append(time.perf_counter() - begin)
        reduced = statistics.median(taken)
    if border.rank == 0:
        found = {"step": statistics.median(times[5:]), "work": statistics.median(work[5:])}
        out.write_text(json.dumps({**found, "bytes": size, "all_reduce": reduced}))


def measured(name: str, processes: int, steps: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "times.json")
        words = [str(Path(__file__).resolve()), "training", "--child", name, "--steps", str(steps), "--out", str(out)]
        torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
        command = [sys.executable, *(torchrun if processes > 1 else []), *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        subprocess.run(command, env=environment, check=True, capture_output=True)
        found: dict[str, float] = json.loads(out.read_text())
        return found


def batch_seconds(folder: Path, command: str, options: list[str], workers: int) -> float:
    out = folder.with_name(f"{folder.name}-{workers}")
    words = ["batch", command, str(folder), "--out", str(out), "--workers", str(workers), *options]
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "mrfstudio", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - begin


def drawings(folder: Path) -> None:
    """Ellipses with a gap, 128×128."""
    from PIL import Image, ImageDraw

    for number in range(DRAWINGS):
        picture = Image.new("L", (128, 128), 255)
        box = (10 + number % 7, 14, 118 - number % 5, 100 + number % 11)
        ImageDraw.Draw(picture).arc(box, 8 + number, 360 + number, fill=0)
        picture.save(folder / f"{number:02}.png")


def graphs(folder: Path) -> None:
    """Grids of spins, 80×80, written as .uai."""
    import mrfstudio

    side = 80
    cells = [(row, column) for row in range(side) for column in range(side)]
    edges = [(side * r + c, side * r + c + 1) for r, c in cells if c + 1 < side]
    edges += [(side * r + c, side * (r + 1) + c) for r, c in cells if r + 1 < side]
    for number in range(GRAPHS):
        random = Random(number)
        couplings = [random.gauss(0, 0.4) for _ in edges]
        fields = [random.gauss(0, 0.2) for _ in cells]
        mrfstudio.write_graph(folder / f"{number:03}.uai", mrfstudio.FactorGraph.ising(edges, couplings, fields))


def batch_rows() -> list[str]:
    """Lines of the table of batches."""
    kinds = (
        (f"segment, {DRAWINGS} drawings of 128×128", "segment", [], drawings),
        (f"infer --algorithm bp, {GRAPHS} grids of 80×80", "infer", ["--algorithm", "bp"], graphs),
    )
    rows = []
    for name, command, options, make in kinds:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "items")
            folder.mkdir()
            make(folder)
            one, two = (batch_seconds(folder, command, options, workers) for workers in (1, 2))
        rows.append(f"| {name} | {one:.1f} | {two:.1f} | {one / two:.2f} |")
        print(rows[-1], flush=True)
    return rows


BUSY = """
import time, torch
torch.set_num_threads(1)
left, right = torch.rand(2, 512, 512)
left @ right
begin = time.perf_counter()
for _ in range(600):
    left @ right
print(time.perf_counter() - begin)
"""


def ceiling() -> float:
    """The speed-up of two processes that share nothing but the machine: products of matrices, one thread each."""

    def together(count: int) -> float:
        started = [subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) for _ in range(count)]
        return max(float(each.communicate()[0]) for each in started)

    return 2 * together(1) / together(2)


def training_rows(steps: int) -> list[str]:
    """Lines of the table of trainings."""
    rows = []
    for name in WORK:
        one, two = (measured(name, processes, steps) for processes in (1, 2))
        cells = [f"{1e3 * one['step']:.1f}", f"{1e3 * two['step']:.1f}", f"{one['step'] / two['step']:.2f}"]
        cells += [f"{1e3 * one['work']:.1f}", f"{1e3 * two['work']:.1f}", f"{one['work'] / two['work']:.2f}"]
        cells += [f"{two['bytes'] / 1e3:.0f}", f"{1e3 * two['all_reduce']:.2f}"]
        rows.append(f"| {name} | {' | '.join(cells)} |")
        print(rows[-1], flush=True)
    return rows


def load() -> float:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("training", "batches"))
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.steps, options.out)
        return
    before = load()
    about = [
        f"Made by `benchmarks/scaling.py {options.part}` on {os.cpu_count()} cores; load before it {before:.1f}. Two "
        f"processes that share nothing but the\nmachine get {ceiling():.2f} times the work of one done.",
        "",
    ]
    if options.part == "training":
        about += [f"One thread a process, medians of {options.steps} steps.", ""]
        keep("scaling.md", ["# Training under torchrun", "", *about, *TRAININGS, *training_rows(options.steps)])
    else:
        keep("batches.md", ["# Batches, from start to end", "", *about, *BATCHES, *batch_rows()])


def keep(name: str, lines: list[str]) -> None:
    (ROOT / "benchmarks" / "results" / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
