"""The headless answer to "what is inside this contour?": what `mrfstudio segment` prints."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mrfstudio.engine.data.pictures.border_noise import SEEN
from mrfstudio.engine.families.contours import CONTOURS, contours_of
from mrfstudio.engine.files.images import read_grey, what_was_reduced, write_labels
from mrfstudio.engine.files.model_file import shipped_models
from mrfstudio.engine.files.open_model import open_fitting
from mrfstudio.engine.inference.algorithm import State
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.inference.run import Limits, run
from mrfstudio.engine.protocol.answers import Picture
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.requests.segment import FIGURE, MakeFigure
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.workspaces.segment.pictures import contour_picture, figure_picture

PREFERRED = ("grid-any", "grid-border-64", "grid-border-16")
USUAL_ITERATIONS = 15
MOST_PIXELS = 4_000_000  # messages of 66 states in 8 directions take 2 kB a pixel


def default_model() -> str:
    """The best shipped model of contours."""
    shipped = shipped_models()
    for name in PREFERRED:
        if name in shipped:
            return name
    raise StudioError(
        "No model of contours is shipped with this copy: give one with --model, or train one with `mrfstudio train "
        f"{' or '.join(CONTOURS.kinds())}`."
    )


def segment_contours(
    image: Path,
    *,
    model: str | None = None,
    iterations: int | None = None,
    ink: str = "auto",
    side: int | None = None,
    thin: bool = False,
    out: Path | None = None,
    on_step: Callable[[State], None] | None = None,
) -> dict[str, Any]:
    """Label every pixel of a contour image as contour (0), OUT (1) or IN (2); `image` may be a figure in words.

    `side` makes a larger picture smaller first, until its longer side has so many pixels; `thin` makes lines one pixel
    wide. Without `iterations` there are as many as the model was trained for.
    """
    name = model or default_model()
    trained = open_fitting(name, CONTOURS)
    asked = iterations or contours_of(trained).iterations(trained) or USUAL_ITERATIONS
    limits = Limits(iterations=asked, tolerance=0.0)
    if side is not None and side < 1:
        raise StudioError(f"--side is {side}: expected a whole number of at least 1, such as 40.")
    found = _found(image, ink, side, thin)
    seen = found.observed == SEEN
    height, width = seen.shape
    memory = height * width * contours_of(trained).memory(trained)
    if height * width > MOST_PIXELS:
        raise StudioError(
            f"{image} has {width}×{height} pixels, which would take {memory / 1e9:.0f} GB: scale it down first."
        )
    started = time.perf_counter()
    evidence = trained.evidence_from_image(~seen)
    bp = BeliefPropagation()
    with torch.inference_mode():
        outcome = run(bp, trained, evidence, limits, on_step=on_step)
        beliefs = to_host(trained.label_beliefs(bp.beliefs(trained, evidence, outcome.state)))
        doubt = contours_of(trained).unlike(trained, evidence, outcome.state)
    labels = beliefs.argmax(-1).astype(np.uint8)
    reduced = "" if str(image).startswith(FIGURE) else what_was_reduced(image)
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
        "pixels": counts(labels, [label.lower() for label in trained.label_names], first=0),
        "mean_certainty": float(beliefs.max(-1).mean()),
        "out": str(out) if out is not None else None,
        "seconds": time.perf_counter() - started,
        "said": " ".join(filter(None, (reduced, doubt))) or None,
    }


def _found(image: Path, ink: str, side: int | None, thin: bool) -> Picture:
    if str(image).startswith(FIGURE):
        asked = MakeFigure.from_words(str(image))
        return figure_picture(**asdict(asked))
    grey = read_grey(image)
    longest = max(grey.shape) if side is None else side
    return contour_picture(grey, ink=ink, longest=longest, thin=thin)  # type: ignore[arg-type]


def counts(labels: np.ndarray, names: list[str], first: int) -> dict[str, int]:
    """How many pixels have each label."""
    return {name: int((labels == number).sum()) for number, name in enumerate(names, first)}
