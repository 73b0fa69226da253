"""The headless answer to "what is missing here?": what `mrfstudio inpaint` prints.

Any model that the Inpaint workspace can show works here too: `workspaces/pixels.py` says how each kind takes a picture
and gives one back, so that a new kind needs no change in this file.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.files.images import fitted, read_grey, write_image
from mrfstudio.engine.files.model_file import load_model, shipped_models
from mrfstudio.engine.inference.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.contract import State
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.open_model import build_model, usual_iterations
from mrfstudio.engine.workspaces.contract import LaneView
from mrfstudio.engine.workspaces.inpaint import InpaintWorkspace
from mrfstudio.engine.workspaces.pixels import pixels_of

PREFERRED = ("grbm-frey", "grbm-faces", "grbm-frey-unit")

Grey = NDArray[np.float32]


def default_model() -> str:
    """The best shipped model of pictures."""
    shipped = shipped_models()
    for name in PREFERRED:
        if name in shipped:
            return name
    raise StudioError(
        "No model of pictures is shipped with this copy: name one with --model, or train one with mrfstudio train grbm."
    )


def inpaint_image(
    image: Path,
    mask: Path,
    *,
    model: str | None = None,
    iterations: int | None = None,
    out: Path | None = None,
    on_step: Callable[[State], None] | None = None,
) -> dict[str, Any]:
    """Fill in what is white in `mask`; plain values ready for JSON, with `mean` and `deviation` as rows of grey levels.

    Colours become their luminance. A mask without white is refused, one that is all white asks the model what it
    expects without seeing anything. A picture of another size is cut to the model's proportions in the middle and
    scaled, with its mask; the answer then has the model's size. Without `iterations` there are as many as the model was
    trained with, and at least 50 for a GRBM.
    """
    name = model or default_model()
    file = load_model(name)
    trained = build_model(file)
    pixels = pixels_of(trained)
    grey, unknown = read_grey(image), _read_mask(mask, image)
    height, width = pixels.shape(trained)
    scaled = grey.shape != (height, width)
    if scaled:
        grey, unknown = _fitted(grey, unknown, (height, width), mask)
    asked = iterations or usual_iterations(file)
    started = time.perf_counter()
    with torch.inference_mode():
        observed, hole = torch.from_numpy(grey), torch.from_numpy(unknown)
        evidence = trained.evidence_from_image(observed, hole)
        bp = BeliefPropagation()
        outcome = run(bp, trained, evidence, Limits(iterations=asked, tolerance=0.0), on_step=on_step)
        view = LaneView(InpaintWorkspace().blank(), trained, bp, evidence, outcome.state)
        found = [part.to(torch.float32).numpy() for part in pixels.mean_and_deviation(view)]
    # What was seen stays as it was, whatever a model that knows only black and white would make of it.
    mean, deviation = np.where(unknown, found[0], grey), np.where(unknown, found[1], 0.0)
    if out is not None:
        write_image(out, mean)
    return {
        "image": str(image),
        "mask": str(mask),
        "model": name,
        "kind": file.kind,
        "width": width,
        "height": height,
        "scaled": scaled,
        "unknown": int(unknown.sum()),
        "iterations": outcome.state.iteration,
        "residual": bp.residual(outcome.state),
        "mean_deviation": float(deviation[unknown].mean()),
        "mean": _rows(mean),
        "deviation": _rows(deviation),
        "out": str(out) if out is not None else None,
        "seconds": time.perf_counter() - started,
    }


def _read_mask(mask: Path, image: Path) -> NDArray[np.bool_]:
    """Where something is unknown: white, that is at least half bright."""
    unknown = read_grey(mask) >= 0.5
    shape = read_grey(image).shape
    if unknown.shape != shape:
        sizes = [f"{width}×{height}" for height, width in (unknown.shape, shape)]
        raise StudioError(
            f"{mask} has {sizes[0]} pixels and {image} {sizes[1]}: expected a mask of the picture's size."
        )
    if not unknown.any():
        raise StudioError(f"{mask} has no white pixel, so nothing is unknown: paint white what is to be filled in.")
    return unknown


def _fitted(
    grey: Grey, unknown: NDArray[np.bool_], shape: tuple[int, int], mask: Path
) -> tuple[Grey, NDArray[np.bool_]]:
    """The middle part of picture and mask at the model's size; a pixel is unknown if any of it is."""
    hole = fitted(unknown.astype(np.float32), shape) > 1e-3
    if not hole.any():
        raise StudioError(f"{mask} has no white in the middle part that the model sees: cut the picture first.")
    return np.clip(fitted(grey, shape), 0, 1), hole


def _rows(levels: NDArray) -> list[list[float]]:
    return [[round(float(value), 6) for value in row] for row in levels]
