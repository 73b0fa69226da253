"""Trained models as files: one safetensors file whose metadata holds a JSON string.

The metadata has one key, `mrfstudio`, with this object:

    format_version  how to read the rest
    kind            which model it is, such as `grid`
    shapes          the shape of every tensor, by name
    card            hyperparameters, seed, command, scores, training time and whatever else the maker wrote

Nothing is ever unpickled. The header is checked against the length of the file before memory is taken.
"""

from __future__ import annotations

import json
import math
import os
import stat
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrfstudio import assets
from mrfstudio.engine.files.atomic import atomic_path, unwritable
from mrfstudio.engine.files.distrust import parsed
from mrfstudio.engine.protocol.catalogue import ending
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.places import user_folder

if TYPE_CHECKING:
    from torch import Tensor

FORMAT_VERSION = 1
SUFFIX = ".safetensors"
KEY = "mrfstudio"
# The library that reads the tensors refuses longer headers; so does this reader, before it takes the memory.
LONGEST_HEADER = 100_000_000

MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""How the JSON object of version n becomes that of version n + 1, by n."""


class ModelFileError(StudioError):
    """A model file that is missing, damaged, of another kind or too new. The message is one sentence for a person."""


@dataclass(frozen=True)
class ModelFile:
    """What a file holds. `tensors` is empty where only the description was read."""

    kind: str
    card: dict[str, Any]
    version: int = FORMAT_VERSION
    tensors: dict[str, Tensor] = field(default_factory=dict)
    path: Path | None = None


def shipped_models() -> list[str]:
    """The names of the models that come with the program."""
    return _names_in(_shipped_folder())


def user_models() -> list[str]:
    """The names of the models that a person took from training."""
    return _names_in(user_models_folder())


def user_models_folder() -> Path:
    """Where models lie that a person took from training; they are known by name like the shipped ones."""
    return user_folder("models")


def _names_in(folder: Path) -> list[str]:
    names = (path.name for path in folder.glob("*" + SUFFIX))
    return sorted(name.removesuffix(SUFFIX) for name in names if not name.endswith(".train" + SUFFIX))


def find_model(path_or_name: str | os.PathLike[str]) -> Path:
    """The file of a path, or of the name of a shipped or a person's own model. A file of that path comes first."""
    given = os.fspath(path_or_name)
    path = Path(given).expanduser()
    if path.is_file():
        return path
    if path.is_dir():
        raise ModelFileError(f"{given} is a folder: expected a model file ending in {SUFFIX}.")
    shipped, own = shipped_models(), user_models()
    if given in shipped:
        return _shipped_folder() / (given + SUFFIX)
    if given in own:
        return user_models_folder() / (given + SUFFIX)
    if path.name == given and not given.endswith(SUFFIX):
        known = ", ".join([*shipped, *own]) or "none"
        near = ending(given, [*shipped, *own])
        raise ModelFileError(f"There is no model {given!r}{near} Expected a model file or a shipped model: {known}.")
    raise ModelFileError(f"{given} does not exist: expected a model file or the name of a shipped model.")


def beside(model_path: str | os.PathLike[str], ending: str) -> Path:
    """The companion of a model file: `NAME.safetensors` and `.md` give `NAME.md` in the same folder."""
    path = Path(model_path)
    return path.with_name(path.name.removesuffix(SUFFIX) + ending)


def save_model(path: str | os.PathLike[str], kind: str, tensors: Mapping[str, Tensor], card: Mapping[str, Any]) -> Path:
    """Write a model atomically: the old file stays until the new one is complete. Tensors have any shape.

    `card` must be ready for JSON; numbers that are not finite become null.
    """
    from safetensors.torch import save

    path = Path(path)
    # Copies, because tensors that share memory or have strides are refused by the format.
    plain = {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}
    described = {
        "format_version": FORMAT_VERSION,
        "kind": kind,
        "shapes": {name: list(tensor.shape) for name, tensor in plain.items()},
        "card": finite(dict(card)),
    }
    metadata = {KEY: json.dumps(described, ensure_ascii=False, allow_nan=False)}
    try:
        with atomic_path(path) as temporary:
            # The library's own writer makes files that nobody else may read.
            temporary.write_bytes(save(plain, metadata))
    except OSError as problem:
        raise ModelFileError(unwritable(path, problem)) from problem
    return path


def read_card(path_or_name: str | os.PathLike[str], kind: str | None = None) -> ModelFile:
    """The description of a model without its tensors: fast, and without torch."""
    path = find_model(path_or_name)
    return _described(path, _read_header(path), kind)


def load_model(path_or_name: str | os.PathLike[str], kind: str | None = None) -> ModelFile:
    """Read a model file, or a shipped model by its name; with `kind`, refuse any other kind."""
    from safetensors.torch import load_file

    found = read_card(path_or_name, kind)
    assert found.path is not None
    try:
        tensors = load_file(found.path)
    except Exception as problem:  # the library has errors of its own, and torch's for types it does not know
        raise ModelFileError(
            f"{found.path} is damaged: its tensors cannot be read ({_first_line(problem)})."
        ) from problem
    return ModelFile(found.kind, found.card, found.version, tensors, found.path)


def finite(value: Any) -> Any:
    """The same JSON value with null for every number that is not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def _shipped_folder() -> Path:
    return assets.folder("assets") / "models"


def _read_header(path: Path) -> dict[str, Any]:
    """The safetensors header: 8 bytes of length, then JSON with dtype, shape and byte range of every tensor."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):  # a pipe would wait for ever
            raise ModelFileError(f"{path} is not a file: expected a model.")
        size = about.st_size
        with open(path, "rb") as file:
            start = file.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
            if not 2 <= length <= min(size - 8, LONGEST_HEADER):
                raise ModelFileError(f"{path} is not a model file, or is cut short: its header has no sensible length.")
            header = parsed(file.read(length))
    except OSError as problem:
        raise ModelFileError(f"{path} cannot be read: {problem.strerror or problem}.") from problem
    except ModelFileError:
        raise
    except Exception as problem:  # a zero in its name, text that is no JSON, or too much of it
        raise ModelFileError(f"{path} is not a model file: its header is not JSON.") from problem
    if not isinstance(header, dict):
        raise ModelFileError(f"{path} is not a model file: its header is not a JSON object.")
    _check_length(path, header, 8 + length, size)
    return header


def _check_length(path: Path, header: dict[str, Any], offset: int, size: int) -> None:
    try:
        ends = [int(entry["data_offsets"][1]) for name, entry in header.items() if name != "__metadata__"]
    except (LookupError, TypeError, ValueError, OverflowError):
        raise ModelFileError(f"{path} is damaged: its header does not say where the tensors lie.") from None
    expected = offset + max(ends, default=0)
    if size != expected:
        word = "cut short" if size < expected else "too long"
        raise ModelFileError(f"{path} is {word}: it has {size} bytes and its header promises {expected}.")


def _described(path: Path, header: dict[str, Any], kind: str | None) -> ModelFile:
    metadata = header.get("__metadata__")
    text = metadata.get(KEY) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ModelFileError(f"{path} holds tensors but no description by MRF Studio: expected a model saved by it.")
    try:
        described = parsed(text.encode())
        version, found = int(described["format_version"]), str(described["kind"])
        described = _migrated(path, described, version)
        card, shapes = dict(described["card"]), dict(described["shapes"])
    except ModelFileError:
        raise
    except Exception as problem:
        raise ModelFileError(f"{path} is damaged: its description by MRF Studio cannot be read.") from problem
    held = {name: entry.get("shape") for name, entry in header.items() if name != "__metadata__"}
    if held != shapes:
        odd = next(name for name in {**held, **shapes} if held.get(name, ...) != shapes.get(name, ...))
        raise ModelFileError(f"{path} is damaged: tensor {odd!r} does not have the shape that its description says.")
    if kind is not None and found != kind:
        raise ModelFileError(f"{path} holds a model of kind {found!r}: expected one of kind {kind!r}.")
    return ModelFile(found, card, version, {}, path)


def _migrated(path: Path, described: dict[str, Any], version: int) -> dict[str, Any]:
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {version} and this program reads up to {FORMAT_VERSION}: update MRF Studio."
        )
    for old in range(version, FORMAT_VERSION):
        if old not in MIGRATIONS:
            raise ModelFileError(f"{path} has format version {version}: expected one from 1 to {FORMAT_VERSION}.")
        described = MIGRATIONS[old](described)
    return described


def _first_line(problem: BaseException) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0]
