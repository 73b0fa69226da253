"""The headless answer to "what is missing here?": what `mrfstudio inpaint` prints.

Any model that the Inpaint workspace can show works here too: `families/pixels.py` says what a family declares of its
pictures, so that a new kind needs no change in this file. Models that repair photographs of any size
(`families/repairs.py`) keep size and colours; one of them answers where nobody names a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mrfstudio.engine.families.pixels import pixels_of
from mrfstudio.engine.families.repairs import REPAIRS
from mrfstudio.engine.files.images import fitted, read_grey, write_image
from mrfstudio.engine.files.model_file import load_model, read_card
from mrfstudio.engine.files.open_model import build_model, open_model, usual_iterations
from mrfstudio.engine.inference.algorithm import State
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.tasks.repair import default_repairer, repair_photo

Grey = NDArray[np.float32]


def inpaint_image(
    image: Path,
    mask: Path,
    *,
    model: str | None = None,
    iterations: int | None = None,
    out: Path | None = None,
    deviation: Path | None = None,
    sample: Path | None = None,
    seed: int = 0,
    on_step: Callable[[Any], None] | None = None,
) -> dict[str, Any]:
    """Fill in what is white in `mask`; plain values ready for JSON.

    A model that repairs photographs does so at the picture's own size and in its colours, `repair_photo`; every other
    one on the part that it knows, `fill_in`.
    """
    name = model or default_repairer()
    kind = read_card(name).kind
    hole = _read_mask(mask, image)
    if not REPAIRS.knows(kind):
        for option, value in (("deviation", deviation), ("sample", sample)):
            if value is not None:
                raise StudioError(f"--{option} is for models that repair photographs: {name} is a {kind}.")
        return fill_in(image, mask, model=name, iterations=iterations, out=out, on_step=on_step)
    if iterations is not None:
        raise StudioError(f"--iterations is for models of one size of pictures: {name} knows when it is done.")
    found = repair_photo(
        image, hole, model=name, trained=open_model(name), out=out, deviation=deviation, sample=sample, seed=seed,
        on_step=on_step,
    )  # fmt: skip
    return {**found, "mask": str(mask)}


def fill_in(
    image: Path,
    mask: Path,
    *,
    model: str,
    iterations: int | None = None,
    out: Path | None = None,
    on_step: Callable[[State], None] | None = None,
) -> dict[str, Any]:
    """Fill in what is white in `mask`; plain values ready for JSON, with `mean` and `deviation` as rows of grey levels.

    Colours become their luminance. A mask without white is refused, one that is all white asks the model what it
    expects without seeing anything. A picture of another size is cut to the model's proportions in the middle and
    scaled, with its mask; the answer then has the model's size. Without `iterations` there are as many as the model was
    trained with, or more where its kind takes longer to settle.
    """
    name = model
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
        beliefs = bp.beliefs(trained, evidence, outcome.state)
        found = [to_host(part.to(torch.float32)) for part in pixels.mean_and_deviation(beliefs)]
    # What was seen stays as it was, whatever a model that knows only black and white would make of it.
    asked_for = np.ones_like(unknown) if pixels.answers_all else unknown
    mean, deviation = np.where(asked_for, found[0], grey), np.where(asked_for, found[1], 0.0)
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
    shape = read_grey(image).shape  # as the camera was held, like every picture that is read
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
