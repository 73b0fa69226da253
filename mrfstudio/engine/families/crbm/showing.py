"""How the conditional RBM is shown while it learns: damaged pictures mended, and what its hidden units add."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from mrfstudio.engine.families.crbm.decoding import decoded
from mrfstudio.engine.families.crbm.model import CRBM, conditional_rows
from mrfstudio.engine.families.rbm.showing import field_panels
from mrfstudio.engine.protocol.training import Panel
from mrfstudio.engine.training.learner import Learner
from mrfstudio.engine.training.showing import QUERIES, ShownModel, parameter_panels, showing


@showing("crbm")
def show_crbm(model: CRBM, learner: Learner, items: Mapping[str, Tensor]) -> ShownModel:
    """Answers with the model's own decoder; items are `images` and `noisy_images` (N, height, width)."""
    clean, damaged = conditional_rows(items)
    answer = decoded(model, damaged.to(model.dtype))
    white = answer.visible.to(torch.float32)
    shape = model.image_shape
    queries: tuple[tuple[Panel, ...], ...] = ()
    if shape is not None:
        queries = tuple(
            (
                Panel("given", "grey", damaged[index].float().reshape(shape).numpy(), "The damaged picture."),
                Panel("answer", "grey", white[index].reshape(shape).numpy(), "How probable white is."),
                Panel("truth", "grey", clean[index].float().reshape(shape).numpy(), "The picture before the damage."),
            )
            for index in range(min(QUERIES, len(clean)))
        )
    pictured = shape is not None and model.hidden > 0
    return ShownModel(
        queries=queries,
        pictures=field_panels(model.couplings.detach().reshape(-1, *shape))
        if pictured and shape is not None
        else parameter_panels(model),
        labels=("black", "white"),
        probabilities=torch.stack([1 - white, white], -1).reshape(-1, 2).numpy(),
        outcomes=clean.reshape(-1).long().numpy(),
        remark="Validation pictures, damaged: which pixels were white before?",
    )
