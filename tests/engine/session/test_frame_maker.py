"""What a frame holds: the visible rectangle, what was asked for, numbers that nobody can write to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mrfstudio.engine.data.pictures.border_noise import SEEN, UNSEEN
from mrfstudio.engine.protocol.commands import AddLane, Paint, SetImage, SetLimits, SetView, Step
from tests.engine.helpers.sessions import last, run, segment_session


def test_a_frame_holds_the_visible_rectangle_and_only_what_was_asked_for() -> None:
    session = segment_session()
    session.apply(Paint("observed", SEEN, ((0, 4.5), (11, 4.5)), 0.3))
    session.apply(SetView(("decoded", "entropy", "residual", "clone", "ownership"), (2, 3, 4, 100), stride=2))
    session.apply(Step(2))
    frame = last(session)
    assert (frame.rectangle, frame.stride, frame.shape) == ((2, 3, 4, 8), 2, (9, 11))
    pictures = frame.lanes[0].pictures
    assert set(pictures) == {"decoded", "entropy", "residual", "clone", "ownership"}
    assert {pictures[name].shape for name in ("decoded", "entropy", "clone", "ownership")} == {(2, 4)}
    assert pictures["residual"].shape == (8, 2, 4)
    assert pictures["residual"].max() <= session.point.lanes[0].residual
    assert frame.layers["observed"].shape == (2, 4)
    contour = pictures["decoded"] == 0
    assert ((pictures["clone"] >= 0) == contour).all()
    assert (np.isnan(pictures["ownership"]) >= ~contour).all()
    assert pictures["entropy"].min() >= 0
    assert pictures["entropy"].max() <= np.log2(3) + 1e-6


def test_nobody_can_write_to_a_frame() -> None:
    session = segment_session()
    session.apply(SetView(("belief", "decoded", "entropy", "histogram", "strip")))
    session.apply(Step())
    frame = last(session)
    arrays = [*frame.layers.values(), *frame.lanes[0].pictures.values(), frame.lanes[0].strip[0][1]]
    assert arrays
    assert not any(array.flags.writeable for array in arrays)


def test_the_histogram_counts_all_pixels() -> None:
    session = segment_session()
    session.apply(SetView(("histogram",), (0, 0, 2, 2)))
    histogram = last(session).lanes[0].pictures["histogram"]
    assert histogram.shape == (3, 20)
    assert histogram.sum(1) == pytest.approx(1.0)


def test_the_strip_has_a_picture_of_each_of_the_first_iterations_and_of_every_second_after_them() -> None:
    session = segment_session(playing=True, limits=None)
    session.apply(SetLimits(20, 0.0))
    session.apply(SetView(("strip",)))
    strip = [small for frame in run(session) for small in frame.lanes[0].strip]
    assert [iteration for iteration, _ in strip] == [*range(1, 16), 16, 18, 20]
    assert strip[0][1].shape == (9, 11, 3)
    assert abs(int(strip[0][1][0, 0].sum()) - 255) <= 2


def test_a_strip_that_is_asked_for_later_is_made_from_the_past() -> None:
    shown, late = segment_session(), segment_session()
    shown.apply(SetView(("strip",)))
    for session in (shown, late):
        session.apply(Step(3))
        run(session)
        session.apply(Paint("observed", SEEN, ((0, 4.5), (11, 4.5)), 0.3))
        session.apply(Step(5))
    first = {i: picture for frame in run(shown) for i, picture in frame.lanes[0].strip}
    run(late)
    late.apply(SetView(("strip",)))
    second = {i: picture for frame in run(late) for i, picture in frame.lanes[0].strip}
    assert sorted(second) == [4, 5, 6, 7, 8]
    assert all(np.array_equal(first[i], picture) for i, picture in second.items())


def test_two_models_are_compared_by_their_difference() -> None:
    session = segment_session()
    session.apply(Paint("observed", SEEN, ((0, 4.5), (11, 4.5)), 0.3))
    session.apply(AddLane("b"))
    session.apply(AddLane("a"))
    session.apply(SetView(("belief", "difference")))
    session.apply(Step(3))
    lanes = last(session).lanes
    assert [lane.lane for lane in lanes] == [0, 1, 2]
    assert "difference" not in lanes[0].pictures
    difference = np.abs(lanes[0].pictures["belief"] - lanes[1].pictures["belief"]).sum(-1) / 2
    assert np.allclose(lanes[1].pictures["difference"], difference, atol=1e-6)
    assert difference.max() > 0
    assert lanes[2].pictures["difference"].max() == 0


def test_truth_gives_overlap_and_cross_entropy() -> None:
    session = segment_session()
    truth = np.ones((9, 9), np.uint8)
    truth[2:7, 2:7], truth[3:6, 3:6] = 0, 2
    session.apply(SetImage(np.where(truth == 0, SEEN, UNSEEN), truth))
    session.apply(Step())
    frame = last(session)
    scalars = frame.lanes[0].scalars[-1]
    belief = frame.lanes[0].pictures["belief"].astype(np.float64)
    picked = np.take_along_axis(belief, truth[..., None].astype(int), -1)
    assert scalars.nce_bits == pytest.approx(-np.log2(picked).mean(), rel=1e-5)
    figure = belief[..., 1] < 0.5
    figure[[0, -1]] = figure[:, [0, -1]] = False
    assert scalars.iou == pytest.approx((figure & (truth != 1)).sum() / (figure | (truth != 1)).sum())
    assert np.array_equal(frame.layers["truth"], truth)


def test_an_inspector_gets_the_clones_of_a_pixel() -> None:
    session = segment_session()
    session.apply(SetView(("belief",), inspect=(3, 4)))
    frame = last(session)
    details: Any = frame.lanes[0].details
    assert details["labels"]["OUT"] == pytest.approx(float(frame.lanes[0].pictures["belief"][3, 4, 1]))
    assert sum(p for _, p in details["clones"]) == pytest.approx(details["labels"]["CONTOUR"], rel=1e-5)
    session.apply(SetView(("belief",), inspect=(300, 4)))
    assert last(session).lanes[0].details == {}
