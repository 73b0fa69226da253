"""Segmenting with cloned grids: evidence of pixels, and where each clone of CONTOUR expects the inside."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mrfstudio.engine.data.pictures.border_noise import CONTOUR, IN, OUT
from mrfstudio.engine.families.contours import FLOAT, Contours, contours
from mrfstudio.engine.families.grid.belief_propagation import GridMessages
from mrfstudio.engine.families.grid.clones import IMAGES, measure_clones
from mrfstudio.engine.families.grid.emission import log_table, shown
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.shape import GridShape
from mrfstudio.engine.graphs.evidence import Evidence
from mrfstudio.engine.inference.algorithm import State
from mrfstudio.engine.protocol.answers import CloneGallery
from mrfstudio.engine.runtime.device import to_host

COPIES = 3  # of the messages, in an iteration


@contours("grid")
class GridContours(Contours):
    """The states of a pixel are the clones of CONTOUR, then OUT, then IN."""

    def evidence(
        self, model: GridMRF, observed: NDArray[np.uint8], strength: NDArray[np.float32], hints: NDArray[np.float32]
    ) -> Tensor:
        """strength · log P(shown | label) + hints."""
        log = log_table(to_host(model.emission))[shown(observed, model.short_edges)] * strength[..., None]
        log += hints
        return torch.as_tensor(log, dtype=model.weights.dtype, device=model.weights.device)

    def states(self, model: GridMRF) -> int:
        return model.states

    def memory(self, model: GridMRF) -> int:
        return model.states * model.connectivity * FLOAT * COPIES

    def iterations(self, model: GridMRF) -> int:
        return model.iterations

    def unlike(self, model: GridMRF, evidence: Evidence, state: State) -> str | None:
        from mrfstudio.engine.families.grid.doubt import unlike

        return unlike(model, evidence, state) if isinstance(state, GridMessages) else None

    def sizes_of(self, hyperparameters: Mapping[str, Any]) -> tuple[int, int] | None:
        sizes = hyperparameters.get("sizes")
        return None if sizes is None else (int(sizes[0]), int(sizes[1]))

    def clones(self, model: GridMRF) -> int:
        return model.clones[CONTOUR]

    def ownership(self, model: GridMRF) -> NDArray[np.float32]:
        """The mean direction of P(IN) - P(OUT) among a clone's neighbours, as its own potentials alone give them."""
        shape = GridShape(1, 1, 1, model.connectivity)
        potentials = model.potentials.detach().double()
        count = self.clones(model)
        total = np.zeros((count, 2))
        for number, (row, column) in enumerate(shape.directions[: model.matrices]):
            for matrix, sign in ((potentials[number], 1), (potentials[number].t(), -1)):
                expected = to_host(model.label_beliefs(torch.softmax(matrix[:count], 1)))
                lean = expected[:, IN] - expected[:, OUT]
                total += sign * lean[:, None] * np.array([column, -row]) / math.hypot(row, column)
        angle = np.arctan2(total[:, 1], total[:, 0])
        return np.where(np.hypot(*total.T) > 1e-6, angle, np.nan).astype(np.float32)

    def gallery(self, model: GridMRF, name: str, images: int | None) -> Generator[tuple[int, int], None, CloneGallery]:
        return measure_clones(model, name, IMAGES if images is None else images)

    def clones_of(self, hyperparameters: Mapping[str, Any]) -> int:
        counts = hyperparameters.get("clones") or [0]
        return int(counts[CONTOUR])

    def pixel_of(self, tensor: str, index: tuple[int, ...]) -> int | None:
        return index[2] if tensor == "messages" and len(index) == 3 else None
