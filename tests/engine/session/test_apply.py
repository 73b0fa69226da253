"""What edits of an image do to the evidence."""

from __future__ import annotations

import numpy as np

from mrfstudio.engine.data.pictures.border_noise import SEEN
from mrfstudio.engine.protocol.commands import AddNoise, ClearLayer, CloseGaps, Fill, Paint, PaintRectangle, Thin, Undo
from mrfstudio.engine.protocol.frames import NO_HINT
from tests.engine.helpers.sessions import last, segment_session


def test_noise_adds_edges_away_from_contours_and_deletes_some() -> None:
    session = segment_session(shape=(40, 40))
    session.apply(PaintRectangle("observed", SEEN, (10, 10, 1, 20)))
    session.apply(AddNoise(edges=5, deletion=0.0, seed=1))
    observed = session.document.layers["observed"]
    assert (observed[10, 10:30] == SEEN).all()
    assert (observed == SEEN).sum() == 20 + 15
    rows, columns = np.nonzero(observed == SEEN)
    extra = ~((rows == 10) & (columns >= 10) & (columns < 30))
    assert (np.abs(rows[extra] - 10) > 1).sum() + ((columns[extra] < 9) | (columns[extra] > 30)).sum() >= 15
    session.apply(Undo())
    session.apply(AddNoise(edges=0, deletion=0.5, seed=1))
    assert 2 < (session.document.layers["observed"] == SEEN).sum() < 18


def test_fill_stays_within_a_closed_contour() -> None:
    session = segment_session()
    session.apply(PaintRectangle("hints", 0, (2, 2, 5, 5)))
    session.apply(PaintRectangle("hints", -1, (3, 3, 3, 3)))
    session.apply(Fill("hints", 2, 4, 4))
    hints = session.document.layers["hints"]
    assert (hints[3:6, 3:6] == 2).all()
    assert hints[0, 0] == NO_HINT
    session.apply(ClearLayer("hints"))
    assert (session.document.layers["hints"] == NO_HINT).all()
    assert len(session.undo) == 4


def test_a_soft_hint_pulls_and_a_hard_one_decides() -> None:
    beliefs = []
    for strength in (0.1, 0.6, 1.0):
        session = segment_session()
        session.apply(Paint("hints", 2, ((5.5, 4.5),), 0.3, strength))
        beliefs.append(float(last(session).lanes[0].pictures["belief"][4, 5, 2]))
    assert beliefs[0] < beliefs[1] < beliefs[2] == 1.0


def test_an_unknown_pixel_has_no_evidence() -> None:
    session = segment_session()
    session.apply(Paint("observed", 2, ((5.5, 4.5),), 0.3))
    runner = session.timeline.runner
    evidence = runner.evidence(session.document, session.point.lanes[0].model).log_potentials
    assert (evidence[4, 5] == 0).all()
    assert (evidence[4, 6] != 0).any()


def test_thin_and_close_gaps_change_contours_only_and_a_gap_that_is_none_is_refused() -> None:
    session = segment_session(shape=(30, 30))
    session.apply(PaintRectangle("observed", SEEN, (10, 2, 3, 12)))
    session.apply(PaintRectangle("observed", SEEN, (11, 17, 1, 10)))
    session.apply(PaintRectangle("observed", 2, (20, 2, 4, 4)))
    session.apply(PaintRectangle("hints", 2, (10, 5, 2, 2)))
    before = session.document
    session.apply(CloseGaps(6))
    closed = session.document.layers["observed"]
    assert (closed[11, 3:27] == SEEN).all()
    session.apply(Thin())
    thin = session.document.layers["observed"]
    assert ((thin == SEEN).sum(0) <= 1).all()
    assert (thin[20:24, 2:6] == 2).all()  # unknown pixels stay unknown
    assert (session.document.layers["hints"] == before.layers["hints"]).all()
    session.apply(Undo())
    session.apply(Undo())
    assert session.document.same(before)
    for gap in (0, 33):
        session.apply(CloseGaps(gap))
        assert f"Gaps of {gap} pixels" in last(session).message
    assert session.document.same(before)
