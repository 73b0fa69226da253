"""The badge says the state of a run in words, and by its shape."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from mrfstudio.ui.style.colours import DARK, LIGHT, Colours, rgb
from mrfstudio.ui.style.theme import palette_of
from mrfstudio.ui.widgets.badge import Badge, sentence
from tests.ui.helpers.pictures import lane, pixels


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("converged", "converged in 12 iterations, residual 3e-7"),
        ("running", "running at iteration 12, residual 3e-7"),
        ("iteration limit", "iteration limit after 12 iterations, residual 3e-7"),
        ("diverging", "diverging at iteration 12, residual 3e-7"),
        ("paused", "paused at iteration 12, residual 3e-7"),
    ],
)
def test_the_badge_says_its_state_with_the_residual(qtbot: QtBot, status: str, words: str) -> None:
    badge = Badge()
    qtbot.addWidget(badge)
    badge.set_lane(lane(12, status=status, residual=3e-7))
    assert badge.text == words
    assert badge.accessibleName() == words
    assert badge.toolTip()


def test_the_number_of_a_limit_is_the_one_that_was_set(qtbot: QtBot) -> None:
    """It counts from the last edit on, as the form's does."""
    badge = Badge()
    qtbot.addWidget(badge)
    badge.set_lane(lane(170, status="iteration limit", residual=3e-7, base=120, limit=50))
    assert badge.text == "iteration limit after 50 iterations, residual 3e-7"
    badge.set_lane(lane(170, status="converged", residual=3e-7, base=120, limit=50))
    assert badge.text == "converged in 170 iterations, residual 3e-7"


def test_the_badge_copes_with_what_is_not_known() -> None:
    assert sentence("idle", 0, None) == "nothing computed yet"
    assert sentence("converged", 1, None) == "converged in 1 iteration"
    assert sentence("running", 3, math.nan) == "running at iteration 3"
    assert sentence("running", 3, math.nan, "So far bp.") == "running at iteration 3. So far bp."
    assert sentence("diverging", 3, math.inf).endswith("residual infinite")
    assert sentence("stopped", 3, None, "left the finite range") == "stopped at iteration 3: left the finite range"


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=lambda colours: colours.name)
def test_badges_differ_by_shape_not_only_by_colour(qtbot: QtBot, colours: Colours) -> None:
    shapes = set()
    for status in ("running", "paused", "converged", "iteration limit", "diverging", "stopped"):
        badge = Badge()
        qtbot.addWidget(badge)
        badge.setPalette(palette_of(colours))
        badge.set_status(status, 3)  # type: ignore[arg-type]
        image = pixels(badge.mark.grab().toImage())
        drawn = np.abs(image.astype(int) - rgb(colours.window)).max(axis=2) > 60
        assert drawn.any()
        shapes.add(drawn.tobytes())
    assert len(shapes) == 6
