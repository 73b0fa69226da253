"""How a content is looked at, and what it is drawn with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtGui import QFont

from mrfstudio.ui.plots.content import Range
from mrfstudio.ui.style.colours import Colours


@dataclass(frozen=True)
class Dress:
    """Colours, letters and lengths of one plot; `unit` pixels are one design pixel."""

    colours: Colours
    font: QFont
    unit: float
    left: int
    """Pixels left of the area, for the numbers of the vertical axis; 0 leaves the axis out."""
    bottom: int
    room: int
    """Pixels around all of it, for numbers that reach beyond the ends of an axis."""
    inverted: bool = False


@dataclass(frozen=True)
class View:
    """How a content is looked at: ranges in the coordinates of the axes, exponents of ten on a logarithmic one."""

    x: Range
    y: Range
    log_x: bool = False
    log_y: bool = False
    smoothing: float = 0.0
    """0 shows what was measured; nearly 1 a mean over very many points."""
    smallest: float = 1e-12
    """Where 0 is drawn on a logarithmic axis."""
    cross: float | None = None
    """The crosshair, in coordinates of the axis."""

    def across(self, x: np.ndarray) -> np.ndarray:
        return np.log10(np.maximum(x, self.smallest)) if self.log_x else x

    def upwards(self, y: np.ndarray) -> np.ndarray:
        return np.log10(np.maximum(y, self.smallest)) if self.log_y else y

    @property
    def frame(self) -> tuple[Range, Range, bool, bool]:
        """What axes and everything that stands still depend on."""
        return self.x, self.y, self.log_x, self.log_y
