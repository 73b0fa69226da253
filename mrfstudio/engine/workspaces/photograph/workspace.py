"""Photograph: a colour picture and strokes of labels; the field settles on it coarse to fine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from mrfstudio.engine.families.scribbles import SCRIBBLES
from mrfstudio.engine.graphs.evidence import AnyEvidence
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.commands import Command, Fill, Label, SetImage, SetPhotograph
from mrfstudio.engine.protocol.commands.photographs import LEANING
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import Parts
from mrfstudio.engine.session.document import Document, LayerSpec, blank_document, checked_labels, frozen
from mrfstudio.engine.session.label_pictures import THUMBNAIL, VisiblePart
from mrfstudio.engine.session.painting import painted
from mrfstudio.engine.session.photo import photo_of
from mrfstudio.engine.workspaces.named_models import NamedModels
from mrfstudio.engine.workspaces.photograph import looks
from mrfstudio.engine.workspaces.photograph.algorithm import PhotographModel, Photographs, StrokeEvidence
from mrfstudio.engine.workspaces.photograph.examples import EXAMPLE_LABELS
from mrfstudio.engine.workspaces.workspace import LaneView

MODEL = "scribbles"
MOST_LABELS = 12
SOFT_NUMBERS = range(LEANING + 1, LEANING + MOST_LABELS + 1)
"""Values of soft strokes: a label's number + LEANING."""
LABELS = ((1, "Object", "#e69f00"), (2, "Background", "#56b4e9"))
"""What a photograph begins with."""
OPEN_ONE = "The photograph workspace shows photographs: open one."
NOT_CLOSED = "Fill would leave nothing to decide: paint a closed stroke around an area first, then click into it."
LEAST_LEFT = 0.001
"""Part of the pixels that a fill leaves without a stroke, at least: holes in a scribble close nothing off."""


class PhotographWorkspace(NamedModels):
    """Documents have a photograph, labels and the layer `strokes` (0 nothing, else a label's number, soft + LEANING).

    Pictures are those of `looks`.
    """

    name = "photograph"
    part: ClassVar[Parts[Any]] = SCRIBBLES
    layers = (LayerSpec("strokes", 0, (*range(MOST_LABELS + 1), *SOFT_NUMBERS), hard=True),)
    limits = Limits(iterations=1000, tolerance=1e-6)
    undo_memory = 96_000_000  # what does not fit is computed again from the strokes, which takes a second or two

    def __init__(self, models: Mapping[str, Any] | None = None) -> None:
        super().__init__({MODEL: PhotographModel()} if models is None else models)
        self._photographs = Photographs()

    # Documents --------------------------------------------------------------------------------------------------------

    def blank(self) -> Document:
        from mrfstudio.engine.files.photographs import as_content

        grey = np.full((*self.shape, 3), 128, np.uint8)
        return self.photographed(SetPhotograph(as_content(grey), "blank"))

    def edited(self, document: Document, command: Command) -> Document | None:
        if isinstance(command, SetPhotograph):
            kept = tuple((each.number, each.title, each.colour) for each in document.labels)
            if kept in EXAMPLE_LABELS:  # the next photograph is of something else
                kept = LABELS
            return self.photographed(replace(command, labels=command.labels or kept))
        if isinstance(command, SetImage):
            raise StudioError(OPEN_ONE)
        self._check_label(document, command)
        after = painted(document, command, self.specs)
        if isinstance(command, Fill) and after is not None and _fills_everything(document, after):
            raise StudioError(NOT_CLOSED)
        return after

    def photographed(self, command: SetPhotograph) -> Document:
        """The document of a photograph, with the strokes that come with it."""
        photo = photo_of(command.content, command.name)
        labels = checked_labels(command.labels or LABELS)
        document = replace(blank_document(self.layers, photo.shape, command.name), photo=photo, labels=labels)
        if command.strokes is None:
            return document
        strokes = np.array(command.strokes, np.uint8)
        known = stroke_values(labels)
        if strokes.shape != photo.shape or not np.isin(strokes, known).all():
            wanted = f"expected {photo.shape} of label numbers {known}"
            raise StudioError(f"The strokes have shape {strokes.shape} and go up to {strokes.max()}: {wanted}.")
        return document.with_layers({"strokes": strokes})

    def _check_label(self, document: Document, command: Command) -> None:
        value = getattr(command, "value", None)
        if isinstance(value, int) and value > 0 and value not in stroke_values(document.labels):
            raise StudioError(f"There is no label {value % LEANING}: add it first.")

    def check(self, document: Document) -> None:
        strokes = document.layers.get("strokes")
        if document.photo is None or strokes is None or document.layers.keys() != {"strokes"}:
            raise StudioError("its photograph or its strokes are missing.")
        numbers = stroke_values(document.labels)
        if strokes.dtype != np.uint8 or strokes.shape != document.photo.shape or not np.isin(strokes, numbers).all():
            raise StudioError("its strokes do not fit its photograph.")

    # Models and evidence ----------------------------------------------------------------------------------------------

    def made(self, name: str, trained: Any) -> Any:
        return PhotographModel(trained)

    def tensors(self, model: Any) -> Mapping[str, Tensor]:
        return super().tensors(model.network)

    def fingerprint(self, model: Any) -> str:
        return MODEL if model.network is None else super().fingerprint(model)

    def evidence(self, document: Document, model: Any) -> AnyEvidence:
        if document.photo is None:
            raise StudioError(OPEN_ONE)
        numbers = tuple(each.number for each in document.labels)
        return StrokeEvidence(document.photo, document.layers["strokes"], self._photographs, model.network, numbers)

    # What is shown ----------------------------------------------------------------------------------------------------

    def pictures(
        self, names: tuple[str, ...], view: LaneView, window: VisiblePart, first: LaneView | None
    ) -> Mapping[str, np.ndarray]:
        return looks.pictures(names, view, window, first)

    def thumbnail(self, view: LaneView) -> np.ndarray:
        """255 × belief of each label, (h, w, labels) uint8."""
        height, width = view.document.shape
        small = looks.beliefs_in(view, VisiblePart(0, 0, height, width, -(-max(height, width) // THUMBNAIL)))
        if small is None:
            return frozen(np.zeros((1, 1, len(view.document.labels)), np.uint8))
        return frozen(np.rint(np.moveaxis(small, 0, -1) * 255).astype(np.uint8))

    def numbers(self, view: LaneView) -> dict[str, float]:
        """How many pixels each label has."""
        found = looks.beliefs_in(view, VisiblePart.fitting(None, 1, view.document.shape))
        if found is None:
            return {}
        counts = np.bincount(found.argmax(0).ravel(), minlength=len(found))
        labels = zip(view.document.labels, counts.tolist(), strict=True)
        return {f"pixels of {label.title}": float(count) for label, count in labels}

    def details(self, view: LaneView, pixel: tuple[int, int]) -> Mapping[str, object]:
        """What is believed of one pixel: `labels` with probabilities, its `colour`, the `stroke` on it."""
        found = looks.beliefs_in(view, VisiblePart(*pixel, 1, 1))
        labels, photo = view.document.labels, view.document.photo
        stroke = int(view.document.layers["strokes"][pixel]) % LEANING
        believed = () if found is None else zip(labels, found[:, 0, 0].tolist(), strict=True)
        shares = {each.title: share for each, share in believed}
        return {
            "pixel": pixel,
            "labels": shares or None,
            "colour": None if photo is None else tuple(int(level) for level in photo.rgb[pixel]),
            "stroke": _title(labels, stroke),
        }

    def log_partition_stride(self, view: LaneView) -> int:
        return 0  # levels have different graphs: their numbers cannot be compared


def stroke_values(labels: tuple[Label, ...]) -> list[int]:
    """What strokes may hold: nothing, labels, soft labels."""
    numbers = [each.number for each in labels]
    return [0, *numbers, *(number + LEANING for number in numbers)]


def _fills_everything(before: Document, after: Document) -> bool:
    """Whether a fill takes the last pixels without a stroke: no stroke closed an area off."""
    old, new = (int((each.layers["strokes"] == 0).sum()) for each in (before, after))
    return new < old and new <= LEAST_LEFT * before.layers["strokes"].size


def _title(labels: tuple[Label, ...], number: int) -> str:
    return next((each.title for each in labels if each.number == number), "")
