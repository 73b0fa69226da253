"""The view of regions: it shows what a lane of the engine sends, and every region can be reached."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.frames import GraphFrame
from mrfstudio.ui.workspaces.converge.overviews.region_view import EMPTY, RegionPanel, placed
from tests.ui.helpers.pictures import lane, pixels
from tests.ui.helpers.widgets import emitted


def regions() -> Mapping[str, np.ndarray]:
    """Two triangles that share an edge."""
    return {
        "region_members": np.array([[0, 1, 2], [1, 2, 3], [1, 2, -1]], np.int32),
        "region_levels": np.array([0, 0, 1], np.int32),
        "region_counting": np.array([1, 1, -1], np.int32),
        "region_edges": np.array([[0, 2], [1, 2]], np.int32),
        "region_gaps": np.array([1e-2, 0.0], np.float32),
        "region_beliefs": np.array(
            [[1 / 8] * 8, [1 / 8] * 8, [0.5, 0.25, 0.15, 0.1, np.nan, np.nan, np.nan, np.nan]], np.float32
        ),
    }


def graph() -> GraphFrame:
    return GraphFrame(
        positions=np.array([[0, 1], [1, 0], [1, 2], [2, 1]], np.float32),
        edges=np.zeros((0, 2), np.int32),
        stars=np.zeros((0, 2), np.int32),
        states=np.full(4, 2, np.int32),
        degrees=np.zeros(4, np.int32),
        labels=(10, 11, 12, 13),
        couplings=None,
        fields=None,
        lattice=None,
        source="drawn",
        parameters={},
        strengths={"coupling": 1.0, "field": 1.0, "temperature": 1.0},
        editable=True,
    )


def shown(qtbot: QtBot) -> RegionPanel:
    panel = RegionPanel()
    qtbot.addWidget(panel)
    panel.resize(400, 500)
    panel.show()
    panel.set_pictures(regions(), graph())
    return panel


def test_it_says_how_many_and_how_far_apart(qtbot: QtBot) -> None:
    panel = shown(qtbot)
    assert "3 regions on 2 levels" in panel.heading.text()
    assert "Σ c = 1" in panel.heading.text()
    assert "1.0e-02" in panel.heading.text()


def test_levels_say_what_they_hold(qtbot: QtBot) -> None:
    panel = shown(qtbot)
    assert panel.picture.captions() == ["2 roots of 3, c = 1", "1 region of 2, c = -1"]


def test_a_click_shows_the_belief_of_a_region_most_probable_first(qtbot: QtBot) -> None:
    panel = shown(qtbot)
    middle = panel.picture.place(2).toPoint()
    QTest.mouseClick(panel.picture, Qt.MouseButton.LeftButton, pos=middle)
    lines = panel.belief.text().splitlines()
    assert lines[0].startswith("Region {11, 12}: c = -1, penalty 1.0e-02 with 2 parents")
    assert lines[2:] == ["0  0   0.5000", "0  1   0.2500", "1  0   0.1500", "1  1   0.1000"]
    QTest.mouseClick(panel.picture, Qt.MouseButton.LeftButton, pos=QPoint(1, panel.picture.height() - 2))
    assert panel.picture.region is None


def test_arrow_keys_reach_every_region(qtbot: QtBot) -> None:
    panel = shown(qtbot)
    panel.picture.setFocus()
    reached = []
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_Left):
        QTest.keyClick(panel.picture, key)
        reached.append(panel.picture.region)
    assert set(reached) == {0, 1, 2}


def test_without_regions_it_says_what_belongs_here(qtbot: QtBot) -> None:
    panel = shown(qtbot)
    panel.set_pictures({}, graph())
    assert panel.heading.text() == EMPTY
    assert not panel.picture.isVisible()
    panel.set_pictures({}, graph(), [lane(number=0, algorithm="bp"), lane(number=2, algorithm="gbp")])
    assert "Lane C has" in panel.heading.text()


def test_a_disagreement_is_drawn_stronger_than_an_agreement(qtbot: QtBot) -> None:
    panel = shown(qtbot)
    image = panel.picture.grab().toImage()
    ratio = image.devicePixelRatio()
    found = []
    for root in (0, 1):
        way = (panel.picture.place(root) * 0.5 + panel.picture.place(2) * 0.5) * ratio
        near = [image.pixelColor(round(way.x()) + dx, round(way.y())) for dx in range(-3, 4)]
        found.append(max(c.red() - c.green() for c in near))
    assert found[0] > found[1] + 40


def test_many_regions_stand_where_their_variables_do() -> None:
    nodes = 64
    positions = np.stack([np.arange(nodes) % 8, np.arange(nodes) // 8], 1).astype(np.float32)
    places = placed(np.zeros(nodes, np.int32), np.zeros((0, 2), np.int32), np.arange(nodes)[:, None], positions)
    assert len(np.unique(places, axis=0)) == nodes
    assert 0 <= places.min() <= places.max() <= 1
    assert places[0, 0] < places[7, 0]
    assert places[0, 1] < places[63, 1]


def test_a_region_lights_its_variables_and_a_variable_its_regions(qtbot: QtBot) -> None:
    panel = shown(qtbot)
    lit = emitted(panel.lit)
    picture = panel.picture
    QTest.mouseClick(picture, Qt.MouseButton.LeftButton, pos=picture.box(0).center().toPoint())
    assert lit == [tuple(picture.members_of(0))]
    plain = pixels(picture.grab().toImage())
    panel.light(picture.members_of(2)[0])
    assert (pixels(picture.grab().toImage()) != plain).any()
