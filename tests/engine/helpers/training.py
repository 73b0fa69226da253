"""What a finished run holds."""

from __future__ import annotations

import json
from pathlib import Path

from mrfstudio.engine.training.checkpoint import CHANCE
from mrfstudio.engine.training.progress import Progress
from mrfstudio.engine.training.trainer import Trainer


def columns(path: Path) -> dict[str, list[float | None]]:
    """The curves without what the clock decides."""
    found = json.loads(path.with_name(path.name.replace(".safetensors", ".curves.json")).read_text())["columns"]
    return {name: values for name, values in found.items() if name not in CHANCE}


def weights(trainer: Trainer) -> list[float]:
    return trainer.model.tensors()["weight"].tolist()


def finish(trainer: Trainer) -> list[Progress]:
    records = list(trainer.run())
    assert trainer.outcome is not None
    return records
