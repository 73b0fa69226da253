"""A graph of thousands of nodes in the window."""

from __future__ import annotations

import pytest

from mrfstudio.engine.protocol.commands import NewGraph
from mrfstudio.ui.graph_canvas.raster import LatticeRaster
from tests.ui.helpers.converge import Converge


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_thousands_of_nodes_are_an_image_with_nodes_and_messages(converge: Converge, theme: str) -> None:
    converge.studio.window.appearance.set_theme(theme)
    converge.show(NewGraph("grid", {"rows": 60, "columns": 60}))
    canvas = converge.canvas
    image = canvas.grab().toImage()
    assert isinstance(canvas.picture._raster[1], LatticeRaster)  # type: ignore[index]
    colours = {image.pixel(x, y) for x in range(0, image.width(), 3) for y in range(0, image.height(), 3)}
    assert len(colours) > 30
    canvas.zoom(20)
    canvas.grab()
    canvas.fit()
    converge.studio.window.appearance.set_theme("light")
