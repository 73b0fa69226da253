"""What every workspace that iterates does with the menus Edit and Run."""

from __future__ import annotations

from mrfstudio.engine.protocol.commands import Command, Redo, Restart, Scrub, SetSpeed, Step, Undo
from mrfstudio.ui.engine.controller import Controller
from mrfstudio.ui.widgets.transport import SPEEDS, TransportBar
from mrfstudio.ui.window.actions import (
    FASTER,
    PLAY_PAUSE,
    REDO,
    RESTART,
    SLOWER,
    STEP,
    STEP_BACK,
    TO_END,
    TO_START,
    UNDO,
    ActionHandlers,
)


class RunActions:
    """For a workspace with a transport. Methods are named like the actions they do."""

    def action_handlers(self) -> ActionHandlers:
        """The actions that are done here."""
        return {
            UNDO: self.undo,
            REDO: self.redo,
            PLAY_PAUSE: self.play_pause,
            STEP: self.step,
            STEP_BACK: self.step_back,
            TO_START: self.to_start,
            TO_END: self.to_end,
            RESTART: self.restart,
            SLOWER: self.slower,
            FASTER: self.faster,
        }

    controller: Controller
    transport: TransportBar

    def post(self, command: Command) -> None:
        self.controller.post(command)

    def undo(self) -> None:
        self.post(Undo())

    def redo(self) -> None:
        self.post(Redo())

    def play_pause(self) -> None:
        self.transport.toggle_play()

    def step(self) -> None:
        self.post(Step(1))

    def step_back(self) -> None:
        self.post(Step(-1))

    def to_start(self) -> None:
        self.post(Scrub(0))

    def to_end(self) -> None:
        newest = self.controller.newest
        if newest is not None:
            self.post(Scrub(newest.newest))

    def restart(self) -> None:
        self.post(Restart())

    def slower(self) -> None:
        self._change_speed(-1)

    def faster(self) -> None:
        self._change_speed(1)

    def _change_speed(self, by: int) -> None:
        newest = self.controller.newest
        speed = newest.speed if newest is not None else None
        index = SPEEDS.index(speed) if speed in SPEEDS else len(SPEEDS) - 1
        self.post(SetSpeed(SPEEDS[min(max(index + by, 0), len(SPEEDS) - 1)]))
