"""Grey pictures with unknown pixels: commands, inverses, evidence, pictures, numbers, files."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mrfstudio.engine.families.grbm.model import GRBM
from mrfstudio.engine.files.sessions.session_file import load_session, save_session
from mrfstudio.engine.graphs.evidence import GaussianEvidence
from mrfstudio.engine.protocol.commands import (
    AddLane,
    AddNoise,
    ClampUnit,
    ClearLayer,
    Command,
    Invert,
    Paint,
    PaintEllipse,
    PaintLasso,
    PaintRectangle,
    Redo,
    Scrub,
    SetImage,
    SetModel,
    SetView,
    Step,
    Undo,
)
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.session.timeline import replayed
from mrfstudio.engine.workspaces.inpaint.workspace import FREE, InpaintWorkspace
from mrfstudio.engine.workspaces.segment.workspace import SegmentWorkspace
from tests.engine.helpers.pictures import SHAPE, face, inpaint_session, models
from tests.engine.helpers.sessions import assert_same_point, run, segment_session

HOLE = PaintRectangle("mask", 1, (2, 1, 4, 3))


def worked(session: Session, *commands: Command) -> Frame:
    """Apply commands one after the other; the last frame."""
    for command in commands:
        session.apply(command)
        frames = run(session)
    return frames[-1]


def opened(*commands: Command, **options: Any) -> Session:
    session = inpaint_session(**options)
    worked(session, SetImage(face(), face(), "a face"), *commands)
    return session


def gaussian(session: Session) -> GaussianEvidence:
    evidence = session.timeline.runner.evidence(session.document, session.point.lanes[0].model)
    assert isinstance(evidence, GaussianEvidence)
    return evidence


# Documents ------------------------------------------------------------------------------------------------------------


def test_a_picture_holds_grey_levels_and_nothing_else() -> None:
    session = inpaint_session()
    assert worked(session, SetImage(np.full(SHAPE, 300), None, "too bright")).message.startswith(
        "The picture holds the value 300: expected only whole numbers from 0 to 255"
    )
    worked(session, SetImage(face(), None, "fine"))
    np.testing.assert_array_equal(session.document.layers["picture"], face())
    assert session.document.truth is None


def test_areas_make_pixels_unknown_and_undo_brings_them_back() -> None:
    session = opened()
    commands = [
        HOLE,
        PaintEllipse("mask", 1, (0, 0, 5, 5)),
        PaintLasso("mask", 1, ((0.0, 6.0), (6.0, 5.0), (3.0, 8.0))),
        PaintRectangle("mask", 1, (2, 1, 4, 3), outside=True),
        Invert("mask"),
        Paint("mask", 0, ((2.5, 3.5),), 1.0, 0.5),
        ClearLayer("mask"),
    ]
    documents = [session.document]
    for command in commands:
        worked(session, command)
        documents.append(session.document)
    for before, after in pairwise(documents):
        assert not before.same(after)
    for before in reversed(documents[:-1]):
        worked(session, Undo())
        assert session.document.same(before)
    for after in documents[1:]:
        worked(session, Redo())
        assert session.document.same(after)


def test_another_picture_of_the_same_size_keeps_the_mask() -> None:
    session = opened(HOLE)
    mask = session.document.layers["mask"].copy()
    worked(session, SetImage(face(seed=1), face(seed=1), "another"))
    np.testing.assert_array_equal(session.document.layers["mask"], mask)
    own = np.eye(*SHAPE, dtype=np.uint8)
    worked(session, SetImage(face(seed=2), None, "with a mask", own))
    np.testing.assert_array_equal(session.document.layers["mask"], own)
    worked(session, Undo())
    np.testing.assert_array_equal(session.document.layers["mask"], mask)
    refused = worked(session, SetImage(face(), None, "odd", np.full(SHAPE, 2))).message
    assert refused.startswith("The mask is")


def test_a_picture_of_another_size_needs_a_model_that_takes_it() -> None:
    session = opened(HOLE)
    before = session.document
    assert "6×8 pixels" in worked(session, SetImage(face((5, 5)))).message
    assert "5×5 pixels" in worked(session, SetModel(0, "digits")).message
    assert session.document is before
    picture = SetImage(face((5, 5)), None, "a digit", np.ones((5, 5), np.uint8))
    frame = worked(session, SetModel(0, "digits", picture))
    assert (frame.shape, frame.lanes[0].model) == ((5, 5), "digits")
    frame = worked(session, Undo())
    assert (frame.shape, frame.lanes[0].model) == (SHAPE, "grey")
    assert session.document.same(before)
    frame = worked(session, Redo(), Step(1))
    assert (frame.shape, frame.lanes[0].model) == ((5, 5), "digits")


# Evidence -------------------------------------------------------------------------------------------------------------


def test_unknown_pixels_say_nothing_and_soft_ones_less_than_exact_ones() -> None:
    session = opened(HOLE, Paint("mask", 0, ((0.5, 0.5),), 0.4, 0.25))
    evidence = gaussian(session)
    unknown = np.zeros(SHAPE, bool)
    unknown[2:6, 1:4] = True
    expected = ~unknown
    expected[0, 0] = False  # soft is not exact
    np.testing.assert_array_equal(evidence.observed.reshape(SHAPE), expected)
    precision = evidence.precision.reshape(SHAPE)
    model = session.point.lanes[0].model
    assert float(precision[0, 0]) == pytest.approx(float(model.precision[0]) * 0.25 / 0.75, rel=1e-5)
    assert float(precision.sum()) == pytest.approx(float(precision[0, 0]))


def test_an_exact_brush_takes_softness_back() -> None:
    session = opened(Paint("mask", 0, ((0.5, 0.5),), 0.4, 0.25), Paint("mask", -1, ((0.5, 0.5),), 0.4))
    assert bool(gaussian(session).observed.all())


def test_soft_evidence_lies_between_known_and_unknown() -> None:
    picture = np.full(SHAPE, 20, np.uint8)  # darker than the model expects
    means = []
    for strength in (None, 0.2, 0.8, 0.99, 1.0):
        session = inpaint_session()
        session.apply(SetImage(picture, None, "dark", np.ones(SHAPE, np.uint8)))
        if strength is not None:
            session.apply(PaintRectangle("mask", 0, (3, 2, 1, 1), strength))
        frame = worked(session, SetView(("mean",)), Step(50))
        means.append(float(frame.lanes[0].pictures["mean"][3, 2]))
    assert means == sorted(means, reverse=True)
    assert means[-1] == pytest.approx(20 / 255, abs=1e-6)


def test_binary_pixels_are_black_or_white_and_can_be_soft() -> None:
    session = inpaint_session("digits", shape=(5, 5))
    picture = np.zeros((5, 5), np.uint8)
    picture[2] = 200
    worked(session, SetImage(picture, picture, "a stroke"), PaintRectangle("mask", 1, (0, 0, 1, 5)))
    worked(session, PaintRectangle("mask", 0, (4, 0, 1, 5), 0.5))
    lane = session.point.lanes[0]
    outer, _ = lane.model.log_odds(session.timeline.runner.evidence(session.document, lane.model))
    odds = outer.reshape(5, 5)
    assert (odds[0] == 0).all()
    assert torch.isneginf(odds[1]).all()
    assert torch.isposinf(odds[2]).all()
    assert torch.allclose(odds[4], torch.log(torch.tensor(1 / 3)))  # (1 - s)/(1 + s) at one half


def test_a_held_unit_is_evidence_for_its_own_model_alone() -> None:
    session = opened(HOLE, AddLane("other"), ClampUnit("grey", 2, 1))
    frame = worked(session, SetView(("units", "mean")), Step(20))
    first, second = (lane.pictures for lane in frame.lanes)
    assert first["units"][2] == 1.0
    assert list(first["held"]) == [FREE, FREE, 1, FREE, FREE]
    assert 0 < second["units"][2] < 1
    assert set(second["held"]) == {FREE}
    free = first["mean"]
    worked(session, ClampUnit("grey", 2, 0))
    frame = worked(session, Step(20))
    assert frame.lanes[0].pictures["units"][2] == 0.0
    assert np.abs(frame.lanes[0].pictures["mean"] - free)[2:6, 1:4].max() > 0.01
    assert frame.undo == "Switch off unit 2"
    worked(session, Undo())
    assert session.document.held("grey") == {2: 1}
    worked(session, ClampUnit("grey", 2, None))
    assert session.document.clamps == ()
    worked(session, Undo())
    assert session.document.held("grey") == {2: 1}


def test_what_cannot_be_held_is_refused() -> None:
    session = opened()
    assert "has the units 0 to 4" in worked(session, ClampUnit("grey", 5, 1)).message
    assert "expected" in worked(session, ClampUnit("grey", 1, 7)).message
    assert session.document.clamps == ()
    assert "no hidden units" in worked(segment_session(), ClampUnit("a", 0, 1)).message


# What is shown --------------------------------------------------------------------------------------------------------


def test_known_pixels_are_shown_as_they_are_and_have_no_deviation() -> None:
    frame = worked(opened(HOLE), SetView(("mean", "deviation", "mistake")), Step(10))
    pictures = frame.lanes[0].pictures
    unknown = frame.layers["mask"] == 1
    np.testing.assert_allclose(pictures["mean"][~unknown], face()[~unknown] / 255, atol=1e-6)
    assert (pictures["deviation"][~unknown] == 0).all()
    assert (pictures["deviation"][unknown] > 0).all()
    np.testing.assert_allclose(pictures["mistake"], pictures["mean"] - face() / 255, atol=1e-6)


def test_numbers_are_of_the_hidden_pixels_and_need_a_truth() -> None:
    session = opened(HOLE)
    frame = worked(session, SetView(("mean", "deviation")), Step(1))
    scalars = frame.lanes[0].scalars[-1]
    pictures, hidden = frame.lanes[0].pictures, frame.layers["mask"] == 1
    truth = (face() / 255)[hidden]
    mean, deviation = pictures["mean"][hidden].astype(float), pictures["deviation"][hidden].astype(float)
    assert scalars.mse == pytest.approx(((mean - truth) ** 2).mean(), rel=1e-4)
    unit = 0.1  # the model's deviation: bits are of standard units
    nats = 0.5 * np.log(2 * np.pi * (deviation / unit) ** 2) + (truth - mean) ** 2 / (2 * deviation**2)
    assert scalars.nce_bits == pytest.approx(nats.mean() / np.log(2), rel=1e-4)
    frame = worked(session, SetImage(face(), None, "no truth"), Step(1))
    assert (frame.lanes[0].scalars[-1].nce_bits, frame.lanes[0].scalars[-1].mse) == (None, None)
    frame = worked(session, SetImage(face(), face()), ClearLayer("mask"), Step(1))
    assert frame.lanes[0].scalars[-1].nce_bits is None


def test_two_lanes_differ_by_their_means() -> None:
    frame = worked(opened(HOLE, AddLane("other")), SetView(("mean", "difference")), Step(5))
    first, second = (lane.pictures for lane in frame.lanes)
    assert "difference" not in first
    np.testing.assert_allclose(second["difference"], second["mean"] - first["mean"], atol=1e-6)


def test_the_histogram_of_a_pixel_has_its_mean_and_deviation() -> None:
    session = opened(HOLE)
    frame = worked(session, SetView(("mean",), inspect=(3, 2)), Step(10))
    details: Any = frame.lanes[0].details
    shares = np.array(details["histogram"])
    assert shares.sum() == pytest.approx(1)
    centres = (np.arange(len(shares)) + 0.5) / len(shares)
    assert (shares * centres).sum() == pytest.approx(details["mean"], abs=0.01)
    assert details["unknown"]
    assert details["truth"] == pytest.approx(face()[3, 2] / 255)
    known: Any = worked(session, SetView(("mean",), inspect=(0, 0))).lanes[0].details
    assert max(known["histogram"]) == 1.0
    assert not known["unknown"]


def test_small_pictures_of_the_strip_are_grey() -> None:
    frame = worked(opened(HOLE), SetView(("strip",)), Step(3))
    assert [iteration for iteration, _ in frame.lanes[0].strip] == [3]
    assert frame.lanes[0].strip[0][1].dtype == np.uint8
    assert frame.lanes[0].strip[0][1].shape == SHAPE


@pytest.mark.parametrize("everything", [False, True])
def test_an_empty_and_a_full_mask_are_both_answered(everything: bool) -> None:
    session = opened(*([Invert("mask")] if everything else []))
    frame = worked(session, SetView(("mean", "deviation")), Step(30))
    lane = frame.lanes[0]
    assert lane.message == ""
    assert np.isfinite(lane.pictures["mean"]).all()
    assert (lane.pictures["deviation"] > 0).all() == everything


# Time and files -------------------------------------------------------------------------------------------------------


def a_worked_session() -> Session:
    session = opened(Step(2), HOLE, Step(3), ClampUnit("grey", 1, 1), Step(2))
    worked(session, PaintLasso("mask", 1, ((0.0, 0.0), (5.0, 0.0), (2.0, 4.0)), outside=True), Step(2), Undo())
    worked(session, AddLane("other"), Step(3), Invert("mask"), Step(2), ClampUnit("grey", 3, 0), Step(4))
    return session


def test_a_session_is_what_its_log_says() -> None:
    session = a_worked_session()
    for iteration in (1, 5, session.timeline.newest):
        worked(session, Scrub(iteration))
        again = replayed(session.timeline.runner, session.timeline.origin, session.timeline.log, iteration)
        assert_same_point(session.point, again)


def test_a_session_file_brings_pictures_masks_clamps_and_messages_back(tmp_path: Path) -> None:
    session = a_worked_session()
    save_session(session, tmp_path / "a.mrfs")
    again = load_session(tmp_path / "a.mrfs", {"inpaint": InpaintWorkspace(models())})
    assert_same_point(again.point, session.point)
    assert again.document.clamps == (("grey", 1, 1), ("grey", 3, 0))
    worked(session, Step(3))
    worked(again, Step(3))
    assert_same_point(again.point, session.point)


def test_a_file_keeps_what_a_session_began_with(tmp_path: Path) -> None:
    workspace = InpaintWorkspace(models())
    document = workspace.opened(SetImage(face(), face(), "begun", np.ones(SHAPE, np.uint8)))
    session = Session(workspace, "grey", document=replace(document, clamps=(("grey", 0, 1),)), playing=False)
    save_session(session, tmp_path / "a.mrfs")
    again = load_session(tmp_path / "a.mrfs", {"inpaint": workspace})
    assert again.document.same(session.document)


def test_a_model_of_another_kind_is_refused() -> None:
    with pytest.raises(Exception, match="is a grid: expected one of crbm, dbm, grbm, rbm"):
        InpaintWorkspace().load("grid-border-16")
    assert SegmentWorkspace.name != InpaintWorkspace.name


@pytest.mark.parametrize(("model", "shape", "level"), [("grey", SHAPE, 130), ("digits", (5, 5), 255)])
def test_the_same_draw_is_the_same_picture_and_draws_are_of_the_hole(
    model: str, shape: tuple[int, int], level: int
) -> None:
    session = inpaint_session(model, shape=shape)
    picture = np.full(shape, level, np.uint8)
    worked(session, SetImage(picture, picture, "even"), PaintRectangle("mask", 1, (1, 1, 3, 3)), Step(3))
    drawn = [worked(session, SetView((f"sample:{n}",))).lanes[0].pictures["sample"] for n in (0, 1, 40, 1, 0)]
    np.testing.assert_array_equal(drawn[0], drawn[4])
    np.testing.assert_array_equal(drawn[1], drawn[3])
    later = [worked(session, SetView((f"sample:{n}",))).lanes[0].pictures["sample"] for n in range(60)]
    assert any(not np.array_equal(drawn[0], other) for other in later)
    hidden = session.document.layers["mask"] == 1
    np.testing.assert_allclose(drawn[2][~hidden], level / 255, atol=1e-6)


def test_draws_have_the_mean_that_is_believed_and_vary_as_hidden_units_do() -> None:
    session = opened(HOLE, Step(30))
    frames = [worked(session, SetView(("mean", "deviation", f"sample:{n}"))).lanes[0] for n in range(10, 400)]
    drawn = np.stack([lane.pictures["sample"] for lane in frames])
    hidden = session.document.layers["mask"] == 1
    deviation = frames[0].pictures["deviation"][hidden]
    assert np.abs(drawn.mean(0)[hidden] - frames[0].pictures["mean"][hidden]).max() < 0.6 * deviation.max()
    own = model_of(session)  # what a pixel has on top of its hidden units is not drawn
    unit = 0.1 * (-0.5 * own.log_precision).exp().view(own.image_shape).numpy()[hidden]
    np.testing.assert_allclose(np.hypot(drawn.std(0)[hidden], unit), deviation, rtol=0.35)


def model_of(session: Session) -> GRBM:
    found = session.workspace.load("grey")
    assert isinstance(found, GRBM)
    return found


def test_noise_turns_pixels_into_their_negative_and_leaves_the_truth() -> None:
    session = opened()
    before = session.document.layers["picture"].copy()
    frame = worked(session, AddNoise(edges=0, deletion=0.5, seed=3))
    after = session.document.layers["picture"]
    flipped = after != before
    assert (after[flipped] == 255 - before[flipped]).all()
    assert 0.2 < flipped.mean() < 0.8
    assert (session.document.truth == face()).all()
    assert frame.lanes
    worked(session, Undo())
    assert (session.document.layers["picture"] == before).all()
    with pytest.raises(StudioError, match="expected a part from 0 to 1"):
        session.workspace.edited(session.document, AddNoise(deletion=1.5))
