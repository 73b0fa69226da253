"""Films the first minute of use in the real window, for the README: `python docs/first_minute.py [FILE.webp]`.

A digit settles, a circle drawn by hand fills, an astronaut comes out of a photograph, a ring oscillates. Nothing is
staged but the hand: the engine answers while the film runs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from PIL import Image
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from mrfstudio.engine.protocol.commands import Command, NewGraph, Paint, Restart, SetImage, SetSpeed, SetStrength
from mrfstudio.ui.export.headless import headless_window, wait_until
from mrfstudio.ui.window.main_window import MainWindow

WINDOW = (1120, 700)
FILM = (840, 525)
EACH = 120  # milliseconds a picture
REST = 12  # pictures at the end of a scene
SIDE = 96  # pixels of the canvas that the circle is drawn on
QUALITY = 60


class Film:
    """Pictures of the window, taken one after another."""

    def __init__(self, window: MainWindow) -> None:
        self._window, self._said = window, list[str]()
        self.pictures: list[Image.Image] = []
        window.controller.message.connect(self._said.append)
        window.resize(*WINDOW)
        window.appearance.set_theme("light")
        self.until(lambda: window.controller.engine is not None and window.controller.newest is not None)

    def until(self, ready: Callable[[], bool]) -> None:
        wait_until(ready, self._said)

    def take(self) -> None:
        """One picture of what is shown now."""
        for _ in range(3):
            QApplication.processEvents()
        shot = self._window.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
        rows = np.frombuffer(shot.constBits(), np.uint8).reshape(shot.height(), shot.bytesPerLine())
        pixels = rows[:, : 3 * shot.width()].reshape(shot.height(), shot.width(), 3)
        self.pictures.append(Image.fromarray(pixels).resize(FILM, Image.Resampling.LANCZOS))

    def settle(self, every: int = 1, most: int = 40) -> None:
        """A picture each time so many iterations were made, until the run rests, and then for a while."""
        controller, due = self._window.controller, 0

        def shown_or_done() -> bool:
            frame = controller.newest
            return frame is not None and (frame.iteration >= due or not frame.playing)

        for _ in range(most):
            self.until(shown_or_done)
            assert controller.newest is not None
            due = controller.newest.iteration + every
            self.take()
            if not controller.newest.playing and controller.answered:
                break
        for _ in range(REST):
            self.take()

    def play(self, commands: Iterable[Command]) -> None:
        """Commands one after another, each with its picture."""
        for command in commands:
            self._window.workspace.post(command)
            self.until(lambda: self._window.controller.answered)
            self.take()


def hand(turns: float = 1.0) -> list[tuple[float, float]]:
    """A circle as a hand draws it, a little too wide here and too narrow there; the pen comes back near its start."""
    angles = np.linspace(0.3, 0.3 + turns * math.tau, 90)
    radius = 30 + 1.6 * np.sin(3 * angles) + 1.0 * np.sin(5 * angles + 1)
    return [(SIDE / 2 + r * math.cos(a), SIDE / 2 + r * math.sin(a)) for a, r in zip(angles, radius, strict=True)]


def drawn() -> list[Command]:
    """The circle stroke by stroke."""
    points = hand()
    return [
        Paint("observed", 0, tuple(points[first : first + 7]), 0.5, stroke_id=1) for first in range(0, len(points), 6)
    ]


def film(window: MainWindow) -> list[Image.Image]:
    made = Film(window)
    window.show_workspace("segment")
    made.play([SetSpeed(None), Restart()])
    made.settle(2, 24)
    made.play([SetImage(np.ones((SIDE, SIDE), np.uint8), name="circle"), *drawn()])
    made.settle(4)
    window.choose_workspace("photograph")
    made.until(lambda: window.controller.newest is not None and window.controller.newest.workspace == "photograph")
    made.settle(6)
    window.choose_workspace("graph")
    made.until(lambda: window.controller.newest is not None and window.controller.newest.workspace == "graph")
    made.play([NewGraph("ring"), SetSpeed(30), SetStrength("coupling", 2.0)])
    made.settle(1, 30)
    return made.pictures


def main(path: Path) -> None:
    with headless_window() as window:
        pictures = film(window)
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=EACH, loop=0, quality=QUALITY, method=4)
    print(f"{path}: {len(pictures)} pictures, {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures" / "first-minute.webp")
