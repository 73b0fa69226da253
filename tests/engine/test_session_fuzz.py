"""Thousands of random commands: what a session holds is always what its log says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mrfstudio.engine.commands import (
    AddLane,
    AddNoise,
    ClearLayer,
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
    Undo,
)
from mrfstudio.engine.session import Session
from mrfstudio.engine.timeline import replayed
from mrfstudio.engine.undo import UndoStack
from tests.engine.sessions import assert_same_moment, graph_session, run, segment_session

COMMANDS = 800
CHECK_EVERY = 100


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


def check_replay(session: Session) -> None:
    timeline = session.timeline
    again = replayed(timeline.stage, timeline.origin, timeline.log, session.moment.iteration)
    assert_same_moment(session.moment, again)
    for mine, theirs in zip(session.moment.lanes, again.lanes, strict=True):
        if mine.state is not None:
            left = timeline.stage.view(session.moment, mine)
            right = timeline.stage.view(again, theirs)
            assert left is not None
            assert right is not None
            labels: Any = session.workspace
            assert np.array_equal(labels.labels(left), labels.labels(right))


def busy(session: Session, random: np.random.Generator) -> None:
    """Let the session do some of its work, or all of it."""
    if random.random() < 0.3:
        run(session)
    else:
        for _ in range(random.integers(0, 4)):
            session.advance(0.0)


@pytest.mark.parametrize(
    ("make", "person"),
    [
        (graph_session, lambda: Person(1, {"hints": 2}, ("weak", "strong"), pictures=False)),
        (segment_session, lambda: Person(2, {"observed": 3, "hints": 3}, ("a", "b"), pictures=True)),
    ],
)
def test_random_commands_leave_what_their_log_says(make: Any, person: Any) -> None:
    session = make(memory=100_000, **({} if make is graph_session else {"shape": (7, 8)}))
    session.undo = UndoStack(COMMANDS)
    session.workspace.log_partition_stride = lambda view: 0  # its values are not compared here, its time would be felt
    who, undos = person(), 0
    shadows: list[Any] = []  # what each undo must bring back
    for number in range(COMMANDS):
        run(session)  # a pending seek would make edits wait, and this test compares them at once
        command = who.next(session)
        before, steps = timeline_present(session), len(session.undo)
        session.apply(command)
        run(session) if isinstance(command, Step | Scrub) else busy(session, who.random)
        if isinstance(command, Undo) and steps:
            assert timeline_present(session).same(shadows.pop())
            undos += 1
        elif len(session.undo) > steps:
            shadows.append(before)
        if number % CHECK_EVERY == 0:
            run(session)
            check_replay(session)
    run(session)
    check_replay(session)
    assert undos > 30


def timeline_present(session: Session) -> Any:
    """The document that all commands so far give, wherever the cursor is."""
    return session.timeline.present().document


@pytest.mark.parametrize("seed", [4, 5])
def test_undoing_everything_restores_the_beginning_and_redoing_the_end(seed: int) -> None:
    session = segment_session(shape=(7, 8), memory=100_000)
    session.undo = UndoStack(10_000)
    start, specs = session.document, lane_specs(session)
    who = Person(seed, {"observed": 3, "hints": 3}, ("a", "b"), pictures=True)
    for _ in range(300):
        session.apply(who.next(session))
        busy(session, who.random)
    session.apply(Pause())
    run(session)
    end, end_specs = timeline_present(session), lane_specs(session)
    steps = len(session.undo)
    assert steps > 20
    for _ in range(steps):
        session.apply(Undo())
        session.advance(0.0)
    assert len(session.undo) == 0
    assert session.document.same(start)
    assert lane_specs(session) == specs
    for _ in range(steps):
        session.apply(Redo())
    assert session.document.same(end)
    assert lane_specs(session) == end_specs
    run(session)
    check_replay(session)


def lane_specs(session: Session) -> Any:
    moment = session.timeline.present()
    lanes = [(lane.number, lane.model_name, lane.algorithm, lane.limit) for lane in moment.lanes]
    return lanes, moment.limits
