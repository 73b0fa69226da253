"""Which device and precision to compute in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.runtime.memory import available_bytes
from mrfstudio.engine.runtime.memory import in_words as memory_in_words

DEVICES = ("auto", "cpu", "cuda", "mps")


def choose_device(name: str = "auto") -> torch.device:
    """`auto` is CUDA, then MPS, then the CPU; a device that is not there is refused."""
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device(next(kind for kind in ("cuda", "mps", "cpu") if present[kind]))
    if name not in present:
        raise StudioError(f"There is no device {name!r}: expected one of {', '.join(DEVICES)}.")
    if not present[name]:
        raise StudioError(f"Device {name} is not available on this machine: use auto or cpu.")
    return torch.device(name)


def from_host(array: np.ndarray) -> Tensor:
    """An array (…) as a tensor that says it is on the CPU: tables which whoever computes with them moves."""
    return torch.as_tensor(array, device="cpu")


def to_host(tensor: Tensor) -> np.ndarray:
    """A tensor (…) as an array, from wherever it is: data of a batch that the CPU prepares, or an answer."""
    return tensor.detach().cpu().numpy()


def wide(tensor: Tensor) -> Tensor:
    """Values of any shape in 64 bits where their device has them, for sums of thousands; MPS has 32 alone."""
    return tensor if tensor.device.type == "mps" else tensor.double()


def device_of(model: Any) -> torch.device:
    """Where the tensors of a model are."""
    return next((tensor.device for tensor in model.tensors().values()), torch.device("cpu"))


def moved(batch: Any, device: torch.device) -> Any:
    """A batch, or a dictionary of tensors, on a device."""
    if isinstance(batch, Mapping):
        return {name: moved(part, device) for name, part in batch.items()}
    return batch.to(device) if isinstance(batch, Tensor) else batch


WISHED = "MRFSTUDIO_DEVICE"
"""The variable that asks the window for a device. No GPU was at hand when this was written: the CPU is the default."""


def wished_device() -> tuple[torch.device, str]:
    """Where sessions compute, and one sentence where that is not what a person wished for."""
    wish = os.environ.get(WISHED, "cpu").strip() or "cpu"
    try:
        device = choose_device(wish)
        torch.ones(2, device=device).sum().cpu()  # a driver that is broken says so here, not in the first picture
    except (StudioError, RuntimeError) as problem:
        reason = str(problem).splitlines()[0].rstrip(".")
        return torch.device("cpu"), f"Computing on the CPU instead of {wish}: {reason}."
    return device, ""


def placed(model: Any) -> Any:
    """A model with its tensors where sessions compute."""
    device, _ = wished_device()
    if device.type != "cpu":
        for tensor in model.tensors().values():
            tensor.data = tensor.data.to(device)
    return model


def in_words(threads: int | None = None, device: torch.device | None = None) -> str:
    """`CPU · 2 threads · 32 bits · 3.1 GB free`."""
    device = device or torch.device("cpu")
    threads = threads or torch.get_num_threads()
    named = {"cpu": "CPU", "cuda": "CUDA", "mps": "Metal"}[device.type]
    free = available_bytes()
    if device.type == "cuda":
        named, free = torch.cuda.get_device_name(device), torch.cuda.mem_get_info(device)[0]
    return f"{named} · {threads} thread{'' if threads == 1 else 's'} · 32 bits · {memory_in_words(free)} free"


def choose_dtype(precision: int, device: torch.device) -> torch.dtype:
    """64 or 32 bits; MPS has no 64."""
    if precision == 64 and device.type == "mps":
        raise StudioError("Device mps computes in 32 bits only: use --precision 32 or --device cpu.")
    return torch.float64 if precision == 64 else torch.float32
