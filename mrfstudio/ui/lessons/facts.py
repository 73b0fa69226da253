"""What counts as done: facts about the present state that a teacher can pick by clicking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from mrfstudio.engine.protocol.commands import Command, Pause, Play, Restart, Scrub, SetSpeed, SetView, Step, Transport
from mrfstudio.engine.protocol.frames import Frame
from mrfstudio.engine.protocol.lessons import Goal

UNASKED = (SetSpeed, SetView, Pause, Play, Restart, Scrub, Step)
"""What nobody is asked to do in a step."""
NEAR = 0.1
"""How far from the teacher's value a student may be, as a part of it."""


@dataclass(frozen=True)
class Fact:
    """Words for the list, and what they add to a goal."""

    words: str
    goal: Goal


def facts(frame: Frame | None, done: Sequence[Command]) -> list[Fact]:
    """Everything that is so now, what was done in the step first."""
    found = [_fact_of(command) for command in {type(each): each for each in done}.values() if _is_asked(command)]
    if frame is None:
        return found
    if frame.lanes:
        status = frame.lanes[0].status
        found.append(Fact(f"The run is “{status}”", Goal(status=(status,))))
    if len(frame.lanes) > 1:
        found.append(Fact(f"There are {len(frame.lanes)} lanes or more", Goal(lanes=len(frame.lanes))))
    if frame.iteration:
        found.append(Fact(f"At least {frame.iteration} iterations were computed", Goal(iteration=frame.iteration)))
    return found


def together(chosen: Sequence[Fact]) -> Goal | None:
    """One goal that wants all of them; None where none is chosen."""
    goal = Goal()
    for fact in chosen:
        changed = {
            each.name: getattr(fact.goal, each.name)
            for each in fields(Goal)
            if getattr(fact.goal, each.name) != getattr(Goal(), each.name)
        }
        goal = replace(goal, **changed)
    return goal if chosen else None


def goal_words(goal: Goal) -> str:
    """What a goal wants, in a few words."""
    said = []
    if goal.command:
        fields = ", ".join(f"{name} {_short(value)}" for name, value in goal.fields.items())
        said.append(goal.command + (f" ({fields})" if fields else ""))
    said += ["the run is “" + "” or “".join(goal.status) + "”"] if goal.status else []
    said += [f"{goal.lanes} lanes"] if goal.lanes else []
    said += [f"{goal.iteration} iterations"] if goal.iteration else []
    said += [f"training is {' or '.join(goal.run)}"] if goal.run else []
    said += [f"{goal.steps} steps"] if goal.steps else []
    return ", ".join(said)


def _is_asked(command: Command) -> bool:
    return not isinstance(command, UNASKED) and (command.undoable or not isinstance(command, Transport))


def _fact_of(command: Command) -> Fact:
    """What was done, with a name and a number where it has them; a number may be a little different."""
    wanted: dict[str, object] = {}
    named = [each.name for each in fields(command)]
    for name in ("name", "layer", "algorithm", "model"):
        if name in named and getattr(command, name):
            wanted[name] = getattr(command, name)
    value = getattr(command, "value", None) if "value" in named else None
    if isinstance(value, float) and not isinstance(value, bool):
        wanted["value"] = tuple(sorted((value * (1 - NEAR), value * (1 + NEAR))))
    elif value is not None:
        wanted["value"] = value
    said = ", ".join(f"{name} {_short(each)}" for name, each in wanted.items())
    words = command.title + (f" ({said})" if said else "")
    return Fact(words, Goal(command=type(command).__name__, fields=wanted))


def _short(value: object) -> str:
    return f"{value[0]:.3g} to {value[1]:.3g}" if isinstance(value, tuple) else str(value)
