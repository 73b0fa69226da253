"""Inpaint: a grey picture and a mask of what is unknown; a Boltzmann machine fills it in, with its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.families.pixels import PIXELS, Grey, clamp_log_odds, pixels_of
from mrfstudio.engine.graphs.evidence import AnyEvidence
from mrfstudio.engine.inference.algorithm import State
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.inference.samplers.gibbs import Gibbs
from mrfstudio.engine.protocol.commands import AddNoise, ClampUnit, Command, SetImage
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.session.document import GREY, STRENGTH, Document, LayerSpec, frozen
from mrfstudio.engine.session.label_pictures import THUMBNAIL, VisiblePart
from mrfstudio.engine.session.painting import painted
from mrfstudio.engine.workspaces.named_models import NamedModels
from mrfstudio.engine.workspaces.workspace import LaneView

KNOWN, UNKNOWN = 0, 1
"""What the layer `mask` holds."""
WHITE = 255
FREE = -1
"""What the picture `held` has for a unit that nobody holds."""
SWEEPS = 5
"""Sweeps of the sampler before its first picture is shown: it starts far from the evidence."""
NAMES = ("mean", "deviation", "mistake", "difference", "sample", "units", "held")


class InpaintWorkspace(NamedModels):
    """Documents have `picture` (grey levels) and `mask` (1 unknown, 0 known; a known pixel may be soft).

    Pictures, (h, w) float32 in grey levels from 0 to 1 unless said otherwise: `mean` and `deviation` of the beliefs,
    `mistake` = mean - truth, `difference` = mean - the first lane's mean, `sample:N` = the N-th draw of a Gibbs chain
    given the evidence; `units` (hidden,) p(h = 1); `held` (hidden,) int8: 0 off, 1 on, `FREE`.
    """

    name = "inpaint"
    part = PIXELS
    layers = (LayerSpec("picture", 128, GREY, soft=()), LayerSpec("mask", KNOWN, (KNOWN, UNKNOWN), soft=(KNOWN,)))
    limits = Limits(iterations=50, tolerance=1e-4)
    largest_side = 256
    shape = (28, 20)

    def __init__(self, models: Mapping[str, Any] | None = None) -> None:
        super().__init__(models)
        self._chains: dict[int, tuple[AnyEvidence, Gibbs, Any, int]] = {}

    # Documents --------------------------------------------------------------------------------------------------------

    def edited(self, document: Document, command: Command) -> Document | None:
        if isinstance(command, ClampUnit):
            return painted(document, command, self.specs)
        if isinstance(command, SetImage):
            return self._opened_over(document, command)
        if isinstance(command, AddNoise):
            return _noisy(document, command)
        return super().edited(document, command)

    def _opened_over(self, document: Document, command: SetImage) -> Document:
        """Another picture under the same mask, if it has the same size and brings none of its own."""
        opened = self.opened(command)
        if command.mask is not None or opened.shape != document.shape:
            return replace(opened, clamps=document.clamps)
        kept = {name: document.layers[name] for name in ("mask", "mask" + STRENGTH)}
        return replace(opened.with_layers(kept), clamps=document.clamps)

    def opened(self, command: SetImage) -> Document:
        document = super().opened(command)
        if command.mask is None:
            return document
        mask = np.asarray(command.mask)
        if mask.shape != document.shape or not np.isin(mask, (KNOWN, UNKNOWN)).all():
            given = f"The mask is {mask.dtype} of shape {mask.shape}"
            raise StudioError(f"{given}: expected 0 (known) and 1 (unknown) of shape {document.shape}.")
        return document.with_layers({"mask": mask.astype(np.uint8)})

    # Models and evidence ----------------------------------------------------------------------------------------------

    def made(self, name: str, trained: Any) -> Any:
        pixels_of(trained).shape(trained)  # refuses models of rows
        return super().made(name, trained)

    def evidence(self, document: Document, model: Any) -> AnyEvidence:
        """Known pixels by their grey level and strength, and the hidden units that are held."""
        picture, mask = document.layers["picture"], document.layers["mask"]
        grey = torch.from_numpy(picture.astype(np.float32) / WHITE)
        strength = torch.from_numpy(document.strength("mask").copy())
        hidden = clamp_log_odds(model, document.held(self.name_of(model)))
        evidence: AnyEvidence = model.evidence_from_image(grey, torch.from_numpy(mask == UNKNOWN), strength, hidden)
        return evidence

    def remark(self, model: Any, evidence: AnyEvidence, state: State) -> str:
        with torch.no_grad():
            return pixels_of(model).unlike(model, evidence) or ""

    # What is shown ----------------------------------------------------------------------------------------------------

    def beliefs(self, view: LaneView) -> tuple[Grey, Grey]:
        """Mean and standard deviation (H, W), computed once for a view."""
        if "grey" not in view.kept:
            mean, deviation = pixels_of(view.model).mean_and_deviation(view.beliefs)
            view.kept["grey"] = _array(mean), _array(deviation)
        found: tuple[Grey, Grey] = view.kept["grey"]
        return found

    def pictures(
        self, names: tuple[str, ...], view: LaneView, window: VisiblePart, first: LaneView | None
    ) -> Mapping[str, np.ndarray]:
        wanted = dict(name.partition(":")[::2] for name in names)
        pictures: dict[str, np.ndarray] = {}
        mean, deviation = self.beliefs(view)
        if "mean" in wanted:
            pictures["mean"] = window.cut(mean)
        if "deviation" in wanted:
            pictures["deviation"] = window.cut(deviation)
        if "mistake" in wanted and view.document.truth is not None:
            pictures["mistake"] = window.cut(mean - view.document.truth.astype(np.float32) / WHITE)
        if "difference" in wanted and first is not None:
            pictures["difference"] = window.cut(mean - self.beliefs(first)[0])
        if "sample" in wanted:
            pictures["sample"] = window.cut(self._sample(view, int(wanted["sample"] or 0)))
        if "units" in wanted:
            pictures["units"] = frozen(self.activations(view))
            pictures["held"] = frozen(self._held(view))
        return pictures

    def thumbnail(self, view: LaneView) -> np.ndarray:
        """Grey levels (h, w) uint8."""
        mean, _ = self.beliefs(view)
        step = -(-max(mean.shape) // THUMBNAIL)
        return frozen((np.clip(mean[::step, ::step], 0, 1) * WHITE + 0.5).astype(np.uint8))

    def numbers(self, view: LaneView) -> dict[str, float]:
        """Grey levels and their doubt, as means over what is hidden; over everything where nothing is."""
        hidden = view.document.layers["mask"] == UNKNOWN
        part = hidden if hidden.any() else np.ones_like(hidden)
        mean, deviation = (picture[part].astype(np.float64).mean() for picture in self.beliefs(view))
        return {"mean": float(mean), "mean deviation": float(deviation)}

    def believable(self, view: LaneView) -> bool:
        return all(bool(np.isfinite(grey).all()) for grey in self.beliefs(view))

    def measure(self, view: LaneView) -> Mapping[str, float]:
        """`nce_bits` and `mse` of the hidden pixels, where the truth is known and any pixel is hidden.

        A model that answers with another picture is measured on all of it where nothing is hidden, only noisy.
        """
        hidden, truth = view.document.layers["mask"] == UNKNOWN, view.document.truth
        if not hidden.any() and pixels_of(view.model).answers_all:
            hidden = np.ones_like(hidden)
        if truth is None or not hidden.any():
            return {}
        grey = truth.astype(np.float32) / WHITE
        bits = _array(view.model.bits(view.beliefs, torch.from_numpy(grey)))
        error = (self.beliefs(view)[0] - grey)[hidden]
        return {"nce_bits": float(bits[hidden].mean()), "mse": float((error**2).mean())}

    def details(self, view: LaneView, pixel: tuple[int, int]) -> Mapping[str, object]:
        """What is believed of one pixel: `mean` and `deviation`, its `histogram`, what was given, the `truth`."""
        mean, deviation = self.beliefs(view)
        given, truth = view.document.layers, view.document.truth
        return {
            "pixel": pixel,
            "mean": float(mean[pixel]),
            "deviation": float(deviation[pixel]),
            "histogram": [float(share) for share in pixels_of(view.model).histogram(view.beliefs, pixel)],
            "unknown": bool(given["mask"][pixel] == UNKNOWN),
            "strength": float(view.document.strength("mask")[pixel]),
            "picture": float(given["picture"][pixel]) / WHITE,
            "truth": None if truth is None else float(truth[pixel]) / WHITE,
        }

    def activations(self, view: LaneView) -> Grey:
        """p(h = 1) of every unit of the first hidden layer, (hidden,)."""
        hidden = pixels_of(view.model).hidden(view.model)
        if not hidden:
            return np.zeros(0, np.float32)
        return _array(view.algorithm.hidden_beliefs(view.model, view.evidence, view.state)[:hidden])

    def _held(self, view: LaneView) -> np.ndarray:
        held = np.full(pixels_of(view.model).hidden(view.model), FREE, np.int8)
        for unit, value in view.document.held(self.name_of(view.model)).items():
            held[unit] = value
        return held

    def _sample(self, view: LaneView, number: int) -> Grey:
        """The picture of a Gibbs chain after so many sweeps: the same number gives the same picture.

        The chain of each model goes on from the last number asked for; an older number begins it again.
        """
        known = self._chains.get(id(view.model))
        if known is None or known[0] is not view.evidence or known[3] > number:
            sampler = Gibbs(chains=2, burn_in=0)
            known = view.evidence, sampler, sampler.init(view.model, view.evidence), -SWEEPS
        evidence, sampler, state, sweeps = known
        while sweeps < number:
            state = sampler.step(view.model, evidence, state)
            sweeps += 1
        self._chains[id(view.model)] = evidence, sampler, state, sweeps
        return _array(pixels_of(view.model).drawn(view.model, sampler, evidence, state)[0])

    def log_partition_stride(self, view: LaneView) -> int:
        return 0  # it has no meaning to somebody who looks at a face, and costs as much as an iteration

    def place(self, document: Document, model: Any, name: str, index: tuple[int, ...]) -> str:
        if name in ("information", "precision") and len(index) == 2:
            row, column = divmod(index[0], document.shape[1])
            return f"pixel (row {row}, column {column})"
        return super().place(document, model, name, index)


def _noisy(document: Document, command: AddNoise) -> Document:
    """Some pixels of the picture as their negative; what is known of the truth stays."""
    if not (0 <= command.deletion <= 1 and command.seed >= 0):
        given = f"a part of {command.deletion} and seed {command.seed}"
        raise StudioError(f"Noise of {given}: expected a part from 0 to 1 and a seed of at least 0.")
    picture = document.layers["picture"]
    flipped = np.random.default_rng(command.seed).random(picture.shape) < command.deletion
    return document.with_layers({"picture": np.where(flipped, np.uint8(WHITE) - picture, picture)})


def _array(tensor: Tensor) -> Grey:
    """The same (…, n) as float32 on the CPU."""
    return np.asarray(to_host(tensor.detach().to(torch.float32)))
