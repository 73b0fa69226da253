"""Advice about a run that swings."""

from __future__ import annotations

import numpy as np
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.answers import Guarantee, Swings, Tip
from mrfstudio.ui.workspaces.converge.advice_bar import AdviceBar, sentence
from tests.ui.helpers.widgets import emitted, shown


def test_swings_and_a_guarantee_can_both_be_true(qtbot: QtBot) -> None:
    bar = AdviceBar()
    shown(qtbot, bar, 900, 40)
    bar.set_swings(Swings(0, 9, np.full(8, 2, np.int16), 8, 2, (Tip("Damp: 0.5", "why", "bp", {}),)))
    assert bar.text.startswith("All messages oscillate")
    bar.set_guarantee(Guarantee(0, 1, guaranteed=True))
    assert "still swing" in bar.text
    assert "guaranteed" in bar.text
    bar.set_guarantee(Guarantee(0, 2))
    assert bar.text.startswith("All messages oscillate")
    bar.set_swings(None)
    assert "messages" not in bar.text


def test_words_say_how_many_swing_and_only_a_period_that_most_share() -> None:
    def said(periods: list[int], commonest: int, sharing: int, shrinks: bool = False) -> str:
        period = np.array(periods, np.int16)
        return sentence(Swings(0, 9, period, int(np.count_nonzero(period)), commonest, (), sharing, shrinks), False)

    assert said([8, 8, 2], 8, 3) == "All messages oscillate (period 8)."
    assert said([2, 2, 2, -1, 0], 2, 3) == "4 of 5 messages oscillate (period 2 for 3 of them)."
    assert said([-1, -1, -1], -1, 0) == "All messages oscillate (no period)."
    assert said([5, -1, -1], -1, 0) == "All messages oscillate (no common period)."
    assert said([2, 0, 0], 2, 1) == "1 of 3 messages oscillates (period 2)."
    assert said([4, 4, 0], 4, 2, shrinks=True) == "2 of 3 messages still swing (period 4), less and less. Sooner with:"


def test_advice_without_a_swinging_edge_is_shown_too(qtbot: QtBot) -> None:
    bar = AdviceBar()
    shown(qtbot, bar, 900, 40)
    tip = Tip("Double loop", "why", "gbp", {"method": "double-loop"})
    followed = emitted(bar.chosen)
    bar.set_swings(Swings(0, 9, np.zeros(8, np.int16), tips=(tip,)))
    assert "regions do not settle" in bar.text
    assert bar.buttons[0].text() == "Double loop"
    bar.buttons[0].click()
    assert followed == [tip]


def test_long_advice_is_cut_short_where_the_bar_is_narrow(qtbot: QtBot) -> None:
    bar = AdviceBar()
    shown(qtbot, bar, 900, 40)
    least = bar.minimumSizeHint().width()
    long = Tip("Damp: 0.5, which converges in three iterations as a copy of this run has shown", "why", "bp", {})
    bar.set_swings(Swings(0, 9, np.full(8, 2, np.int16), 8, 2, (long, long)))
    assert bar.minimumSizeHint().width() < least + 400  # and not as wide as its words
    bar.resize(420, 40)
    assert bar.buttons[0].fontMetrics().horizontalAdvance(long.title) > bar.buttons[0].width()
    assert bar.buttons[0].accessibleName() == long.title
