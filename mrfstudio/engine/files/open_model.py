"""From a shipped name or a path to a model that can be used."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from mrfstudio.engine.files.model_file import (
    ModelFile,
    ModelFileError,
    load_model,
    read_card,
    shipped_models,
    user_models,
)
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import MODELS, Parts

DEFAULT = 15


def usual_iterations(file: ModelFile) -> int:
    """Iterations to answer with where nobody says: as many as it was trained with, or as its kind takes to settle."""
    trained = (file.card.get("options") or {}).get("iterations", DEFAULT)
    trained = int(file.card["hyperparameters"].get("iterations", trained))
    return max(trained, MODELS[file.kind].settled_after)


def open_model(path_or_name: str | os.PathLike[str], kind: str | None = None) -> Any:
    """The model of a file, made from its card's hyperparameters and filled with its tensors."""
    return build_model(load_model(path_or_name, kind))


def open_fitting(path_or_name: str | os.PathLike[str], part: Parts[Any]) -> Any:
    """The model of a file; refuses a kind whose family does not have the part, such as one that segments nothing."""
    kind = read_card(path_or_name).kind
    if not part.knows(kind):
        raise StudioError(f"The model {path_or_name} is a {kind}: expected one of {', '.join(part.kinds())}.")
    return open_model(path_or_name, kind)


def named_models() -> list[str]:
    """Every model that is known by a name: the shipped ones, and a person's own."""
    return [*shipped_models(), *user_models()]


def first_fitting(part: Parts[Any]) -> str:
    """The first named model whose family has the part. Raises `StudioError` where there is none."""
    for name in named_models():
        try:
            if part.knows(read_card(name).kind):
                return name
        except ModelFileError:
            continue  # a damaged file among a person's own; choosing it says what is wrong
    raise StudioError(f"There is no model of kind {' or '.join(part.kinds())}: train one first.")


def build_model(file: ModelFile) -> Any:
    """The model that a file describes."""
    try:
        described = MODELS[file.kind]
        hyperparameters = file.card["hyperparameters"]
        _check_shapes(file, described.shapes(hyperparameters) or _shapes_without_memory(described, hyperparameters))
        model = described.restore(hyperparameters)
        model.load_tensors(file.tensors)
    except StudioError as error:
        raise ModelFileError(f"{file.path} does not describe a {file.kind} model: {error}") from error
    except Exception as error:  # a card may say anything
        raise ModelFileError(f"{file.path} does not describe a {file.kind} model: {error!r}.") from error
    return model


def _shapes_without_memory(described: Any, hyperparameters: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Shapes of a family that does not say them, from a model whose tensors take no memory; none where that fails."""
    import torch

    try:
        with torch.device("meta"):
            model = described.restore(hyperparameters)
        return {name: tuple(tensor.shape) for name, tensor in model.tensors().items() if tensor.is_meta}
    except (NotImplementedError, RuntimeError):  # it looks at numbers that are not there
        return {}


def _check_shapes(file: ModelFile, expected: Mapping[str, tuple[int, ...]]) -> None:
    """Compare what a card speaks of with the tensors that are there, before anything of that size is made."""
    for name, shape in expected.items():
        given = file.tensors.get(name)
        if given is None or tuple(given.shape) != tuple(shape):
            found = "missing" if given is None else f"of shape {tuple(given.shape)}"
            raise ModelFileError(f"The tensor {name!r} is {found}: its card speaks of {tuple(shape)}.")
