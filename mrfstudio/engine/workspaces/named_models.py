"""Workspaces whose models are files: known by a name, or by the path that somebody chose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor

from mrfstudio.engine.files.open_model import first_fitting, named_models, open_fitting
from mrfstudio.engine.registry import Parts
from mrfstudio.engine.runtime.device import placed, to_host
from mrfstudio.engine.workspaces.workspace import Workspace, digest


class NamedModels(Workspace):
    """Reads each model once. A session's file is given none by a path that nobody chose here."""

    part: ClassVar[Parts[Any]]
    """What a family must have for its models to work here."""

    def __init__(self, models: Mapping[str, Any] | None = None) -> None:
        self._models: dict[str, Any] = dict(models or {})

    def made(self, name: str, trained: Any) -> Any:
        """The model of a lane, from one that was just read. Raises `StudioError` where it does not fit."""
        return placed(trained)

    def tensors(self, model: Any) -> Mapping[str, Tensor]:
        """What makes a lane's model differ from another."""
        tensors: Mapping[str, Tensor] = model.tensors()
        return tensors

    def load(self, name: str) -> Any:
        if name not in self._models:
            self._models[name] = self.made(name, open_fitting(name, self.part))
        return self._models[name]

    def forget(self, name: str) -> None:
        """Read a model anew when it is next asked for: its file has changed."""
        self._models.pop(name, None)

    def name_of(self, model: Any) -> str:
        """The name that a model was loaded by."""
        return next((name for name, known in self._models.items() if known is model), "")

    def knows(self, name: str) -> bool:
        return name in self._models or name in named_models()

    def model_like(self, name: str, checksum: str) -> str | None:
        if name in named_models():
            return name
        same = (known for known, model in self._models.items() if self.fingerprint(model) == checksum)
        return next(same, None)

    def stand_in(self) -> str:
        return next(iter(self._models), None) or first_fitting(self.part)

    def fingerprint(self, model: Any) -> str:
        return digest(to_host(tensor) for tensor in self.tensors(model).values())
