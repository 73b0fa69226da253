"""Tools turn points of the pointer into commands. Nothing here knows about widgets or pixels on the screen.

A `ToolBox` holds what a person has chosen: tool, label, brush size, strength. `press`, `move` and `release` take image
coordinates and return the commands to post at once, so a stroke is on its way while the hand still moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from mrfstudio.engine.protocol.commands import Command, Fill, Paint, PaintEllipse, PaintLasso, PaintRectangle
from mrfstudio.engine.protocol.commands.base import next_gesture
from mrfstudio.ui.canvas.pencil import Pencil

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
        "Draw a smooth line with the chosen label. Shift and a click draw a straight line.",
    ),
    Tool("eraser", "Eraser", "E", "Take away what was drawn. The right button does the same with every tool."),
    Tool("rectangle", "Rectangle", "R", "Drag a rectangle: its outline as a contour, or its area as a hint or mask."),
    Tool("ellipse", "Ellipse", "C", "Drag an ellipse: its outline as a contour, or its area as a hint or mask."),
    Tool("lasso", "Lasso", "L", "Draw a closed line: itself as a contour, or what it goes around as a hint or mask."),
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
    of the theme, `#rrggbb`, or None for ink.
    """

    title: str
    layer: str
    value: int
    colour: int | str | None
    help: str = ""
    soft: bool = False
    """Whether it can be painted with less than full strength."""
    leaning: int | None = None
    """What is painted instead of `value` with less than full strength, on layers that keep no strengths."""
    lines: bool = False
    """Whether it is made of lines: areas then are drawn as their outlines, unless Shift fills them."""


SEGMENT_TARGETS: tuple[Target, ...] = (
    Target(
        "Contour seen",
        "observed",
        0,
        None,
        "Draw the contour that the model observes; erase where none is seen. Rectangle, ellipse and lasso draw "
        "outlines; with Shift they fill.",
        lines=True,
    ),
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
    _filling: bool = False
    _stroke_id: int = 0
    _pencil: Pencil = field(default_factory=Pencil)
    _pressure: float = 1.0

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
        if self.erases(erase):
            return ERASE
        target = self.target
        return target.value if target.leaning is None or self.strength >= 1 else target.leaning

    def set_radius(self, radius: float) -> float:
        """Half-pixel steps, so that the ring and what is painted agree."""
        self.radius = min(max(round(radius * 2) / 2, SMALLEST_RADIUS), LARGEST_RADIUS)
        return self.radius

    def resize(self, steps: int) -> float:
        """Grow or shrink the brush by about a tenth a step, at least half a pixel."""
        return self.set_radius(self.radius + math.copysign(max(0.5, self.radius * 0.1), steps) * abs(steps))

    def press(self, point: Point, erase: bool = False, pressure: float = 1.0, line: bool = False) -> list[Command]:
        """Begin. `line`, which is Shift, draws a straight line from where the last stroke ended, or fills an area."""
        self._erasing, self._filling, self._pressure = erase, line, pressure
        self._stroke_id = next_gesture()
        if self.tool == "fill":
            row, column = math.floor(point[1]), math.floor(point[0])
            return [Fill(self.target.layer, self.value(erase), row, column, self._given_strength(erase))]
        if self.tool == "inspect":
            return []
        self.points = [point]
        if self.tool in AREAS:
            return []
        begun = self._put_down(point)
        return self._painted((self.last, point) if line and self.last is not None else begun)

    def move(self, point: Point, pressure: float = 1.0, straight: bool = False) -> list[Command]:
        """Go on, along a smooth curve that joins on, so that fast strokes have no gaps; or `straight` to this point."""
        if not self.points or point == self.points[-1]:
            return []
        if self.tool in CORNERS:
            self.points = [self.points[0], point]
            return []
        if self.tool == "lasso":
            self.points.append(point)
            return []
        last, self._pressure = self.points[-1], pressure
        self.points.append(point)
        if not straight:
            return self._painted(self._pencil.to(point))
        self._put_down(point)
        return self._painted((last, point))

    def release(self, shape: tuple[int, int]) -> list[Command]:
        """End the stroke; an area becomes a command now, a rectangle cut to the picture (height, width)."""
        points, self.points = self.points, []
        if not points:
            return []
        self.last = points[-1]
        return self._area(points, shape) if self.tool in AREAS else self._painted(self._pencil.end())

    def _area(self, points: list[Point], shape: tuple[int, int]) -> list[Command]:
        layer, value = self.target.layer, self.value(self._erasing)
        strength, outline = self._given_strength(self._erasing), self.outlines
        how = (strength, self.outside and not outline, outline)
        if self.tool == "lasso":
            return [PaintLasso(layer, value, tuple(points), *how)] if len(points) > 2 else []
        cut = rectangle_between(points[0], points[-1], shape)
        if cut is None:
            return []
        if self.tool == "ellipse":  # beyond the picture it is still a part of the shape
            return [PaintEllipse(layer, value, corners(points[0], points[-1]), *how)]
        return [PaintRectangle(layer, value, corners(points[0], points[-1]) if outline else cut, *how)]

    @property
    def outlines(self) -> bool:
        """Whether the area being drawn is to be a line around it. What is erased is erased whole."""
        return self.target.lines and not self._filling and not self.erases(self._erasing)

    def _put_down(self, point: Point) -> tuple[Point, ...]:
        fine = self.radius <= SMALLEST_RADIUS and not self.erases(self._erasing)
        return self._pencil.begin(point, fine)

    def cancel(self) -> None:
        """Forget an area that is being drawn. Brush segments are already posted: undo takes them back."""
        self.points = []

    def _painted(self, points: tuple[Point, ...]) -> list[Command]:
        if not points:
            return []
        radius = max(SMALLEST_RADIUS, self.radius * self._pressure)  # a pen that is pressed less paints finer
        strength = self._given_strength(self._erasing)
        return [Paint(self.target.layer, self.value(self._erasing), points, radius, strength, self._stroke_id)]

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
