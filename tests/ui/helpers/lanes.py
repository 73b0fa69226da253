"""Three lanes, the catalogue that they were chosen from, and how they compare with a reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfstudio.engine.protocol.answers import Loaded
from mrfstudio.engine.protocol.catalogue import Catalogue, Entry, Parameters, integer, number
from mrfstudio.engine.protocol.frames import Comparison, Frame, LaneScore
from tests.ui.helpers.pictures import frame, lane


class Damped(Parameters):
    """An algorithm as the catalogue describes it."""

    name = "bp"
    title = "Belief propagation"
    summary = "Messages."
    damping: float = number(0.0, "Keeps.", low=0, high=1)
    rounds: int = integer(1, "How many.")


class Field(Parameters):
    """Another one."""

    name = "mean-field"
    title = "Mean field"
    summary = "No messages."


ENTRIES: dict[str, Entry] = {"bp": Damped.entry(), "mean-field": Field.entry()}

LOADED = Loaded(Catalogue(algorithms=tuple(ENTRIES.values())), device="here", fitting={"graph": ("bp", "mean-field")})


def score(number: int, **values: Any) -> LaneScore:
    return LaneScore(number, **{"iterations": 7, "seconds": 0.002, **values})


def compared(*scores: LaneScore, marginals: np.ndarray | None = None, **values: Any) -> Comparison:
    made = {"reference": "exact", "lane": None, "text": "Compared with exact inference.", "log_partition": 3.5}
    return Comparison(**{**made, **values}, marginals=marginals, scores=scores)


def three(**values: Any) -> Frame:
    """Three lanes, the second with the smallest error and the third without any."""
    lanes = (
        lane(5, number=0, residual=1e-3, parameters={"damping": 0.25}),
        lane(5, number=1, residual=1e-5, algorithm="mean-field", status="converged"),
        lane(5, number=3, residual=None, status="diverging"),
    )
    found = compared(score(0, l1=0.2, log_partition_error=-1.0), score(1, l1=0.05, largest=0.3), score(3))
    return frame(*lanes, **{"comparison": found, "workspace": "graph", **values})
