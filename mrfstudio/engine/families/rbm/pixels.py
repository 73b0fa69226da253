"""RBMs and DBMs of pictures: a pixel is black or white, and beliefs hold the probability of each."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mrfstudio.engine.families.pixels import Pixels, pixels
from mrfstudio.engine.families.rbm.model import RBM


@pixels("rbm", "dbm")
class BinaryPixels(Pixels):
    """Draws are hidden units; a pixel shows how probable white is given them."""

    def drawn(self, model: RBM, sampler: Any, evidence: Any, state: Any) -> Tensor:
        outer, _ = model.log_odds(evidence)
        one = torch.sigmoid(outer + model.outer_logits(state.chains[:, model.outer :]))
        return model.shown(one[:, : model.visible])
