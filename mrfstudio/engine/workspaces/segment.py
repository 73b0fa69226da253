"""Segment: contours seen in an image and hints about labels; a cloned grid MRF says what is CONTOUR, OUT and IN."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.commands import AddNoise, Command
from mrfstudio.engine.data.border_noise import CONTOUR, IN, LABEL_NAMES, OUT, SEEN, UNSEEN, seeded_noise
from mrfstudio.engine.document import Document, LayerSpec, frozen
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.evidence import Evidence
from mrfstudio.engine.frames import NO_HINT
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.learning.segmentation_metrics import segmentation_scores
from mrfstudio.engine.models.grid import GridMRF
from mrfstudio.engine.models.grid_shape import GridShape
from mrfstudio.engine.open_model import open_model
from mrfstudio.engine.views import Window
from mrfstudio.engine.workspaces.contract import LabelWorkspace, LaneView, digest, hint_potentials

UNKNOWN = 2
"""A pixel of which is not known whether a contour was seen."""
SMALL, LARGE = 20_000, 300_000
"""Pixels × states up to which log Z is computed at every iteration, and at every third: it costs as much as one."""
LISTED = 12  # clones of a pixel that an inspector lists


class SegmentWorkspace(LabelWorkspace):
    """Documents have `observed` (0 contour seen, 1 not, 2 unknown) and `hints` (a label, or `NO_HINT`)."""

    name = "segment"
    layers = (
        LayerSpec("observed", UNSEEN, (SEEN, UNSEEN, UNKNOWN)),
        LayerSpec("hints", NO_HINT, (CONTOUR, OUT, IN)),
    )
    # The paper's number of iterations; messages of 66 states never settle far below this in single precision.
    limits = Limits(iterations=15, tolerance=1e-4)

    def __init__(self, models: Mapping[str, GridMRF] | None = None) -> None:
        self._models: dict[str, GridMRF] = dict(models or {})
        self._ownership: dict[int, tuple[GridMRF, NDArray[np.float32]]] = {}

    # Documents --------------------------------------------------------------------------------------------------------

    def edited(self, document: Document, command: Command) -> Document | None:
        if isinstance(command, AddNoise):
            return self._noisy(document, command)
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

    def load(self, name: str) -> GridMRF:
        if name not in self._models:
            model: GridMRF = open_model(name, "grid")
            if model.label_names != LABEL_NAMES:
                names = ", ".join(model.label_names)
                raise StudioError(f"The model {name} has the labels {names}: expected {', '.join(LABEL_NAMES)}.")
            self._models[name] = model
        return self._models[name]

    def fingerprint(self, model: GridMRF) -> str:
        return digest(tensor.detach().numpy() for tensor in model.tensors().values())

    def evidence(self, document: Document, model: GridMRF) -> Evidence:
        """strength · log P(observed | label) + hints, (H, W, labels) in the model's precision."""
        seen = model.emission.numpy()
        table = np.stack([np.log(seen), np.log1p(-seen), np.zeros_like(seen)])  # by value of `observed`
        observed, hints = document.layers["observed"], document.layers["hints"]
        log = table[observed] * document.strength("observed")[..., None]
        log += hint_potentials(hints, document.strength("hints"), model.labels)
        return Evidence(torch.from_numpy(log).to(model.weights.dtype))

    # What is shown ----------------------------------------------------------------------------------------------------

    def label_beliefs(self, view: LaneView) -> Tensor:
        return view.algorithm.label_beliefs(view.model, view.evidence, view.state)

    def pictures(
        self, names: tuple[str, ...], view: LaneView, window: Window, first: LaneView | None
    ) -> Mapping[str, np.ndarray]:
        pictures = dict(super().pictures(names, view, window, first))
        if "residual" in names:
            change = _change(view)
            if change is not None:
                pictures["residual"] = frozen(np.array(change[(slice(None), *window.slices)]))
        if "clone" in names or "ownership" in names:
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
        clones = view.beliefs[row, column, : view.model.clones[CONTOUR]].numpy()
        order = np.argsort(-clones, kind="stable")[:LISTED]
        return {
            "pixel": pixel,
            "labels": {name: float(labels[i]) for i, name in enumerate(LABEL_NAMES)},
            "clones": [(int(i), float(clones[i])) for i in order],
        }

    def log_partition_stride(self, view: LaneView) -> int:
        """Every iteration of small images; of larger ones every third or fifth, or it would take half of the time."""
        entries = _entries(view)
        return 1 if entries <= SMALL else 3 if entries <= LARGE else 5

    def log_partition_later(self, view: LaneView) -> bool:
        return _entries(view) > LARGE

    def place(self, document: Document, model: GridMRF, name: str, index: tuple[int, ...]) -> str:
        if name == "messages" and len(index) == 3:
            row, column = divmod(index[2], document.shape[1])
            return f"pixel (row {row}, column {column})"
        return super().place(document, model, name, index)

    def _angles(self, model: GridMRF) -> NDArray[np.float32]:
        if id(model) not in self._ownership:
            self._ownership[id(model)] = (model, ownership_angles(model))
        return self._ownership[id(model)][1]


def ownership_angles(model: GridMRF) -> NDArray[np.float32]:
    """Where each clone of CONTOUR expects IN: radians counter-clockwise from right, NaN if nowhere, (clones,).

    The mean direction of P(IN) - P(OUT) among a clone's neighbours, as its own potentials alone give them.
    """
    shape = GridShape(1, 1, 1, model.connectivity)
    potentials = model.potentials.detach().double()
    clones = model.clones[CONTOUR]
    total = np.zeros((clones, 2))
    for number, (row, column) in enumerate(shape.directions[: model.matrices]):
        for matrix, sign in ((potentials[number], 1), (potentials[number].t(), -1)):
            expected = model.label_beliefs(torch.softmax(matrix[:clones], 1)).numpy()
            lean = expected[:, IN] - expected[:, OUT]
            total += sign * lean[:, None] * np.array([column, -row]) / math.hypot(row, column)
    angle = np.arctan2(total[:, 1], total[:, 0])
    return np.where(np.hypot(*total.T) > 1e-6, angle, np.nan).astype(np.float32)


def _entries(view: LaneView) -> int:
    height, width = view.document.shape
    return int(height * width * view.model.states)


def _clones(view: LaneView, labels: NDArray[np.float32]) -> NDArray[np.int16]:
    """The most probable clone of each pixel decoded as CONTOUR, else -1, (H, W)."""
    best = view.beliefs[..., : view.model.clones[CONTOUR]].argmax(-1).numpy()
    return np.where(labels.argmax(-1) == CONTOUR, best, -1).astype(np.int16)


def _change(view: LaneView) -> NDArray[np.float32] | None:
    """The largest change of a message entry by direction, as a probability, (directions, H, W); None before a step."""
    now: Any = getattr(view.state, "messages", None)
    before: Any = getattr(view.previous, "messages", None)
    height, width = view.document.shape
    if now is None or before is None or now.ndim != 3 or now.shape != before.shape or now.shape[2] != height * width:
        return None  # an algorithm without messages on the grid
    change = (now - before).abs_().amax(1) / now.shape[1]
    return np.asarray(change.reshape(-1, height, width).to(torch.float32).numpy())
