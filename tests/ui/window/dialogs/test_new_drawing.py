"""The dialog for a new drawing: which model fills a sheet of that size."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.answers import ModelNote
from mrfstudio.ui.window.dialogs.common import NewDrawing

SMALL, LARGE = ModelNote("small", "grid", "", sizes=(6, 16)), ModelNote("large", "grid", "", sizes=(6, 200))
UNKNOWN = ModelNote("mine", "grid", "")


def dialog(qtbot: QtBot, current: str, *models: ModelNote) -> NewDrawing:
    made = NewDrawing(models, current)
    qtbot.addWidget(made)
    return made


def test_it_says_which_sizes_are_filled(qtbot: QtBot) -> None:
    made = dialog(qtbot, "large", SMALL, LARGE)
    assert made.observed.shape == (128, 128)
    assert made.model == LARGE
    assert made.fills.text() == "large fills figures of 6 to 200 pixels."


def test_a_large_sheet_takes_the_model_that_fills_it_and_a_small_one_keeps_the_one_in_use(qtbot: QtBot) -> None:
    made = dialog(qtbot, "small", SMALL, LARGE)
    assert made.model == LARGE
    assert made.fills.text().endswith("It will be used for this sheet.")
    made.width_box.setValue(20)
    made.height_box.setValue(20)
    assert made.model == SMALL


def test_where_nothing_is_known_nothing_is_said_and_the_model_stays(qtbot: QtBot) -> None:
    made = dialog(qtbot, "mine", UNKNOWN)
    assert made.observed.shape == (30, 30)
    assert made.model == UNKNOWN
    assert made.fills.text() == ""


def test_models_that_are_known_late_are_offered_and_a_chosen_size_stays(qtbot: QtBot) -> None:
    made = dialog(qtbot, "")
    assert made.observed.shape == (30, 30)
    made.offer([SMALL, LARGE], "large")
    assert made.observed.shape == (128, 128)
    assert made.fills.text() == "large fills figures of 6 to 200 pixels."
    chosen = dialog(qtbot, "")
    chosen.width_box.setValue(64)
    chosen.offer([SMALL, LARGE], "small")
    assert chosen.observed.shape == (30, 64)
    assert chosen.model == LARGE
