"""Models that are nothing but tensors by name: a stranger's file may name any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from mrfstudio.engine.files.model_file import ModelFileError, save_model
from mrfstudio.engine.files.open_model import open_model

CHAIN = {"states": 2, "order": 1, "form": "directed"}
FORMS: dict[str, tuple[str, dict[str, Any], dict[str, tuple[int, ...]]]] = {
    "no transitions": ("chain", CHAIN, {"start": (2,), "words": (2, 3)}),
    "others' transitions": ("chain", CHAIN, {"transitions": (2, 2), "words": (2, 3)}),
    "states that are not there": ("chain", {**CHAIN, "states": 3}, {"transitions": (3, 2), "words": (2, 3)}),
    "an order too high": ("chain", {**CHAIN, "states": 999, "order": 3}, {"states": (1000, 1), "words": (2, 3)}),
    "no weights": ("flow-mixture", {"components": 2, "shared": False}, {"shift": (2, 2), "log_scale": (2, 2)}),
    "no flow": ("flow-mixture", {"components": 2, "shared": False}, {"weights": (2,)}),
    "a network cut short": ("transport", {"noise": 2}, {"in": (2, 3), "in_bias": (3,), "out_bias": (2,)}),
    "nothing": ("transport", {"noise": 2}, {}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_whose_tensors_are_no_model_is_refused(form: str, tmp_path: Path) -> None:
    kind, card, shapes = FORMS[form]
    path = tmp_path / "a.safetensors"
    tensors = {name: torch.zeros(shape) for name, shape in shapes.items()}
    named = {name: list(shape) for name, shape in shapes.items()}
    save_model(path, kind, tensors, {"hyperparameters": {**card, "shapes": named}})
    with pytest.raises(ModelFileError, match=f"not those of a {kind} model"):
        open_model(path)


def test_whole_files_open(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    tensors = {"transitions": torch.zeros(3, 2), "words": torch.zeros(2, 3)}
    shapes = {name: list(tensor.shape) for name, tensor in tensors.items()}
    save_model(path, "chain", tensors, {"hyperparameters": {**CHAIN, "shapes": shapes}})
    assert open_model(path).transitions().shape == (3, 2)
