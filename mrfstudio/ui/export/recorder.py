"""All iterations of a run as one animation: the canvas is drawn at each of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QProgressDialog, QWidget

from mrfstudio.engine.protocol.commands import Play, Scrub
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.requests.studio import SaveAnimation
from mrfstudio.ui.engine.controller import Controller

MOST_PICTURES = 200
LARGEST_SIDE = 720  # pixels: an animation is shared, not printed
MILLISECONDS, LAST = 120, 1500


class Recorder(QObject):
    """Goes through the iterations of the shown session and back to where it was. One recording at a time."""

    finished = Signal(str)
    """The file is written, or the text is empty: nothing came of it."""

    def __init__(self, controller: Controller, owner: QWidget, picture: Callable[[], QImage]) -> None:
        super().__init__(owner)
        self._controller, self._owner, self._picture = controller, owner, picture
        self.progress: QProgressDialog | None = None
        self._path = Path()
        self._iterations: list[int] = []
        self._pictures: list[np.ndarray] = []
        self._posted = 0
        self._back: tuple[int, bool] = (0, False)

    def record(self, path: Path) -> None:
        """Begin; `finished` says when it is done."""
        frame = self._controller.newest
        if frame is None or frame.newest <= frame.oldest:
            self._controller.message.emit("There is nothing to play yet: run some iterations first.")
            self.finished.emit("")
            return
        if self.progress is not None:
            return
        self._path, self._pictures = path, []
        self._iterations = evenly(frame.oldest, frame.newest, MOST_PICTURES)
        self._back = frame.iteration, frame.playing
        self.progress = QProgressDialog("Drawing every iteration…", "Cancel", 0, len(self._iterations), self._owner)
        self.progress.setWindowTitle("Export animation")
        self.progress.setWindowModality(Qt.WindowModality.WindowModal)
        self.progress.setMinimumDuration(0)
        self.progress.setValue(0)
        self.progress.canceled.connect(self._cancel)
        self._controller.frame.connect(self._on_frame)
        self._go_on()

    def _go_on(self) -> None:
        self._posted = self._controller.post(Scrub(self._iterations[len(self._pictures)]))

    def _on_frame(self, frame: Frame) -> None:
        """The canvas has this frame already: it was connected first."""
        wanted = self._iterations[len(self._pictures)]
        if self.progress is None or frame.applied < self._posted or frame.iteration != wanted:
            return
        self._pictures.append(as_array(self._picture()))
        if len(self._pictures) < len(self._iterations):
            self.progress.setValue(len(self._pictures))
            self._go_on()
            return
        pictures = self._pictures
        self._end()
        self._controller.ask(SaveAnimation(str(self._path), pictures, MILLISECONDS, LAST), self._written, self._refused)

    def _written(self, path: str) -> None:
        self._controller.message.emit(f"Written: {path}")
        self.finished.emit(path)

    def _refused(self, sentence: str) -> None:
        self._controller.message.emit(sentence)
        self.finished.emit("")

    def _cancel(self) -> None:
        self._end()
        self.finished.emit("")

    def _end(self) -> None:
        """Back to where the session was."""
        assert self.progress is not None
        progress, self.progress = self.progress, None
        self._controller.frame.disconnect(self._on_frame)
        progress.canceled.disconnect(self._cancel)
        progress.close()
        progress.deleteLater()
        self._pictures = []
        iteration, playing = self._back
        self._controller.post(Scrub(iteration))
        if playing:
            self._controller.post(Play())


def evenly(first: int, last: int, most: int) -> list[int]:
    """At most so many whole numbers from first to last, both among them."""
    return sorted({int(number) for number in np.linspace(first, last, min(most, last - first + 1)).round()})


def as_array(image: QImage) -> np.ndarray:
    """An image as (h, w, 3) uint8, made smaller where it is larger than an animation should be."""
    if max(image.width(), image.height()) > LARGEST_SIDE:
        keep = Qt.AspectRatioMode.KeepAspectRatio
        image = image.scaled(LARGEST_SIDE, LARGEST_SIDE, keep, Qt.TransformationMode.SmoothTransformation)
    image = image.convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()
