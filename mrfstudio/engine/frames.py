"""Immutable snapshots that cross from the engine thread to the window. Plain numpy; no torch.

A frame owns its arrays: nobody writes to them after it was made. Pictures may skip iterations, scalars never do: a frame
carries every scalar since the last frame that the window took.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

Status = Literal["idle", "running", "paused", "converged", "iteration limit", "diverging", "stopped"]
"""`stopped` means an error ended the run; `LaneFrame.message` says which. `diverging`: the residual has grown or
oscillated for a while."""


@dataclass(frozen=True)
class Scalars:
    """What one iteration of one lane measured; None where it has no meaning."""

    iteration: int
    residual: float | None
    log_partition: float | None = None
    iou: float | None = None
    nce_bits: float | None = None


@dataclass(frozen=True, eq=False)
class LaneFrame:
    """One lane's newest pictures and all its scalars since the last frame.

    Pictures by layer name, arrays for `Frame.rectangle`, such as
    `belief` (h, w, labels) float32 label probabilities, `decoded` (h, w) uint8, `entropy` (h, w) float32 in bits,
    `residual` (directions, h, w) float32, `clone` (h, w) int16 most probable clone or -1, `ownership` (h, w) float32 angle.
    Only the layers that the window asked for are computed.
    """

    lane: int
    model: str
    algorithm: str
    iteration: int
    status: Status
    residual: float | None
    pictures: Mapping[str, np.ndarray]
    scalars: tuple[Scalars, ...]
    oldest: int = 0
    """The first iteration that can still be returned to."""
    message: str = ""
    details: Mapping[str, object] = field(default_factory=dict)
    """Plain values that an inspector asked for, such as the clones of the chosen pixel."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Everything the window shows of one workspace at one moment."""

    serial: int
    workspace: str
    applied: int
    """Number of the last command whose effect this frame shows; a picture with an older number is stale."""
    shape: tuple[int, int]
    """Height and width of the whole image in pixels."""
    rectangle: tuple[int, int, int, int]
    """Top, left, height, width of the part that the pictures show."""
    layers: Mapping[str, np.ndarray]
    """What the person gave: `observed` (h, w) uint8, `hints` (h, w) uint8, `truth` (h, w) uint8 where known, …"""
    lanes: tuple[LaneFrame, ...]
    undo: str = ""
    """What Undo would take back, in words; empty when nothing."""
    redo: str = ""
    playing: bool = False
    iterations_per_second: float = 0.0
    modified: bool = False
    """Whether there is work that no file holds yet."""
    message: str = ""
    """One sentence for the message bar: a refused command, a file that could not be read."""
