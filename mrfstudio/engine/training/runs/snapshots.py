"""Snapshots of a model while it learns: parameters as a model file, answers and pictures as arrays, by step.

`snapshots/00000120.safetensors` holds the parameters and can be used like any model; `00000120.npz` what a person sees
of them. The arrays are written last: a snapshot without them does not exist.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from mrfstudio.engine.files.atomic import atomic_path
from mrfstudio.engine.files.distrust import parsed, unpacked_arrays
from mrfstudio.engine.files.model_file import SUFFIX, save_model
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.training import Panel, PlanePicture, Snapshot
from mrfstudio.engine.training.showing import ShownModel, calibration, histogram

FOLDER = "snapshots"
MOST = 60
"""Snapshots of a run that are kept."""
DESCRIPTION = "description"
PLANE = ("density", "shares", "samples", "sample_components", "points", "responsibilities", "lines")
"""Arrays of a `PlanePicture`."""


def steps(folder: Path) -> tuple[int, ...]:
    """The steps that have a snapshot, in order."""
    names = (path.stem for path in (folder / FOLDER).glob("*.npz"))
    return tuple(sorted(int(name) for name in names if name.isdigit()))


def parameter_path(folder: Path, step: int) -> Path:
    return folder / FOLDER / f"{step:08d}{SUFFIX}"


def _shown_path(folder: Path, step: int) -> Path:
    return folder / FOLDER / f"{step:08d}.npz"


def write(
    folder: Path,
    step: int,
    seconds: float,
    shown: ShownModel,
    kind: str,
    tensors: Mapping[str, Tensor],
    card: Mapping[str, Any],
) -> None:
    """Add a snapshot, then remove those that are one too many. Tensors are the model's own, of any shape."""
    (folder / FOLDER).mkdir(exist_ok=True)
    save_model(parameter_path(folder, step), kind, tensors, card)
    arrays: dict[str, np.ndarray] = {}
    described: dict[str, Any] = {
        "seconds": seconds,
        "remark": shown.remark,
        "labels": list(shown.labels),
        "queries": [[_described(panel, arrays) for panel in query] for query in shown.queries],
        "pictures": [_described(panel, arrays) for panel in shown.pictures],
    }
    if shown.plane is not None:
        described["plane"] = list(shown.plane.window)
        arrays |= {f"plane_{name}": getattr(shown.plane, name) for name in PLANE}
    if shown.probabilities is not None and shown.outcomes is not None:
        arrays["histogram"] = histogram(shown.probabilities)
        arrays["calibration"] = calibration(shown.probabilities, shown.outcomes)
    arrays[DESCRIPTION] = np.frombuffer(json.dumps(described).encode(), np.uint8)
    with atomic_path(_shown_path(folder, step)) as temporary, open(temporary, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # its other arguments have other names
    for old in set(steps(folder)) - set(kept(steps(folder), MOST)):
        _shown_path(folder, old).unlink(missing_ok=True)
        parameter_path(folder, old).unlink(missing_ok=True)


def read(folder: Path, run: str, step: int) -> Snapshot:
    """What a person sees of a snapshot."""
    path = _shown_path(folder, step)
    try:
        arrays = unpacked_arrays(path)
        described = parsed(arrays[DESCRIPTION].tobytes())
        return Snapshot(
            run=run,
            step=step,
            seconds=float(described["seconds"]),
            queries=tuple(tuple(_panel(each, arrays) for each in query) for query in described["queries"]),
            pictures=tuple(_panel(each, arrays) for each in described["pictures"]),
            labels=tuple(str(label) for label in described["labels"]),
            histogram=_table(arrays.get("histogram")),
            calibration=_table(arrays.get("calibration")),
            remark=str(described["remark"]),
            plane=_plane(described.get("plane"), arrays),
        )
    except FileNotFoundError:
        raise StudioError(f"The snapshot of step {step} is gone: it was thinned out or deleted.") from None
    except Exception as problem:  # it may be anything
        raise StudioError(f"{path} is damaged and cannot be shown: delete it, or choose another step.") from problem


def _table(array: np.ndarray | None) -> np.ndarray | None:
    if array is not None and array.ndim != 2:
        raise ValueError(f"an array of shape {array.shape} is no table")
    return array


def kept(all_steps: Iterable[int], most: int) -> list[int]:
    """At most `most` steps: the first and the last, between them evenly in the square root of the step.

    Most is learned early, so early gaps are smaller than late ones. The step whose loss leaves the smallest gap goes.
    """
    left = sorted(all_steps)
    while len(left) > max(most, 2):
        roots = np.sqrt(left)
        gaps = roots[2:] - roots[:-2]
        del left[1 + int(gaps.argmin())]
    return left


def _plane(window: Any, arrays: Mapping[str, np.ndarray]) -> PlanePicture | None:
    if window is None:
        return None
    left, bottom, right, top = (float(value) for value in window)
    return PlanePicture((left, bottom, right, top), **{name: arrays[f"plane_{name}"] for name in PLANE})


def _described(panel: Panel, arrays: dict[str, np.ndarray]) -> dict[str, str]:
    name = f"panel{len(arrays)}"
    arrays[name] = panel.array
    return {"title": panel.title, "layer": panel.layer, "help": panel.help, "group": panel.group, "array": name}


def _panel(described: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> Panel:
    array = arrays[described["array"]]
    if not all(isinstance(word, str) for word in described.values()):
        raise ValueError("a panel is described by words")
    if array.ndim != (3 if described["layer"] == "belief" else 2) or not array.size:
        raise ValueError(f"a panel of shape {array.shape} is no picture")
    return Panel(described["title"], described["layer"], array, described["help"], described["group"])
