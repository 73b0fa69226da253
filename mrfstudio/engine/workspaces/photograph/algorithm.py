"""Coarse to fine on a photograph, as an algorithm of sessions: each step is one iteration of the cut-out.

The model stands for all photographs; which one it is, and the strokes on it, are evidence. A state holds the cut-out
that it belongs to, so that a result can be shown while newer strokes are on their way.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.families.photographs.cutout import Cutout, CutoutState
from mrfstudio.engine.families.photographs.full_size import full_size
from mrfstudio.engine.families.photographs.network import PhotoScores
from mrfstudio.engine.families.photographs.photograph import Photograph
from mrfstudio.engine.families.photographs.rules import FieldAlphaMessages, MeanFieldSweeps, SumProduct
from mrfstudio.engine.families.photographs.settings import MOST_SMOOTHNESS, CutoutSettings
from mrfstudio.engine.graphs.evidence import AnyEvidence
from mrfstudio.engine.inference.algorithm import Algorithm, Kernel, Model, PlanEnd, State, kernel
from mrfstudio.engine.inference.messages.alpha_bp import LARGEST_ALPHA
from mrfstudio.engine.protocol.catalogue import choice, integer, number
from mrfstudio.engine.protocol.commands.photographs import LEANING
from mrfstudio.engine.registry import ALGORITHMS
from mrfstudio.engine.session.photo import Photo

USUAL = CutoutSettings()
PATIENCE = 100_000
"""Iterations that no run has: the limit that a person sees and sets, the session's, comes first."""
STILL_MOVES = "Some borders still move: paint a stroke there (Where next? finds the place), or allow more iterations."
FEWEST = 2
"""Labels with strokes from which on there is something to decide."""


class PhotographModel:
    """A grid whose scores come from a photograph and the strokes on it; both are evidence.

    With a network that was kept from other photographs, its scores are added, and its labels need no strokes.
    """

    kind = "photograph"

    def __init__(self, network: PhotoScores | None = None) -> None:
        self.network = network


class Photographs:
    """The levels of photographs, made once for each; the last few are kept."""

    def __init__(self, most: int = 2) -> None:
        self._most = most
        self._known: dict[str, Photograph] = {}

    def of(self, photo: Photo) -> Photograph:
        made = self._known.pop(photo.digest, None) or Photograph(photo.rgb)
        self._known[photo.digest] = made
        while len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return made


@dataclass(frozen=True, eq=False)
class StrokeEvidence(AnyEvidence):
    """A photograph and strokes on it, (height, width): 0, label numbers, soft ones + LEANING.

    Nothing is computed before a step.
    """

    photo: Photo
    strokes: NDArray[np.uint8]
    photographs: Photographs
    network: PhotoScores | None = None
    numbers: tuple[int, ...] = ()
    """Of the document's labels."""
    _cutouts: dict[tuple[CutoutSettings, SumProduct], Cutout | None] = field(default_factory=dict)

    @cached_property
    def present(self) -> tuple[int, ...]:
        """The labels that have strokes, hard or soft, or that the network knows."""
        found = {int(n) for n in np.bincount(self.strokes.reshape(-1), minlength=256).nonzero()[0] % LEANING}
        if self.network is not None:
            found |= set(self.network.numbers) & set(self.numbers)
        return tuple(sorted(found - {0}))

    def _learned(self, levels: Photograph) -> NDArray[np.float32] | None:
        """The network's scores of the present labels at the thinking level; 0 for labels that it does not know."""
        if self.network is None:
            return None
        scores = self.network.scores(levels.levels[levels.thinking].features)
        made = np.zeros((len(self.present), *scores.shape[1:]), np.float32)
        for place, label in enumerate(self.present):
            if label in self.network.numbers:
                made[place] = scores[self.network.numbers.index(label)]
        return made

    def cutout(self, settings: CutoutSettings, rule: SumProduct) -> Cutout | None:
        """The cut-out of the labels that have strokes; None where they are fewer than two."""
        if (settings, rule) not in self._cutouts:
            levels = self.photographs.of(self.photo)  # before there are strokes: the first answer is then quick
            made = None
            if len(self.present) >= FEWEST:
                numbers = np.zeros(256, np.uint8)
                order = np.arange(1, len(self.present) + 1)
                numbers[list(self.present)] = order
                numbers[np.array(self.present) + LEANING] = order + LEANING
                given, learned = numbers[self.strokes], self._learned(levels)
                made = Cutout(levels, given, len(self.present), settings, rule, learned)
            self._cutouts[settings, rule] = made
        return self._cutouts[settings, rule]


MOST_SAID = 1e6
"""Nats and weights beyond which nothing changes; far larger ones would leave the range of 32 bits."""


class PhotographAlgorithm(Algorithm):
    """Parameters of a cut-out; each is one of `CutoutSettings`."""

    field: float = number(
        USUAL.field,
        "From the scores of each pixel alone (0) to scores and field (1): what neighbours add.",
        low=0.0,
        high=1.0,
    )
    smoothness: float = number(
        USUAL.smoothness,
        "How much neighbouring pixels want the same label.",
        low=0.0,
        high=MOST_SMOOTHNESS,
    )
    colour_cap: float = number(
        USUAL.colour_cap,
        "Most that a pixel's colour alone can say for a label.",
        low=0.0,
        high=MOST_SAID,
        unit="nats",
        slider_high=10.0,
    )
    distance_weight: float = number(
        USUAL.distance_weight,
        "How much the way along the picture to a stroke says.",
        low=0.0,
        high=MOST_SAID,
        slider_high=20.0,
    )
    walls: float = number(
        USUAL.walls,
        "How much edges of colours are walls for that way.",
        low=0.0,
        high=MOST_SAID,
        slider_high=4.0,
        advanced=True,
    )
    islands: float = number(
        USUAL.islands,
        "How much a label loses in parts that none of its strokes touches; what lies around loses nothing.",
        low=0.0,
        high=MOST_SAID,
        slider_high=20.0,
        advanced=True,
    )
    neighbours: str = choice(USUAL.neighbours, ("4", "8"), "Neighbours of a pixel.", advanced=True)
    rounds: int = integer(USUAL.rounds, "How often colours are fitted to the answer.", low=0, high=20, advanced=True)
    sweeps: int = integer(
        USUAL.iterations, "Iterations of belief propagation at each level.", low=1, high=1000, advanced=True
    )

    @property
    def settings(self) -> CutoutSettings:
        """The same for the cut-out."""
        values = self.values()
        known = {field.name for field in CutoutSettings.fields()}
        chosen = {n: v for n, v in values.items() if n in known}
        return CutoutSettings(iterations=values.pop("sweeps"), patience=PATIENCE, **chosen)

    @property
    def rule(self) -> SumProduct:
        """How beliefs are found."""
        return SumProduct()

    @property
    def planned(self) -> int:
        return 1000  # more than any plan has: it ends by itself

    def supports(self, model: Model) -> str | None:
        if isinstance(model, PhotographModel):
            return None
        return f"{self.name} works on photographs with strokes, not on a {model.kind}: use bp or alpha-bp."

    begins_anew = True

    def resume(self, model: Model, evidence: AnyEvidence, state: State) -> State:
        """Other strokes or parameters: from the coarsest level again, which is quick; iterations are counted on."""
        return self.counted(state)

    def counted(self, state: State) -> State:
        return PhotoState(state.iteration, torch.tensor(torch.inf))

    def remaining(self, state: State) -> int:
        assert isinstance(state, PhotoState)
        if state.cutout is None or state.at is None:
            return 0
        large = state.cutout.photograph.reduction > 1 and state.full is None
        return state.cutout.remaining(state.at) + int(large)

    def plan_end(self, state: State) -> PlanEnd:
        assert isinstance(state, PhotoState)
        if state.cutout is None or state.at is None:
            return "idle"
        return "settled" if state.cutout.rests(state.at) else "iteration limit"

    def words(self, state: State) -> str:
        assert isinstance(state, PhotoState)
        resting = state.cutout is None or state.at is None or state.cutout.rests(state.at)
        return "" if resting else STILL_MOVES


@ALGORITHMS.register
class CoarseToFine(PhotographAlgorithm):
    """Sum-product."""

    name = "cutout"
    title = "Cut-out: BP"
    summary = (
        "For photographs with strokes: belief propagation on small copies of the picture, then on larger ones. Colours "
        "are fitted to the answer again and again."
    )


@ALGORITHMS.register
class AlphaCutting(PhotographAlgorithm):
    """α-BP."""

    name = "cutout-alpha-bp"
    title = "Cut-out: α-BP"
    summary = "The same with messages of α-BP: α = 1 is belief propagation, smaller α comes nearer to mean field."

    alpha: float = number(
        0.5, "1 is ordinary BP, towards 0 it tends to mean field.", low=0, low_open=True, high=LARGEST_ALPHA
    )

    @property
    def rule(self) -> SumProduct:
        return FieldAlphaMessages(self.alpha)


@ALGORITHMS.register
class MeanFieldCutting(PhotographAlgorithm):
    """Mean field."""

    name = "cutout-mean-field"
    title = "Cut-out: mean field"
    summary = "The same by mean field: each pixel listens to its neighbours' beliefs. Quick to be sure, also of errors."

    @property
    def rule(self) -> SumProduct:
        return MeanFieldSweeps()


@dataclass(frozen=True, eq=False)
class PhotoState(State):
    """Where a cut-out is. `tensors` are all that `at` and `cutout` hold, for whoever counts memory.

    `full` (labels, height, width) uint8, 255 × belief of every pixel of a photograph that is larger than its levels.
    """

    stored: ClassVar[bool] = False
    present: tuple[int, ...] = ()
    cutout: Cutout | None = None
    at: CutoutState | None = None
    tensors: tuple[Tensor, ...] = ()
    full: Tensor | None = None


@kernel(PhotographAlgorithm, PhotographModel)
class CutoutKernel(Kernel):
    """One iteration of messages a step; for large photographs a last step at full size. A CPU kernel: see `cutout`."""

    on_cpu = "bp"

    def init(self, algorithm: PhotographAlgorithm, model: PhotographModel, evidence: StrokeEvidence) -> PhotoState:
        return PhotoState(0, torch.tensor(torch.inf))

    def step(
        self, algorithm: PhotographAlgorithm, model: PhotographModel, evidence: StrokeEvidence, state: PhotoState
    ) -> PhotoState:
        if state.at is None or state.cutout is None:
            cutout = evidence.cutout(algorithm.settings, algorithm.rule)
            if cutout is None:
                return PhotoState(state.iteration + 1, torch.tensor(torch.inf), evidence.present)
            state = replace(state, present=evidence.present, cutout=cutout, at=cutout.start())
        assert state.cutout is not None
        assert state.at is not None
        cutout = state.cutout
        if cutout.settled(state.at) and state.full is None and cutout.photograph.reduction > 1:
            made = torch.from_numpy(full_size(cutout, state.at).beliefs).mul(255).round_().to(torch.uint8)
            return replace(state, iteration=state.iteration + 1, full=made)
        at = cutout.step(state.at)
        strokes = (torch.from_numpy(cutout.given), *cutout.strokes)
        tensors = (at.messages, at.local, at.scores, at.clues.near, *at.gains, *strokes)
        residual = torch.tensor(at.residual)
        return replace(state, iteration=state.iteration + 1, residual=residual, at=at, tensors=tensors, full=None)

    def beliefs(
        self, algorithm: PhotographAlgorithm, model: PhotographModel, evidence: StrokeEvidence, state: PhotoState
    ) -> Tensor:
        """(labels with strokes, height, width) at the state's level, or at full size where it has that."""
        if state.cutout is None or state.at is None:
            return torch.zeros(0, 1, 1)
        return state.cutout.beliefs(state.at) if state.full is None else state.full.half().div_(255)
