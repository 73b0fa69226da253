"""Tools turn points of the pointer into commands. Nothing here knows about widgets or pixels on the screen.

A `ToolBox` holds what a person has chosen: tool, label, brush size, strength. `press`, `move` and `release` take image
coordinates and return the commands to post at once, so a stroke is on its way while the hand still moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from mrfstudio.engine.commands import Command, Fill, Paint, PaintEllipse, PaintLasso, PaintRectangle
from mrfstudio.ui.gestures import next_gesture

SMALLEST_RADIUS, LARGEST_RADIUS = 0.5, 128.0
ERASE = -1  # the value that empties a pixel, whatever the layer

Point = tuple[float, float]


@dataclass(frozen=True)
class Tool:
    """What a tool button shows."""

    name: str
    title: str
    key: str
    help: str

    @property
    def icon(self) -> str:
        return self.name


TOOLS: tuple[Tool, ...] = (
    Tool(
        "brush",
        "Brush",
        "B",
        "Draw with the chosen label. Shift and a click draw a straight line.",
    ),
    Tool("eraser", "Eraser", "E", "Take away what was drawn. The right button does the same with every tool."),
    Tool("rectangle", "Rectangle", "R", "Drag to fill a rectangle with the chosen label."),
    Tool("ellipse", "Ellipse", "C", "Drag to fill an ellipse, a circle if you drag a square."),
    Tool("lasso", "Lasso", "L", "Draw around an area to fill it."),
    Tool("fill", "Fill", "F", "Click to fill an area of equal pixels with the chosen label."),
    Tool("inspect", "Inspect", "I", "Click a pixel to see what the model believes there and why."),
)

AREAS = ("rectangle", "ellipse", "lasso")
"""Tools that fill an area once it is drawn; they can fill everything but it."""
CORNERS = ("rectangle", "ellipse")
"""Those that two corners describe."""


@dataclass(frozen=True)
class Target:
    """One thing the brush can paint, chosen by a digit key.

    `layer` and `value` go into the commands; `colour` is a label number (its colour in the theme), the name of a colour
    of the theme, or None for ink.
    """

    title: str
    layer: str
    value: int
    colour: int | str | None
    help: str = ""
    soft: bool = False
    """Whether it can be painted with less than full strength."""


SEGMENT_TARGETS: tuple[Target, ...] = (
    Target("Contour seen", "observed", 0, None, "Draw the contour that the model observes; erase where none is seen."),
    Target("Hint OUT", "hints", 1, 1, "Tell the model that these pixels lie outside.", soft=True),
    Target("Hint IN", "hints", 2, 2, "Tell the model that these pixels lie inside.", soft=True),
    Target("Hint CONTOUR", "hints", 0, 0, "Tell the model that these are contour, whatever was seen.", soft=True),
)

INPAINT_TARGETS: tuple[Target, ...] = (
    Target("Unknown", "mask", 1, "unknown", "Hide these pixels: the model fills them in."),
    Target(
        "Known",
        "mask",
        0,
        "accent_soft",
        "Show these pixels. With less than full strength they are doubtful: the model may deviate from them.",
        soft=True,
    ),
)


@dataclass
class ToolBox:
    """The present choices, and the stroke that is being drawn."""

    targets: tuple[Target, ...] = SEGMENT_TARGETS
    tool: str = "brush"
    target_index: int = 0
    radius: float = 0.5
    strength: float = 1.0
    outside: bool = False
    """Whether an area tool fills everything but its area."""
    points: list[Point] = field(default_factory=list)
    """Points of the stroke under way; of a rectangle or ellipse its two corners. Empty when no stroke is."""
    last: Point | None = None
    """Where the last stroke ended, for straight lines."""
    _erasing: bool = False
    _stroke_id: int = 0

    @property
    def target(self) -> Target:
        return self.targets[min(self.target_index, len(self.targets) - 1)]

    @property
    def active(self) -> bool:
        return bool(self.points)

    def erases(self, erase: bool = False) -> bool:
        """Whether a press would erase: the eraser always does, other tools with the right button."""
        return erase or self.tool == "eraser"

    def value(self, erase: bool) -> int:
        return ERASE if self.erases(erase) else self.target.value

    def set_radius(self, radius: float) -> float:
        """Half-pixel steps, so that the ring and what is painted agree."""
        self.radius = min(max(round(radius * 2) / 2, SMALLEST_RADIUS), LARGEST_RADIUS)
        return self.radius

    def resize(self, steps: int) -> float:
        """Grow or shrink the brush by about a tenth a step, at least half a pixel."""
        return self.set_radius(self.radius + math.copysign(max(0.5, self.radius * 0.1), steps) * abs(steps))

    def press(self, point: Point, erase: bool = False, pressure: float = 1.0, line: bool = False) -> list[Command]:
        """Begin. `line` draws a straight line from where the last stroke ended."""
        self._erasing = erase
        self._stroke_id = next_gesture()
        if self.tool == "fill":
            row, column = math.floor(point[1]), math.floor(point[0])
            return [Fill(self.target.layer, self.value(erase), row, column, self._given_strength(erase))]
        if self.tool == "inspect":
            return []
        self.points = [self.last, point] if line and self.last is not None and self.tool not in AREAS else [point]
        if self.tool in AREAS:
            return []
        return [self._segment(tuple(self.points), pressure)]

    def move(self, point: Point, pressure: float = 1.0) -> list[Command]:
        """Go on; the segment joins the last point to this one, so that fast strokes have no gaps."""
        if not self.points or point == self.points[-1]:
            return []
        if self.tool in CORNERS:
            self.points = [self.points[0], point]
            return []
        if self.tool == "lasso":
            self.points.append(point)
            return []
        segment = (self.points[-1], point)
        self.points.append(point)
        return [self._segment(segment, pressure)]

    def release(self, shape: tuple[int, int]) -> list[Command]:
        """End the stroke; an area becomes a command now, a rectangle cut to the picture (height, width)."""
        points, self.points = self.points, []
        if not points:
            return []
        self.last = points[-1]
        return self._area(points, shape) if self.tool in AREAS else []

    def _area(self, points: list[Point], shape: tuple[int, int]) -> list[Command]:
        layer, value = self.target.layer, self.value(self._erasing)
        strength = self._given_strength(self._erasing)
        if self.tool == "lasso":
            return [PaintLasso(layer, value, tuple(points), strength, self.outside)] if len(points) > 2 else []
        cut = rectangle_between(points[0], points[-1], shape)
        if cut is None:
            return []
        if self.tool == "ellipse":  # beyond the picture it is still a part of the shape
            return [PaintEllipse(layer, value, corners(points[0], points[-1]), strength, self.outside)]
        return [PaintRectangle(layer, value, cut, strength, self.outside)]

    def cancel(self) -> None:
        """Forget an area that is being drawn. Brush segments are already posted: undo takes them back."""
        self.points = []

    def _segment(self, points: tuple[Point, ...], pressure: float) -> Paint:
        radius = max(SMALLEST_RADIUS, self.radius * pressure)
        strength = self._given_strength(self._erasing)
        return Paint(self.target.layer, self.value(self._erasing), points, radius, strength, self._stroke_id)

    def _given_strength(self, erase: bool) -> float:
        # Half-erased has no meaning, and what was observed was observed: strength is for what can be soft.
        return 1.0 if self.erases(erase) or not self.target.soft else self.strength


def corners(a: Point, b: Point) -> tuple[int, int, int, int]:
    """Top, left, height, width of the pixels that two corners touch, inside the picture or not."""
    left, right = sorted((math.floor(a[0]), math.floor(b[0])))
    top, bottom = sorted((math.floor(a[1]), math.floor(b[1])))
    return top, left, bottom - top + 1, right - left + 1


def rectangle_between(a: Point, b: Point, shape: tuple[int, int]) -> tuple[int, int, int, int] | None:
    """Top, left, height, width of the pixels that two corners touch, cut to the picture; None if outside."""
    top, left, height, width = corners(a, b)
    bottom, right = min(top + height, shape[0]), min(left + width, shape[1])
    left, top = max(left, 0), max(top, 0)
    return (top, left, bottom - top, right - left) if right > left and bottom > top else None
