"""What a training measures, as event files that TensorBoard reads; the package `tensorboard` is needed for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training.progress import Progress

HISTOGRAMS_EVERY = 50
"""Steps between two histograms of the parameters: they take longer than numbers."""


class EventFiles:
    """Called after every record. Numbers go to `train/…` and `validation/…`, parameters to `parameters/…`."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise StudioError(
                "--tensorboard needs the package tensorboard: pip install tensorboard, or leave the option out."
            ) from error
        self._writer: Any = SummaryWriter(str(folder))

    def __call__(self, trainer: Any, record: Progress | None) -> None:
        """A step, or None before the first."""
        step = 0 if record is None else record.step
        if record is not None and record.state == "running":
            for name in ("loss", "smoothed_loss", "gradient_norm", "learning_rate", "images_per_second"):
                self._writer.add_scalar(f"train/{name}", getattr(record, name), step)
            for name, value in record.extras.items():
                self._writer.add_scalar(f"train/{name}", value, step)
        if record is not None:
            for name, value in record.validation.items():
                self._writer.add_scalar(f"validation/{name}", value, step)
        if record is None or step % HISTOGRAMS_EVERY == 0 or record.state == "done":
            for name, tensor in trainer.model.tensors().items():
                if tensor.requires_grad and tensor.numel():
                    self._writer.add_histogram(f"parameters/{name}", tensor.detach(), step)
        if record is not None and record.state == "done":
            self._writer.close()
