"""A photograph repaired at its own size and in its colours: what `mrfstudio inpaint` and `mrfstudio.inpaint` do."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from mrfstudio.engine.families.repairs import REPAIRS, Colours, Damaged, Repaired, repair_of
from mrfstudio.engine.files.images import write_image
from mrfstudio.engine.files.model_file import ModelFileError, read_card, shipped_models, user_models
from mrfstudio.engine.files.open_model import open_fitting
from mrfstudio.engine.files.photographs import decode, read_content
from mrfstudio.engine.protocol.errors import StudioError

LAST = 9
"""The rank of a model whose card has none."""
WIDEST = 4.0
"""A deviation of a quarter of white is drawn white."""


def default_repairer() -> str:
    """The shipped model for photographs; raises `StudioError` where this copy has none."""
    known = repairers()
    if known:
        return known[0]
    raise StudioError(
        "No model for photographs is shipped with this copy: name one with --model, or train one with mrfstudio train "
        f"{' or '.join(REPAIRS.kinds())} --data images:FOLDER."
    )


def repairers() -> tuple[str, ...]:
    """The shipped and a person's own models that repair photographs; the one whose card has the lowest rank first."""
    found = []
    for name in dict.fromkeys((*shipped_models(), *user_models())):
        try:
            file = read_card(name)
        except ModelFileError:
            continue  # choosing it says what is wrong
        if REPAIRS.knows(file.kind):
            found.append((int(file.card.get("rank") or LAST), name))
    return tuple(name for _, name in sorted(found))


def as_colours(picture: ArrayLike) -> Colours:
    """(height, width), (…, 1) or (…, 3), of 8 bits or in [0, 1], as colours (height, width, 1 or 3)."""
    pixels = np.asarray(picture)
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3) or not pixels.size:
        raise StudioError(f"The photograph has shape {pixels.shape}: expected (height, width) or (height, width, 3).")
    if pixels.dtype == np.uint8:
        return pixels.astype(np.float32) / np.float32(255)
    if pixels.dtype.kind != "f":
        raise StudioError(f"The photograph is {pixels.dtype}: expected 8 bits, or numbers from 0 to 1.")
    return pixels.astype(np.float32)


def damaged_picture(picture: ArrayLike, mask: ArrayLike) -> Damaged:
    """A photograph and what is unknown of it; what lies in the hole may be anything, also not a number."""
    colours, hole = as_colours(picture), np.asarray(mask)
    if hole.dtype != np.bool_:
        hole = hole != 0
    if hole.shape != colours.shape[:2]:
        raise StudioError(f"The mask has shape {hole.shape}: expected that of the picture, {colours.shape[:2]}.")
    known = colours[~hole]
    if known.size and not (np.isfinite(known).all() and known.min() >= 0 and known.max() <= 1):
        raise StudioError("The photograph has values outside [0, 1]: expected 8 bits, or numbers from 0 to 1.")
    return Damaged(np.where(hole[..., None], np.float32(0), colours), hole)


def repair_picture(picture: ArrayLike, mask: ArrayLike, model: str | None = None) -> Repaired:
    """Fill in where `mask` is not 0; see `Repaired`."""
    trained = open_fitting(model or default_repairer(), REPAIRS)
    with torch.inference_mode():
        work = repair_of(trained, damaged_picture(picture, mask))
        state = work.start()
        for _ in range(work.planned):
            state = work.step(state)
        return work.answer(state)


def repair_photo(
    photo: Path,
    hole: NDArray[np.bool_],
    *,
    model: str,
    trained: Any,
    out: Path | None = None,
    deviation: Path | None = None,
    sample: Path | None = None,
    seed: int = 0,
    on_step: Callable[[Any], None] | None = None,
) -> dict[str, Any]:
    """The answer of the command as plain values ready for JSON. `hole` (height, width) is what is unknown."""
    opened = decode(read_content(photo), str(photo))
    grey = bool((opened.rgb == opened.rgb[..., :1]).all())
    rgb = opened.rgb[..., :1] if grey else opened.rgb
    began = time.perf_counter()
    with torch.inference_mode():
        work = repair_of(trained, damaged_picture(rgb, hole))
        state = work.start()
        for _ in range(work.planned):
            state = work.step(state)
            if on_step is not None:
                on_step(state)
        found = work.answer(state)
        drawn = None if sample is None else work.sample(state, seed)
    seconds = time.perf_counter() - began
    for path, picture in ((out, found.colours), (sample, drawn), (deviation, WIDEST * found.deviation[..., None])):
        if path is not None and picture is not None:
            write_image(path, picture[..., 0] if picture.shape[2] == 1 else picture)
    used = np.bincount(found.component[hole & (found.component >= 0)], minlength=1)
    return {
        "image": str(photo),
        "model": model,
        "kind": trained.kind,
        "width": hole.shape[1],
        "height": hole.shape[0],
        "scaled": False,
        "colour": not grey,
        "unknown": int(hole.sum()),
        "iterations": state.iteration,
        "residual": state.residual,
        "mean_deviation": float(found.deviation[hole].mean()),
        "components": {int(k): int(used[k]) for k in used.argsort()[::-1][:10] if used[k]},
        "out": _text(out),
        "deviation": _text(deviation),
        "sample": _text(sample),
        "said": opened.said or None,
        "seconds": seconds,
    }


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
