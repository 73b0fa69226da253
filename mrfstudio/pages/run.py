"""What a page shows of a run: a graph or a picture, iteration by iteration, with curves and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class PageLane:
    """One lane of a run over T iterations.

    beliefs (T, n, S) float32 of the n nodes of a graph, or (T, h, w, L) uint8 of 255 × probability of the pixels of a
    picture; messages (T, m, 2, S) float32: to the first and to the second node of each edge, None where there are none.
    curves by name, (T,) float64, NaN where nothing was measured.
    """

    name: str
    beliefs: np.ndarray
    messages: np.ndarray | None = None
    curves: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PageGraph:
    """positions (n, 2) float32, x right and y down; edges (m, 2) int32; states (n,) int32; labels by node.

    stars (k, 2) int32: for factors of more variables, the factor's number and a variable of it.
    """

    positions: np.ndarray
    edges: np.ndarray
    states: np.ndarray
    labels: tuple[str, ...]
    couplings: np.ndarray | None = None
    stars: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class PageRun:
    """A run, ready to be written."""

    title: str
    iterations: tuple[int, ...]
    lanes: tuple[PageLane, ...]
    graph: PageGraph | None = None
    labels: tuple[str, ...] = ()
    """What the labels of a picture are called; empty for a picture of grey levels."""
    text: tuple[str, ...] = ()
    """Paragraphs of a lesson, or what somebody wrote; marked as `title` lines begin with #."""
    command: str = ""
    """What computes it again."""
    notes: tuple[str, ...] = ()
    """What the page leaves out."""


CURVES = {
    "residual": ("residual", True),
    "log_partition": ("log Z", False),
    "iou": ("IoU", False),
    "nce_bits": ("NCE, bits", False),
    "mse": ("MSE", False),
}
"""Curves that a page knows: their titles, and whether heights are powers of ten."""
