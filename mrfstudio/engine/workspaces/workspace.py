"""What a session needs to know about a workspace: from painted layers to evidence, from a state to pictures.

A workspace is one file in this package. The session knows lanes, commands, history and frames, and nothing of what the
layers mean; the workspace knows that, and nothing of time. Both are told apart so that a second kind of image, or a
graph without one, needs no second session.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.graphs.evidence import SOFT_HINT, AnyEvidence
from mrfstudio.engine.graphs.sketch import Sketch
from mrfstudio.engine.inference.algorithm import Algorithm, State
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.commands import ClampUnit, Command, SetImage
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import NO_HINT, GraphFrame
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.session.document import Document, LayerSpec, blank_document, frozen
from mrfstudio.engine.session.label_pictures import LABEL_PICTURES, Beliefs, VisiblePart, label_pictures, thumbnail
from mrfstudio.engine.session.painting import painted


@dataclass(frozen=True, eq=False)
class LaneView:
    """One lane at one point, as a workspace sees it. Beliefs are computed at most once."""

    document: Document
    model: Any
    algorithm: Algorithm
    evidence: AnyEvidence
    state: State
    previous: State | None = None

    @cached_property
    def beliefs(self) -> Tensor:
        """The algorithm's beliefs in the model's own shape."""
        with torch.no_grad():
            return self.algorithm.beliefs(self.model, self.evidence, self.state).cpu()  # here answers come to the host

    @cached_property
    def kept(self) -> dict[str, Any]:
        """Whatever a workspace computes from this view once."""
        return {}


class Workspace:
    """Base of all workspaces. A subclass gives at least `load`, `evidence`, `pictures` and `thumbnail`."""

    name: ClassVar[str]
    layers: tuple[LayerSpec, ...]
    limits: Limits = Limits(iterations=15, tolerance=1e-4)
    undo_memory: int = 192 * 2**20
    """Bytes that all steps of undo may take together."""
    largest_side: int = 256
    shape: tuple[int, int] = (30, 30)
    """Height and width of the document a session begins with."""

    # Documents --------------------------------------------------------------------------------------------------------

    @cached_property
    def specs(self) -> Mapping[str, LayerSpec]:
        return {spec.name: spec for spec in self.layers}

    def blank(self) -> Document:
        """The document of a session in which nothing was opened yet."""
        return blank_document(self.layers, self.shape)

    def edited(self, document: Document, command: Command) -> Document | None:
        """The document after a command; None if the command is not about documents."""
        if isinstance(command, SetImage):
            return self.opened(command)
        if isinstance(command, ClampUnit):
            raise StudioError(f"The {self.name} workspace has no hidden units to hold.")
        return painted(document, command, self.specs)

    def opened(self, command: SetImage) -> Document:
        """The document of another picture: its first layer is the picture, the others are empty."""
        spec = self.layers[0]
        observed = self._checked(command.observed, spec)
        document = blank_document(self.layers, observed.shape, command.name).with_layers({spec.name: observed})
        if command.truth is None:
            return document
        truth = np.array(command.truth, np.uint8)
        if truth.shape != observed.shape:
            raise StudioError(f"The truth has shape {truth.shape}: expected that of the picture, {observed.shape}.")
        if not self._known(truth):
            raise StudioError(f"The truth goes up to {truth.max()}: expected values of the layer {self._first.name!r}.")
        return replace(document, truth=frozen(truth))

    def _checked(self, observed: np.ndarray, spec: LayerSpec) -> np.ndarray:
        given = np.asarray(observed)
        if given.ndim != 2 or not given.size or given.dtype.kind not in "iub":
            raise StudioError(f"The picture is {given.dtype} of shape {given.shape}: expected whole numbers (h, w).")
        if max(given.shape) > self.largest_side:
            size, most = f"{given.shape[1]}×{given.shape[0]}", self.largest_side
            raise StudioError(f"The picture has {size} pixels: expected at most {most} on a side; make it smaller.")
        odd = ~np.isin(given, spec.values)
        if odd.any():
            raise StudioError(f"The picture holds the value {given[odd][0]}: expected only {spec.in_words}.")
        return np.array(given, np.uint8)

    def sketch(self, document: Document) -> Sketch:
        """The graph of a document, where a person can change it."""
        raise StudioError(f"The {self.name} workspace has no graph to change.")

    @property
    def _first(self) -> LayerSpec:
        return self.layers[0]

    def _known(self, truth: np.ndarray) -> bool:
        """Whether a truth (height, width) has values of the first layer alone, whatever file it came from."""
        return bool(np.isin(truth, (*self._first.values, self._first.blank)).all())

    def check(self, document: Document) -> None:
        """Raise `StudioError` if a document, read from a file, is none of this workspace."""
        if max(document.shape) > self.largest_side:  # before anything of that size is made
            raise StudioError(f"its document has a size {document.shape} that {self.name} does not know.")
        blank = blank_document(self.layers, document.shape)
        for name, like in blank.layers.items():
            array = document.layers.get(name)
            if array is None or (array.shape, array.dtype) != (like.shape, like.dtype):
                raise StudioError(f"its layer {name!r} is missing or has another form than {like.dtype} {like.shape}.")
        if document.layers.keys() != blank.layers.keys():
            raise StudioError(f"its document has layers that {self.name} does not know.")
        truth = document.truth
        if truth is not None and (truth.shape != document.shape or truth.dtype != np.uint8):
            raise StudioError("its truth has another size than its picture.")
        if truth is not None and not self._known(truth):
            raise StudioError(f"its truth goes up to {truth.max()}, which its pictures do not.")
        for spec in self.layers:
            strength = document.strength(spec.name)
            if not (np.isin(document.layers[spec.name], (*spec.values, spec.blank)).all() and (strength > 0).all()):
                raise StudioError(f"its layer {spec.name!r} holds values that mean nothing.")

    # Models and evidence ----------------------------------------------------------------------------------------------

    def load(self, name: str) -> Any:
        """The model of a shipped name or a path; the same object for the same name."""
        raise NotImplementedError

    def model(self, document: Document, name: str) -> Any:
        """The model of a lane under a document: that of its name, unless the document itself says more."""
        return self.load(name)

    def iterations(self, model: Any) -> int:
        """How many iterations a model is given where nobody says."""
        return self.limits.iterations

    def remark(self, model: Any, evidence: AnyEvidence, state: State) -> str:
        """What there is to say of an answer that is done, in one sentence; empty where it is as one would expect."""
        return ""

    def knows(self, name: str) -> bool:
        """Whether a model can be had without opening a file that nobody has asked for."""
        return True

    def model_like(self, name: str, checksum: str) -> str | None:
        """The name of a model that is known by this name or has this fingerprint; None where there is none."""
        return None

    def stand_in(self) -> str:
        """The model that is shown where a session's own is gone."""
        raise StudioError("its model is not here, and there is none to show it with.")

    def fingerprint(self, model: Any) -> str:
        """A short text that changes when the model does, so that a file knows whether its messages still fit."""
        raise NotImplementedError

    def saved(self, used: bool = True) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a session file must hold to make this workspace again: JSON values and arrays.

        `used` is whether a document of the session shows something that came from a file.
        """
        return {}, {}

    @classmethod
    def restored(cls, options: dict[str, Any], arrays: dict[str, np.ndarray]) -> Workspace:
        """The workspace that `saved` described."""
        return cls()

    def evidence(self, document: Document, model: Any) -> AnyEvidence:
        """What the layers say, for one model. Raises `ContradictoryEvidence` where nothing is left of a node."""
        raise NotImplementedError

    # What is shown ----------------------------------------------------------------------------------------------------

    def pictures(
        self, names: tuple[str, ...], view: LaneView, window: VisiblePart, first: LaneView | None
    ) -> Mapping[str, np.ndarray]:
        """The pictures asked for, as far as this workspace has them; `first` is the first lane if this is another."""
        raise NotImplementedError

    def graph_frame(self, document: Document, model: Any) -> GraphFrame | None:
        """The graph to draw, where there is one; the same object as long as nothing about it changes."""
        return None

    def held(self, document: Document, model: Any, algorithm: Algorithm, before: State | None, state: State) -> State:
        """A state with what the document holds fast in it; `before` is the state that it was stepped from."""
        return state

    def holds(self, document: Document) -> str:
        """A sentence where the document holds something fast, so that no fixed point is expected; else empty."""
        return ""

    def edge_messages(self, model: Any, state: State, edge: int) -> tuple[np.ndarray, ...] | None:
        """Both messages along an edge of `graph_frame`, as probabilities; None where there are none."""
        return None

    def factor_messages(
        self, view: LaneView, factor: int
    ) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]] | None:
        """The messages of a factor of `graph_frame` to its variables and from them; None where there are none."""
        return None

    def thumbnail(self, view: LaneView) -> np.ndarray:
        """A small picture for the strip of iterations."""
        raise NotImplementedError

    def believable(self, view: LaneView) -> bool:
        """Whether what a state believes are numbers at all: one that came from a file may hold anything."""
        return True

    def measure(self, view: LaneView) -> Mapping[str, float]:
        """`iou` and `nce_bits` against the truth, as far as it is known."""
        return {}

    def numbers(self, view: LaneView) -> dict[str, float]:
        """What a lane says, in few numbers that `mrfstudio replay` prints."""
        return {}

    def details(self, view: LaneView, pixel: tuple[int, int]) -> Mapping[str, object]:
        """Plain values about one pixel for an inspector."""
        return {}

    def log_partition_stride(self, view: LaneView) -> int:
        """At every how many iterations log Z is worth its time; 0 is never."""
        return 1

    def log_partition_later(self, view: LaneView) -> bool:
        """Whether log Z takes so long that the iteration's picture is shown before."""
        return False

    def place(self, document: Document, model: Any, name: str, index: tuple[int, ...]) -> str:
        """Where an entry of a state's tensor lies, in words."""
        return f"entry {', '.join(map(str, index))} of its {name}"


PROBABLY = 1e-3
"""By how much rounding may carry a probability above 1."""


class LabelWorkspace(Workspace):
    """A workspace whose nodes have labels: all pictures come from one array of label probabilities."""

    def label_beliefs(self, view: LaneView) -> Tensor:
        """(H, W, labels)."""
        raise NotImplementedError

    def labels(self, view: LaneView) -> Beliefs:
        """Label probabilities (H, W, labels) float32, computed once for a view."""
        if "labels" not in view.kept:
            with torch.no_grad():
                view.kept["labels"] = to_host(self.label_beliefs(view).to(torch.float32))
        beliefs: Beliefs = view.kept["labels"]
        return beliefs

    def pictures(
        self, names: tuple[str, ...], view: LaneView, window: VisiblePart, first: LaneView | None
    ) -> Mapping[str, np.ndarray]:
        if not LABEL_PICTURES & set(names):
            return {}
        compared = None if first is None or "difference" not in names else self.labels(first)
        return label_pictures(names, self.labels(view), window, compared)

    def thumbnail(self, view: LaneView) -> np.ndarray:
        return thumbnail(self.labels(view))

    def numbers(self, view: LaneView) -> dict[str, float]:
        """How probable each label is, as a mean over all nodes."""
        beliefs = self.labels(view)
        rows = beliefs.reshape(-1, beliefs.shape[-1]).astype(np.float64)
        shares = rows.sum(0) / max(int((rows.sum(1) > 0).sum()), 1)  # a graph need not fill its places
        return {f"mean of label {label}": float(share) for label, share in enumerate(shares)}

    def believable(self, view: LaneView) -> bool:
        found = self.labels(view)
        return bool(((found >= 0) & (found <= 1 + PROBABLY)).all())  # no comparison holds of what is no number


def digest(arrays: Iterable[np.ndarray]) -> str:
    """A fingerprint of some arrays."""
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(f"{array.dtype} {array.shape}".encode())
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()[:16]


def hint_potentials(hints: np.ndarray, strength: np.ndarray, labels: int) -> np.ndarray:
    """Log-potentials (…, labels) float32 of hints (…): 0 for the hinted label and where there is none."""
    log = np.zeros((*hints.shape, labels), np.float32)
    hinted = hints != NO_HINT
    against = np.where(strength[hinted] < 1, SOFT_HINT * strength[hinted], -np.inf)
    log[hinted] = np.where(np.arange(labels) != hints[hinted][:, None], against[:, None], 0.0)
    return log
