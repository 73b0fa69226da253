"""Run by `tests/engine/families/test_toy_family.py` in a process of its own, where a family of another package is
installed and COINS names a trained model of it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from mrfstudio.engine.protocol.commands import PaintRectangle
from mrfstudio.ui.workspaces.inpaint.unit_gallery import NONE
from tests.ui.helpers.inpaint import hidden, mean
from tests.ui.helpers.studio import Studio


def test_a_model_of_another_package_is_opened_and_fills_in_a_picture(studio: Studio) -> None:
    path = os.environ["COINS"]
    studio.window.show_workspace("segment")
    studio.window.files.open(Path(path))
    studio.until(lambda: studio.frame.workspace == "inpaint" and studio.frame.lanes[0].model == path)
    studio.settle()
    assert studio.frame.shape == (28, 28)
    studio.inpaint.post(PaintRectangle("mask", 1, (0, 0, 28, 14)))
    studio.settle()
    hole, shown = hidden(studio), mean(studio)
    assert hole[:, :14].all()
    # A coin knows nothing of its neighbours: what it believes was learned, and the margin is black in every picture.
    assert shown[hole].max() > 0.3
    assert shown[0, 0] < 0.1
    algorithms = studio.inpaint.panel.first.algorithm
    algorithms.setCurrentIndex(algorithms.findData("gibbs"))
    algorithms.activated.emit(algorithms.currentIndex())
    studio.until(lambda: studio.frame.lanes[0].algorithm == "gibbs")
    studio.settle()
    np.testing.assert_allclose(mean(studio)[hole].mean(), shown[hole].mean(), atol=0.05)


def test_its_samples_are_black_and_white_and_it_has_no_hidden_units(studio: Studio) -> None:
    studio.window.files.open(Path(os.environ["COINS"]))
    studio.until(lambda: studio.frame.lanes[0].model == os.environ["COINS"])
    studio.do("show_units")
    panel = studio.inpaint.units.panel
    studio.until(lambda: panel.gallery is not None)
    assert panel.title.text() == NONE
    studio.inpaint.panel.layers.set_shown("sample", True)
    studio.until(lambda: "sample" in studio.frame.lanes[0].pictures)
    assert set(np.unique(studio.frame.lanes[0].pictures["sample"])) == {0.0, 1.0}


def test_it_can_be_trained_in_the_window(studio: Studio) -> None:
    studio.window.show_workspace("train")
    plan = studio.window.workspace.plan  # type: ignore[attr-defined]
    studio.qtbot.waitUntil(lambda: plan.model.box.findData("coins") >= 0, timeout=30_000)
    plan.model.box.setCurrentIndex(plan.model.box.findData("coins"))
    assert plan.model.box.currentData() == "coins"
    studio.window.show_workspace("inpaint")
