"""What the clones of CONTOUR have learned: how often each is chosen, and what lies around it when it is.

Measured on generated figures that the model has not seen. The work is a generator, so that the engine's thread can do
it between two iterations of a session: every `next` runs one iteration on one picture.
"""

from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np
import torch
from numpy.typing import NDArray

from mrfstudio.engine.data.pictures.border_noise import labels_from_silhouettes, seeded_noise
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation
from mrfstudio.engine.protocol.answers import CloneGallery
from mrfstudio.engine.runtime.device import to_host

IMAGES = 40
ITERATIONS = 15
REACH = 3
"""Pixels on every side of the chosen one that a patch shows."""
CERTAIN = 0.05
"""A clone whose surroundings are this little on one side owns no side."""

Progress = tuple[int, int]


def measure_clones(model: GridMRF, name: str, images: int = IMAGES) -> Generator[Progress, None, CloneGallery]:
    """Yields (done, total) images, returns the gallery. Contour pixels are those decoded as CONTOUR."""
    count, side = model.clones[0], 2 * REACH + 1
    used = np.zeros(count, np.int64)
    patches = np.zeros((count, side, side, model.labels), np.float64)
    for index in range(images):
        beliefs = yield from _beliefs(model, _noisy(index), (index, images))
        labels = to_host(model.label_beliefs(beliefs))
        contour = labels.argmax(-1) == 0
        chosen = to_host(beliefs[..., :count].argmax(-1))
        around = np.pad(labels, ((REACH, REACH), (REACH, REACH), (0, 0)), mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(around, (side, side), (0, 1))  # (h, w, labels, side, side)
        rows, columns = np.nonzero(contour)
        np.add.at(used, chosen[rows, columns], 1)
        np.add.at(patches, chosen[rows, columns], windows[rows, columns].transpose(0, 2, 3, 1))
    patches /= np.maximum(used, 1)[:, None, None, None]
    return CloneGallery(
        model=name,
        images=images,
        use=(used / max(used.sum(), 1)).astype(np.float32),
        patches=patches.astype(np.float32),
        potentials=to_host(model.potentials.detach().to(torch.float32)).copy(),
        ownership=np.where(used > 0, owned_side(patches), np.nan).astype(np.float32),
    )


def owned_side(patches: NDArray[np.floating]) -> NDArray[np.float64]:
    """The angle (clones,) towards the eight neighbours that are rather IN than OUT, NaN where no side is.

    patches (clones, side, side, labels); radians, counter-clockwise from right.
    """
    middle = patches.shape[1] // 2
    total = np.zeros((len(patches), 2))
    for row in (-1, 0, 1):
        for column in (-1, 0, 1):
            if row or column:
                around = patches[:, middle + row, middle + column]
                direction = np.array([column, -row]) / math.hypot(row, column)
                total += (around[:, 2] - around[:, 1])[:, None] * direction
    angle = np.arctan2(total[:, 1], total[:, 0])
    return np.where(np.hypot(total[:, 0], total[:, 1]) > CERTAIN, angle, np.nan)


def _noisy(index: int) -> NDArray[np.uint8]:
    """A noisy picture that no training has seen: digits and shapes in turn, from the validation stream."""
    from mrfstudio.engine.data.drawn.glyphs import Glyphs  # scipy: later than the first picture of the window
    from mrfstudio.engine.data.drawn.shapes import Shapes

    source = Shapes(seed=1) if index % 2 else Glyphs(seed=1)
    figure, _ = source.picture("val", index // 2)
    labels = labels_from_silhouettes(figure[None])
    return seeded_noise(labels, 1, indices=[index])[0]


def _beliefs(model: GridMRF, noisy: NDArray[np.uint8], progress: Progress) -> Generator[Progress, None, torch.Tensor]:
    """(h, w, states) after fifteen iterations; yields before each."""
    algorithm = BeliefPropagation()
    with torch.inference_mode():
        evidence = model.evidence_from_image(noisy)
        state = algorithm.init(model, evidence)
    for _ in range(ITERATIONS):
        yield progress
        # Entered again each time: between two steps the thread does other work.
        with torch.inference_mode():
            state = algorithm.step(model, evidence, state)
    with torch.inference_mode():
        return algorithm.beliefs(model, evidence, state)
