"""Honest doubt: is a picture like those that a grid model learned? "Converged" does not mean "right".

Three numbers of a settled state say how well the model explains a picture:

    unexplained = mean over seen contour pixels of 1 - b(CONTOUR), without short edges that the model knows as noise
    undecided   = pixels where b(CONTOUR) < 1/2 and neither side has b >= DECIDED, over √(pixels of the canvas)
    free energy = (log Z_empty - log Z_Bethe) / pixels of the canvas           nats for each of them

where log Z_empty, what the model says of a canvas of that size on which nothing is seen, is area · a + border · b + c.
A picture is known where all stay below limits that 95 % of held-out figures keep. a, b, c and the limits belong to the
model and are stored in its file. Undecided pixels are counted by the canvas' side and not by its area, because figures
leave a few whatever the canvas, where lines without an inside leave some along all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike

from mrfstudio.engine.families.grid.belief_propagation import GridMessages
from mrfstudio.engine.families.grid.emission import SHORT
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation

CONTOUR = 0
DECIDED = 0.8
"""The belief from which on a pixel is held to be inside, or outside."""
PASS = 0.95
"""The part of known figures that must pass."""
SMALLEST_CANVAS = 48 * 48
"""Pixels that a small canvas counts as: a figure that just fits in is no crowd of lines."""
_EMPTY_SIDES = (16, 24, 40)  # three canvases fix area, border and corners
_EMPTY_ITERATIONS = 60
_SAME = 1e-3  # nats: evidence that differs by less from what the emission gives is the emission's


@dataclass(frozen=True)
class Explained:
    """How well a model explains a picture: free energy in nats for each pixel of the canvas, and what is left over."""

    free_energy: float
    unexplained: float
    undecided: float
    seen: int


@dataclass(frozen=True)
class Likeness:
    """What a model's file knows of its own limits: the empty canvas, and the largest values of known pictures."""

    area: float
    border: float
    corners: float
    most_free_energy: float
    most_unexplained: float
    most_undecided_by_side: float

    @classmethod
    def of_model(cls, model: GridMRF) -> Likeness | None:
        """From a model; None where nobody calibrated it."""
        values = model.likeness
        if values is None or set(values) != set(cls.__dataclass_fields__):
            return None
        return cls(**{name: float(value) for name, value in values.items()})

    def values(self) -> dict[str, float]:
        """What `of_model` reads."""
        return asdict(self)

    def empty(self, height: int, width: int) -> float:
        """log Z of a canvas on which nothing is seen."""
        return self.area * height * width + self.border * 2 * (height + width) + self.corners

    def knows(self, found: Explained) -> bool:
        """Whether a picture is like those that the model learned; one without contours always is."""
        if not found.seen:
            return True
        return (
            found.free_energy <= self.most_free_energy
            and found.unexplained <= self.most_unexplained
            and found.undecided <= self.most_undecided_by_side
        )

    def sentence(self, found: Explained) -> str:
        """What to tell a person, with what helps."""
        if self.knows(found):
            return "This drawing is like those that the model learned."
        if found.unexplained > self.most_unexplained:
            share = f"{found.unexplained:.0%} of the contour bounds nothing that the model knows"
            return f"This drawing is unlike what the model learned: {share}. Try thin closed lines, or another model."
        if found.free_energy <= self.most_free_energy:
            return (
                "This drawing is unlike what the model learned: of too many places it cannot say whether they lie "
                "inside. Try fewer lines, closed ones, or hints."
            )
        return (
            "This drawing is unlike what the model learned: it has many more lines for its size. Try thinner or fewer "
            "lines, a larger scale, or another model."
        )


def explained(model: GridMRF, evidence: Evidence, state: GridMessages, likeness: Likeness) -> Explained:
    """The numbers of one picture, evidence (H, W, labels) or (1, H, W, labels), from a settled state."""
    return _measured(model, evidence, state, likeness.empty(*evidence.log_potentials.shape[-3:-1]))


def _measured(model: GridMRF, evidence: Evidence, state: GridMessages, empty: float) -> Explained:
    bp = BeliefPropagation()
    log = evidence.log_potentials.reshape(-1, model.labels)
    seen = log[:, CONTOUR] > log[:, 1:].amax(1)
    if model.short_edges:
        seen &= ((log - model.log_emission[SHORT]).abs() > _SAME).any(1)
    count = int(seen.sum())
    if not count:
        return Explained(0.0, 0.0, 0.0, 0)
    with torch.no_grad():
        value = bp.log_partition(model, evidence, state).value
        beliefs = model.label_beliefs(bp.beliefs(model, evidence, state)).reshape(-1, model.labels)
    assert value is not None  # of one picture at temperature 1 there always is one
    left = float((1.0 - beliefs[seen, CONTOUR]).mean())
    sides = torch.cat([beliefs[:, :CONTOUR], beliefs[:, CONTOUR + 1 :]], 1).amax(1)
    open_ones = int(((beliefs[:, CONTOUR] < 0.5) & (sides < DECIDED)).sum())
    area = max(len(seen), SMALLEST_CANVAS)
    return Explained((empty - value) / area, left, open_ones / math.sqrt(area), count)


def unlike(model: GridMRF, evidence: Evidence, state: GridMessages) -> str | None:
    """One sentence where a picture is unlike those that the model learned; None where it is not, or nobody knows."""
    likeness = Likeness.of_model(model)
    if likeness is None:
        return None
    found = explained(model, evidence, state, likeness)
    return None if likeness.knows(found) else likeness.sentence(found)


def settled(model: GridMRF, evidence: Evidence, iterations: int, start: str = "auto") -> GridMessages:
    """The state of belief propagation after so many iterations."""
    bp = BeliefPropagation(start=start)
    with torch.no_grad():
        state = bp.init(model, evidence)
        for _ in range(iterations):
            state = bp.step(model, evidence, state)
    assert isinstance(state, GridMessages)
    return state


def calibrated(model: GridMRF, known: Iterable[ArrayLike], iterations: int, part: float = PASS) -> Likeness:
    """Limits that `part` of known contour images (H, W), 0 where a contour is seen, keep together."""
    sides = torch.tensor(_EMPTY_SIDES, dtype=torch.float64)
    logs = [_empty_log_partition(model, side) for side in _EMPTY_SIDES]
    matrix = torch.stack([sides**2, 4 * sides, torch.ones_like(sides)], 1)
    area, border, corners = torch.linalg.solve(matrix, torch.tensor(logs, dtype=torch.float64)).tolist()
    blank = Likeness(area, border, corners, np.inf, np.inf, np.inf)
    found = []
    for picture in known:
        evidence = model.evidence_from_image(picture)
        one = explained(model, evidence, settled(model, evidence, iterations), blank)
        found.append((one.free_energy, one.unexplained, one.undecided))
    values = np.array(found)
    # The same quantile for all, the smallest that lets the wanted part pass them together; the largest lets all pass.
    limits = [np.quantile(values, q, axis=0) for q in np.linspace(part, 1.0, 51)]
    enough = [bool((values <= most).all(1).mean() >= part) for most in limits]
    return Likeness(area, border, corners, *(float(most) for most in limits[enough.index(True)]))


def _empty_log_partition(model: GridMRF, side: int) -> float:
    evidence = model.evidence_from_image(np.ones((side, side)))
    value = BeliefPropagation().log_partition(model, evidence, settled(model, evidence, _EMPTY_ITERATIONS)).value
    assert value is not None
    return value
