"""What Converge asks the engine besides frames: one question of a kind at a time, the newest when the last is answered.

So the gauge follows a dragged slider as fast as the engine answers, and no faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from mrfstudio.engine.protocol.answers import (
    Frustrated,
    Guarantee,
    GuaranteedAlphas,
    MessageWork,
    SigmaMap,
    Suspects,
    Swings,
    Trial,
)
from mrfstudio.engine.protocol.frames import Frame, GraphFrame, LaneFrame
from mrfstudio.engine.protocol.requests import Request
from mrfstudio.engine.protocol.requests.converge import (
    AskGuarantee,
    AskGuaranteedAlphas,
    ExplainMessage,
    FindFrustrated,
    FindSuspects,
    FindSwings,
    MapSigma,
    TryTips,
)
from mrfstudio.ui.engine.controller import Controller

A = TypeVar("A")

LOOK_AFTER = 12
"""Iterations since the last edit after which oscillations can be seen."""
LIST_EVERY = 1.0
"""Seconds between two lists of suspects while a run goes on."""
LOOK_EVERY = 0.4
"""Seconds between two looks while a run goes on."""


class Questions(QObject):
    """Feed it frames; it emits answers that still fit what is shown."""

    guarantee = Signal(object)
    interval = Signal(object)
    swings = Signal(object)
    suspects = Signal(object)
    trials = Signal(object)
    """What the tips of the last swings would do, a `Trial` each."""
    work = Signal(object)
    """How a message was computed: `MessageWork`."""
    no_work = Signal(str)
    frustrated = Signal(object)
    """`Frustrated`, or None where nobody wants to see them."""
    sigma_map = Signal(object, bool)
    """A map or None, and whether a finer one is on its way."""
    no_map = Signal(str)

    def __init__(self, controller: Controller, workspace: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._controller, self._workspace = controller, workspace
        self._session = 0
        self._wanted: tuple = ()
        self._open: set[str] = set()
        self._answered: dict[str, tuple] = {}
        self._looked_at = 0.0
        self._looked: tuple = ()
        self._swinging = False
        self.map_shown = self._frustrated_shown = self._suspects_shown = False
        self._tried: tuple = ()
        self._listed: tuple = ()
        self._listed_at = 0.0
        self._explained: tuple | None = None  # factor, axis and changed numbers that are looked at
        self._map_key: tuple = ()
        self._map_range = (0.0, 0.0)
        self._frame: Frame | None = None
        self._lane_frame: LaneFrame | None = None
        self._lane = 0

    @property
    def quiet(self) -> bool:
        """Whether nothing that was asked is still open."""
        return not self._open

    def reset(self) -> None:
        """Another session: whatever is still on its way is about something else."""
        self._session += 1
        self._answered.clear()
        self._map_key = ()
        self._frame = self._lane_frame = None

    def on_frame(self, frame: Frame, lane: LaneFrame) -> None:
        """Ask what a new frame makes worth asking."""
        self._frame, self._lane_frame, self._lane = frame, lane, lane.lane
        self._wanted = (self._session, frame.revision, lane.lane)
        self._ask_next()
        self._look(frame, lane)
        self._ask_frustrated()
        self._ask_work()
        self._ask_suspects()
        self._ask_map()

    # Guarantee --------------------------------------------------------------------------------------------------------

    def _ask_next(self) -> None:
        """The verdict first; the interval of α when nobody waits for a verdict."""
        if "guarantee" in self._open or "interval" in self._open:
            return
        if self._answered.get("guarantee") != self._wanted:
            self._ask("guarantee", AskGuarantee(self._lane), self._on_guarantee)
        elif self._answered.get("interval") != self._wanted:
            self._ask("interval", AskGuaranteedAlphas(self._lane), self._on_interval)

    def _on_guarantee(self, found: Guarantee) -> None:
        self.guarantee.emit(found)
        if self._answered.get("interval") != self._wanted:
            self.interval.emit(None)
        self._ask_next()

    def _on_interval(self, found: GuaranteedAlphas) -> None:
        if self._answered["interval"] == self._wanted:
            self.interval.emit(found)
        self._ask_next()

    def _ask(self, kind: str, request: Request[A], then: Callable[[A], None]) -> None:
        asked = self._wanted
        self._open.add(kind)

        def answered(value: A) -> None:
            self._open.discard(kind)
            self._answered[kind] = asked
            if asked[0] == self._session:
                then(value)
            else:
                self._ask_again()

        def refused(sentence: str) -> None:
            self._open.discard(kind)
            self._answered[kind] = asked
            if asked[0] == self._session:
                self._controller.message.emit(sentence)
            else:
                self._ask_again()

        if self._controller.workspace == self._workspace:
            self._controller.ask(request, answered, refused)
        else:
            self._open.discard(kind)

    def _ask_again(self) -> None:
        """An answer about an earlier session came: what is shown may have waited for it, and no frame may follow."""
        if self._frame is not None and self._lane_frame is not None:
            self.on_frame(self._frame, self._lane_frame)

    # Oscillations -----------------------------------------------------------------------------------------------------

    def _look(self, frame: Frame, lane: LaneFrame) -> None:
        """Look for oscillations now and then while messages change, and once more when the run has ended."""
        place = (*self._wanted, lane.iteration)
        early = lane.iteration - lane.base < LOOK_AFTER
        if lane.status == "converged" or early:
            self._show_swings(None)
            return
        ended = not frame.playing and self._looked != place
        due = frame.playing and time.monotonic() - self._looked_at >= LOOK_EVERY
        if "swings" not in self._open and (ended or due):
            self._looked_at, self._looked = time.monotonic(), place
            wanted = self._wanted
            self._ask("swings", FindSwings(self._lane), lambda found: self._on_swings(found, wanted))

    def _on_swings(self, found: Swings, wanted: tuple) -> None:
        if wanted == self._wanted:
            if self._lane_frame is not None and self._lane_frame.status == "converged":
                return  # asked while the run went on: it has come to rest since
            self._show_swings(found if found.count or found.tips else None)
            self._try(found)
        if self._frame is not None and self._lane_frame is not None:
            self._look(self._frame, self._lane_frame)  # the run may have ended meanwhile, and no frame follows

    def _try(self, found: Swings) -> None:
        """What the tips would do, once for each edit and each set of tips, when the run has ended."""
        ended = self._frame is not None and not self._frame.playing
        titles = tuple(tip.title for tip in found.tips)
        if found.tips and ended and self._tried != (self._wanted, titles) and "trials" not in self._open:
            self._tried = (self._wanted, titles)
            wanted = self._wanted
            self._ask("trials", TryTips(self._lane, found.tips), lambda trials: self._on_trials(trials, wanted))

    def _on_trials(self, trials: tuple[Trial, ...], wanted: tuple) -> None:
        if wanted == self._wanted:
            self.trials.emit(trials)

    def _show_swings(self, found: Swings | None) -> None:
        if found is not None or self._swinging:
            self._swinging = found is not None
            self.swings.emit(found)

    # One message ------------------------------------------------------------------------------------------------------

    def explain(self, wanted: tuple | None) -> None:
        """Which message is looked at: factor, axis, changed numbers; None is none."""
        self._explained = wanted
        self._ask_work()

    def _ask_work(self) -> None:
        frame, lane = self._frame, self._lane_frame
        if self._explained is None or frame is None or lane is None or "work" in self._open:
            return
        place = (*self._wanted, lane.iteration, self._explained)
        if self._answered.get("work") == place:
            return
        self._open.add("work")
        session = self._session

        def ended() -> bool:
            self._open.discard("work")
            self._answered["work"] = place
            return session == self._session

        def answered(found: MessageWork) -> None:
            if ended():
                self.work.emit(found)
            self._ask_work()

        def refused(sentence: str) -> None:
            if ended():
                self.no_work.emit(sentence)
            self._ask_work()

        self._controller.ask(ExplainMessage(self._lane, *self._explained), answered, refused)

    # Suspects ---------------------------------------------------------------------------------------------------------

    def show_suspects(self, shown: bool) -> None:
        """The panel of suspects was shown or hidden."""
        self._suspects_shown = shown
        self._listed = ()
        self._ask_suspects()

    def _ask_suspects(self) -> None:
        """Now and then while a run goes on, and when it has ended."""
        frame, lane = self._frame, self._lane_frame
        if not self._suspects_shown or frame is None or lane is None or "suspects" in self._open:
            return
        place = (*self._wanted, lane.iteration)
        if self._listed == place or (frame.playing and time.monotonic() - self._listed_at < LIST_EVERY):
            return
        self._listed, self._listed_at = place, time.monotonic()
        self._ask("suspects", FindSuspects(self._lane), self._on_suspects)

    def _on_suspects(self, found: Suspects) -> None:
        self.suspects.emit(found)
        self._ask_suspects()

    # Frustrated cycles ------------------------------------------------------------------------------------------------

    def show_frustrated(self, shown: bool) -> None:
        """Whether frustrated cycles are to be lit."""
        if shown == self._frustrated_shown:
            return
        self._frustrated_shown = shown
        self._answered.pop("frustrated", None)
        if not shown:
            self.frustrated.emit(None)
        self._ask_frustrated()

    def _ask_frustrated(self) -> None:
        wanted = self._frustrated_shown and self._frame is not None
        if wanted and "frustrated" not in self._open and self._answered.get("frustrated") != self._wanted:
            self._ask("frustrated", FindFrustrated(self._lane), self._on_frustrated)

    def _on_frustrated(self, found: Frustrated) -> None:
        if self._frustrated_shown:
            self.frustrated.emit(found)
        self._ask_frustrated()

    # The map ----------------------------------------------------------------------------------------------------------

    def show_map(self, shown: bool) -> None:
        """The panel of the map was shown or hidden."""
        self.map_shown = shown
        self._ask_map()

    def _ask_map(self) -> None:
        """Begin a map where the graph is another one, or the coupling has left the map."""
        frame = self._frame
        if not self.map_shown or frame is None or frame.graph is None:
            return
        key = (self._session, *_structure(frame, frame.graph))
        strength = float(frame.graph.strengths["coupling"])
        if key == self._map_key and strength <= self._map_range[1]:
            return
        self._map_key, self._map_range = key, (0.0, max(2.0, 1.5 * strength))
        self.sigma_map.emit(None, True)
        self._controller.ask(
            MapSigma(self._lane),
            lambda found: self._on_map(key, found, False),
            lambda sentence: self.no_map.emit(sentence) if key == self._map_key else None,
            lambda found: self._on_map(key, found, True),
        )

    def _on_map(self, key: tuple, found: SigmaMap | None, refining: bool) -> None:
        if found is not None and key == self._map_key:
            self.sigma_map.emit(found, refining)


def _structure(frame: Frame, graph: GraphFrame) -> tuple:
    """What the map depends on: everything but α and the coupling strength."""
    scale = graph.strengths["coupling"] / graph.strengths["temperature"]
    draw = 0 if graph.couplings is None or not scale else hash((graph.couplings / scale).round(3).tobytes())
    hints = hash(frame.layers["hints"].tobytes()) ^ hash(frame.layers["hints_strength"].tobytes())
    return graph.edges.ctypes.data, len(graph.edges), draw, graph.strengths["temperature"], hints
