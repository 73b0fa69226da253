"""Repair in the real window on the real engine: strokes, wipe, draws, dust, a component that is held."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from mrfstudio.engine.files.photographs import as_content
from mrfstudio.engine.protocol.commands import ClearLayer, SetPhotograph
from mrfstudio.ui.workspaces.repair.view import RepairView
from tests.engine.helpers.windows import eight_bits, stripes
from tests.ui.helpers.pictures import pixels
from tests.ui.helpers.studio import Studio

SHAPE = (48, 64)


@pytest.fixture
def studio(shared: Studio, qtbot: QtBot) -> Iterator[Studio]:
    shared.begin(qtbot)
    shared.window.show_workspace("repair")
    view = shared.window.workspaces["repair"]
    assert isinstance(view, RepairView)
    view.send_view(again=True)
    view.post(SetPhotograph(as_content(eight_bits(stripes(SHAPE))), "stripes"))
    shared.until(lambda: shared.frame.workspace == "repair" and shared.frame.name == "stripes")
    shared.settle()
    view.canvas.setFocus()
    yield shared
    view.hold(None)
    view.set_wipe(0.0)
    view.post(ClearLayer("strokes"))
    view.panel.layers.set_visible(dict.fromkeys(("photograph", "repaired", "strokes"), 1.0))
    shared.settle()
    shared.tidy()


def view_of(studio: Studio) -> RepairView:
    view = studio.window.workspaces["repair"]
    assert isinstance(view, RepairView)
    return view


def repaired(studio: Studio) -> np.ndarray:
    return studio.frame.lanes[0].pictures["repaired"]


def test_a_stroke_is_filled_in_and_wiped_to_before(studio: Studio) -> None:
    view = view_of(studio)
    studio.canvas.set_radius(1.5)
    studio.stroke((20, 30), (28, 30))
    assert studio.canvas.scene.layer("strokes")[24, 30] == 1  # type: ignore[index]
    studio.settle()
    studio.until(lambda: "repaired" in studio.frame.lanes[0].pictures and not studio.frame.playing)
    inside = repaired(studio)[..., 3] > 0
    assert inside.sum() > 20
    assert studio.window.badge.text.startswith("settled in")
    before = pixels(studio.canvas.grab().toImage())
    view.set_wipe(1.0)
    assert (pixels(studio.canvas.grab().toImage()) != before).any()
    studio.do("undo")
    studio.settle()
    assert not studio.frame.layers["strokes"].any()


def test_draws_doubt_and_components_are_shown(studio: Studio) -> None:
    view = view_of(studio)
    studio.canvas.set_radius(1.5)
    studio.stroke((20, 30), (28, 30))
    studio.settle()
    for name in ("deviation", "filler"):
        view.panel.layers.set_shown(name, True)
        studio.until(lambda name=name: name in studio.frame.lanes[0].pictures)
    studio.key(Qt.Key.Key_M)
    studio.until(lambda: "draw" in studio.frame.lanes[0].pictures)
    first = studio.frame.lanes[0].pictures["draw"]
    studio.key(Qt.Key.Key_M)
    studio.until(lambda: not np.array_equal(studio.frame.lanes[0].pictures["draw"], first))
    view.inspect(24, 30)
    studio.until(lambda: "component" in studio.frame.lanes[0].details)
    component = studio.frame.lanes[0].details["component"]
    assert isinstance(component, int)
    view.panel.inspector.button.click()
    studio.settle()
    studio.until(lambda: not studio.frame.playing)
    filled = studio.frame.lanes[0].pictures["filler"]
    assert set(filled[filled >= 0].tolist()) == {component}
    studio.until(lambda: "fills in everything" in view.panel.damage.held.text())
    studio.do("undo")
    studio.settle()
    studio.until(lambda: "Any component" in view.panel.damage.held.text())
    studio.do("redo")
    studio.settle()
    studio.until(lambda: f"Component {component} fills" in view.panel.damage.held.text())


def test_dust_is_found_by_a_key(studio: Studio) -> None:
    grey = np.full((*SHAPE, 3), 120, np.uint8)
    grey[20:22, 30:33] = 255
    view_of(studio).post(SetPhotograph(as_content(grey), "dusty"))
    studio.until(lambda: studio.frame.name == "dusty")
    studio.settle()
    studio.key(Qt.Key.Key_U)
    studio.until(lambda: bool((studio.frame.layers["strokes"] == 1).any()))
    assert (studio.frame.layers["strokes"][20:22, 30:33] == 1).all()
