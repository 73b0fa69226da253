"""A session: one evidence, one to six lanes, one undo stack. Commands go in, frames come out; one thread uses it.

    session = Session(SegmentWorkspace(), "grid-border-64")
    session.apply(Paint("observed", 0, ((3.5, 4.5), (20.5, 4.5)), radius=1))
    frame = session.advance(0.01)

Here are transport and the view; what the other files do is in `__init__.py`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from typing import Any

from mrfstudio.engine.inference.run import Limits
from mrfstudio.engine.protocol.commands import (
    Command,
    Opening,
    Pause,
    Play,
    Redo,
    Restart,
    Scrub,
    SetSpeed,
    SetView,
    Step,
    Transport,
    Undo,
)
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.runtime.interruption import Interrupted, interruptible, stop_if_interrupted
from mrfstudio.engine.session.apply import MOST_ITERATIONS, Continue, apply_command, make_lane
from mrfstudio.engine.session.comparison import Comparer
from mrfstudio.engine.session.document import Document
from mrfstudio.engine.session.frame_maker import FrameMaker
from mrfstudio.engine.session.history import BUDGET
from mrfstudio.engine.session.lane_runner import LaneRunner
from mrfstudio.engine.session.lanes import TimelinePoint
from mrfstudio.engine.session.measurements import Measurements
from mrfstudio.engine.session.timeline import Timeline
from mrfstudio.engine.session.undo import UndoStack, before_step, do_again, take_back
from mrfstudio.engine.workspaces.workspace import Workspace

LOOK_AGAIN = 0.1
"""Seconds between two looks at whether exact marginals have come."""


class Session:
    """See the module's text. A refused command changes nothing; its reason is the next frame's `message`."""

    def __init__(
        self,
        workspace: Workspace,
        model: str,
        algorithm: str = "bp",
        parameters: dict[str, Any] | None = None,
        *,
        document: Document | None = None,
        beside: Sequence[tuple[str, dict[str, Any]]] = (),
        limits: Limits | None = None,
        memory: int = BUDGET,
        threads: int | None = None,
        playing: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        runner = LaneRunner(workspace, threads)
        document = document or workspace.blank()
        chosen = [(algorithm, parameters or {}), *beside]  # `beside`: algorithms and parameters of further lanes
        lanes = tuple(make_lane(runner, document, number, model, *each) for number, each in enumerate(chosen))
        usual = workspace.limits.replace(iterations=workspace.iterations(lanes[0].model))
        origin = TimelinePoint(0, document, lanes, limits or usual)
        self._take(Timeline(runner, origin, memory), playing, clock)

    @classmethod
    def of_timeline(cls, timeline: Timeline, clock: Callable[[], float] = time.monotonic) -> Session:
        """A paused session that goes on from a timeline, as read from a file."""
        session = cls.__new__(cls)
        session._take(timeline, False, clock)
        return session

    def _take(self, timeline: Timeline, playing: bool, clock: Callable[[], float]) -> None:
        self.timeline = timeline
        self.undo = UndoStack.of_size(timeline.runner.workspace.undo_memory)
        self.playing = playing
        """Whether the person wants iterations to run; they run while any lane has not ended."""
        self.speed: float | None = None
        self.measurements = Measurements(timeline.runner)
        self.comparer = Comparer(timeline.runner, self.measurements, clock)
        self._frames = FrameMaker(self, clock)
        self._clock = clock
        self._goal: int | None = None  # the iteration that Step asked for
        self._due = -math.inf  # the clock's time of the next iteration
        self._waiting: list[tuple[Command, int]] = []  # edits given while a past point is being recomputed
        self.number = self._saved = 0  # of the last command; edits that a file holds
        self._kept: TimelinePoint | None = timeline.point  # what it was then; None where no file holds anything of it
        self.file = ""
        """The file that it was last saved in or read from; empty once another picture or graph takes its place."""
        self._edits = 0
        self._message = ""
        self._dirty = True  # something changed since the last frame
        self._answer_first = False  # evidence changed since the last frame
        self._midway = False  # an iteration was interrupted
        self._held: list[Command] = []  # edits that came in its middle
        self._preview: TimelinePoint | None = None  # what is shown, those edits among it

    # What a session is ------------------------------------------------------------------------------------------------

    @property
    def workspace(self) -> Workspace:
        return self.timeline.runner.workspace

    @property
    def point(self) -> TimelinePoint:
        """The present point, without edits that wait for the end of an iteration."""
        return self.timeline.point

    @property
    def shown(self) -> TimelinePoint:
        """What is shown."""
        return self._preview or self.point

    @property
    def document(self) -> Document:
        return self.point.document

    @property
    def modified(self) -> bool:
        """Whether there is work that no file holds. Who has undone everything has nothing to lose."""
        if self._held:
            return True
        if self._edits == self._saved:
            return False
        # The past may lack what was painted later.
        return self._kept is None or self.timeline.in_past or not self.point.same_work(self._kept)

    @property
    def worth_saving(self) -> bool:
        """Whether a person is asked before it is lost: where no file holds it, moved sliders alone are no work."""
        if self.file or self._held or self._kept is None or self.timeline.in_past:
            return self.modified
        return self.modified and not self.point.same_but_for_sliders(self._kept)

    @property
    def revision(self) -> int:
        """How many edits there were, those that undo made among them."""
        return self._edits

    @property
    def applied(self) -> int:
        """The number of the last command whose effect a frame would show."""
        return self._waiting[0][1] - 1 if self._waiting else self.number

    @property
    def running(self) -> bool:
        """Whether iterations are to be computed, now or when they are due."""
        if self.timeline.target is not None or self._goal is not None:
            return True
        return self.playing and (self.point.active or self.timeline.in_past)

    @property
    def wait(self) -> float | None:
        """Seconds until `advance` has something to do: 0 now, None never."""
        asked = self.timeline.target is not None or self._goal is not None
        if self._dirty or asked or self.measurements.is_unfinished():
            return 0.0
        waits = [LOOK_AGAIN] if self.comparer.waiting else []
        if self.running:
            waits.append(max(0.0, self._due - self._clock()))
        return min(waits, default=None)

    def mark_saved(self) -> None:
        self._saved, self._kept = self._edits, self.timeline.present().lean()
        self._dirty = True

    def mark_unsaved(self) -> None:
        """Say that no file holds what is here, such as after a crash."""
        self._saved, self._kept = -1, None
        self._dirty = True

    def close(self) -> None:
        """The session is not used any more: end what was started for it."""
        self.comparer.close()

    def say(self, message: str) -> None:
        """Put a sentence into the next frame."""
        self._message = message
        self._dirty = True

    # Commands ---------------------------------------------------------------------------------------------------------

    def apply(self, command: Command, number: int | None = None) -> Command | None:
        """Do what a command says. Returns the command that undoes it, None if there is nothing to undo.

        `number` is the sender's; frames say which one they show. A command that cannot be done is refused in the next
        frame's message. An edit given while a past point is recomputed waits for it. One given in the middle of an
        iteration is shown at once and applies after that iteration.
        """
        self.number = self.number + 1 if number is None else number
        self._dirty = True
        if self._midway and not isinstance(command, SetView | SetSpeed | Play):
            if self._hold(command):
                return None
            self.settle()
        beginning = isinstance(command, Restart | Opening)
        if self.timeline.target is not None and beginning:
            self.timeline.target = None  # there will be no past to look at
            self._flush_waiting()
        elif self.timeline.target is not None and (command.undoable or isinstance(command, Undo | Redo)):
            self._waiting.append((command, self.number))
            return None
        return self._do(command)

    def _hold(self, command: Command) -> bool:
        """Show what an edit changes, and keep it until the iteration ends; False where that is not possible."""
        if not command.undoable or self.timeline.in_past:
            return False
        try:
            edited = apply_command(self.timeline.runner, self.shown, command)
        except StudioError:
            return False  # it is refused as always
        if edited.restarts or not edited.changed:
            return False
        self._preview = self.timeline.runner.begun(edited.point)
        self._held.append(command)
        self._answer_first = True
        return True

    def settle(self) -> None:
        """Give up an iteration that was interrupted, and apply the edits that waited for its end."""
        self._midway, self._preview = False, None
        held, self._held = self._held, []
        for command in held:
            self._do(command)

    def _do(self, command: Command) -> Command | None:
        try:
            if isinstance(command, Transport):
                self._transport(command)
                return None
            before = before_step(self.timeline, self.measurements)
            edited = self.timeline.apply(command)
        except StudioError as refusal:
            self._message = str(refusal)
            return None
        self._answer_first = True  # also where nothing changed: the person waits for a sign
        if edited.changed:
            self._changed(edited.restarts)
            if command.replaces:
                self.file = ""  # what is new must not be saved over what was there before
        if edited.inverse is not None:
            self.undo.push(command, edited.inverse, before)
            self.timeline.history.others = self.undo.bytes
        return edited.inverse

    def _changed(self, restarts: bool) -> None:
        self._edits += 1
        self._answer_first = True
        self._goal = None
        self.measurements.cut(-1 if restarts else self.timeline.iteration)

    def _transport(self, command: Transport) -> None:
        timeline = self.timeline
        if isinstance(command, Play):
            self.playing, self._goal = True, None
            if timeline.target is None and not timeline.in_past and not self.point.active:
                timeline.apply(Continue(self.point.limits.iterations))
        elif isinstance(command, Pause):
            self.playing, self._goal = False, None
        elif isinstance(command, Step):
            self._step(command.count)
        elif isinstance(command, Scrub):
            self._seek(command.iteration)
        elif isinstance(command, SetSpeed):
            self.set_speed(command.iterations_per_second)
        elif isinstance(command, Restart):
            timeline.restart()
            self._goal = None
            self.measurements.cut(-1)
        elif isinstance(command, Undo | Redo):
            act = take_back if isinstance(command, Undo) else do_again
            self._message = act(self.undo, self.timeline, self.measurements, self._changed) or self._message
            timeline.history.others = self.undo.bytes
        elif isinstance(command, SetView):
            self._set_view(command)
        else:
            raise StudioError(f"A session does not know the command {type(command).__name__}.")

    def _set_view(self, view: SetView) -> None:
        wanted = self._frames.wants("strip")
        self._frames.view = view
        if self._frames.wants("strip") and not wanted:
            first = min(lane.base for lane in self.point.lanes)
            past = [m for m in self.timeline.history.since(first) if m.iteration <= self.point.iteration]
            self.measurements.fill_strips(past, self.point)

    def _step(self, count: int) -> None:
        if not -MOST_ITERATIONS <= count <= MOST_ITERATIONS:
            raise StudioError(f"Step by {count} iterations: expected at most {MOST_ITERATIONS} at once.")
        target = self.timeline.target
        here = self._goal if self._goal is not None else self.point.iteration if target is None else target
        if here + count <= self.timeline.newest:
            self._seek(here + count)
        else:
            self.playing, self._goal = False, here + count

    def _seek(self, iteration: int) -> None:
        self.playing, self._goal = False, None
        self.timeline.seek(iteration, with_previous=self._frames.wants("residual"))

    def set_speed(self, speed: float | None) -> None:
        """Iterations a second, None as fast as possible. Raises `StudioError`."""
        if speed is not None and not (math.isfinite(speed) and speed > 0):
            raise StudioError(f"The speed is {speed} iterations a second: expected a number above 0.")
        self.speed = speed
        self._due = self._clock()

    def _flush_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for command, _ in waiting:
            self._do(command)

    # Time -------------------------------------------------------------------------------------------------------------

    def advance(self, budget: float, interrupted: Callable[[], bool] | None = None) -> Frame | None:
        """Compute whole iterations for about `budget` seconds and report; None if there is nothing new to say.

        A frame that shows a new stroke comes before the next iteration. As soon as `interrupted()` is true the call
        ends, if need be in the middle of an iteration; the next call goes on with that.
        """
        deadline = self._clock() + budget

        def more() -> bool:
            return self._clock() < deadline

        if self._answer_first:
            self._answer_first = False
        else:
            with suppress(Interrupted), interruptible(interrupted) if interrupted else nullcontext():
                self._work(more)
        if self.comparer.waiting and self.comparer.poll():
            self._dirty = True
        if not self._dirty:
            return None
        self._dirty = False
        message, self._message = self._message, ""
        return self._frames.frame(message)

    def _work(self, more: Callable[[], bool]) -> None:
        if self.measurements.is_unfinished():
            self.measurements.finish()
            self._dirty = True
            return
        if self.timeline.target is not None:
            if self.timeline.walk(more, self._passed):
                self._dirty = True
                self._flush_waiting()
            return
        while self._is_due():
            self._tick()
            if self.measurements.is_unfinished() or not more():
                break
            stop_if_interrupted()

    def _passed(self, point: TimelinePoint) -> None:
        if self.measurements.lacks(point):
            self.measurements.measure(point, strip=self._frames.wants("strip"))

    def _is_due(self) -> bool:
        if self._goal is not None:
            return True
        return self.running and self._clock() >= self._due

    def _tick(self) -> None:
        timeline = self.timeline
        if self._goal is not None and not timeline.in_past and not self.point.active:
            timeline.apply(Continue(1))
            if not self.point.active:  # every lane was stopped by an error, or its answer is final
                self._goal = None
                return
        try:
            new = timeline.forward()
        except Interrupted:
            self._midway = True
            raise
        if new:
            self.measurements.measure(timeline.point, strip=self._frames.wants("strip"))
        self.settle()
        self._answer_first = False
        self._dirty = True
        self._frames.ticked()
        if self._goal is not None and timeline.iteration >= self._goal:
            self._goal = None
        if self.speed is not None:
            # Counted from when it was due, so that one late iteration does not slow all that follow; but not from long
            # ago, or they would come in a rush.
            self._due = max(self._due + 1 / self.speed, self._clock() - 1 / self.speed)
