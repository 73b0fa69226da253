"""Plain descriptions of algorithms, models, learners and data sets, and of their parameters.

One place for each parameter: a class that derives from `Parameters` declares its fields with `number`, `integer`,
`choice` or `flag`. From that declaration come the form in the window, the option of the command line, the message
when a value is out of range, and the documentation. Nothing here imports torch, so the window can read it at once.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, dataclass_transform

from mrfstudio.engine.protocol.errors import StudioError

Kind = Literal["number", "integer", "choice", "flag", "text"]


class ParameterError(StudioError):
    """A parameter has a value that its declaration does not allow. The message is one sentence for a person."""


class UnknownName(StudioError):
    """A name that no registry entry has."""


@dataclass(frozen=True)
class Field:
    """What a form, an option and an error message need to know about one parameter."""

    name: str
    kind: Kind
    default: Any
    help: str
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    unit: str = ""
    logarithmic: bool = False
    choices: tuple[str, ...] = ()
    advanced: bool = False
    slider_high: float = math.inf
    """Where a slider ends; the box beside it takes values up to `high`."""
    zero: str = ""
    """What a box shows instead of 0, where 0 is not a number of anything."""

    @property
    def option(self) -> str:
        """The command-line spelling, such as `--learning-rate`."""
        return "--" + self.name.replace("_", "-")

    @property
    def range_text(self) -> str:
        """The allowed values in words, such as `in (0, 1]` or `one of sum, max`."""
        if self.kind == "choice":
            return "one of " + ", ".join(self.choices)
        if self.kind == "flag":
            return "true or false"
        if self.kind == "text":
            return "text"
        noun = "a whole number" if self.kind == "integer" else "a number"
        if math.isinf(self.low) and math.isinf(self.high):
            return noun
        if math.isinf(self.high):
            return f"{noun} {'above' if self.low_open else 'of at least'} {self.low:g}"
        if math.isinf(self.low):
            return f"{noun} {'below' if self.high_open else 'of at most'} {self.high:g}"
        left, right = "(" if self.low_open else "[", ")" if self.high_open else "]"
        return f"{noun} in {left}{self.low:g}, {self.high:g}{right}"

    def check(self, value: Any) -> Any:
        """Return `value` in the parameter's own type, or raise `ParameterError`."""
        if self.kind == "choice":
            if value in self.choices:
                return value
            raise ParameterError(f"{self.name} is {value!r}: expected {self.range_text}{ending(value, self.choices)}")
        if self.kind == "flag":
            if isinstance(value, bool):
                return value
            raise ParameterError(f"{self.name} is {value!r}: expected true or false.")
        if self.kind == "text":
            return str(value)
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ParameterError(f"{self.name} is {value!r}: expected {self.range_text}.") from None
        whole = self.kind != "integer" or number.is_integer()
        above = number > self.low if self.low_open else number >= self.low
        below = number < self.high if self.high_open else number <= self.high
        if not (whole and above and below and math.isfinite(number)):
            raise ParameterError(f"{self.name} is {value}: expected {self.range_text}.")
        return int(number) if self.kind == "integer" else number


def number(
    default: float,
    help: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
    unit: str = "",
    logarithmic: bool = False,
    advanced: bool = False,
    slider_high: float = math.inf,
) -> Any:
    """Declare a real parameter; `logarithmic` asks forms for a logarithmic slider."""
    meta = dict(low=low, high=high, low_open=low_open, high_open=high_open, unit=unit, logarithmic=logarithmic)
    return _declare("number", default, help, advanced=advanced, slider_high=slider_high, **meta)


def integer(
    default: int,
    help: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    unit: str = "",
    logarithmic: bool = False,
    advanced: bool = False,
) -> Any:
    """Declare a whole-number parameter."""
    return _declare("integer", default, help, low=low, high=high, unit=unit, logarithmic=logarithmic, advanced=advanced)


def choice(default: str, choices: tuple[str, ...], help: str, *, advanced: bool = False) -> Any:
    """Declare a parameter that is one of a few words."""
    return _declare("choice", default, help, choices=choices, advanced=advanced)


def flag(default: bool, help: str, *, advanced: bool = False) -> Any:
    """Declare a switch."""
    return _declare("flag", default, help, advanced=advanced)


def text(default: str, help: str, *, advanced: bool = False) -> Any:
    """Declare a free-text parameter, such as a path or a query distribution."""
    return _declare("text", default, help, advanced=advanced)


def _declare(kind: Kind, default: Any, help: str, **meta: Any) -> Any:
    return dataclasses.field(default=default, metadata={"kind": kind, "help": help, **meta})


@dataclass_transform(frozen_default=True)
class Parameters:
    """Base of everything with parameters. Subclasses become frozen dataclasses and validate themselves."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    summary: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        for field in self.fields():
            object.__setattr__(self, field.name, field.check(getattr(self, field.name)))

    @classmethod
    def fields(cls) -> tuple[Field, ...]:
        """The declared parameters, in order."""
        declared = dataclasses.fields(cls)  # type: ignore[arg-type]  # subclasses are dataclasses, see __init_subclass__
        return tuple(Field(name=f.name, default=f.default, **f.metadata) for f in declared if "kind" in f.metadata)

    def replace(self, **changes: Any) -> Any:
        """The same value with some parameters changed and validated: a moved slider."""
        known = {field.name for field in self.fields()}
        for name in changes:
            if name not in known:
                raise ParameterError(
                    f"{self.name or type(self).__name__} has no parameter {name!r}{ending(name, known)}"
                )
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    @classmethod
    def entry(cls) -> Entry:
        """The plain description that crosses to the window."""
        return Entry(name=cls.name, title=cls.title or cls.name, summary=cls.summary, fields=cls.fields())

    def values(self) -> dict[str, Any]:
        """Parameter values by name, ready for JSON."""
        return {field.name: getattr(self, field.name) for field in self.fields()}


@dataclass(frozen=True)
class Entry:
    """One registered thing, as forms and the command line see it."""

    name: str
    title: str
    summary: str
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True)
class Catalogue:
    """Everything registered, in plain descriptions."""

    algorithms: tuple[Entry, ...] = ()
    models: tuple[Entry, ...] = ()
    learners: tuple[Entry, ...] = ()
    datasets: tuple[Entry, ...] = ()


def ending(given: Any, known: Iterable[str]) -> str:
    """How a sentence about an unknown name ends: `; did you mean 'bp'?` for a near miss, else a full stop."""
    near = difflib.get_close_matches(str(given), list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else "."
