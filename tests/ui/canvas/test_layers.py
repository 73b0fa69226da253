"""What layers show of a frame, and that frames are only looked at."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.commands import ClearLayer, Command
from mrfstudio.ui.canvas import Canvas
from mrfstudio.ui.canvas.overlays import LayerStyle, deviation
from mrfstudio.ui.style.colours import DARK, LIGHT, rgb
from mrfstudio.ui.style.theme import palette_of
from tests.ui.helpers.canvas import LEFT, NONE, drag, shown
from tests.ui.helpers.pictures import assert_looks_like, beliefs, frame, given, lane, pixels, ring


def test_opacity_is_certainty(canvas: Canvas) -> None:
    labels = np.full((16, 16), 2)
    colours = []
    for certainty in (1.0, 0.5, 0.0):
        canvas.set_frame(frame(lane(pictures={"belief": beliefs(labels, certainty)})))
        colours.append(shown(canvas)[4, 4].astype(int))
    inside, paper = np.array(rgb(LIGHT.labels[2])), np.array(rgb(LIGHT.paper))
    distances = [np.abs(colour - paper).sum() for colour in colours]
    assert distances[0] > distances[1] > distances[2] == 0
    assert np.abs(colours[0] - inside).max() < 60


def test_contours_under_labels_stay_visible(canvas: Canvas) -> None:
    layers = given()
    observed = layers["observed"].copy()
    observed[1, 1] = 0
    canvas.set_frame(frame(lane(pictures={"belief": beliefs(ring(), 1.0)}), layers={**layers, "observed": observed}))
    colours = shown(canvas).astype(int)
    assert np.abs(colours[1, 1] - colours[1, 3]).max() > 30


def test_a_symbol_of_an_equation_lights_what_it_stands_for(canvas: Canvas) -> None:
    """Evidence alone, beliefs alone, and everything again when nothing is pointed at."""
    layers = given()
    observed = layers["observed"].copy()
    observed[1, 1] = 0
    canvas.set_frame(frame(lane(pictures={"belief": beliefs(ring(), 1.0)}), layers={**layers, "observed": observed}))
    before = shown(canvas)
    canvas.light_symbol("evidence")
    evidence = shown(canvas)
    canvas.light_symbol("belief")
    belief = shown(canvas)
    canvas.light_symbol("")
    assert (shown(canvas) == before).all()
    assert (belief[1, 1] == belief[1, 3]).all(), "what was observed is not drawn"
    assert (belief != before).any()
    assert (evidence != before).any()
    assert (evidence != belief).any()


@pytest.mark.parametrize("symbol", ["message", "coupling"])
def test_messages_and_couplings_light_between_neighbours(canvas: Canvas, symbol: str) -> None:
    canvas.set_frame(frame(lane(pictures={"belief": beliefs(ring(), 1.0)})))
    before = canvas.grab().toImage()
    canvas.light_symbol(symbol)
    assert canvas.grab().toImage() != before
    canvas.light_symbol("")
    assert canvas.grab().toImage() == before
    canvas.joins_neighbours = False  # pixels joined to hidden units
    canvas.light_symbol(symbol)
    assert canvas.grab().toImage() == before


@pytest.mark.parametrize("name", ["decoded", "entropy", "residual", "difference", "clone", "ownership"])
def test_a_layer_is_seen_when_it_is_switched_on(canvas: Canvas, name: str) -> None:
    canvas.set_frame(frame(lane(pictures=all_pictures())))
    canvas.set_visible_layers({"observed": 1.0})
    without = shown(canvas)
    canvas.set_visible_layers({"observed": 1.0, name: 1.0})
    assert (shown(canvas) != without).any()


def test_the_residual_of_one_direction_differs_from_the_largest(canvas: Canvas) -> None:
    residual = np.full((8, 16, 16), 1e-6, np.float32)
    residual[3] = 1.0
    canvas.set_frame(frame(lane(pictures={"residual": residual})))
    canvas.set_visible_layers({"residual": 1.0})
    largest = shown(canvas)
    canvas.set_residual_direction(3)
    np.testing.assert_array_equal(shown(canvas), largest)
    canvas.set_residual_direction(0)
    assert (shown(canvas) != largest).any()


def test_pointing_at_a_clone_lights_its_pixels(canvas: Canvas) -> None:
    pictures = all_pictures()
    canvas.set_frame(frame(lane(pictures=pictures)))
    canvas.light_clone(5)
    lit = (shown(canvas) == rgb(LIGHT.highlight)).all(axis=2)
    np.testing.assert_array_equal(lit, pictures["clone"] == 5)
    later = np.roll(pictures["clone"], 1, axis=0)
    canvas.set_frame(frame(lane(pictures={**pictures, "clone": later})))
    np.testing.assert_array_equal((shown(canvas) == rgb(LIGHT.highlight)).all(axis=2), later == 5)
    canvas.light_clone(None)
    assert not (shown(canvas) == rgb(LIGHT.highlight)).all(axis=2).any()


def test_a_frame_of_a_part_is_drawn_where_it_belongs(canvas: Canvas) -> None:
    part = np.zeros((4, 6), np.uint8)
    canvas.set_frame(frame(layers={"observed": part}, rectangle=(5, 7, 4, 6)))
    inked = (shown(canvas) == rgb(LIGHT.ink)).all(axis=2)
    assert np.argwhere(inked).min(axis=0).tolist() == [5, 7]
    assert inked.sum() == 24


def test_strokes_fall_into_place_in_a_part_and_at_a_stride(canvas: Canvas) -> None:
    canvas.set_frame(frame(layers={"observed": np.ones((4, 4), np.uint8)}, rectangle=(4, 4, 8, 8), stride=2))
    drag(canvas, [(6, 4), (6, 11)])
    observed = canvas.scene.layer("observed")
    assert observed is not None
    assert np.argwhere(observed == 0).tolist() == [[1, 0], [1, 1], [1, 2], [1, 3]]


def test_stale_results_are_dimmed_after_a_while_not_blanked(canvas: Canvas, qtbot: QtBot) -> None:
    labels = np.full((16, 16), 2)
    canvas.set_frame(frame(lane(pictures={"belief": beliefs(labels, 1.0)})))
    fresh = shown(canvas)[4, 4].astype(int)
    canvas.posted(ClearLayer("hints"), 5)
    np.testing.assert_array_equal(shown(canvas)[4, 4], fresh)  # a frame or two late is not stale: nothing flickers
    qtbot.waitUntil(lambda: canvas.scene.dimmed)
    dimmed = shown(canvas)[4, 4].astype(int)
    paper = np.array(rgb(LIGHT.paper))
    assert 0 < np.abs(dimmed - paper).sum() < np.abs(fresh - paper).sum()
    canvas.set_frame(frame(lane(pictures={"belief": beliefs(labels, 1.0)}), applied=5))
    np.testing.assert_array_equal(shown(canvas)[4, 4], fresh)


def test_frames_are_shared_and_never_written_to(canvas: Canvas) -> None:
    layers = given()
    canvas.set_frame(frame(layers=layers))
    drag(canvas, [(3, 3), (9, 9)])
    assert (shown(canvas)[3, 3] == rgb(LIGHT.ink)).all()
    assert (layers["observed"] == 1).all()


def test_an_empty_canvas_says_what_belongs_there_and_takes_no_strokes(qtbot: QtBot) -> None:
    canvas = Canvas()
    qtbot.addWidget(canvas)
    canvas.resize(300, 200)
    canvas.show()
    commands: list[Command] = []
    canvas.command.connect(commands.append)
    QTest.mouseClick(canvas, LEFT, NONE, QPoint(100, 100))
    assert commands == []
    assert len(np.unique(pixels(canvas.grab().toImage()).reshape(-1, 3), axis=0)) > 2  # there are words


def test_a_preview_shows_other_observations_and_goes_away(canvas: Canvas) -> None:
    before = shown(canvas)
    canvas.set_preview(np.zeros((16, 16), np.uint8))
    assert (shown(canvas) == rgb(LIGHT.ink)).all()
    canvas.set_preview(None)
    np.testing.assert_array_equal(shown(canvas), before)


def test_the_export_has_whole_pixels_and_no_ring(canvas: Canvas) -> None:
    canvas.pointer = QPointF(200, 200)
    image = canvas.drawing(scale=5).image()
    assert (image.width(), image.height()) == (80, 80)
    blocks = pixels(image).reshape(16, 5, 16, 5, 3)
    assert (blocks == blocks[:, :1, :, :1]).all()


def all_pictures() -> dict[str, np.ndarray]:
    """Every layer, on a disc."""
    labels = ring()
    y, x = np.indices(labels.shape)
    contour = labels == 0
    return {
        "belief": beliefs(labels, 0.8),
        "decoded": labels,
        "entropy": np.where(contour, 1.2, 0.1).astype(np.float32),
        "residual": np.stack([10.0 ** -((x + k) % 7) for k in range(8)]).astype(np.float32),
        "difference": (x / 15).astype(np.float32),
        "clone": np.where(contour, (x + y) % 7, -1).astype(np.int16),
        "ownership": np.where(contour, np.arctan2(y - 7.5, 7.5 - x), np.nan).astype(np.float32),
    }


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=lambda colours: colours.name)
@pytest.mark.parametrize(
    "layers", ["observed belief hints", "decoded", "entropy", "residual", "difference", "clone", "observed ownership"]
)
def test_layers_look_as_they_did(qtbot: QtBot, colours: object, layers: str) -> None:
    canvas = Canvas()
    qtbot.addWidget(canvas)
    dark = colours is DARK
    canvas.setPalette(palette_of(DARK if dark else LIGHT))
    layer = given()
    observed, hints = layer["observed"].copy(), layer["hints"].copy()
    observed[(ring() == 0) & (np.indices((16, 16)).sum(0) % 3 > 0)] = 0
    hints[2:5, 2:5], hints[7:9, 7:9] = 1, 2
    strength = layer["hints_strength"].copy()
    strength[:, :4] = 0.3
    given_layers = {"observed": observed, "hints": hints, "hints_strength": strength}
    canvas.set_frame(frame(lane(pictures=all_pictures()), layers=given_layers))
    canvas.set_visible_layers(dict.fromkeys(layers.split(), 1.0))
    canvas.set_residual_direction(2)
    assert_looks_like(
        canvas.drawing(scale=8).image(), f"canvas-{'dark' if dark else 'light'}-{layers.replace(' ', '-')}"
    )


def test_pixels_that_a_model_hardly_knows_still_differ_on_the_map_of_deviations() -> None:
    shades = deviation(np.array([[20, 40, 60]], np.float32) / 255, LayerStyle())
    assert len(np.unique(shades)) == 3
