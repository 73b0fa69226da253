"""Points in the plane: a few shapes that are drawn, or those of a file, painted by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from mrfstudio.engine.data.dataset import Array, DataError, Dataset, Progress, Splits
from mrfstudio.engine.data.npz_file import read_npz, require
from mrfstudio.engine.protocol.catalogue import choice, flag, integer
from mrfstudio.engine.registry import DATASETS

FEWEST = 8
FARTHEST = 1e18
"""Coordinates whose squares 32 bits still hold."""


@DATASETS.register
class Points(Dataset):
    """Drawn ones are standardised: mean 0, deviation 1 in both directions. Those of a file stay where they are."""

    name = "points"
    title = "Points in the plane"
    summary = "Moons, a pinwheel, rings, a checkerboard or four clouds; or points of a file, painted by hand."
    path = "optional"
    yields = "x (N, 2) float32"

    shape: str = choice(
        "both",
        ("both", "moons", "pinwheel", "rings", "checkerboard", "clouds"),
        "What is drawn; both is two moons over a pinwheel.",
    )
    count: int = integer(4000, "Training points.", low=FEWEST, high=1_000_000, logarithmic=True)
    validation: int = integer(500, "Validation points.", low=0, high=1_000_000)
    test: int = integer(4000, "Test points.", low=0, high=1_000_000)
    points_seed: int = integer(0, "The same seed draws the same points.", low=0)
    standardised: bool = flag(True, "Whether drawn points are brought to mean 0 and deviation 1.", advanced=True)

    def open(self, path: Path | None = None, *, workers: int = 1, progress: Progress | None = None) -> Splits:
        if path is not None:
            return read_points(path)
        random = np.random.default_rng(self.points_seed)
        counts = {"train": self.count, "val": self.validation, "test": self.test}
        drawn = SHAPES[self.shape](random, sum(counts.values()))
        if self.standardised:
            drawn = (drawn - drawn.mean(0)) / drawn.std(0)
        parts, start = {}, 0
        for split, count in counts.items():
            if count:
                parts[split] = {"x": drawn[start : start + count].astype(np.float32)}
            start += count
        return Splits(parts)


def read_points(path: Path) -> Splits:
    """`x` (N, 2) of an npz file; a tenth validates, a tenth tests, in an order that never changes."""
    arrays = read_npz(path, "points, which have x (N, 2)")
    require(arrays, ("x",), path)
    x = arrays["x"]
    if x.ndim != 2 or x.shape[1] != 2 or x.dtype.kind != "f" or len(x) < FEWEST or not (np.abs(x) <= FARTHEST).all():
        raise DataError(
            f"{path}: x is {x.dtype} of shape {x.shape}, expected {FEWEST} or more points, float, (N, 2), "
            f"none beyond {FARTHEST:g}."
        )
    order = np.random.default_rng(0).permutation(len(x))
    tenth = max(1, len(x) // 10)
    parts = {"train": order[2 * tenth :], "val": order[tenth : 2 * tenth], "test": order[:tenth]}
    return Splits({split: {"x": x[chosen].astype(np.float32)} for split, chosen in parts.items()})


def _moons(random: np.random.Generator, count: int) -> Array:
    angle, second = random.uniform(0, np.pi, count), random.random(count) < 0.5
    x = np.where(second, 1 - np.cos(angle), np.cos(angle))
    y = np.where(second, 0.5 - np.sin(angle), np.sin(angle))
    return np.stack([x, y], 1) + 0.07 * random.normal(size=(count, 2))


def _pinwheel(random: np.random.Generator, count: int) -> Array:
    arm = random.integers(0, 5, count)
    along, across = 1 + 0.3 * random.normal(size=count), 0.08 * random.normal(size=count)
    turn = 2 * np.pi * arm / 5 + 0.25 * np.exp(along)
    return np.stack([np.cos(turn) * along - np.sin(turn) * across, np.sin(turn) * along + np.cos(turn) * across], 1)


def _rings(random: np.random.Generator, count: int) -> Array:
    radius = random.choice([0.5, 1.0, 1.5], count, p=[1 / 6, 2 / 6, 3 / 6]) + 0.04 * random.normal(size=count)
    angle = random.uniform(0, 2 * np.pi, count)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)


def _checkerboard(random: np.random.Generator, count: int) -> Array:
    x, y = random.uniform(-2, 2, count), random.uniform(0, 1, count)
    row = 2 * random.integers(0, 2, count) + np.floor(x) % 2
    return np.stack([x, y + row - 2], 1)


def _clouds(random: np.random.Generator, count: int) -> Array:
    """Four Gaussians of deviation 0.25 at (±1.5, ±1.5) ([Liu20], figure 8.1a)."""
    centre = 1.5 * (2 * random.integers(0, 2, (count, 2)) - 1)
    return centre + 0.25 * random.normal(size=(count, 2))


def _both(random: np.random.Generator, count: int) -> Array:
    low = count // 2
    wheel, moons = 1.2 * _pinwheel(random, low), 1.4 * _moons(random, count - low) + [-0.7, 2.6]
    return random.permutation(np.concatenate([wheel, moons]))


SHAPES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "both": _both,
    "moons": _moons,
    "pinwheel": _pinwheel,
    "rings": _rings,
    "checkerboard": _checkerboard,
    "clouds": _clouds,
}
