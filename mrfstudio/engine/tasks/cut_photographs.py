"""Photographs cut by scribbles, or by a model that was kept from scribbles: what `mrfstudio segment` does with them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mrfstudio.engine.families.scribbles import SCRIBBLES, Cut, Scribbles, cutter
from mrfstudio.engine.files.images import label_palette, write_labels
from mrfstudio.engine.files.model_file import save_model
from mrfstudio.engine.files.open_model import open_fitting
from mrfstudio.engine.files.photographs import DecodedPhotograph, decode, photographs_in, read_content
from mrfstudio.engine.files.strokes import MOST_LABELS, Colour, Strokes, read_strokes, write_cutout
from mrfstudio.engine.protocol.catalogue import Parameters
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.tasks.segment import counts

STROKES = (".png", ".svg", ".gif", ".webp", ".bmp", ".tif")
"""Endings of strokes that lie in a folder under the names of their photographs."""

Says = Callable[[str], None]


@dataclass(frozen=True)
class CutPlan:
    """What is asked of every photograph."""

    scribbles: Path | None = None
    model: str | None = None
    """A model that was kept; without scribbles it decides alone."""
    labels: int | None = None
    settings: Parameters | None = None
    out: Path | None = None
    cutout: Path | None = None
    kept: int | None = None
    """The label that a cut-out keeps; None is all but the one that lies around everything."""
    refine: bool = False
    """Whether a cut-out's edge is refined."""
    keep_model: Path | None = None
    """Where a model is written that is fitted to the answers; strokes of one label then mean the whole photograph."""
    names: tuple[str, ...] = ()
    """What its labels are called, in order; without any, by their numbers."""
    says: Says = field(default=lambda text: None)


@dataclass(frozen=True, eq=False)
class CutExample:
    """What a model is kept from: one photograph with its answer."""

    opened: Any
    beliefs: NDArray[np.floating]
    names: tuple[str, ...]
    """What each label is called: its colour, or its number."""


def cut_photographs(photos: Path, plan: CutPlan) -> dict[str, Any]:
    """Cut one photograph, or all of a folder; with `keep_model` keep what was learned."""
    family = cutter()
    examples: list[CutExample] = []
    if photos.is_dir():
        result = _folder(photos, plan, family, examples)
    else:
        result = _one(photos, plan, family, examples)
    if plan.keep_model is not None:
        result["kept_model"] = _keep(plan.keep_model, plan.names, family, examples)
    return result


def _folder(folder: Path, plan: CutPlan, family: Scribbles, examples: list[CutExample]) -> dict[str, Any]:
    files = photographs_in(folder)
    if plan.scribbles is not None and not plan.scribbles.is_dir():
        raise StudioError(f"{plan.scribbles} is a file: a folder of photographs needs a folder of strokes.")
    for place in (plan.out, plan.cutout):
        if place is not None:
            place.mkdir(parents=True, exist_ok=True)
    done, failed = [], {}
    for number, file in enumerate(files, 1):
        own = replace(
            plan,
            scribbles=None if plan.scribbles is None else _strokes_of(file, plan.scribbles),
            out=None if plan.out is None else plan.out / f"{file.stem}-labels.png",
            cutout=None if plan.cutout is None else plan.cutout / f"{file.stem}-cutout.png",
            says=lambda text, n=number, f=file: plan.says(f"{n} of {len(files)}, {f.name}: {text}"),  # type: ignore[misc]
        )
        if own.scribbles is None and own.model is None:
            continue
        try:
            done.append(_one(file, own, family, examples))
        except StudioError as problem:  # the others are cut all the same
            failed[str(file)] = str(problem)
    if not done:
        first = next(iter(failed.values()), f"{folder} has no photograph with strokes.")
        raise StudioError(first)
    return {"folder": str(folder), "images": done, "failed": failed}


def _strokes_of(photo: Path, folder: Path) -> Path | None:
    return next(
        (folder / (photo.stem + ending) for ending in STROKES if (folder / (photo.stem + ending)).exists()), None
    )


def _one(photo: Path, plan: CutPlan, family: Scribbles, examples: list[CutExample]) -> dict[str, Any]:
    if plan.labels is not None and not 2 <= plan.labels <= MOST_LABELS:
        raise StudioError(f"--labels is {plan.labels}: expected a whole number from 2 to {MOST_LABELS}.")
    opened = decode(read_content(photo), str(photo))
    model = None if plan.model is None else open_fitting(plan.model, SCRIBBLES)
    strokes = _strokes(plan, opened.rgb, None if model is None else len(family.labels(model)))
    if plan.kept is not None and not 1 <= plan.kept <= strokes.count:
        raise StudioError(f"--keep is {plan.kept}: expected a label from 1 to {strokes.count}.")
    started = time.perf_counter()
    with torch.inference_mode():
        levels = family.open(opened.rgb)
        if strokes.count == 1:
            return _whole(photo, plan, levels, strokes, examples)
        cutting = family.cut(levels, strokes.values, strokes.count, plan.settings, model)
        state = cutting.start()
        while not cutting.settled(state):
            state = cutting.step(state)
            plan.says(f"level {state.level}, iteration {state.iteration}")
        cut = family.answer(cutting, state)
        outside = family.outside(cutting)
    titles = [str(k) for k in range(1, strokes.count + 1)]
    colours = strokes.colours
    if model is not None:
        known = family.labels(model)
        titles, colours = [each.title for each in known], tuple(_rgb(each.colour) for each in known)
    _write(plan, family, opened, cut, colours, outside)
    if plan.keep_model is not None:
        names = titles if colours is None else ["#{:02x}{:02x}{:02x}".format(*c) for c in colours]
        examples.append(CutExample(levels, cut.beliefs, tuple(names)))
    height, width = cut.labels.shape
    return {
        "image": str(photo),
        "scribbles": None if plan.scribbles is None else str(plan.scribbles),
        "model": plan.model,
        "width": width,
        "height": height,
        "labels": strokes.count,
        "colours": None if colours is None else ["#{:02x}{:02x}{:02x}".format(*c) for c in colours],
        "iterations": state.iteration,
        "residual": state.residual,
        "pixels": counts(cut.labels, titles, first=1),
        "mean_certainty": float(cut.beliefs.max(0).mean(dtype=np.float64)),
        "out": str(plan.out) if plan.out is not None else None,
        "cutout": str(plan.cutout) if plan.cutout is not None else None,
        "said": opened.said or None,
        "seconds": time.perf_counter() - started,
    }


def _whole(photo: Path, plan: CutPlan, levels: Any, strokes: Strokes, examples: list[CutExample]) -> dict[str, Any]:
    """A photograph that is one label all over: only for a model to learn from."""
    height, width = strokes.values.shape
    names = ("1",) if strokes.colours is None else ("#{:02x}{:02x}{:02x}".format(*strokes.colours[0]),)
    examples.append(CutExample(levels, np.ones((1, height, width), np.float16), names))
    pixels = {names[0]: height * width}
    return {"image": str(photo), "width": width, "height": height, "labels": 1, "pixels": pixels, "out": None}


def _strokes(plan: CutPlan, rgb: NDArray[np.uint8], known: int | None) -> Strokes:
    """What was painted; with a kept model nothing need be, and values are numbers of its labels."""
    if plan.scribbles is None:
        if known is None:
            raise StudioError("A photograph needs strokes (--scribbles), or a model that was kept (--model).")
        return Strokes(np.zeros(rgb.shape[:2], np.uint8), known)
    strokes = read_strokes(plan.scribbles, rgb, plan.labels)
    if known is not None:
        if strokes.count > known or strokes.colours is not None:
            raise StudioError(f"{plan.scribbles} must hold values 0 to {known}: the labels of the model in order.")
        return Strokes(strokes.values, known)
    if strokes.count < 2 and plan.keep_model is None:
        raise StudioError(
            f"{plan.scribbles} has strokes of one label: expected at least two, such as object and background."
        )
    return strokes


def _write(
    plan: CutPlan,
    family: Scribbles,
    opened: DecodedPhotograph,
    cut: Cut,
    colours: Sequence[Colour] | None,
    outside: int,
) -> None:
    if plan.out is not None:
        table = None if colours is None else ((0, 0, 0), *colours)
        write_labels(plan.out, cut.labels, table or label_palette(len(cut.beliefs) + 1))
    if plan.cutout is None:
        return
    belief = cut.beliefs[plan.kept - 1] if plan.kept else 1 - cut.beliefs[outside - 1]
    alpha = family.refined(opened.rgb, belief) if plan.refine else belief.astype(np.float32)
    write_cutout(plan.cutout, opened.rgb, np.rint(255 * alpha).clip(0, 255).astype(np.uint8), opened.profile)


def _keep(path: Path, titles: tuple[str, ...], family: Scribbles, examples: Sequence[CutExample]) -> str:
    """Fit a model to the answers and write it; labels are matched by colour, or by number where they have none."""
    names = list(dict.fromkeys(name for each in examples for name in each.names))  # as `cut` numbers them
    if all(name.isdigit() for name in names):  # the first photograph need not have all of them
        names.sort(key=int)
    if titles and len(titles) != len(names):
        raise StudioError(
            f"--names has {len(titles)} names: the strokes have {len(names)} labels ({', '.join(names)})."
        )
    usual = ["#{:02x}{:02x}{:02x}".format(*colour) for colour in label_palette(len(names) + 1)[1:]]
    labels = []
    for number, (name, colour) in enumerate(zip(names, usual, strict=True), 1):
        title = titles[number - 1] if titles else f"Label {number}"
        labels.append((number, title, name if name.startswith("#") else colour))
    parts = []
    for each in examples:
        beliefs = np.zeros((len(names), *each.beliefs.shape[1:]), each.beliefs.dtype)
        beliefs[[names.index(name) for name in each.names]] = each.beliefs
        parts.append((each.opened, beliefs))
    model, card = family.fitted(parts, labels)
    return str(save_model(path, model.kind, model.tensors(), card))


def _rgb(colour: str) -> Colour:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
