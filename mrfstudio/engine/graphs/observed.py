"""Evidence in words: `3=1,Rain=yes@0.5`, what `--observe` takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mrfstudio.engine.graphs.evidence import SOFT_HINT
from mrfstudio.engine.graphs.names import Names
from mrfstudio.engine.protocol.catalogue import ParameterError

LEANING = "@"
"""Between a state and how strongly it is believed: `3=1@0.4`."""


def observed_vectors(
    words: str, cardinalities: Sequence[int] | np.ndarray, labels: Sequence[int], names: Names | None
) -> list[np.ndarray]:
    """A log-vector (states,) for each variable. Variables and states go by number, or by name where they have names."""
    vectors = [np.zeros(int(states)) for states in cardinalities]
    places = {str(label): place for place, label in enumerate(labels)}
    if names is not None:
        places |= {name: place for place, name in enumerate(names.variables)}
    example = "3=1 or 3=1@0.5" if names is None else f"{names.variables[0]}={names.states[0][0]}"
    for part in words.split(","):
        label, _, rest = part.partition("=")
        state, _, strength = rest.partition(LEANING)
        try:
            place = places[label.strip()]
            named = () if names is None else names.states[place]
            at = named.index(state) if state in named else int(state)
            against = SOFT_HINT * float(strength) if strength else -np.inf
            if not 0 <= at < len(vectors[place]) or (strength and not 0 <= float(strength) <= 1):
                raise ValueError(part)
        except (ValueError, KeyError) as error:
            raise ParameterError(
                f"--observe has {part!r}: expected VARIABLE=STATE or VARIABLE=STATE@STRENGTH, such as {example}."
            ) from error
        vectors[place] = np.where(np.arange(len(vectors[place])) == at, 0.0, against)
    return vectors
