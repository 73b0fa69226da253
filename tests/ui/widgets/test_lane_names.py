"""What a lane is called."""

from __future__ import annotations

from mrfstudio.ui.widgets.lane_names import lane_title
from tests.ui.helpers.lanes import ENTRIES
from tests.ui.helpers.pictures import lane


def test_a_lane_is_called_by_its_name_or_by_what_is_unusual_about_it() -> None:
    assert lane_title(lane(parameters={"damping": 0.25, "rounds": 1}), ENTRIES) == "bp, damping 0.25"
    assert lane_title(lane(parameters={"damping": 0.0}), ENTRIES) == "bp"
    assert lane_title(lane(title="mine", parameters={"damping": 0.25}), ENTRIES) == "mine"
    assert lane_title(lane(algorithm="unheard-of"), ENTRIES) == "unheard-of"
