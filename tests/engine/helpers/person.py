"""Somebody who does anything at any time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mrfstudio.engine.protocol.commands import (
    AddLane,
    AddNoise,
    ClearLayer,
    CloseGaps,
    Command,
    Fill,
    Invert,
    Paint,
    PaintEllipse,
    PaintLasso,
    PaintRectangle,
    Pause,
    Play,
    Redo,
    RemoveLane,
    Restart,
    Scrub,
    SetAlgorithm,
    SetImage,
    SetLimits,
    SetModel,
    SetParameter,
    SetSpeed,
    SetView,
    Step,
    Thin,
    Undo,
)
from mrfstudio.engine.session.session import Session
from tests.engine.helpers.sessions import run


class Person:
    """Draws random commands: mostly strokes, now and then something rare, sometimes nonsense."""

    def __init__(self, seed: int, layers: dict[str, int], models: tuple[str, ...], pictures: bool) -> None:
        self.random = np.random.default_rng(seed)
        self.layers, self.models, self.pictures = layers, models, pictures
        # On a grid the others work through the factor graph, which is slow and is tested without pictures.
        self.algorithms = ["bp", "bp"] if pictures else ["bp", "mean-field"]
        self.kernels = ["auto"] if pictures else ["auto", "generic"]
        self.stroke = 0

    def next(self, session: Session) -> Command:
        tools: list[tuple[int, Callable[[Session], Command]]] = [
            (30, self.paint),
            (6, lambda s: PaintRectangle(*self.layer(), self.box(), self.strength())),
            (3, lambda s: PaintEllipse(*self.layer(), self.box(), self.strength(), self.random.random() < 0.2)),
            (3, lambda s: PaintLasso(*self.layer(), self.points(3), self.strength(), self.random.random() < 0.2)),
            (1, lambda s: PaintEllipse(*self.layer(), self.box(), outline=True)),
            (1, lambda s: self.pick([Thin(), CloseGaps(int(self.random.integers(0, 9)))])),
            (1, lambda s: Invert(self.layer()[0])),
            (4, lambda s: Fill(*self.layer(), *self.pixel(s), self.strength())),
            (2, lambda s: ClearLayer(self.layer()[0])),
            (8, lambda s: Undo()),
            (5, lambda s: Redo()),
            (10, lambda s: Step(int(self.random.integers(1, 4)))),
            (4, lambda s: Step(-int(self.random.integers(1, 4)))),
            (4, lambda s: Scrub(int(self.random.integers(-2, s.timeline.newest + 3)))),
            (4, lambda s: Play()),
            (3, lambda s: Pause()),
            (1, lambda s: Restart()),
            (1, lambda s: SetSpeed(self.pick([None, 1e6, -1.0]))),
            (2, lambda s: SetView(("belief", "residual"), self.box() if self.random.random() < 0.5 else None)),
            (4, lambda s: SetParameter(self.lane(), "damping", self.pick([0.0, 0.3, 0.5, 2.0]), self.gesture())),
            (1, lambda s: SetParameter(self.lane(), "kernel", self.pick(self.kernels))),
            (2, lambda s: SetLimits(int(self.random.integers(0, 8)), 1e-5, self.pick([None, None, 0, 1]))),
            (1, lambda s: SetAlgorithm(self.lane(), self.pick([*self.algorithms, "nothing"]))),
            (1, lambda s: SetModel(self.lane(), self.pick([*self.models, "nothing"]))),
            (1, lambda s: AddLane(self.pick(self.models), self.pick(self.algorithms), limit=self.pick([None, 3]))),
            (2, lambda s: RemoveLane(self.lane())),
        ]
        if self.pictures:
            tools += [(1, self.image), (2, lambda s: AddNoise(1, 0.2, int(self.random.integers(9))))]
        weights = np.array([weight for weight, _ in tools], float)
        return tools[self.random.choice(len(tools), p=weights / weights.sum())][1](session)

    def pick(self, values: Any) -> Any:
        return values[self.random.integers(len(values))]

    def lane(self) -> int:
        return int(self.random.integers(3))

    def gesture(self) -> int:
        return int(self.random.integers(3))

    def layer(self) -> tuple[str, int]:
        name = self.pick(sorted(self.layers))
        return name, int(self.random.integers(-1, self.layers[name] + (self.random.random() < 0.05)))

    def strength(self) -> float:
        return float(self.pick([1.0, 1.0, 0.5, 0.2, 0.0]))

    def box(self) -> tuple[int, int, int, int]:
        top, left, height, width = (int(v) for v in self.random.integers(-2, 9, 4))
        return top, left, height, width

    def pixel(self, session: Session) -> tuple[int, int]:
        height, width = session.document.shape
        return int(self.random.integers(height + 1)), int(self.random.integers(width))

    def paint(self, session: Session) -> Command:
        self.stroke += int(self.random.random() < 0.4)
        points = self.points(1)
        radius = float(self.pick([0.3, 0.7, 1.5, 4.0]))
        return Paint(*self.layer(), points, radius, self.strength(), self.stroke)

    def points(self, fewest: int) -> tuple[tuple[float, float], ...]:
        count = self.random.integers(fewest, fewest + 3)
        return tuple((float(x), float(y)) for x, y in self.random.uniform(-2, 10, (count, 2)))

    def image(self, session: Session) -> Command:
        shape = tuple(int(v) for v in self.random.integers(5, 9, 2))
        truth = self.random.integers(0, 3, shape) if self.random.random() < 0.5 else None
        return SetImage(self.random.integers(0, 3, shape), truth, "random")


def busy(session: Session, random: np.random.Generator) -> None:
    """Let the session do some of its work, or all of it."""
    if random.random() < 0.3:
        run(session)
    else:
        for _ in range(random.integers(0, 4)):
            session.advance(0.0)
