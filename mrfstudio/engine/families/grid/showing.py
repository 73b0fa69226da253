"""How the cloned grid MRF is shown while it learns: noisy images labelled, and what its clones expect around them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.data.pictures.border_noise import CONTOUR
from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.families.grid.query import label_log_beliefs
from mrfstudio.engine.families.grid.shape import STEPS
from mrfstudio.engine.protocol.training import Panel
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.training.learner import Learner
from mrfstudio.engine.training.showing import QUERIES, ShownModel, showing, signed_panel

ITERATIONS = 15
MOST_CLONES = 64
STEP_NAMES = ("right", "down", "down right", "down left")
AT_ONCE = 4
"""Images answered together; more leave the cache."""


@showing("grid")
def show_grid(model: GridMRF, learner: Learner, items: Mapping[str, Tensor]) -> ShownModel:
    """Answers after as many iterations as the learner unrolls; items are `images` and `noisy_images` (N, H, W)."""
    truth, noisy = to_host(items["images"]), to_host(items["noisy_images"])
    iterations = int(getattr(learner, "iterations", ITERATIONS))
    beliefs = label_beliefs(model, noisy, iterations)
    queries = tuple(
        (
            Panel(
                "given", "observed", noisy[index].copy(), "The contour pixels that are seen: some missing, some false."
            ),
            Panel(
                "answer", "belief", beliefs[index].copy(), f"The most probable labels after {iterations} iterations."
            ),
            Panel("truth", "truth", truth[index].copy(), "The labels that were hidden."),
        )
        for index in range(min(QUERIES, len(noisy)))
    )
    return ShownModel(
        queries=queries,
        pictures=(*clone_panels(model), *potential_panels(model)),
        labels=model.label_names,
        probabilities=beliefs.reshape(-1, model.labels),
        outcomes=truth.reshape(-1).astype(np.int64),
        remark="Validation images with noise: which pixels are CONTOUR, OUT and IN?",
    )


def label_beliefs(model: GridMRF, noisy: np.ndarray, iterations: int) -> np.ndarray:
    """Label probabilities (N, H, W, labels) float32 of noisy images (N, H, W)."""
    parts = []
    for start in range(0, len(noisy), AT_ONCE):
        evidence = model.evidence_from_image(noisy[start : start + AT_ONCE])
        parts.append(to_host(label_log_beliefs(model, evidence, iterations)[0].exp().to(torch.float32)))
    return np.concatenate(parts)


def clone_panels(model: GridMRF) -> list[Panel]:
    """What each clone of CONTOUR expects around itself, by its own potentials alone: 3 × 3 label probabilities."""
    clones = min(model.clones[CONTOUR], MOST_CLONES)
    patches = np.zeros((clones, 3, 3, model.labels), np.float32)
    patches[:, 1, 1, CONTOUR] = 1.0
    known = np.zeros((3, 3), bool)
    known[1, 1] = True
    for number, (row, column) in enumerate(STEPS[: model.matrices]):
        for matrix, sign in ((model.potentials[number], 1), (model.potentials[number].t(), -1)):
            at = (1 + sign * row, 1 + sign * column)
            patches[:, at[0], at[1]] = to_host(model.label_beliefs(torch.softmax(matrix[:clones], 1)))
            known[at] = True
    patches[:, ~known] = 1.0 / model.labels  # a 4-connected grid says nothing about its corners
    help = "What this clone of CONTOUR expects in the pixels around it."
    return [Panel(str(index), "belief", patch, help, "clones of CONTOUR") for index, patch in enumerate(patches)]


def potential_panels(model: GridMRF) -> list[Panel]:
    """The log-potentials of each direction, less their mean."""
    panels = []
    for number, matrix in enumerate(model.potentials):
        help = f"Log-potentials between a pixel's state (row) and that of the pixel {STEP_NAMES[number]} (column)."
        panels.append(signed_panel(STEP_NAMES[number], matrix - matrix.mean(), help, "log-potentials"))
    return panels
