"""Small models of pictures, and sessions that inpaint with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mrfstudio.engine.families.grbm.model import GRBM
from mrfstudio.engine.families.rbm.model import RBM
from mrfstudio.engine.session.session import Session
from mrfstudio.engine.workspaces.inpaint.workspace import InpaintWorkspace

SHAPE = (8, 6)


def small_grbm(seed: int = 0, shape: tuple[int, int] = SHAPE, hidden: int = 5) -> GRBM:
    """Smooth random receptive fields, grey levels around 0.5."""
    model = GRBM(shape, hidden)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        y, x = torch.meshgrid(torch.linspace(-1, 1, shape[0]), torch.linspace(-1, 1, shape[1]), indexing="ij")
        centre = torch.rand(hidden, 2, generator=generator) * 1.6 - 0.8
        near = torch.exp(-3 * ((y - centre[:, :1, None]) ** 2 + (x - centre[:, 1:, None]) ** 2))
        sign = torch.where(torch.arange(hidden) % 2 == 0, 1.0, -1.0)
        model.weights.copy_((0.8 * sign[:, None, None] * near).flatten(1))
        model.visible_bias.copy_(0.3 * torch.randn(model.visible, generator=generator))
        model.log_precision.copy_(0.4 * torch.randn(model.visible, generator=generator))
        model.mean.fill_(0.5)
        model.deviation.fill_(0.1)
    return model


def small_rbm(seed: int = 0, shape: tuple[int, int] = (5, 5), hidden: int = 4) -> RBM:
    model = RBM(shape[0] * shape[1], hidden, image_shape=shape)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        model.weights.normal_(generator=generator).mul_(0.4)
        model.outer_bias.normal_(generator=generator).mul_(0.2)
    return model


def face(shape: tuple[int, int] = SHAPE, seed: int = 0) -> np.ndarray:
    """Grey levels (h, w) uint8."""
    return np.random.default_rng(seed).integers(60, 200, shape).astype(np.uint8)


def models() -> dict[str, Any]:
    return {"grey": small_grbm(0), "other": small_grbm(1), "digits": small_rbm()}


def inpaint_session(model: str = "grey", **options: Any) -> Session:
    workspace = InpaintWorkspace(models())
    workspace.shape = options.pop("shape", SHAPE)
    return Session(workspace, model, **{"playing": False, **options})
