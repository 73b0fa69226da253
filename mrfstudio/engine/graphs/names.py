"""What variables and their states are called, where a file or a person says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mrfstudio.engine.protocol.errors import StudioError

LONGEST = 200  # characters of a name


@dataclass(frozen=True)
class Names:
    """A name for each variable, and for each of its states. Names of variables differ, and so do states of one."""

    variables: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        return {name: number for number, name in enumerate(self.variables)}

    @classmethod
    def checked(cls, variables: Sequence[str], states: Sequence[Sequence[str]], cardinalities: Sequence[int]) -> Names:
        """Names that fit a graph. Raises `StudioError`."""
        if len(variables) != len(cardinalities) or len(states) != len(cardinalities):
            raise StudioError(
                f"{len(variables)} names of variables and {len(states)} lists of states were given for "
                f"{len(cardinalities)} variables: give one for each."
            )
        made = cls(tuple(map(_tidy, variables)), tuple(tuple(map(_tidy, each)) for each in states))
        if len(made.numbers) < len(made.variables):
            twice = next(name for number, name in enumerate(made.variables) if made.numbers[name] != number)
            raise StudioError(f'Two variables are called "{twice}": give each a name of its own.')
        for name, each, count in zip(made.variables, made.states, cardinalities, strict=True):
            if len(each) != count or len(set(each)) != len(each):
                raise StudioError(f'Variable "{name}" has {count} states: give each a name of its own.')
        return made

    def number(self, variable: object) -> int:
        """The number of a variable by its name. Raises `StudioError` with the nearest names."""
        found = self.numbers.get(str(variable))
        if found is None:
            raise StudioError(f'There is no variable "{variable}"{_nearest(str(variable), self.variables)}.')
        return found

    def state(self, variable: int, state: object) -> int:
        """The number of a state of a variable by its name."""
        known = self.states[variable]
        if str(state) not in known:
            listed = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
            raise StudioError(
                f'Variable "{self.variables[variable]}" has no state "{state}": expected one of {listed}.'
            )
        return known.index(str(state))

    def described(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return [
            {"name": name, "states": list(states)} for name, states in zip(self.variables, self.states, strict=True)
        ]


def _tidy(name: str) -> str:
    tidy = " ".join(str(name).split())
    if not tidy or len(tidy) > LONGEST or not tidy.isprintable():
        raise StudioError(f"A name has {len(tidy)} characters: expected 1 to {LONGEST} printable ones.")
    return tidy


def _nearest(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known[:10_000], 3)
    return f": did you mean {' or '.join(near)}" if near else ""
