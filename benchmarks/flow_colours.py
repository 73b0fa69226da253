"""Mixtures of flows as the colour model of photographs, against the smoothed tables that are there.

    python benchmarks/flow_colours.py FOLDER [--most N]

FOLDER as for `cutout.py`, and with its default settings. A label's colours (CIE Lab) are drawn by their weights, three
flows are fitted to them, and their density fills the same table; a refit goes on from the fit before. The mean IoU
of both on the same photographs and strokes is printed, and the seconds of a cut.
"""

from __future__ import annotations

import argparse
import time
from functools import partialmethod
from pathlib import Path

import numpy as np
import torch
from cutout import SETS, field, iou, load

from mrfstudio.engine.families.mixture.model import FlowMixture, FlowMixturePlan
from mrfstudio.engine.families.photographs import colours
from mrfstudio.engine.families.photographs.cutout import CutoutSettings
from mrfstudio.engine.families.photographs.photograph import Photograph
from mrfstudio.engine.training.learner import TensorSource, TrainingData

DRAWN, BATCH, FIRST, AGAIN = 2000, 256, 150, 40
SMOOTHED = colours.ColourCells.table


class FlowTables:
    """`ColourCells.table` by flows; a label is known by its turn, because labels are fitted in their order."""

    def __init__(self) -> None:
        self.fitted: dict[int, FlowMixture] = {}
        self.turn = 0

    def table(self, cells: colours.ColourCells, weights: colours.Floats, blur: float) -> colours.Floats:
        flat = weights.reshape(-1).astype(np.float64)
        label, self.turn = self.turn % 2, self.turn + 1
        random = np.random.default_rng(label)
        chosen = random.choice(len(flat), DRAWN, p=flat / flat.sum())
        place = np.stack(np.unravel_index(cells.cell[chosen], (colours.BINS,) * 3), 1).astype(np.float64)
        for corner, share in zip(np.ndindex(2, 2, 2), cells.shares, strict=True):
            place += np.array(corner) * share[chosen, None]
        place += random.normal(0, blur, place.shape)  # what the tables are blurred by
        x = torch.from_numpy((place / colours.BINS).astype(np.float32))
        model = self.fitted.get(label)
        first = model is None
        if model is None:
            model = FlowMixturePlan(components=3, layers=4, width=16).build_for(TrainingData(TensorSource(x=x)), 0)
            self.fitted[label] = model
        climb(model, x, FIRST if first else AGAIN)
        axis = torch.arange(colours.BINS) / colours.BINS
        with torch.no_grad():
            density = model.log_density(torch.cartesian_prod(axis, axis, axis)).exp().numpy()
        made: colours.Floats = (density / max(float(density.sum()), 1e-12)).astype(np.float32)
        return made


def climb(model: FlowMixture, x: torch.Tensor, steps: int) -> None:
    """Gradient steps up the likelihood of colours x (N, 3)."""
    tensors = [tensor.requires_grad_() for tensor in model.tensors().values()]
    optimiser = torch.optim.Adam(tensors, 0.01)
    draw = torch.Generator().manual_seed(0)
    for _ in range(steps):
        loss = -model.log_density(x[torch.randint(len(x), (BATCH,), generator=draw)]).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photographs", type=Path)
    parser.add_argument("--most", type=int, default=0, help="photographs at most, every so many-th of all")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    names = sorted(p.name.removesuffix("-mask.png") for p in options.photographs.glob("*-mask.png"))
    names = names[:: max(1, len(names) // options.most)][: options.most] if options.most else names
    found: dict[str, list[float]] = {}
    for name in names:
        pixels, truth, strokes = load(options.photographs, name)
        for k in SETS:
            for way in ("tables", "flows"):
                flows = FlowTables()
                by_flows = partialmethod(lambda cells, flows, *given: flows.table(cells, *given), flows)
                colours.ColourCells.table = SMOOTHED if way == "tables" else by_flows  # type: ignore[assignment]
                began = time.process_time()
                score = iou(field(Photograph(pixels), strokes[k], CutoutSettings()), truth)
                found.setdefault(f"set {k}, {way}", []).append(score)
                found.setdefault(f"set {k}, {way}, CPU s", []).append(time.process_time() - began)
        print(name, {key: round(values[-1], 3) for key, values in found.items()}, flush=True)
    for key, values in found.items():
        print(f"{key}: {np.mean(values):.3f} over {len(values)} photographs")


if __name__ == "__main__":
    main()
