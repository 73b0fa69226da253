"""How a scored grid is shown while it learns: the picture, what the network says, walls, what the field makes of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from torch import Tensor

from mrfstudio.engine.families.scored_grid.evaluation import ITERATIONS, log_beliefs
from mrfstudio.engine.families.scored_grid.field import UNLABELLED
from mrfstudio.engine.families.scored_grid.model import ScoredGrid, labels_of, pictures_of
from mrfstudio.engine.protocol.training import Panel
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.training.learner import Learner
from mrfstudio.engine.training.showing import QUERIES, ShownModel, parameter_panels, showing


@showing("scored-grid")
def show_scored_grid(model: ScoredGrid, learner: Learner, items: Mapping[str, Tensor]) -> ShownModel:
    """Answers for pictures (N, channels, H, W) after as many iterations as the learner unrolls."""
    pictures, truth = pictures_of(items), labels_of(items, model.labels)
    field = model.field(pictures).detach()
    iterations = int(getattr(learner, "iterations", ITERATIONS))
    beliefs = to_host(log_beliefs(field, iterations)[0].exp().float())
    alone = to_host(field.node.softmax(-1).float())
    right, _ = field.walls()
    # Panels of beliefs and of labels are drawn with the colours of three labels.
    kinds = ("belief", "truth") if model.labels == 3 else ("grey", "grey")

    def shown(chances: np.ndarray) -> np.ndarray:
        return chances.copy() if kinds[0] == "belief" else (chances.argmax(-1) / (model.labels - 1)).astype(np.float32)

    def labelled(labels: np.ndarray) -> np.ndarray:
        if kinds[1] == "truth":
            return np.maximum(labels, 0).astype(np.uint8)
        return (np.maximum(labels, 0) / (model.labels - 1)).astype(np.float32)

    queries = tuple(
        (
            Panel("given", "grey", to_host(pictures[i].mean(0)), "The picture."),
            Panel("network", kinds[0], shown(alone[i]), "The most probable labels by node scores alone."),
            Panel("answer", kinds[0], shown(beliefs[i]), f"The same after {iterations} iterations of the field."),
            Panel("truth", kinds[1], labelled(to_host(truth[i])), "The labels that were hidden."),
        )
        for i in range(min(QUERIES, len(truth)))
    )
    known = to_host((truth != UNLABELLED).reshape(-1))
    low, high = float(right.min()), float(right.max())
    walls = tuple(
        Panel(
            f"walls {i + 1}",
            "grey",
            to_host(((right[i] - low) / max(high - low, 1e-9)).float()),
            "How much a pixel and its right neighbour want equal labels: dark is a wall.",
            "walls",
        )
        for i in range(min(QUERIES, len(truth)))
    )
    return ShownModel(
        queries=queries,
        pictures=(*walls, *parameter_panels(model)),
        labels=tuple(str(k) for k in range(model.labels)),
        probabilities=beliefs.reshape(-1, model.labels)[known],
        outcomes=to_host(truth.reshape(-1))[known],
        remark="Validation pictures: which label has each pixel?",
    )
