"""How a running training is paused, stopped, stepped and changed from outside.

The trainer polls a callable between two batches and gets plain commands, so the sender may be another thread
(`Control`), another process (the lines that a job sends to its child) or a test.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Command = Mapping[str, Any]
"""`{"do": VERB}`; `change` also has `{"values": {parameter: value}}`, and `paint` points to `add` and `erase`."""

Poll = Callable[[], Iterable[Command]]

VERBS = ("pause", "resume", "step", "stop", "checkpoint", "change", "paint")


def no_commands() -> Iterable[Command]:
    """The poll of a run that nobody steers."""
    return ()


class Control:
    """Commands within one process, from any thread. `step` computes one batch and stays paused."""

    def __init__(self) -> None:
        self._waiting: deque[Command] = deque()  # its append and popleft are atomic

    def send(self, command: Command) -> None:
        self._waiting.append(command)

    def pause(self) -> None:
        self.send({"do": "pause"})

    def resume(self) -> None:
        self.send({"do": "resume"})

    def step(self) -> None:
        self.send({"do": "step"})

    def stop(self) -> None:
        """End after the current batch, with everything saved."""
        self.send({"do": "stop"})

    def checkpoint(self) -> None:
        """Save now, without waiting for the minute."""
        self.send({"do": "checkpoint"})

    def change(self, **values: Any) -> None:
        """Change parameters of the learner, such as `learning_rate`, from the next batch on."""
        self.send({"do": "change", "values": values})

    def poll(self) -> list[Command]:
        """Take the commands that have arrived."""
        taken = []
        while self._waiting:
            taken.append(self._waiting.popleft())
        return taken


class ControlState:
    """What the commands so far add up to."""

    def __init__(self, poll: Poll) -> None:
        self._poll = poll
        self.paused = False
        self.single_steps = 0
        self.stopping = False
        self.checkpoint_wanted = False

    @property
    def waiting(self) -> bool:
        """Paused with nothing to do."""
        return self.paused and not self.single_steps and not self.stopping

    def receive(self) -> list[Command]:
        """The newly arrived commands; they are not obeyed yet, because several processes must obey the same ones."""
        return list(self._poll())

    def obey(self, command: Command) -> str:
        """Obey one command other than `change`; returns a sentence if it makes no sense."""
        verb = command.get("do")
        if verb == "pause":
            self.paused = True
        elif verb == "resume":
            self.paused, self.single_steps = False, 0
        elif verb == "step":
            self.paused = True
            self.single_steps += 1
        elif verb == "stop":
            self.stopping = True
        elif verb == "checkpoint":
            self.checkpoint_wanted = True
        else:
            return f"There is no command {verb!r}: expected one of {', '.join(VERBS)}."
        return ""

    def stepped(self) -> None:
        """One batch was computed."""
        self.single_steps = max(0, self.single_steps - 1)
