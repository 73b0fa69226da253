"""Colours that everybody can tell apart and read, a look that follows system, theme and font size."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

import mrfstudio.ui
from mrfstudio.assets import asset
from mrfstudio.ui.style.colormaps import ANCHORS, clone_colours, colormap
from mrfstudio.ui.style.colours import DARK, LIGHT, Colours, colours_of, rgb
from mrfstudio.ui.style.graph_colours import LIGHTNESS, state_line_colour
from mrfstudio.ui.style.icons import icon, picture
from mrfstudio.ui.style.theme import Theme, palette_of, px

THEMES = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=lambda colours: colours.name)


def linear(colours: np.ndarray) -> np.ndarray:
    value = np.asarray(colours, float) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    """The contrast ratio of WCAG 2."""
    bright = sorted(float(linear(np.array(rgb(colour))) @ [0.2126, 0.7152, 0.0722]) for colour in (a, b))
    return (bright[1] + 0.05) / (bright[0] + 0.05)


def oklab(linear_rgb: np.ndarray) -> np.ndarray:
    cones = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
    to_lab = np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])
    return np.cbrt(np.clip(linear_rgb, 0, 1) @ cones.T) @ to_lab.T


# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
EYES = {
    "usual": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def seen(colours: list[str] | np.ndarray, eye: str) -> np.ndarray:
    """Colours in OKLab as an eye sees them."""
    values = np.array([rgb(colour) for colour in colours]) if isinstance(colours, list) else colours
    return oklab(linear(values) @ np.array(EYES[eye]).T)


@THEMES
def test_text_reaches_the_contrast_of_wcag_aa(colours: Colours) -> None:
    for text in (colours.text, colours.muted, colours.good, colours.warn, colours.bad, colours.accent):
        for ground in (colours.window, colours.surface):
            assert contrast(text, ground) >= 4.5, (text, ground)
    for text in (colours.text, colours.muted):  # tabs, small buttons and rows under the pointer, chosen or focused
        for ground in (colours.raised, colours.accent_soft):
            assert contrast(text, ground) >= 4.5, (text, ground)
    assert contrast(colours.accent_text, colours.accent) >= 4.5
    assert contrast(colours.muted, colours.backdrop) >= 4.5
    for lane in colours.lanes:
        assert contrast(lane, colours.window) >= 3


@THEMES
def test_outlines_and_focus_are_seen(colours: Colours) -> None:
    for edge in (colours.outline, colours.focus):
        assert contrast(edge, colours.surface) >= 3
        assert contrast(edge, colours.window) >= 3


@THEMES
@pytest.mark.parametrize("eye", EYES)
def test_labels_and_lanes_stay_apart_for_every_eye(colours: Colours, eye: str) -> None:
    labels = seen([*colours.labels[:3], colours.paper], eye)
    for a, b in itertools.combinations(labels, 2):
        assert np.linalg.norm(a - b) > 0.09
    # Lanes also differ by dashes; the first three must differ by colour alone.
    for a, b in itertools.combinations(seen(list(colours.lanes[:3]), eye), 2):
        assert np.linalg.norm(a - b) > 0.06


@pytest.mark.parametrize("name", ["sequential", "heat"])
@pytest.mark.parametrize("eye", EYES)
def test_sequential_maps_get_evenly_lighter_for_every_eye(name: str, eye: str) -> None:
    lightness = seen(colormap(name), eye)[:, 0]
    steps = np.diff(lightness[::8])
    assert steps.min() > 0
    assert steps.max() / steps.mean() < 1.8


def test_the_cyclic_map_closes_and_tells_opposite_sides_apart() -> None:
    turn = colormap("cyclic").astype(int)
    assert np.abs(turn[0] - turn[-1]).max() <= 2
    for eye in EYES:
        lab = seen(colormap("cyclic"), eye)
        opposite = np.linalg.norm(lab - np.roll(lab, 128, axis=0), axis=1)
        assert opposite.min() > 0.15


def test_clone_hues_differ_from_their_neighbours() -> None:
    lab = oklab(linear(clone_colours(64, dark=False)))
    assert np.linalg.norm(np.diff(lab, axis=0), axis=1).min() > 0.1


def test_shared_maps_cannot_be_written_to() -> None:
    for name in ANCHORS:
        with pytest.raises(ValueError, match="read-only"):
            colormap(name)[0] = 0


def test_light_and_dark_follow_the_mode(theme: Theme, qtbot: QtBot) -> None:
    label = QLabel("words")
    qtbot.addWidget(label)
    label.show()
    with qtbot.waitSignal(theme.changed):
        theme.set_mode("dark")
    assert colours_of(label) is DARK
    assert label.palette().color(QPalette.ColorRole.WindowText) == QColor(DARK.text)
    theme.set_mode("light")
    assert colours_of(label) is LIGHT


def test_system_mode_follows_the_system(theme: Theme, qapp: QApplication) -> None:
    theme.set_mode("system")
    expected = DARK if qapp.styleHints().colorScheme() == Qt.ColorScheme.Dark else LIGHT
    assert theme.colours is expected


def test_one_window_may_hold_both_themes(qtbot: QtBot) -> None:
    label = QLabel()
    qtbot.addWidget(label)
    label.setPalette(palette_of(DARK))
    assert colours_of(label) is DARK


def test_lengths_grow_with_the_font(theme: Theme, qtbot: QtBot) -> None:
    button = QPushButton("Restart")
    qtbot.addWidget(button)
    button.show()
    small, size = px(button, 100), button.sizeHint()
    theme.set_scale(2.0)
    assert px(button, 100) == pytest.approx(2 * small, rel=0.1)
    assert button.sizeHint().height() > 1.7 * size.height()


def test_the_font_scale_is_kept_within_reason(theme: Theme) -> None:
    theme.set_scale(10)
    assert theme.scale == 2.0
    theme.set_scale(0.1)
    assert theme.scale == 0.75


def test_every_icon_named_in_the_code_is_shipped() -> None:
    names = set()
    for file in Path(mrfstudio.ui.__file__).parent.rglob("*.py"):
        names.update(re.findall(r"""icon\(\s*["']([a-z-]+)["']""", file.read_text(encoding="utf-8")))
    assert names
    for name in names:
        assert asset("icons", f"{name}.svg").is_file()


def test_icons_are_drawn_in_the_colour_of_the_theme(qtbot: QtBot) -> None:
    for file in asset("icons").glob("*.svg"):
        image = picture(file.stem, "#ff0000", 48).toImage()
        inked = [image.pixelColor(x, y) for x in range(48) for y in range(48) if image.pixelColor(x, y).alpha() > 250]
        assert inked, f"{file.name} is blank"
        assert all(colour.red() > 240 and colour.green() < 16 for colour in inked), f"{file.name} has its own colour"


def test_a_disabled_icon_is_paler(qtbot: QtBot) -> None:
    label = QLabel()
    qtbot.addWidget(label)
    drawn = icon("play", label)
    usual, disabled = (
        drawn.pixmap(32, mode).toImage().pixelColor(14, 16) for mode in (drawn.Mode.Normal, drawn.Mode.Disabled)
    )
    assert usual.lightness() < disabled.lightness()


@THEMES
def test_the_line_of_every_state_is_seen_on_its_paper(colours: Colours) -> None:
    paper = np.array(rgb(colours.surface)) @ LIGHTNESS
    for states in (2, 3, 6):
        for state in range(states):
            seen = abs(np.array(state_line_colour(state, states, colours)) @ LIGHTNESS - paper)
            assert seen > 45, (states, state)
