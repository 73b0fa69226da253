"""What Converge asks the engine besides frames: one question of a kind at a time, the newest when the last is answered.

So the gauge follows a dragged slider as fast as the engine answers, and no faster.
"""

from __future__ import annotations

import time
from typing import Any

from PySide6.QtCore import QObject, Signal

from mrfstudio.engine.answers import Guarantee, GuaranteedAlphas, SigmaMap, Swings
from mrfstudio.engine.frames import Frame, GraphFrame, LaneFrame
from mrfstudio.ui.controller import Controller

LOOK_AFTER = 12
"""Iterations since the last edit after which oscillations can be seen."""
LOOK_EVERY = 0.4
"""Seconds between two looks while a run goes on."""


class Questions(QObject):
    """Feed it frames; it emits answers that still fit what is shown."""

    guarantee = Signal(object)
    interval = Signal(object)
    swings = Signal(object)
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
        self.map_shown = False
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
        self._ask_map()

    # Guarantee --------------------------------------------------------------------------------------------------------

    def _ask_next(self) -> None:
        """The verdict first; the interval of α when nobody waits for a verdict."""
        if "guarantee" in self._open or "interval" in self._open:
            return
        if self._answered.get("guarantee") != self._wanted:
            self._ask("guarantee", "guarantee", self._on_guarantee)
        elif self._answered.get("interval") != self._wanted:
            self._ask("interval", "guaranteed_alphas", self._on_interval)

    def _on_guarantee(self, found: Guarantee) -> None:
        self.guarantee.emit(found)
        if self._answered.get("interval") != self._wanted:
            self.interval.emit(None)
        self._ask_next()

    def _on_interval(self, found: GuaranteedAlphas) -> None:
        if self._answered["interval"] == self._wanted:
            self.interval.emit(found)
        self._ask_next()

    def _ask(self, kind: str, question: str, then: Any, **more: Any) -> None:
        asked = self._wanted
        self._open.add(kind)

        def answered(value: Any) -> None:
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
            self._controller.ask(question, answered, refused, lane=self._lane, **more)
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
            self._ask("swings", "swings", lambda found: self._on_swings(found, wanted))

    def _on_swings(self, found: Swings, wanted: tuple) -> None:
        if wanted == self._wanted:
            self._show_swings(found if found.count or found.tips else None)

    def _show_swings(self, found: Swings | None) -> None:
        if found is not None or self._swinging:
            self._swinging = found is not None
            self.swings.emit(found)

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
            "sigma_map",
            lambda found: self._on_map(key, found, False),
            lambda sentence: self.no_map.emit(sentence) if key == self._map_key else None,
            lambda found: self._on_map(key, found, True),
            lane=self._lane,
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
