"""The legend explains what is shown."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from mrfstudio.ui.canvas.layers import SEGMENT_LAYERS
from mrfstudio.ui.widgets.legend import Legend
from tests.ui.helpers.widgets import shown


def test_the_legend_explains_exactly_what_is_shown_with_units(qtbot: QtBot) -> None:
    legend = Legend(SEGMENT_LAYERS)
    shown(qtbot, legend)
    legend.set_visible_layers(["entropy"])
    assert legend.bars["entropy"].isVisible()
    assert not legend.bars["residual"].isVisible()
    assert not legend.swatches.isVisible()
    assert legend.bars["entropy"].accessibleName() == "Entropy in bits, from 0 to 1.58"
    legend.set_visible_layers(["observed", "belief"])
    assert legend.swatches.accessibleName() == "Colours: contour seen, CONTOUR, OUT, IN"
