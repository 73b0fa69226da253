"""Scores of labels by a small network of the picture, trained by strokes and kept for other photographs.

Features of a pixel are computed once for a level of the picture: its colour in Lab at three scales, the energy of what
lies between scales, and gradients. Two layers score the labels:  s = V relu(W (φ - mean) / scale + b) + c.

Fitted to a field's beliefs q on the photographs that were painted on, by the cross-entropy -Σ_c q_c log softmax_c(s):
unlabelled pixels count as far as the field is sure of them, and each label counts the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from mrfstudio.engine.families.plan import ModelPlan
from mrfstudio.engine.protocol.commands.photographs import Label
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.registry import MODELS

SCALES = (1.2, 2.5, 5.0)
"""Deviations, in pixels, of the blurs between which energies are taken."""
FEATURES = 14
HIDDEN = 24
CAP = 4.0
"""Most that the network says against a label, in nats."""
SAMPLES, STEPS, RATE = 3000, 250, 0.02
"""Pixels of each label that it is fitted to, and steps of Adam."""
NOISE = 0.15
"""Deviation of noise on features while it is fitted: another photograph has another light."""
MOST_LABELS = 12

Floats = NDArray[np.float32]


def features(picture: Floats) -> Floats:
    """(FEATURES, height, width) of a picture (3, height, width) in Lab."""
    from scipy.ndimage import gaussian_filter  # scipy: loaded with the first stroke, not with the families

    fine, middle, coarse = (gaussian_filter(picture, (0, s, s)) for s in SCALES)
    colours = np.array([1.0, 3.0, 3.0], np.float32)[:, None, None]

    def energy(between: Floats, over: float) -> Floats:
        made: Floats = np.log(gaussian_filter(np.square(between).sum(0), over) + 1e-5)
        return made

    down, across = np.gradient(fine[0])
    rows = [
        *(picture * colours),
        *(fine * colours),
        *(coarse * colours),
        energy(picture - fine, 2.0),
        energy(fine - middle, 3.0),
        energy(middle - coarse, 5.0),
        np.sqrt(gaussian_filter(np.square(across), 2.5)),
        np.sqrt(gaussian_filter(np.square(down), 2.5)),
    ]
    return np.stack(rows).astype(np.float32)


class PhotoScores:
    """Weights of the two layers, and the labels that they score."""

    kind = "photo-scores"

    def __init__(self, labels: Sequence[Sequence[Any]], hidden: int = HIDDEN) -> None:
        """labels: (number, title, #rrggbb) each."""
        self.labels = tuple(Label(int(number), str(title), str(colour)) for number, title, colour in labels)
        if not 2 <= len(self.labels) <= MOST_LABELS or not 1 <= hidden <= 1024:
            raise StudioError(
                f"The model has {len(self.labels)} labels and {hidden} hidden units: expected 2 to {MOST_LABELS} and "
                "1 to 1024."
            )
        self.hidden = int(hidden)
        count = len(self.labels)
        self._tensors = {
            "mean": torch.zeros(FEATURES),
            "scale": torch.ones(FEATURES),
            "hidden.weight": torch.zeros(hidden, FEATURES),
            "hidden.bias": torch.zeros(hidden),
            "head.weight": torch.zeros(count, hidden),
            "head.bias": torch.zeros(count),
        }

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(each.number for each in self.labels)

    def tensors(self) -> dict[str, Tensor]:
        return dict(self._tensors)

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the tensors of a model of the same size."""
        for name, tensor in self._tensors.items():
            given = tensors.get(name)
            if given is None or given.shape != tensor.shape or not bool(torch.isfinite(given).all()):
                found = "missing" if given is None else f"not finite or of shape {tuple(given.shape)}"
                raise StudioError(f"The tensor {name!r} is {found}: expected finite {tuple(tensor.shape)}.")
            self._tensors[name] = given.float()

    def hyperparameters(self) -> dict[str, Any]:
        labels = [[each.number, each.title, each.colour] for each in self.labels]
        return {"labels": labels, "hidden": self.hidden}

    def logits(self, rows: Tensor) -> Tensor:
        """Scores (n, labels) of features (n, FEATURES)."""
        t = self._tensors
        seen = torch.relu(functional.linear((rows - t["mean"]) / t["scale"], t["hidden.weight"], t["hidden.bias"]))
        return functional.linear(seen, t["head.weight"], t["head.bias"])

    def scores(self, seen: Floats) -> Floats:
        """Node scores (labels, height, width) of features (FEATURES, height, width): 0 for the best, at least -CAP."""
        with torch.no_grad():
            found = self.logits(torch.from_numpy(seen).flatten(1).T)
        best = found.amax(1, keepdim=True)
        made: Floats = (found - best).clamp_min_(-CAP).T.reshape(len(self.labels), *seen.shape[1:]).numpy()
        return made


def fitted(parts: Sequence[tuple[Floats, Floats]], labels: Sequence[Sequence[Any]], seed: int = 0) -> PhotoScores:
    """A network for photographs, each with features (FEATURES, h, w) and beliefs (labels, h, w)."""
    model = PhotoScores(labels)
    generator = torch.Generator().manual_seed(seed)
    rows = torch.cat([torch.from_numpy(seen).flatten(1).T for seen, _ in parts])
    truth = torch.cat([torch.from_numpy(np.asarray(beliefs, np.float32)).flatten(1).T for _, beliefs in parts])
    tensors = model.tensors()
    tensors["mean"], tensors["scale"] = rows.mean(0), rows.std(0).clamp_min(1e-3)
    tensors["hidden.weight"] = torch.randn(model.hidden, FEATURES, generator=generator) * (2 / FEATURES) ** 0.5
    tensors["head.weight"] = torch.randn(len(labels), model.hidden, generator=generator) * model.hidden**-0.5
    model.load_tensors(tensors)
    chosen = torch.cat(
        [torch.multinomial(share.clamp_min(1e-6), SAMPLES, replacement=True, generator=generator) for share in truth.T]
    )
    rows, truth = rows[chosen], truth[chosen]
    learned = [model.tensors()[name].requires_grad_() for name in tensors if name not in ("mean", "scale")]
    adam = torch.optim.Adam(learned, lr=RATE, weight_decay=1e-4)
    scale = model.tensors()["scale"]
    with torch.enable_grad():
        for step in range(STEPS):
            adam.param_groups[0]["lr"] = RATE * 0.5 * (1 + np.cos(np.pi * step / STEPS))
            noise = NOISE * scale * torch.randn(rows.shape, generator=generator)
            loss = functional.cross_entropy(model.logits(rows + noise), truth)
            adam.zero_grad()
            loss.backward()
            adam.step()
    for tensor in learned:
        tensor.requires_grad_(False)
    return model


@MODELS.register
class PhotoScoresPlan(ModelPlan):
    """Kept from strokes on photographs, not trained from data sets."""

    name = "photo-scores"
    title = "Scores of photographs"
    summary = "A small network scores labels of a photograph's pixels; it is trained by strokes and kept."

    @classmethod
    def restore(cls, hyperparameters: Mapping[str, Any]) -> PhotoScores:
        """An empty model like the one a file describes."""
        return PhotoScores(**hyperparameters)
