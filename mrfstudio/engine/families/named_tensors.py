"""A model that is nothing but tensors by name, all of them learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from mrfstudio.engine.protocol.errors import StudioError


class NamedTensors:
    """The trainer's contract for them: what is learned, and what a file gives back."""

    kind: ClassVar[str]
    misfit: ClassVar[type[StudioError]] = StudioError
    """What is raised where tensors do not fit."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        """Each in its own shape (…), which stays."""
        self._tensors = {name: tensor.requires_grad_() for name, tensor in tensors.items()}

    def tensors(self) -> dict[str, Tensor]:
        return dict(self._tensors)

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the values of tensors of the same names and shapes, (…) each. Raises `misfit`."""
        for name, tensor in self._tensors.items():
            given = tensors.get(name)
            if given is None or given.shape != tensor.shape:
                found = "missing" if given is None else tuple(given.shape)
                raise self.misfit(f"The tensor {name!r} is {found}: expected shape {tuple(tensor.shape)}.")
            with torch.no_grad():
                tensor.copy_(given)
        with torch.no_grad():
            try:
                fits = self.works()
            except (KeyError, IndexError, RuntimeError, TypeError, ValueError):
                fits = False
        if not fits:
            raise self.misfit(f"Its tensors are not those of a {self.kind} model.")

    def works(self) -> bool:
        """Whether the tensors are those that this model computes with: a stranger's file names any. May raise."""
        return True
