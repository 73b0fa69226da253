"""What the Inpaint workspace shows."""

from __future__ import annotations

import numpy as np

from tests.ui.helpers.studio import Studio


def hidden(studio: Studio) -> np.ndarray:
    return studio.frame.layers["mask"] == 1


def mean(studio: Studio) -> np.ndarray:
    return studio.frame.lanes[0].pictures["mean"]
