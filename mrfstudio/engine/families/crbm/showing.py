"""How the conditional RBM is shown while it learns: damaged pictures mended, and what its hidden units add."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from mrfstudio.engine.families.crbm.decoding import decoded
from mrfstudio.engine.families.crbm.model import CRBM, conditional_rows
from mrfstudio.engine.families.rbm.showing import field_panels
from mrfstudio.engine.protocol.training import Panel
from mrfstudio.engine.runtime.device import to_host
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
                Panel("given", "grey", to_host(damaged[index].float().reshape(shape)), "The damaged picture."),
                Panel("answer", "grey", to_host(white[index].reshape(shape)), "How probable white is."),
                Panel("truth", "grey", to_host(clean[index].float().reshape(shape)), "The picture before the damage."),
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
        probabilities=to_host(torch.stack([1 - white, white], -1).reshape(-1, 2)),
        outcomes=to_host(clean.reshape(-1).long()),
        remark="Validation pictures, damaged: which pixels were white before?",
    )
