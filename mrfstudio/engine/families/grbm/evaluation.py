"""Scores of a Gaussian RBM on queries of any distribution, beside three simple Gaussian models on the same queries."""

from __future__ import annotations

from typing import Any

import torch

from mrfstudio.engine.data.dataset import Splits
from mrfstudio.engine.families.grbm.baselines import BASELINES, GaussianBaselines
from mrfstudio.engine.families.grbm.model import GRBM, pictures_of
from mrfstudio.engine.families.grbm.query import GaussianScores, gaussian_scores, scores
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training.evaluation import Evaluation, evaluation
from mrfstudio.engine.training.queries import parse_queries


@evaluation("grbm")
def evaluate_grbm(model: GRBM, splits: Splits, asked: Evaluation) -> dict[str, Any]:
    """`nce_bits` and `mse` over the pixels asked for, in standard units, and the same of each of `baselines`.

    The baselines are fitted to the training split of the same data, in the model's units.
    """
    arrays = {name: torch.from_numpy(array[: asked.limit]) for name, array in splits[asked.split].items()}
    pictures = pictures_of(arrays)
    if pictures.shape[1:] != model.image_shape:
        (height, width), (rows, columns) = model.image_shape, pictures.shape[1:]
        raise StudioError(f"The data are pictures of {columns}×{rows} pixels: this model takes {width}×{height}.")
    queries = parse_queries(asked.queries or "uniform:0.5")
    unknown = queries.draw(len(pictures), model.image_shape, torch.Generator().manual_seed(asked.seed))
    if not bool(unknown.any()):
        raise StudioError(f"The queries {queries} asked for no pixel of {len(pictures)} pictures: raise their number.")
    training = pictures_of({"images": torch.from_numpy(splits["train"]["images"])})
    baselines = GaussianBaselines.fitted(model.standardise(training))
    own, others = GaussianScores(), dict.fromkeys(BASELINES, GaussianScores())
    torch.set_flush_denormal(True)
    for grey, mask in zip(pictures, unknown, strict=True):
        own += scores(model, grey, mask, asked.iterations)
        pixels = model.standardise(grey)
        truth = pixels[mask.flatten()].double()
        for name, (mean, variance) in baselines.answers(pixels, mask.flatten()).items():
            others[name] += gaussian_scores(mean / variance, 1 / variance, truth)
        asked.tick(f"{own.images} of {len(pictures)} pictures, {own.means()['nce_bits']:.4f} bits so far")
    return {
        "images": own.images,
        "queries": str(queries),
        "targets": own.targets,
        "iterations": asked.iterations,
        **own.means(),
        "baselines": {name: found.means() for name, found in others.items()},
    }
