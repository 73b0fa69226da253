"""Commands as JSON values: `{"do": "Paint", "layer": "hints", …}`. Arrays go into a separate table by number."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from mrfstudio.engine.files.sessions.typed import made
from mrfstudio.engine.protocol import commands as known
from mrfstudio.engine.protocol.commands import Command
from mrfstudio.engine.session.apply import Continue
from mrfstudio.engine.session.inverses import Patch, PutGraph, PutLabels, Restore, Tile

COMMANDS: dict[str, type[Command]] = {
    cls.__name__: cls
    for cls in (
        known.Paint,
        known.PaintRectangle,
        known.PaintEllipse,
        known.PaintLasso,
        known.Fill,
        known.Invert,
        known.SetImage,
        known.SetPhotograph,
        known.SetLabels,
        known.FindDamage,
        known.AddNoise,
        known.Thin,
        known.CloseGaps,
        known.ClearLayer,
        known.ClampUnit,
        known.SetParameter,
        known.SetAlgorithm,
        known.SetModel,
        known.AddLane,
        known.RemoveLane,
        known.RenameLane,
        known.SetLimits,
        known.SetEvidence,
        known.NewGraph,
        known.SetStrength,
        known.AddNode,
        known.Connect,
        known.DeleteParts,
        known.MoveNode,
        known.SetLayout,
        known.SetPart,
        known.SetTable,
        known.PinMessage,
        known.Forbid,
        Patch,
        PutLabels,
        Restore,
        PutGraph,
        Continue,
    )
}
"""What can stand in a log."""


def encoded(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """A JSON value for a command or a part of one; arrays are added to `arrays` and named."""
    if isinstance(value, Command):
        return {"do": type(value).__name__, **_fields(value, arrays)}
    if isinstance(value, Tile):
        return {"tile": _fields(value, arrays)}
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, Mapping):
        return {"map": {str(key): encoded(item, arrays) for key, item in value.items()}}
    if isinstance(value, tuple | list):
        return [encoded(item, arrays) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a command holds a {type(value).__name__}, which has no JSON form")


def decoded(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The value that `encoded` was given. Raises `KeyError`, `TypeError` or `ValueError` for anything else."""
    if isinstance(value, list):
        return tuple(decoded(item, arrays) for item in value)
    if not isinstance(value, dict):
        return value
    if "do" in value:
        cls = COMMANDS[value["do"]]
        return made(cls, {name: decoded(item, arrays) for name, item in value.items() if name != "do"})
    if len(value) != 1:
        raise ValueError(f"a form has {len(value)} parts")
    [(kind, content)] = value.items()
    if kind == "tile":
        return made(Tile, {name: decoded(item, arrays) for name, item in content.items()})
    if kind == "array":
        return arrays[content]
    if kind == "bytes":
        return base64.b64decode(content, validate=True)
    if kind == "map":
        return {name: decoded(item, arrays) for name, item in content.items()}
    raise ValueError(f"an unknown form {kind!r}")


def _fields(value: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    assert is_dataclass(value)
    return {field.name: encoded(getattr(value, field.name), arrays) for field in fields(value)}
