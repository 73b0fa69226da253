"""From a shipped name or a path to a model that can be used."""

from __future__ import annotations

import os
from typing import Any

from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.files.model_file import ModelFile, ModelFileError, load_model
from mrfstudio.engine.registry import MODELS

SETTLED = 50
"""Iterations after which the beliefs of a GRBM have settled; it learns with fewer, first-order ones among them."""
DEFAULT = 15


def usual_iterations(file: ModelFile) -> int:
    """Iterations to answer with where nobody says: as many as it was trained with, of a GRBM at least `SETTLED`."""
    trained = int((file.card.get("options") or {}).get("iterations", DEFAULT))
    return max(trained, SETTLED) if file.kind == "grbm" else trained


def open_model(path_or_name: str | os.PathLike[str], kind: str | None = None) -> Any:
    """The model of a file, made from its card's hyperparameters and filled with its tensors."""
    return build_model(load_model(path_or_name, kind))


def build_model(file: ModelFile) -> Any:
    """The model that a file describes."""
    described = MODELS[file.kind]
    try:
        model = described.restore(file.card["hyperparameters"])  # type: ignore[attr-defined]
        model.load_tensors(file.tensors)
    except StudioError as error:
        raise ModelFileError(f"{file.path} does not describe a {file.kind} model: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{file.path} does not describe a {file.kind} model: {error!r}.") from error
    return model
