"""The headless answer to "what is inside this contour?": what `mrfstudio segment` prints."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mrfstudio.engine.data.border_noise import SEEN
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.files.images import label_palette, read_colour, read_grey, read_labels, write_labels
from mrfstudio.engine.files.model_file import shipped_models
from mrfstudio.engine.inference.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.contract import State
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.open_model import open_model
from mrfstudio.engine.photo import PhotoCut, cut_photo
from mrfstudio.engine.pictures import contour_picture

PREFERRED = ("grid-border-64", "grid-border-16")
MOST_PIXELS = 4_000_000  # messages of 66 states in 8 directions take 2 kB a pixel


def default_model() -> str:
    """The best shipped grid model."""
    shipped = shipped_models()
    for name in PREFERRED:
        if name in shipped:
            return name
    raise StudioError(
        "No grid model is shipped with this copy: give one with --model, or train one with `mrfstudio train grid`."
    )


def segment_contours(
    image: Path,
    *,
    model: str | None = None,
    iterations: int = 15,
    ink: str = "auto",
    side: int | None = None,
    thin: bool = False,
    out: Path | None = None,
    on_step: Callable[[State], None] | None = None,
) -> dict[str, Any]:
    """Label every pixel of a contour image as contour (0), OUT (1) or IN (2).

    `side` makes a larger picture smaller first, until its longer side has so many pixels; `thin` makes lines one pixel
    wide. The shipped models know figures about as large as digits, drawn with thin lines.
    """
    limits = Limits(iterations=iterations, tolerance=0.0)
    name = model or default_model()
    grid = open_model(name, "grid")
    if side is not None and side < 1:
        raise StudioError(f"--side is {side}: expected a whole number of at least 1, such as 40.")
    grey = read_grey(image)
    longest = max(grey.shape) if side is None else side
    found = contour_picture(grey, ink=ink, longest=longest, thin=thin)  # type: ignore[arg-type]
    seen = found.observed == SEEN
    height, width = seen.shape
    memory = height * width * grid.states * grid.connectivity * 4 * 3
    if height * width > MOST_PIXELS:
        raise StudioError(
            f"{image} has {width}×{height} pixels, which would take {memory / 1e9:.0f} GB: scale it down first."
        )
    started = time.perf_counter()
    evidence = grid.evidence_from_image(~seen)
    bp = BeliefPropagation()
    with torch.inference_mode():
        outcome = run(bp, grid, evidence, limits, on_step=on_step)
        beliefs = grid.label_beliefs(bp.beliefs(grid, evidence, outcome.state)).numpy()
    labels = beliefs.argmax(-1).astype(np.uint8)
    if out is not None:
        write_labels(out, labels)
    return {
        "image": str(image),
        "model": name,
        "width": width,
        "height": height,
        "ink": found.ink if found.threshold is not None else None,
        "threshold": found.threshold,
        "contour_seen": int(seen.sum()),
        "iterations": outcome.state.iteration,
        "residual": bp.residual(outcome.state),
        "pixels": _counts(labels, [label.lower() for label in grid.label_names], first=0),
        "mean_certainty": float(beliefs.max(-1).mean()),
        "out": str(out) if out is not None else None,
        "seconds": time.perf_counter() - started,
    }


def segment_photo(
    photo: Path,
    scribbles: Path,
    labels: int,
    *,
    settings: PhotoCut | None = None,
    out: Path | None = None,
    on_level: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Label every pixel of a photograph with 1 … labels, from scribbles that name a few."""
    if not 2 <= labels <= 255:
        raise StudioError(f"--labels is {labels}: expected a whole number from 2 to 255.")
    pixels, strokes = read_colour(photo), read_labels(scribbles, labels + 1)
    started = time.perf_counter()
    with torch.inference_mode():
        cut = cut_photo(pixels, strokes, labels, settings or PhotoCut(), on_level)
    if out is not None:
        write_labels(out, cut.labels, label_palette(labels + 1))
    height, width = cut.labels.shape
    return {
        "image": str(photo),
        "scribbles": str(scribbles),
        "width": width,
        "height": height,
        "labels": labels,
        "iterations": cut.iterations,
        "residual": cut.residual,
        "pixels": _counts(cut.labels, [str(k) for k in range(1, labels + 1)], first=1),
        "mean_certainty": float(cut.beliefs.max(-1).mean()),
        "out": str(out) if out is not None else None,
        "seconds": time.perf_counter() - started,
    }


def _counts(labels: np.ndarray, names: list[str], first: int) -> dict[str, int]:
    return {name: int((labels == number).sum()) for number, name in enumerate(names, first)}
