"""One canvas, or two side by side while two lanes are compared: same tools, same place, same zoom."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QSplitter, QVBoxLayout, QWidget

from mrfstudio.engine.protocol.commands import Command
from mrfstudio.engine.protocol.frames import Frame, LaneFrame
from mrfstudio.ui.canvas import Canvas
from mrfstudio.ui.style.theme import px
from mrfstudio.ui.widgets.lane_names import LETTERS

GIVEN = ("observed", "hints", "truth", "picture", "mask", "difference", "photograph", "strokes")


class Canvases(QSplitter):
    """The first canvas is always there; `compare` shows the second one, on the second lane."""

    command = Signal(object)
    view_changed = Signal()
    play_pause = Signal()
    hovered = Signal(object)
    pixel_clicked = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setChildrenCollapsible(False)
        self.first, self.second = Canvas(), Canvas()
        self.headings = (QLabel(), QLabel())
        self._linking = False
        self.pair: tuple[int, int | None] = (0, None)
        """The lanes at the left and at the right; where they are not in a frame, its first two."""
        self._places: list[QWidget] = []
        for canvas, heading in zip((self.first, self.second), self.headings, strict=True):
            self._places.append(self._place(canvas, heading))
            self.addWidget(self._places[-1])
            canvas.command.connect(self.command)
            canvas.play_pause.connect(self.play_pause)
            canvas.hovered.connect(self.hovered)
            canvas.pixel_clicked.connect(self.pixel_clicked)
        self.second.tools = self.first.tools  # one hand, one brush
        for name in ("tool_changed", "target_changed", "radius_changed", "strength_changed", "outside_changed"):
            getattr(self.second, name).connect(getattr(self.first, name))
        self.first.view_changed.connect(lambda _: self._link(self.first, self.second))
        self.second.view_changed.connect(lambda _: self._link(self.second, self.first))
        self.second.set_lane(1)
        self.compare(False)

    def _place(self, canvas: Canvas, heading: QLabel) -> QWidget:
        holder = QWidget()
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        row = QHBoxLayout()
        row.addWidget(heading)
        # A long name does not push the canvases apart.
        heading.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        heading.setContentsMargins(px(self, 8), px(self, 2), px(self, 8), px(self, 4))
        column.addLayout(row)
        column.addWidget(canvas, 1)
        return holder

    @property
    def comparing(self) -> bool:
        return not self._places[1].isHidden()

    def compare(self, on: bool) -> None:
        """Show one lane or two."""
        self._places[1].setVisible(on)
        for heading in self.headings:
            heading.setVisible(on)
        if on:
            self.setSizes([self.width() // 2, self.width() // 2])

    def both(self) -> tuple[Canvas, ...]:
        """The canvases that are seen."""
        return (self.first, self.second) if self.comparing else (self.first,)

    def set_frame(self, frame: Frame) -> None:
        shown = self.shown(frame)
        for canvas, heading, lane in zip((self.first, self.second), self.headings, shown, strict=False):
            canvas.set_lane(lane.lane)
            if self.comparing:
                heading.setText(titled(lane))
                heading.setToolTip(titled(lane))
        for canvas in (self.first, self.second):  # the hidden one too, or it would stay stale
            canvas.set_frame(frame)

    def shown(self, frame: Frame) -> tuple[LaneFrame, ...]:
        """The one or two lanes of a frame that are looked at."""
        by_number = {lane.lane: lane for lane in frame.lanes}
        chosen = [by_number.pop(number) for number in self.pair if number in by_number]
        return (*chosen, *by_number.values())[:2]

    def set_visible_layers(self, visible: Mapping[str, float], direction: int | None) -> None:
        """Layers with their opacity; where the lanes differ is shown on the second canvas instead of its labels."""
        self.first.set_visible_layers({name: opacity for name, opacity in visible.items() if name != "difference"})
        given = {name: opacity for name, opacity in visible.items() if name in GIVEN}
        self.second.set_visible_layers(given if "difference" in visible else visible)
        for canvas in (self.first, self.second):
            canvas.set_residual_direction(direction)

    def posted(self, command: Command, number: int) -> None:
        for canvas in self.both():
            canvas.posted(command, number)

    def wanted_rectangle(self) -> tuple[int, int, int, int] | None:
        """The pixels that can be seen, and as many again around them so that panning finds them there; None is all."""
        top, left, height, width = self.first.visible_rectangle()
        rows, columns = self.first.scene.shape
        if height >= rows and width >= columns:
            return None
        return max(top - height // 2, 0), max(left - width // 2, 0), 2 * height + 1, 2 * width + 1

    def _link(self, moved: Canvas, other: Canvas) -> None:
        if not self._linking:
            self._linking = True
            if self.comparing:
                other.fitted = moved.fitted
                other.set_transform(moved.transform)
            self._linking = False
            self.view_changed.emit()


def titled(lane: LaneFrame) -> str:
    """`A  grid-border-64, iteration 15`."""
    what = lane.title or f"{lane.model.rsplit('/', 1)[-1]}, {lane.algorithm}"
    return f"<b>{LETTERS[lane.lane]}</b>&nbsp; {escape(what)}, iteration {lane.iteration}"
