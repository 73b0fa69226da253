"""Parameters of a cut-out stay where 32 bits can follow."""

from __future__ import annotations

import pytest

from mrfstudio.engine.protocol.catalogue import ParameterError
from mrfstudio.engine.workspaces.photograph.algorithm import CoarseToFine


@pytest.mark.parametrize("name", ["colour_cap", "distance_weight", "walls", "islands"])
def test_numbers_that_would_leave_the_range_are_refused(name: str) -> None:
    """A damaged session had a cap of 1e300, which overflowed with a warning."""
    assert getattr(CoarseToFine().replace(**{name: 100.0}), name) == 100.0
    with pytest.raises(ParameterError, match="expected a number in"):
        CoarseToFine().replace(**{name: 1e300})
