"""The plane of a run as it is now: one file that is written again at almost every step, and read while it learns.

It is smaller than the plane of a snapshot and does not wait for the disk: only what is on the screen depends on it.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from mrfstudio.engine.files.atomic import atomic_path
from mrfstudio.engine.files.distrust import unpacked_arrays
from mrfstudio.engine.protocol.training import LivePlane, PlanePicture
from mrfstudio.engine.training.runs.snapshots import PLANE

FILE = "live.npz"
SIDE = 40
"""Cells in each direction: a quarter of the work of a snapshot's."""


def write(folder: Path, step: int, plane: PlanePicture) -> None:
    """Show this step in place of the one before."""
    arrays = {name: getattr(plane, name) for name in PLANE}
    arrays |= {"step": np.array(step), "window": np.array(plane.window)}
    with atomic_path(folder / FILE, durable=False) as temporary, open(temporary, "wb") as file:
        np.savez(file, **arrays)


def read(folder: Path, after: int) -> LivePlane | None:
    """The newest plane, if it belongs to a later step than `after`."""
    try:
        arrays = unpacked_arrays(folder / FILE)
        step, (left, bottom, right, top) = int(arrays["step"]), arrays["window"].tolist()
        if step <= after:
            return None
        return LivePlane(step, PlanePicture((left, bottom, right, top), **{name: arrays[name] for name in PLANE}))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None  # none yet, or not ours: the next snapshot is shown instead


def remove(folder: Path) -> None:
    """Of a run that has ended, or goes on from an earlier step, the snapshots tell."""
    (folder / FILE).unlink(missing_ok=True)
