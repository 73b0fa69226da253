"""Widgets on their own: shown, heard, and something to put into them."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from mrfstudio.engine.protocol.answers import CloneGallery
from mrfstudio.engine.protocol.catalogue import Entry, Parameters, choice, flag, integer, number, text
from mrfstudio.engine.protocol.frames import Scalars
from tests.ui.helpers.pictures import beliefs, ring

LEFT = Qt.MouseButton.LeftButton


class Settings(Parameters):
    """One field of every kind."""

    name = "settings"
    damping: float = number(0.0, "Keeps part of the old message.", low=0, high=1, high_open=True)
    tolerance: float = number(
        1e-6, "Converged below this.", low=0, high=1, low_open=True, logarithmic=True, unit="bits"
    )
    iterations: int = integer(15, "How many.", low=1, high=1000)
    temperature: float = number(1.0, "1 is sum-product.", low=0)
    schedule: str = choice("parallel", ("parallel", "sequential"), "Which order.")
    normalise: bool = flag(True, "Whether.")
    path: str = text("here", "Where.")
    kernel: str = choice("auto", ("auto", "generic"), "Which code.", advanced=True)


ENTRY: Entry = Settings.entry()


def shown(qtbot: QtBot, widget: Any, width: int = 400, height: int = 300) -> Any:
    """The same widget, on the screen."""
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    widget.activateWindow()
    return widget


def emitted(signal: Any) -> list[Any]:
    """Grows with every signal: its value, or all of them where it carries several."""
    seen: list[Any] = []
    signal.connect(lambda *values: seen.append(values[0] if len(values) == 1 else values))
    return seen


def scalars(first: int, last: int, rate: float = 0.5) -> list[Scalars]:
    return [Scalars(i, rate**i, 100 + i / 10, 1 - rate**i, rate**i) for i in range(first, last)]


def gallery(clones: int = 8) -> CloneGallery:
    use = np.arange(clones, dtype=np.float32)
    use[3] = 0
    patches = np.tile(beliefs(ring(9)), (clones, 1, 1, 1))
    potentials = np.random.default_rng(0).normal(size=(4, clones + 2, clones + 2)).astype(np.float32)
    ownership = np.linspace(0, 3, clones).astype(np.float32)
    ownership[5] = np.nan
    return CloneGallery("grid-border-16", 100, use / use.sum(), patches, potentials, ownership)


DETAILS = {"pixel": (3, 5), "labels": {"CONTOUR": 0.9, "OUT": 0.07, "IN": 0.03}, "clones": [(6, 0.6), (2, 0.3)]}
