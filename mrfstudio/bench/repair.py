"""How soon is a damaged photograph repaired: a stroke across it, a hundredth of its pixels, twelve megapixels?"""

from __future__ import annotations

import time

import numpy as np
import torch

from mrfstudio.bench.measure import Report, calibrate
from mrfstudio.bench.photo import LARGE, SIDE, generated
from mrfstudio.engine.families.repairs import REPAIRS, Damaged, repair_of
from mrfstudio.engine.files.open_model import open_fitting
from mrfstudio.engine.tasks.repair import default_repairer

FRAME = 33.0
"""Milliseconds of a frame."""


def run() -> Report:
    """A generated photograph, the shipped model, two threads, 32 bits."""
    report = Report("a photograph repaired by windows: the shipped model, two threads, 32 bits")
    threads = torch.get_num_threads()
    model = open_fitting(default_repairer(), REPAIRS)
    try:
        torch.set_num_threads(2)
        calibrate(report)
        picture = generated(SIDE, SIDE)[0] / np.float32(255)
        small = np.zeros((SIDE, SIDE), bool)
        small[10:20, 10:20] = True
        _seconds(model, picture, small)  # what is made once for a model is made now
        first, settled = _seconds(model, picture, _stroke((SIDE, SIDE)))
        report.add("1 megapixel, a stroke of 10 px across: first answer", 1e3 * first, "ms", most=FRAME)
        report.add("1 megapixel, a stroke of 10 px across: settled", settled, "s", most=1.0)
        hole, dust = np.zeros((SIDE, SIDE), bool), np.random.default_rng(0).random((SIDE, SIDE)) < 0.01
        hole[400:500, 300:400] = True
        for name, unknown in (("as a hole", hole), ("as dust", dust)):
            report.add(f"1 % of 1 megapixel {name}: settled", _seconds(model, picture, unknown)[1], "s", most=2.0)
        large, line = generated(*LARGE)[0] / np.float32(255), np.zeros(LARGE, bool)
        line[1500:1510, 1800:2200] = True
        first, settled = _seconds(model, large, line)
        report.add("12 megapixels, a stroke of 400 px: settled", settled, "s", most=1.0)
    finally:
        torch.set_num_threads(threads)
    return report.finish()


def _stroke(shape: tuple[int, int]) -> np.ndarray:
    """A bent line ten pixels wide from edge to edge, (height, width) bool."""
    rows, columns = np.indices(shape)
    return np.asarray(np.abs(rows - shape[0] / 2 - 60 * np.sin(columns / 120)) <= 5)


def _seconds(model: object, picture: np.ndarray, unknown: np.ndarray) -> tuple[float, float]:
    """Until the first answer and until it is settled; as the window does, only the part around the hole is given."""
    rows, columns = (np.flatnonzero(unknown.any(axis)) for axis in (1, 0))
    part = tuple(slice(max(int(each[0]) - 64, 0), int(each[-1]) + 65) for each in (rows, columns))
    began = time.perf_counter()
    with torch.inference_mode():
        work = repair_of(model, Damaged(np.ascontiguousarray(picture[part], np.float32), unknown[part]))
        state = work.start()
        work.answer(state)
        first = time.perf_counter() - began
        for _ in range(work.planned):
            state = work.step(state)
        work.answer(state)
    return first, time.perf_counter() - began
