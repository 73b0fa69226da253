"""Values from JSON as the fields of a dataclass declare them: what is of another type is refused before it is used."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

LARGEST_WHOLE = 2**53


def made(cls: type, values: Mapping[str, Any]) -> Any:
    """An instance of a dataclass. Raises `TypeError` where fields are missing, unknown or of another type."""
    hints = _hints(cls)
    for name, value in values.items():
        if name not in hints:
            raise TypeError(f"{cls.__name__} has no {name[:40]!r}")
        if not fits(value, hints[name]):
            raise TypeError(f"{name} of {cls.__name__} is a {type(value).__name__}")
    return cls(**values)


@cache
def _hints(cls: type) -> dict[str, Any]:
    known = get_type_hints(cls)
    return {field.name: known[field.name] for field in fields(cls)}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type; whole numbers are numbers too, and none of them is endless."""
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and _is_sensible(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_WHOLE
    origin, parts = get_origin(hint), get_args(hint)
    if origin is None:
        return isinstance(value, hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple:
        return isinstance(value, tuple) and _fits_tuple(value, parts)
    if origin in (dict, Mapping):
        return isinstance(value, Mapping) and all(fits(k, parts[0]) and fits(v, parts[1]) for k, v in value.items())
    return isinstance(value, origin)


def _is_sensible(value: float) -> bool:
    return abs(value) <= LARGEST_WHOLE if isinstance(value, int) else math.isfinite(value)


def _fits_tuple(value: tuple[Any, ...], parts: tuple[Any, ...]) -> bool:
    if len(parts) == 2 and parts[1] is Ellipsis:
        return all(fits(each, parts[0]) for each in value)
    return len(value) == len(parts) and all(fits(each, part) for each, part in zip(value, parts, strict=True))
