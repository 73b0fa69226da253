"""Segment: contours seen in an image and hints about labels; a model says what is CONTOUR, OUT and IN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.data.pictures.border_noise import CONTOUR, IN, LABEL_NAMES, OUT, SEEN, UNSEEN, seeded_noise
from mrfstudio.engine.families.contour_scores import segmentation_scores
from mrfstudio.engine.families.contours import CONTOURS, UNKNOWN, contours_of
from mrfstudio.engine.graphs.evidence import AnyEvidence, Evidence
from mrfstudio.engine.inference.algorithm import State
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.commands import WIDEST_GAP, AddNoise, CloseGaps, Command, Thin
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import NO_HINT
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.session.document import Document, LayerSpec, frozen
from mrfstudio.engine.session.label_pictures import VisiblePart
from mrfstudio.engine.workspaces.named_models import NamedModels
from mrfstudio.engine.workspaces.workspace import LabelWorkspace, LaneView, hint_potentials

SMALL, LARGE = 20_000, 300_000
"""Pixels × states up to which log Z is computed at every iteration, and at every third: it costs as much as one."""
LISTED = 12  # clones of a pixel that an inspector lists


class SegmentWorkspace(NamedModels, LabelWorkspace):
    """Documents have `observed` (0 contour seen, 1 not, 2 unknown) and `hints` (a label, or `NO_HINT`)."""

    name = "segment"
    part = CONTOURS
    layers = (
        LayerSpec("observed", UNSEEN, (SEEN, UNSEEN, UNKNOWN)),
        LayerSpec("hints", NO_HINT, (CONTOUR, OUT, IN)),
    )
    # The number of iterations of [QT21]; messages of 66 states never settle far below this in single precision.
    limits = Limits(iterations=15, tolerance=1e-4)

    def __init__(self, models: Mapping[str, Any] | None = None) -> None:
        super().__init__(models)
        self._ownership: dict[int, tuple[Any, NDArray[np.float32]]] = {}

    # Documents --------------------------------------------------------------------------------------------------------

    def edited(self, document: Document, command: Command) -> Document | None:
        if isinstance(command, AddNoise):
            return self._noisy(document, command)
        if isinstance(command, Thin | CloseGaps):
            return _with_lines(document, command)
        return super().edited(document, command)

    def _noisy(self, document: Document, command: AddNoise) -> Document:
        """Spurious edges where nothing is near, seen contours deleted; the truth, if known, says where IN is."""
        if not (0 <= command.edges <= 10_000 and 0 <= command.deletion <= 1 and command.seed >= 0):
            given = f"{command.edges} edges, deletion {command.deletion} and seed {command.seed}"
            raise StudioError(f"Noise of {given}: expected 0 to 10000 edges, a probability and a seed of at least 0.")
        observed = document.layers["observed"]
        seen = observed == SEEN
        labels = np.where(seen, CONTOUR, OUT if document.truth is None else document.truth).astype(np.uint8)
        noise = seeded_noise(labels[None], command.seed, spurious=command.edges, deletion=command.deletion)[0]
        changed = observed.copy()
        changed[(noise == SEEN) & (labels != CONTOUR)] = SEEN
        changed[seen & (noise == UNSEEN)] = UNSEEN
        return document.with_layers({"observed": changed})

    # Models and evidence ----------------------------------------------------------------------------------------------

    def made(self, name: str, trained: Any) -> Any:
        if tuple(trained.label_names) != LABEL_NAMES:
            names = ", ".join(trained.label_names)
            raise StudioError(f"The model {name} has the labels {names}: expected {', '.join(LABEL_NAMES)}.")
        return super().made(name, trained)

    def iterations(self, model: Any) -> int:
        return contours_of(model).iterations(model) or self.limits.iterations

    def remark(self, model: Any, evidence: AnyEvidence, state: State) -> str:
        return contours_of(model).unlike(model, evidence, state) or ""

    def evidence(self, document: Document, model: Any) -> Evidence:
        """What is observed, and hints, (H, W, labels) in the model's precision."""
        observed, hints = document.layers["observed"], document.layers["hints"]
        given = hint_potentials(hints, document.strength("hints"), len(LABEL_NAMES))
        return Evidence(contours_of(model).evidence(model, observed, document.strength("observed"), given))

    # What is shown ----------------------------------------------------------------------------------------------------

    def label_beliefs(self, view: LaneView) -> Tensor:
        return view.algorithm.label_beliefs(view.model, view.evidence, view.state)

    def pictures(
        self, names: tuple[str, ...], view: LaneView, window: VisiblePart, first: LaneView | None
    ) -> Mapping[str, np.ndarray]:
        pictures = dict(super().pictures(names, view, window, first))
        if "residual" in names:
            change = _change(view)
            if change is not None:
                pictures["residual"] = frozen(np.array(change[(slice(None), *window.slices)]))
        if ("clone" in names or "ownership" in names) and contours_of(view.model).clones(view.model):
            clone = window.cut(_clones(view, self.labels(view)))
            if "clone" in names:
                pictures["clone"] = clone
            if "ownership" in names:
                angle = self._angles(view.model)[np.maximum(clone, 0)]
                pictures["ownership"] = frozen(np.where(clone >= 0, angle, np.float32(np.nan)))
        return pictures

    def measure(self, view: LaneView) -> Mapping[str, float]:
        truth = view.document.truth
        if truth is None:
            return {}
        log_beliefs = torch.from_numpy(self.labels(view)).log()
        found = segmentation_scores(log_beliefs[None], torch.from_numpy(truth.copy())[None]).means()
        return {name: found[name] for name in ("iou", "nce_bits")}

    def details(self, view: LaneView, pixel: tuple[int, int]) -> Mapping[str, object]:
        """`labels`: probability by name; `clones`: (number, probability) of CONTOUR, the most probable first."""
        row, column = pixel
        labels = self.labels(view)[row, column]
        clones = to_host(view.beliefs[row, column, : contours_of(view.model).clones(view.model)])
        order = np.argsort(-clones, kind="stable")[:LISTED]
        return {
            "pixel": pixel,
            "labels": {name: float(labels[i]) for i, name in enumerate(LABEL_NAMES)},
            "clones": [(int(i), float(clones[i])) for i in order],
        }

    def log_partition_stride(self, view: LaneView) -> int:
        """Every iteration of small images; of larger ones every third or fifth, or it would take half of the time, and
        none that prepares a start: its messages are those of other potentials.
        """
        entries = _entries(view)
        if entries <= SMALL:
            return 1
        return 0 if view.state.preparing else 3 if entries <= LARGE else 5

    def log_partition_later(self, view: LaneView) -> bool:
        return _entries(view) > LARGE

    def place(self, document: Document, model: Any, name: str, index: tuple[int, ...]) -> str:
        number = contours_of(model).pixel_of(name, index)
        if number is not None:
            row, column = divmod(number, document.shape[1])
            return f"pixel (row {row}, column {column})"
        return super().place(document, model, name, index)

    def _angles(self, model: Any) -> NDArray[np.float32]:
        if id(model) not in self._ownership:
            self._ownership[id(model)] = (model, contours_of(model).ownership(model))
        return self._ownership[id(model)][1]


def _with_lines(document: Document, command: Thin | CloseGaps) -> Document:
    """Thin lines, or lines whose gaps are bridged; what is unknown or not seen stays so elsewhere."""
    from mrfstudio.engine.workspaces.segment.lines import bridged, thinned

    observed, strength = document.layers["observed"], document.strength("observed")
    seen = observed == SEEN
    if isinstance(command, Thin):
        wanted = thinned(seen)
    elif 1 <= command.gap <= WIDEST_GAP:
        wanted = bridged(seen, command.gap)
    else:
        raise StudioError(f"Gaps of {command.gap} pixels were to be closed: expected 1 to {WIDEST_GAP}.")
    changed = np.where(wanted, SEEN, np.where(seen, UNSEEN, observed)).astype(np.uint8)
    sure = np.where(wanted == seen, strength, np.float32(1.0))
    return document.with_layers({"observed": changed, "observed_strength": sure})


def _entries(view: LaneView) -> int:
    height, width = view.document.shape
    return int(height * width * contours_of(view.model).states(view.model))


def _clones(view: LaneView, labels: NDArray[np.float32]) -> NDArray[np.int16]:
    """The most probable clone of each pixel decoded as CONTOUR, else -1, (H, W)."""
    best = to_host(view.beliefs[..., : contours_of(view.model).clones(view.model)].argmax(-1))
    return np.where(labels.argmax(-1) == CONTOUR, best, -1).astype(np.int16)


def _change(view: LaneView) -> NDArray[np.float32] | None:
    """The largest change of a message entry by direction, as a probability, (directions, H, W); None before a step."""
    now: Any = getattr(view.state, "messages", None)
    before: Any = getattr(view.previous, "messages", None)
    height, width = view.document.shape
    if now is None or before is None or now.ndim != 3 or now.shape != before.shape or now.shape[2] != height * width:
        return None  # an algorithm without messages on the grid
    change = (now - before).abs_().amax(1) / now.shape[1]
    return np.asarray(to_host(change.reshape(-1, height, width).to(torch.float32)))
