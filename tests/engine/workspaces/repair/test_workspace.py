"""Damaged photographs in a session: strokes, iterations, draws, components that are held, dust, undo, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from mrfstudio.engine.files.photographs import as_content
from mrfstudio.engine.files.sessions.session_file import load_session, save_session
from mrfstudio.engine.protocol.commands import (
    ClampUnit,
    Command,
    FindDamage,
    Paint,
    PaintRectangle,
    Scrub,
    SetPhotograph,
    SetView,
    Undo,
)
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests import Background
from mrfstudio.engine.protocol.requests.repair import LookForDamage, SaveRepaired
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.repair.algorithm import RepairLaneState
from mrfstudio.engine.workspaces.repair.dust import improbability
from mrfstudio.engine.workspaces.repair.service import RepairService
from mrfstudio.engine.workspaces.repair.workspace import RepairWorkspace
from mrfstudio.engine.workspaces.sessions import Sessions
from tests.engine.helpers.windows import eight_bits, striped_mixture, stripes

SHAPE = (40, 60)
ALL = ("repaired", "draw:1", "deviation", "filler", "strip")
HOLE = PaintRectangle("strokes", 1, (12, 20, 4, 5))


def session() -> Session:
    workspace = RepairWorkspace({"stripes": striped_mixture()})
    photograph = SetPhotograph(as_content(eight_bits(stripes(SHAPE))), "stripes")
    made = Session(workspace, "stripes", "windows", document=workspace.photographed(photograph))
    made.apply(SetView(ALL))
    return made


def settled(session: Session, *commands: Command) -> Frame:
    """The frame at the end of the plan."""
    newest = None
    for command in commands:
        session.apply(command)
    while session.wait == 0.0:
        newest = session.advance(0.05) or newest
    assert newest is not None
    return newest


def error(frame: Frame) -> float:
    """The largest mistake in the hole, in grey levels."""
    found = frame.lanes[0].pictures["repaired"].astype(int)
    return float(np.abs(found[..., :3] - eight_bits(stripes(SHAPE)))[found[..., 3] > 0].max())


def test_what_is_painted_over_is_filled_in_and_nothing_else() -> None:
    frame = settled(session(), HOLE)
    pictures = frame.lanes[0].pictures
    assert frame.lanes[0].status == "settled"
    assert pictures["repaired"][..., 3].sum() == 255 * 20
    assert error(frame) <= 5
    inside = frame.layers["strokes"] == 1
    assert (pictures["deviation"][inside] > 0).all()
    assert set(pictures["filler"][inside].tolist()) == {0}
    assert (pictures["draw"][inside][:, 3] == 255).all()
    assert [label.title for label in frame.labels] == ["Damage", "Doubtful"]


def test_each_iteration_can_be_returned_to_and_strokes_undone() -> None:
    made = session()
    last = settled(made, HOLE)
    steps = last.lanes[0].iteration
    assert steps >= 3
    first = settled(made, Scrub(1))
    assert error(first) > error(last)  # smooth colours from around, before any window was asked
    settled(made, Scrub(steps))
    undone = settled(made, Undo())
    assert not undone.layers["strokes"].any()
    shown = undone.lanes[0].pictures.get("repaired")  # an answer to what is gone covers nothing
    assert shown is None or not shown[..., 3].any()


def test_a_component_is_held_and_let_go() -> None:
    made = session()
    free = settled(made, HOLE)
    held = settled(made, ClampUnit("stripes", 1, 1))
    inside = held.layers["strokes"] == 1
    assert set(held.lanes[0].pictures["filler"][inside].tolist()) == {1}
    assert error(held) > 10 * error(free)
    assert error(settled(made, ClampUnit("stripes", 1, None))) == error(free)
    with pytest.raises(StudioError, match="cannot be switched off"):
        made.workspace.edited(made.document, ClampUnit("stripes", 0, 0))


def test_a_doubtful_pixel_is_overruled() -> None:
    speck = Paint("strokes", 2, ((26.5, 13.5),), 1.5)
    wrong = eight_bits(stripes(SHAPE))
    wrong[12:16, 25:28] = 0
    photograph = SetPhotograph(as_content(wrong), "speck")
    misled = settled(session(), photograph, HOLE)
    helped = settled(session(), photograph, HOLE, speck)
    assert error(helped) < error(misled)
    assert (helped.layers["strokes"] == 2).sum() == speck_pixels(helped)


def speck_pixels(frame: Frame) -> int:
    return int((frame.layers["strokes"][11:17, 24:29] == 2).sum())


def dusty() -> np.ndarray:
    """Even ground with a speck and a scratch; a texture at the right."""
    generator = np.random.default_rng(0)
    rgb = np.clip(generator.normal(120, 4, (80, 90, 3)), 0, 255).astype(np.uint8)
    rgb[:, 45:] = np.clip(generator.normal(120, 30, (80, 45, 3)), 0, 255).astype(np.uint8)
    rgb[20:23, 10:13] = 250
    rgb[50:52, 5:30] = 0
    return rgb


def test_dust_is_what_the_model_finds_improbable() -> None:
    rgb, anything = dusty(), striped_mixture()
    doubt = improbability(rgb, striped_mixture())
    assert doubt[20:23, 10:13].min() > 5
    assert doubt[50:52, 6:24].min() > 5
    assert (doubt[:, 50:] > 5).mean() < 0.01  # where it is unsure nothing is improbable
    with torch.no_grad():
        anything.log_noise += 4
    assert improbability(rgb, anything)[21, 11] < doubt[21, 11] / 2


def test_dust_is_painted_over_by_a_command_that_can_be_undone() -> None:
    made = session()
    made.apply(SetPhotograph(as_content(dusty()), "dusty"))
    strokes = settled(made, FindDamage(5.0, "stripes")).layers["strokes"]
    assert strokes[20:23, 10:13].all()
    assert strokes[50:52, 6:24].all()
    assert strokes.mean() < 0.06
    assert not settled(made, Undo()).layers["strokes"].any()


def test_a_large_photograph_costs_what_its_damage_does() -> None:
    """Only the part around the strokes is looked at; it is shown where it lies, at any sampling."""
    workspace = RepairWorkspace({"stripes": striped_mixture()})
    truth = eight_bits(stripes((600, 800)))
    made = Session(
        workspace, "stripes", "windows", document=workspace.photographed(SetPhotograph(as_content(truth), ""))
    )
    made.apply(SetView(("repaired", "deviation", "filler"), (300, 400, 160, 200), stride=2))
    frame = settled(made, PaintRectangle("strokes", 1, (352, 500, 4, 5)))
    state = made.point.lanes[0].state
    assert isinstance(state, RepairLaneState)
    assert state.work is not None
    assert state.work.answer(state.at).colours.shape[:2] == (4 + 2 * 64, 5 + 2 * 64)
    pictures = frame.lanes[0].pictures
    inside = pictures["repaired"][..., 3] > 0
    assert pictures["repaired"].shape == (80, 100, 4)
    assert np.argwhere(inside).tolist() == [[r, c] for r in (26, 27) for c in (50, 51, 52)]
    assert np.abs(pictures["repaired"][inside][:, :3].astype(int) - truth[300:460:2, 400:600:2][inside]).max() <= 5
    assert ((pictures["deviation"] > 0) == inside).all()
    assert ((pictures["filler"] >= 0) == inside).all()
    assert not settled(made, SetView(("repaired",), (0, 0, 50, 60))).lanes[0].pictures["repaired"][..., 3].any()


def test_a_session_is_saved_and_opened_again(tmp_path: Path) -> None:
    made = session()
    before = settled(made, HOLE)
    save_session(made, tmp_path / "repair.mrfs")
    again = load_session(tmp_path / "repair.mrfs", {"repair": RepairWorkspace({"stripes": striped_mixture()})})
    again.apply(SetView(ALL))
    after = settled(again, PaintRectangle("strokes", 1, (12, 20, 4, 5)), Undo(), HOLE)
    assert (after.layers["strokes"] == before.layers["strokes"]).all()


@pytest.fixture
def service(tmp_path: Path) -> RepairService:
    made = RepairService(Sessions(1, None, dict), {"stripes": striped_mixture()})
    made.sessions.show(session())
    return made


def test_the_repaired_photograph_is_written_at_its_own_size(service: RepairService, tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="paint over"):
        service.save_repaired(SaveRepaired(str(tmp_path / "none.png")))
    settled(service.session(), HOLE)
    work = service.save_repaired(SaveRepaired(str(tmp_path / "out.png")))
    assert isinstance(work, Background)
    work.work()
    written = np.asarray(Image.open(tmp_path / "out.png")).astype(int)
    assert np.abs(written - eight_bits(stripes(SHAPE))).max() <= 5


def test_photograph_and_damage_are_written_for_the_command(service: RepairService, tmp_path: Path) -> None:
    settled(service.session(), HOLE)
    paths = service.save_damage(str(tmp_path / "query"))
    assert paths is not None
    assert np.asarray(Image.open(paths[1])).astype(bool).sum() == 20
    settled(service.session(), Paint("strokes", 2, ((3.0, 3.0),), 2))
    assert service.save_damage(str(tmp_path / "other")) is None
    asked = service.look_for_damage(LookForDamage(6.0))
    assert asked.work() >= 0


def test_models_that_repair_are_described(service: RepairService) -> None:
    assert next(note.name for note in service.models()) == "stripes"
    with pytest.raises(StudioError, match="expected one of"):
        service.describe("grid-border-16")
