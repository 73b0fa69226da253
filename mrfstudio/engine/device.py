"""Which device and precision to compute in."""

from __future__ import annotations

import torch

from mrfstudio.engine.errors import StudioError

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


def choose_dtype(precision: int, device: torch.device) -> torch.dtype:
    """64 or 32 bits; MPS has no 64."""
    if precision == 64 and device.type == "mps":
        raise StudioError("Device mps computes in 32 bits only: use --precision 32 or --device cpu.")
    return torch.float64 if precision == 64 else torch.float32
