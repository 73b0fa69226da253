"""A truth that comes from a file or a link has values of its pictures, or is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mrfstudio.engine.protocol.commands import SetImage
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.session.inverses import Patch, Restore
from tests.engine.helpers.sessions import segment_session


def wrong_truth(shape: tuple[int, int]) -> np.ndarray:
    truth = np.zeros(shape, np.uint8)
    truth[0, 0] = 91
    return truth


def test_a_truth_with_a_label_that_there_is_not_is_refused() -> None:
    session = segment_session()
    document = replace(session.document, truth=wrong_truth(session.document.shape))
    with pytest.raises(StudioError, match="truth goes up to 91"):
        session.workspace.check(document)
    observed = np.ones((6, 6), np.uint8)
    with pytest.raises(StudioError, match="truth goes up to 91"):
        session.workspace.edited(session.document, SetImage(observed, wrong_truth((6, 6))))
    session.workspace.check(replace(document, truth=np.full(document.shape, 2, np.uint8)))


def test_what_a_stored_step_puts_back_is_looked_at_like_a_document() -> None:
    session = segment_session()
    before = session.document
    wrong = replace(before, truth=wrong_truth(before.shape))
    session.apply(Restore.of(wrong))
    frame = session.advance(0.0)
    assert frame is not None
    assert "'truth' holds values that mean nothing" in frame.message
    spoiled = before.with_layers({"observed": np.full(before.shape, 77, before.layers["observed"].dtype)})
    session.apply(Patch.between(before, spoiled))
    frame = session.advance(0.0)
    assert frame is not None
    assert "'observed' holds values that mean nothing" in frame.message
    assert session.document is before
