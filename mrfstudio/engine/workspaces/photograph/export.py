"""What goes out of a photograph: labels, cut-outs with alpha, masks, overlays and strokes, at its own size."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mrfstudio.engine.families.photographs.full_size import full_size
from mrfstudio.engine.families.photographs.photograph import Photograph
from mrfstudio.engine.families.scribbles import cutter
from mrfstudio.engine.files.atomic import atomic_path, unwritable
from mrfstudio.engine.files.model_file import save_model
from mrfstudio.engine.protocol.commands.photographs import LEANING
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.session.document import Document
from mrfstudio.engine.workspaces.photograph import looks
from mrfstudio.engine.workspaces.photograph.algorithm import PhotoState
from mrfstudio.engine.workspaces.workspace import LaneView

NOTHING = "There is nothing to save yet: paint strokes of two labels first."
TINT = 0.5
"""Opacity of label colours in an exported overlay."""

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class CutoutAnswer:
    """A photograph with beliefs of every pixel, (labels with strokes, height, width), and which labels these are."""

    document: Document
    present: tuple[int, ...]
    beliefs: NDArray[np.floating]
    levels: Photograph


def found(view: LaneView) -> CutoutAnswer:
    """The answer of a view at full size. Raises `StudioError` where nothing was computed."""
    state = view.state
    assert isinstance(state, PhotoState)
    if state.cutout is None or state.at is None:
        raise StudioError(NOTHING)
    beliefs = full_size(state.cutout, state.at).beliefs if state.full is None else view.beliefs.numpy()
    return CutoutAnswer(view.document, state.present, beliefs, state.cutout.photograph)


def save(answer: CutoutAnswer, path: str | os.PathLike[str], what: str, label: int, soft: bool) -> None:
    """Write one of `labels`, `cutout`, `mask`, `overlay`, `strokes`."""
    from mrfstudio.engine.files.images import write_labels

    if what == "labels":
        write_labels(path, labels(answer), palette(answer.document))
    elif what == "strokes":
        write_strokes(path, answer.document)
    elif what == "cutout":
        _write(path, cut_pixels(answer, label, soft), answer.document)
    elif what == "mask":
        _write(path, opacity(answer, label, soft), None)
    elif what == "overlay":
        _write(path, overlay(answer), answer.document)
    else:
        raise StudioError(f"{what!r} is nothing to save: expected labels, cutout, mask, overlay or strokes.")


def labels(answer: CutoutAnswer) -> Bytes:
    """The most probable label's number, (height, width)."""
    numbers = np.array(answer.present, np.uint8)
    return numbers[answer.beliefs.argmax(0)]


def opacity(answer: CutoutAnswer, label: int, soft: bool) -> Bytes:
    """Alpha of a label, (height, width)."""
    if label not in answer.present:
        raise StudioError(f"Label {label} has no strokes: expected one of {', '.join(map(str, answer.present))}.")
    photo = answer.document.photo
    rgb = photo.rgb if soft and photo is not None else None
    return looks.alpha(answer.beliefs, answer.present.index(label), rgb, max(answer.document.shape))


def cut_pixels(answer: CutoutAnswer, label: int, soft: bool) -> Bytes:
    """The photograph where a label is, transparent elsewhere: (height, width, 4)."""
    assert answer.document.photo is not None
    return np.concatenate([answer.document.photo.rgb, opacity(answer, label, soft)[:, :, None]], 2)


def overlay(answer: CutoutAnswer) -> Bytes:
    """Label colours over the photograph, (height, width, 3)."""
    assert answer.document.photo is not None
    colours = np.array(palette(answer.document), np.float32)[labels(answer)]
    return np.rint(answer.document.photo.rgb * (1 - TINT) + colours * TINT).astype(np.uint8)


def palette(document: Document) -> list[tuple[int, int, int]]:
    """Colours by label number; 0, unlabelled, is black."""
    highest = max((each.number for each in document.labels), default=0)
    colours = [(0, 0, 0)] * (highest + 1)
    for each in document.labels:
        red, green, blue = (int(each.colour[i : i + 2], 16) for i in (1, 3, 5))
        colours[each.number] = (red, green, blue)
    return colours


def write_strokes(path: str | os.PathLike[str], document: Document) -> None:
    """Strokes as `--scribbles` takes them: 0 nothing, else label numbers; see `files/strokes.py`."""
    from mrfstudio.engine.files import strokes

    strokes.write_strokes(path, document.layers["strokes"], palette(document))


def write_counted(path: str | os.PathLike[str], document: Document) -> int:
    """Strokes with labels numbered 1, 2, … as far as they were painted; answers how many."""
    from mrfstudio.engine.files import strokes

    painted = document.layers["strokes"]
    found = set((np.unique(painted) % LEANING).tolist())
    present = [each.number for each in document.labels if each.number in found]
    if not present:
        raise StudioError("Nothing is painted yet: a command needs strokes.")
    numbers, colours = np.zeros(256, np.uint8), palette(document)
    order = np.arange(1, len(present) + 1)
    numbers[present], numbers[np.array(present) + LEANING] = order, order + LEANING
    strokes.write_strokes(path, numbers[painted], [colours[0], *(colours[number] for number in present)])
    return len(present)


def keep_model(answer: CutoutAnswer, path: Path) -> list[str]:
    """Write a network that is fitted to the answer; the titles of its labels."""
    named = {each.number: each for each in answer.document.labels}
    labels = [named[number] for number in answer.present]
    given = [(each.number, each.title, each.colour) for each in labels]
    path.parent.mkdir(parents=True, exist_ok=True)
    model, card = cutter().fitted([(answer.levels, answer.beliefs)], given)
    save_model(path, model.kind, model.tensors(), card)
    return [each.title for each in labels]


def ending(content: Bytes) -> str:
    """The usual ending of a picture's file, from what it says of itself."""
    from PIL import Image

    kind = Image.open(io.BytesIO(content.tobytes())).format or "PNG"
    return {"JPEG": ".jpg", "TIFF": ".tif"}.get(kind, f".{kind.lower()}")


def _write(path: str | os.PathLike[str], pixels: Bytes, document: Document | None) -> None:
    """A PNG; colours keep the profile of the photograph."""
    from PIL import Image

    from mrfstudio.engine.files.images import ImageError

    if Path(path).suffix.lower() != ".png":
        raise ImageError(f"{path} does not end in .png: expected a PNG, which keeps transparency.")
    profile = None if document is None or document.photo is None else document.photo.profile
    try:
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            Image.fromarray(pixels).save(file, "PNG", compress_level=4, icc_profile=profile)
    except OSError as problem:
        raise ImageError(unwritable(path, problem)) from None
