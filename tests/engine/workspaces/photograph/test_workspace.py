"""Photographs in a session: strokes, labels, levels, undo, files and exports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mrfstudio.engine.families.photographs.cutout import Cutout
from mrfstudio.engine.families.photographs.photograph import Photograph
from mrfstudio.engine.families.scribbles import cutter
from mrfstudio.engine.files.images import read_labels
from mrfstudio.engine.files.model_file import save_model
from mrfstudio.engine.files.photographs import as_content
from mrfstudio.engine.files.sessions.session_file import load_session, save_session
from mrfstudio.engine.protocol.commands import (
    AddLane,
    Command,
    Fill,
    Paint,
    PaintRectangle,
    Scrub,
    SetImage,
    SetLabels,
    SetLimits,
    SetParameter,
    SetPhotograph,
    SetView,
    Undo,
)
from mrfstudio.engine.protocol.commands.photographs import LEANING
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.photograph import export, looks
from mrfstudio.engine.workspaces.photograph.algorithm import STILL_MOVES, PhotoState
from mrfstudio.engine.workspaces.photograph.examples import EXAMPLE_LABELS
from mrfstudio.engine.workspaces.photograph.workspace import LABELS, MODEL, PhotographWorkspace
from tests.engine.helpers.photographs import disc, inside

ALL = ("overlay", "entropy", "cutout:1", "scores:1", "walls", "residual", "next")


def session() -> Session:
    workspace = PhotographWorkspace()
    document = workspace.photographed(SetPhotograph(as_content(disc()), "disc"))
    made = Session(workspace, MODEL, "cutout", document=document)
    made.apply(SetView(ALL))
    return made


OBJECT = Paint("strokes", 1, ((40.0, 36.0), (56.0, 36.0)), 2)
REST = Paint("strokes", 2, ((5.0, 5.0), (90.0, 5.0), (90.0, 66.0)), 2)


def settled(session: Session, *commands: Command) -> Frame:
    """The frame at the end of the plan."""
    newest = None
    for command in commands:
        session.apply(command)
    while session.wait == 0.0:
        newest = session.advance(0.05) or newest
    assert newest is not None
    return newest


def object_of(frame: Frame) -> np.ndarray:
    return np.asarray(frame.lanes[0].pictures["overlay"][..., 0] == 0)


def test_two_strokes_bring_the_object_out_coarse_to_fine() -> None:
    running = session()
    before = settled(running)
    assert before.lanes[0].pictures == {}
    assert before.lanes[0].status == "idle"
    running.apply(OBJECT)
    running.apply(REST)
    levels = []
    while running.wait == 0.0:
        frame = running.advance(0.0)
        state = running.point.lanes[0].state
        if isinstance(state, PhotoState) and state.at is not None:
            levels.append(state.at.level)
    assert levels[0] > 0
    assert levels[-1] == 0
    assert frame is not None
    assert frame.lanes[0].status == "settled"
    assert frame.lanes[0].limit == frame.lanes[0].iteration - frame.lanes[0].base
    assert (object_of(frame) == inside()).mean() > 0.98
    assert frame.backdrop is not None
    assert frame.backdrop.shape == (72, 96, 3)


def test_pictures_show_the_visible_part_at_the_screens_resolution() -> None:
    running = session()
    whole = settled(running, OBJECT, REST)
    part = settled(running, SetView(ALL, (10, 20, 30, 40), stride=2))
    for name, array in part.lanes[0].pictures.items():
        if name != "next":
            assert array.shape[:2] == (15, 20), name
            np.testing.assert_array_equal(array, whole.lanes[0].pictures[name][10:40:2, 20:60:2])
    assert part.layers["strokes"].shape == (15, 20)


def test_what_the_layers_say() -> None:
    running = session()
    frame = settled(running, OBJECT, REST)
    found = frame.lanes[0].pictures
    np.testing.assert_array_equal(found["cutout"] == 255, object_of(frame))
    assert found["scores"][36, 48] > 0 > found["scores"][5, 50]
    border = np.zeros((72, 96), bool)
    border[:-1] |= inside()[1:] != inside()[:-1]
    border[:, :-1] |= inside()[:, 1:] != inside()[:, :-1]
    assert found["walls"][border].mean() > found["walls"][~border].mean() + 0.2
    soft = settled(running, SetView(("cutout:2s",)))
    alpha = soft.lanes[0].pictures["cutout"]
    assert alpha[5, 50] == 255
    assert alpha[36, 48] == 0


@pytest.mark.parametrize("algorithm", ["cutout-alpha-bp", "cutout-mean-field"])
def test_other_algorithms_find_the_object_in_a_lane_of_their_own(algorithm: str) -> None:
    running = session()
    running.apply(AddLane(MODEL, algorithm))
    frame = settled(running, OBJECT, REST)
    first, second = frame.lanes
    assert second.algorithm == algorithm
    for lane in (first, second):
        assert (lane.pictures["overlay"][..., 0] == 0)[inside()].mean() > 0.97
        assert lane.pictures["residual"].max() <= 1
    assert (first.pictures["entropy"] != second.pictures["entropy"]).any()


def test_two_networks_are_compared_in_lanes(tmp_path: Path) -> None:
    """Each lane has its own network's scores: without field and strokes' clues they are what it was kept from."""
    here = Photograph(disc())
    running = session()
    for name, shift in (("right", 0), ("left", 20)):
        found = np.roll(inside(), -shift, 1)
        model, card = cutter().fitted([(here, np.stack([found, ~found]))], LABELS)
        save_model(tmp_path / f"{name}.safetensors", model.kind, model.tensors(), card)
        running.apply(AddLane(str(tmp_path / f"{name}.safetensors"), "cutout", {"field": 0.0}))
    frame = settled(running, OBJECT, REST)
    assert [lane.status for lane in frame.lanes] == ["settled"] * 3
    _, right, left = (lane.pictures["scores"].astype(float) for lane in frame.lanes)
    assert right[inside()].mean() > left[inside()].mean()
    assert right[~inside()].mean() < left[~inside()].mean()


def test_without_the_field_scores_alone_decide() -> None:
    running = session()
    frame = settled(running, OBJECT, REST, SetParameter(0, "field", 0.0))
    found = frame.lanes[0].pictures
    np.testing.assert_array_equal(found["overlay"][..., 0] == 0, found["scores"] > 0)


def test_soft_strokes_lean_and_hard_ones_hold() -> None:
    """A stroke of the object on the ground far away: soft it is overruled, hard it holds. Undo takes it away."""
    wrong = ((80.0, 60.0), (86.0, 60.0))
    running = session()
    assert not object_of(settled(running, OBJECT, REST, Paint("strokes", 1 + LEANING, wrong, 0.5)))[60, 83]
    details = settled(running, SetView(ALL, inspect=(60, 83))).lanes[0].details
    assert details["stroke"] == "Object"
    assert object_of(settled(running, Paint("strokes", 1, wrong, 0.5)))[60, 83]
    running.apply(Undo())
    running.apply(Undo())
    assert running.document.layers["strokes"][60, 83] == 0
    gone = SetLabels(((2, "Ground", "#56b4e9"), (3, "Other", "#009e73")))
    running.apply(Paint("strokes", 1 + LEANING, wrong, 0.5))
    running.apply(gone)
    assert running.document.layers["strokes"][60, 83] == 0


def test_a_fill_needs_a_closed_stroke() -> None:
    """One click on an empty photograph, or beside an open stroke, paints nothing; within a closed one, its inside."""
    running = session()
    for open_stroke in (None, OBJECT):
        if open_stroke is not None:
            settled(running, open_stroke)
        before = running.document
        assert "closed stroke" in settled(running, Fill("strokes", 1, 3, 3)).message
        assert running.document.same(before)
    box = PaintRectangle("strokes", 2, (4, 4, 64, 88))
    hole = PaintRectangle("strokes", -1, (6, 6, 60, 84))
    settled(running, box, hole, Fill("strokes", 1, 10, 10))
    strokes = running.document.layers["strokes"]
    assert (strokes[6:66, 6:90] == 1).all()
    assert not strokes[:4].any()
    running.apply(Fill("strokes", 0, 10, 10))  # taking away is never refused
    assert not running.document.layers["strokes"][6:66, 6:90].any()


def test_where_next_is_where_the_doubt_is() -> None:
    """Red at the left, green at the right, each with a stroke; a colour that neither has between them."""
    pixels = np.zeros((72, 96, 3), np.uint8)
    pixels[:, :32], pixels[:, 32:64], pixels[:, 64:] = (190, 70, 60), (125, 110, 70), (60, 150, 80)
    workspace = PhotographWorkspace()
    document = workspace.photographed(SetPhotograph(as_content(pixels), "flag"))
    running = Session(workspace, MODEL, "cutout", document=document)
    left, right = (Paint("strokes", n, ((x, 10.0), (x, 60.0)), 2) for n, x in ((1, 10.0), (2, 86.0)))
    _, column, _ = settled(running, SetView(("next",)), left, right).lanes[0].pictures["next"]
    assert 30 <= column < 66


def test_an_edit_begins_with_the_coarsest_level_and_undo_takes_it_back() -> None:
    running = session()
    first = settled(running, OBJECT, REST)
    wrong = settled(running, PaintRectangle("strokes", 2, (30, 42, 12, 12)))
    assert not object_of(wrong)[36, 48]
    assert wrong.iteration > first.iteration
    back = settled(running, Undo())
    np.testing.assert_array_equal(object_of(back), object_of(first))
    there = settled(running, Scrub(first.iteration))
    np.testing.assert_array_equal(object_of(there), object_of(first))


def test_without_smoothness_the_scores_decide_alone() -> None:
    running = session()
    settled(running, OBJECT, REST)
    frame = settled(running, SetParameter(0, "smoothness", 0.0))
    np.testing.assert_array_equal(object_of(frame), frame.lanes[0].pictures["scores"] > 0)


def test_labels_are_added_renamed_and_deleted_with_their_strokes() -> None:
    running = session()
    three = (*LABELS, (3, "Corner", "#009e73"))
    settled(running, OBJECT, REST, SetLabels(three), Paint("strokes", 3, ((5.0, 60.0), (20.0, 66.0)), 3))
    frame = settled(running, SetView(("overlay",)))
    assert [each.title for each in frame.labels] == ["Object", "Background", "Corner"]
    assert frame.lanes[0].pictures["overlay"][64, 14, 0] == 2
    gone = settled(running, SetLabels(LABELS))
    assert not (gone.layers["strokes"] == 3).any()
    assert gone.lanes[0].pictures["overlay"][64, 14, 0] == 1
    again = settled(running, Undo())
    assert [each.number for each in again.labels] == [1, 2, 3]
    assert (again.layers["strokes"] == 3).any()


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (Paint("strokes", 7, ((3.0, 3.0),), 1), "no label 7"),
        (SetLabels(LABELS[:1]), "at least two labels"),
        (SetLabels((*LABELS, (1, "Twice", "#000000"))), "different numbers"),
        (SetLabels((*LABELS, (3, "", "#000000"))), "printable"),
        (SetLabels((*LABELS, (3, "Sky", "blue"))), "#rrggbb"),
        (SetImage(np.zeros((3, 3), np.uint8)), "shows photographs"),
        (SetPhotograph(np.zeros(9, np.uint8), "odd.jpg"), "odd.jpg is no picture"),
        (SetPhotograph(as_content(disc()), "x", np.full((72, 96), 9, np.uint8)), "go up to 9"),
    ],
)
def test_what_means_nothing_is_refused(command: Command, reason: str) -> None:
    running = session()
    before = running.document
    assert reason in settled(running, command).message
    assert running.document.same(before)


def test_a_session_file_holds_the_photographs_own_bytes(tmp_path: Path) -> None:
    running = session()
    frame = settled(running, OBJECT, REST, SetLabels((*LABELS, (5, "Sky", "#123456"))))
    save_session(running, tmp_path / "a.mrfs")
    again = load_session(tmp_path / "a.mrfs")
    assert again.document.photo is not None
    np.testing.assert_array_equal(again.document.photo.content, as_content(disc()))
    again.apply(SetView(ALL))
    replayed = settled(again)
    assert replayed.iteration == frame.iteration
    assert [each.title for each in replayed.labels] == ["Object", "Background", "Sky"]
    np.testing.assert_array_equal(object_of(replayed), object_of(frame))


def test_opening_another_photograph_is_undone(tmp_path: Path) -> None:
    running = session()
    settled(running, OBJECT, REST)
    other = settled(running, SetPhotograph(as_content(disc(40, 50)), "other"))
    assert other.shape == (40, 50)
    assert not other.layers["strokes"].any()
    back = settled(running, Undo())
    assert back.shape == (72, 96)
    assert (object_of(back) == inside()).mean() > 0.98
    save_session(running, tmp_path / "b.mrfs")
    assert load_session(tmp_path / "b.mrfs").document.same(running.document)


def test_labels_of_an_example_go_with_it_and_a_persons_own_stay() -> None:
    workspace = PhotographWorkspace()
    example = SetPhotograph(as_content(disc()), "example", labels=EXAMPLE_LABELS[0])
    own = SetPhotograph(as_content(disc(40, 50)), "own")
    after = workspace.edited(workspace.photographed(example), own)
    assert after is not None
    assert [each.title for each in after.labels] == [title for _, title, _ in LABELS]
    mine = ((1, "Bird", "#e69f00"), (2, "Sky", "#56b4e9"), (3, "Tree", "#009e73"))
    after = workspace.edited(workspace.photographed(SetPhotograph(as_content(disc()), "first", labels=mine)), own)
    assert after is not None
    assert [each.title for each in after.labels] == ["Bird", "Sky", "Tree"]


def test_an_answer_that_still_moves_is_not_called_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number at which it ends is the limit that a person sees and sets, and what can be done is said."""
    monkeypatch.setattr(Cutout, "rests", lambda self, state: False)
    running = session()
    lane = settled(running, SetLimits(60, 1e-6), OBJECT, REST).lanes[0]
    assert (lane.status, lane.iteration - lane.base) == ("iteration limit", 60)
    assert lane.message == STILL_MOVES


def test_a_large_photograph_ends_at_full_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its levels are smaller than itself; the last step works out a band of doubtful pixels."""
    from mrfstudio.engine.families.photographs import photograph

    monkeypatch.setattr(photograph, "FINEST", 72 * 96 // 4)
    running = session()
    frame = settled(running, OBJECT, REST)
    state = running.point.lanes[0].state
    assert isinstance(state, PhotoState)
    assert state.full is not None
    assert tuple(state.full.shape) == (2, 72, 96)
    assert (object_of(frame) == inside()).mean() > 0.98


def test_exports_have_the_photographs_size(tmp_path: Path) -> None:
    running = session()
    frame = settled(running, OBJECT, REST)
    view = running.timeline.runner.view(running.point, running.point.lanes[0])
    assert view is not None
    answer = export.found(view)
    for what in ("labels", "cutout", "mask", "overlay", "strokes"):
        export.save(answer, tmp_path / f"{what}.png", what, 1, soft=False)
    labels = read_labels(tmp_path / "labels.png")
    np.testing.assert_array_equal(labels == 1, object_of(frame))
    np.testing.assert_array_equal(read_labels(tmp_path / "strokes.png"), running.document.layers["strokes"])
    cut = np.asarray(Image.open(tmp_path / "cutout.png"))
    np.testing.assert_array_equal(cut[..., 3] == 255, labels == 1)
    np.testing.assert_array_equal(cut[..., :3], disc())
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "mask.png")), cut[..., 3])
    assert np.asarray(Image.open(tmp_path / "overlay.png"))[36, 48, 0] > disc()[36, 48, 0] // 2


def test_the_opacity_of_a_label_is_all_or_nothing_unless_its_edge_is_refined() -> None:
    beliefs = np.tile(np.array([[0.05, 0.45, 0.95]], np.float32), (2, 1, 1))
    beliefs[1] = 1 - beliefs[0]
    assert looks.alpha(beliefs, 1, None, 3).tolist() == [[255, 255, 0]]
    grey = np.full((1, 3, 3), 90, np.uint8)
    assert 0 < looks.alpha(beliefs, 0, grey, 3)[0, 1] < 128


def test_a_stroke_copies_no_photograph_and_its_undo_is_small() -> None:
    running = session()
    settled(running, OBJECT)
    before = running.document
    running.apply(replace(REST, stroke_id=9))
    assert running.document.photo is before.photo
    assert running.document.layers.keys() == {"strokes"}
    patch = running.undo.last
    assert patch is not None
    assert sum(len(tile.content) for inverse in patch.inverses for tile in inverse.tiles) < 2000  # type: ignore[attr-defined]
