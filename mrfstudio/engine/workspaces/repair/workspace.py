"""Repair: a photograph and strokes over what is wrong with it; windows that share pixels fill it in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.families.repairs import NOTHING, REPAIRS
from mrfstudio.engine.graphs.evidence import AnyEvidence
from mrfstudio.engine.inference.algorithm import State
from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.commands import ClampUnit, Command, FindDamage, SetPhotograph
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.session.document import Document, frozen
from mrfstudio.engine.session.label_pictures import THUMBNAIL, VisiblePart
from mrfstudio.engine.session.painting import painted
from mrfstudio.engine.workspaces.named_models import NamedModels
from mrfstudio.engine.workspaces.photograph.workspace import PhotographWorkspace
from mrfstudio.engine.workspaces.repair.algorithm import (
    DAMAGED,
    DOUBTFUL,
    DamageEvidence,
    PlacedAnswer,
    RepairLaneState,
    RepairModel,
    answer,
)
from mrfstudio.engine.workspaces.repair.dust import Dust
from mrfstudio.engine.workspaces.workspace import LaneView

LABELS = ((DAMAGED, "Damage", "#d55e00"), (DOUBTFUL, "Doubtful", "#56b4e9"))
WHITE = 255
GUESS = 0.1
"""Mean deviation, in parts of white, from which on an answer is called a guess."""
GUESSED = "The damage is wide for what is around it: this is a guess, ± {} grey levels."


class RepairWorkspace(PhotographWorkspace):
    """Documents have a photograph and the layer `strokes`: 0 fine, 1 damaged, 2 doubtful: known, but not firmly.

    Pictures: `repaired` and `draw:N` (h, w, 4) uint8, colours and opacity of what was filled in, by the mean or by the
    N-th draw; `deviation` (h, w) float32 in parts of white; `filler` (h, w) int16, the component that filled a pixel;
    `difference` (h, w) float32 from 0 to 1 between two lanes.
    """

    name = "repair"
    part = REPAIRS
    limits = Limits(iterations=1000, tolerance=0.0)

    def __init__(self, models: Mapping[str, Any] | None = None) -> None:
        super().__init__({name: RepairModel(model) for name, model in (models or {}).items()})
        self.dust = Dust()

    # Documents --------------------------------------------------------------------------------------------------------

    def photographed(self, command: SetPhotograph) -> Document:
        return super().photographed(replace(command, labels=LABELS))

    def edited(self, document: Document, command: Command) -> Document | None:
        if isinstance(command, FindDamage):
            assert document.photo is not None
            found = self.dust.found(document.photo, self.judge(command.model), command.threshold)
            strokes = np.where(found & (document.layers["strokes"] == 0), np.uint8(DAMAGED), document.layers["strokes"])
            return document.with_layers({"strokes": strokes})
        if isinstance(command, ClampUnit):
            if command.value == 0:
                raise StudioError("A component can be held or let go: it cannot be switched off.")
            free = replace(document, clamps=tuple(c for c in document.clamps if c[0] != command.model))
            return painted(free, command, self.specs)
        return super().edited(document, command)

    # Models and evidence ----------------------------------------------------------------------------------------------

    def made(self, name: str, trained: Any) -> Any:
        return RepairModel(trained)

    def tensors(self, model: Any) -> Mapping[str, Tensor]:
        tensors: Mapping[str, Tensor] = model.trained.tensors()
        return tensors

    def fingerprint(self, model: Any) -> str:
        return NamedModels.fingerprint(self, model)

    def stand_in(self) -> str:
        from mrfstudio.engine.tasks.repair import default_repairer

        return next(iter(self._models), None) or default_repairer()

    def judge(self, name: str) -> Any:
        """The trained model that says what is improbable; without a name the usual one."""
        return self.load(name or self.stand_in()).trained

    def evidence(self, document: Document, model: Any) -> AnyEvidence:
        if document.photo is None:
            raise StudioError("The repair workspace shows photographs: open one.")
        held = held_component(document, self.name_of(model))
        return DamageEvidence(document.photo, document.layers["strokes"], held)

    def remark(self, model: Any, evidence: AnyEvidence, state: State) -> str:
        """That a hole is filled in with guesses, where the windows themselves are that unsure."""
        placed = answer(state)
        if placed is None:
            return ""
        doubts = placed.found.deviation[placed.found.deviation > 0]
        doubt = float(doubts.mean()) if doubts.size else 0.0
        return "" if doubt < GUESS else GUESSED.format(round(doubt * WHITE))

    # What is shown ----------------------------------------------------------------------------------------------------

    def pictures(
        self, names: tuple[str, ...], view: LaneView, window: VisiblePart, first: LaneView | None
    ) -> Mapping[str, np.ndarray]:
        wanted = dict(name.partition(":")[::2] for name in names)
        placed = _answer(view)
        if placed is None:
            return {}
        pictures: dict[str, np.ndarray] = {}
        found = placed.found
        # An answer to strokes that are gone, or not yet to the newest ones, covers only what is painted now.
        hole = view.document.layers["strokes"][window.slices] == DAMAGED
        if "repaired" in wanted:
            pictures["repaired"] = _with_opacity(placed.seen(_eight(found.colours), window), hole)
        if "draw" in wanted:
            filled = placed.seen(found.component, window, NOTHING) != NOTHING
            drawn = _eight(self._drawn(view, int(wanted["draw"] or 0)))
            pictures["draw"] = _with_opacity(placed.seen(drawn, window), hole & filled)
        if "deviation" in wanted:
            pictures["deviation"] = frozen(placed.seen(found.deviation, window))
        if "filler" in wanted:
            pictures["filler"] = frozen(placed.seen(found.component, window, NOTHING))
        other = None if first is None else _answer(first)
        if "difference" in wanted and other is not None:
            apart = placed.seen(found.colours, window) - other.seen(other.found.colours, window)
            pictures["difference"] = np.minimum(4 * np.abs(apart).max(-1), 1)
        return pictures

    def _drawn(self, view: LaneView, number: int) -> np.ndarray:
        """The N-th draw of a state, made once."""
        state = view.state
        assert isinstance(state, RepairLaneState)
        assert state.work is not None
        key = f"draw {number}"
        if key not in view.kept:
            with torch.inference_mode():
                view.kept[key] = state.work.sample(state.at, number)
        drawn: np.ndarray = view.kept[key]
        return drawn

    def thumbnail(self, view: LaneView) -> np.ndarray:
        """The part around the damage, (h, w) uint8 grey levels."""
        placed = _answer(view)
        if placed is None:
            return np.zeros((1, 1), np.uint8)
        rows, columns = (np.flatnonzero((placed.found.deviation > 0).any(axis)) for axis in (1, 0))
        colours = placed.found.colours
        if len(rows):
            down = slice(max(int(rows[0]) - 8, 0), int(rows[-1]) + 9)
            colours = colours[down, max(int(columns[0]) - 8, 0) : int(columns[-1]) + 9]
        step = -(-max(colours.shape[:2]) // THUMBNAIL)
        return np.rint(colours[::step, ::step].mean(-1) * WHITE).astype(np.uint8)

    def numbers(self, view: LaneView) -> dict[str, float]:
        """Doubt of what was filled in, as a mean over the damage."""
        placed, damaged = _answer(view), view.document.layers["strokes"] == DAMAGED
        if placed is None or not damaged.any():
            return {}
        doubt = placed.seen(placed.found.deviation, VisiblePart.fitting(None, 1, view.document.shape))
        return {"mean deviation": float(doubt[damaged].astype(np.float64).mean())}

    def details(self, view: LaneView, pixel: tuple[int, int]) -> Mapping[str, object]:
        """What is believed of one pixel: `colour` and `deviation` (8 bits), the `component` that filled it."""
        placed, photo = _answer(view), view.document.photo
        stroke = int(view.document.layers["strokes"][pixel])
        colour = None if photo is None else tuple(int(level) for level in photo.rgb[pixel])
        details: dict[str, object] = {"pixel": pixel, "colour": colour, "damaged": stroke == DAMAGED}
        at = None if placed is None else placed.at(pixel)
        if placed is not None and at is not None and stroke == DAMAGED:
            details["repaired"] = tuple(round(float(level) * WHITE) for level in placed.found.colours[at])
            details["deviation"] = float(placed.found.deviation[at]) * WHITE
            details["component"] = int(placed.found.component[at])
        return details


def held_component(document: Document, model: str) -> int | None:
    """The component of a model that fills in everything."""
    return next((unit for unit, value in document.held(model).items() if value), None)


def _answer(view: LaneView) -> PlacedAnswer | None:
    """Computed once for a view."""
    if "answer" not in view.kept:
        view.kept["answer"] = answer(view.state)
    found: PlacedAnswer | None = view.kept["answer"]
    return found


def _eight(colours: np.ndarray) -> np.ndarray:
    """Colours from 0 to 1 in 8 bits."""
    return np.rint(colours.clip(0, 1) * WHITE).astype(np.uint8)


def _with_opacity(colours: np.ndarray, opaque: np.ndarray) -> np.ndarray:
    """(h, w, 4) uint8 of colours (h, w, 3) uint8."""
    shown = np.empty((*colours.shape[:2], 4), np.uint8)
    shown[..., :3] = colours
    shown[..., 3] = opaque
    shown[..., 3] *= WHITE
    return shown
