"""How good is a model on data it has not seen? What `mrfstudio evaluate` prints."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from mrfstudio.engine.catalogue import ending
from mrfstudio.engine.data.contract import Splits, parse_data
from mrfstudio.engine.errors import StudioError
from mrfstudio.engine.evaluate_crbm import evaluate_crbm
from mrfstudio.engine.evaluate_density import evaluate_graph
from mrfstudio.engine.evaluate_grbm import evaluate_grbm
from mrfstudio.engine.evaluate_rbm import evaluate_machine
from mrfstudio.engine.evaluation import Asked
from mrfstudio.engine.files.model_file import load_model
from mrfstudio.engine.learning.query_grid import scores
from mrfstudio.engine.learning.segmentation_metrics import NOTHING, SegmentationScores
from mrfstudio.engine.models.grid import GridMRF
from mrfstudio.engine.open_model import build_model, usual_iterations
from mrfstudio.engine.threads import side_by_side

CHUNK = 10  # images at once: larger batches leave the cache
AT_ONCE = 10  # chunks between two words of progress

ANNEALED = ("rbm", "dbm")

Tick = Callable[[str], None]


def evaluate_model(
    model: str | Path,
    data: str,
    *,
    split: str = "test",
    queries: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    iterations: int | None = None,
    log_z: int = 0,
    tick: Tick = lambda text: None,
    **data_options: Any,
) -> dict[str, Any]:
    """Scores of a model file or shipped model on one split; plain values ready for JSON.

    `data_options` are parameters of the data set, such as those that it was trained with. Without `iterations` there
    are as many as it was trained with, 15 where its card does not say, and at least 50 for a GRBM. `log_z` is a number
    of temperatures for annealed importance sampling, 0 for none.
    """
    file = load_model(model)
    if file.kind not in EVALUATORS:
        raise StudioError(f"A {file.kind} model cannot be evaluated: expected {' or '.join(EVALUATORS)}.")
    if limit is not None and limit < 1:
        raise StudioError(f"--limit is {limit}: expected at least 1 image.")
    if log_z and file.kind not in ANNEALED:
        raise StudioError(f"log Z of a {file.kind} model is not estimated by annealing: leave --log-z out.")
    trained = build_model(file)
    splits = parse_data(data).open(**data_options)
    if split not in splits:
        raise StudioError(f"{data} has no {split} split{ending(split, splits)} It has {', '.join(splits)}.")
    if iterations is None:
        iterations = usual_iterations(file)
    started = time.perf_counter()
    with torch.inference_mode():
        found = EVALUATORS[file.kind](trained, splits, Asked(split, queries, limit, seed, iterations, tick, log_z))
    return {
        "model": str(model),
        "data": data,
        "split": split,
        "seed": seed,
        **found,
        "seconds": time.perf_counter() - started,
    }


def _evaluate_grid(model: GridMRF, splits: Splits, asked: Asked) -> dict[str, Any]:
    """Segmentation scores with the pixel's own evidence, and without it as the paper measures."""
    if asked.queries is not None:
        raise StudioError(
            "A grid model always answers the same query, all labels given the noisy image: leave --queries out."
        )
    arrays = splits[asked.split]
    if not {"images", "noisy_images"} <= set(arrays):
        raise StudioError("A grid model is evaluated on contour images: use --data border:FILE.")
    images = torch.from_numpy(arrays["images"][: asked.limit])
    noisy = torch.from_numpy(arrays["noisy_images"][: asked.limit])
    with_own, without_own = NOTHING, NOTHING
    torch.set_flush_denormal(True)

    def scored(start: int) -> tuple[SegmentationScores, SegmentationScores]:
        part = slice(start, start + CHUNK)
        return scores(model, images[part], noisy[part], asked.iterations)

    for first in range(0, len(images), AT_ONCE * CHUNK):
        for own, alone in side_by_side(scored, range(first, min(first + AT_ONCE * CHUNK, len(images)), CHUNK)):
            with_own, without_own = with_own + own, without_own + alone
        asked.tick(f"{with_own.images} of {len(images)} images, IoU so far {with_own.means()['iou']:.4f}")
    return {
        "images": with_own.images,
        "iterations": asked.iterations,
        **with_own.means(),
        **without_own.means("_without_evidence"),
    }


EVALUATORS: dict[str, Callable[..., dict[str, Any]]] = {
    "grid": _evaluate_grid,
    "grbm": evaluate_grbm,
    "rbm": evaluate_machine,
    "dbm": evaluate_machine,
    "crbm": evaluate_crbm,
    "ising": evaluate_graph,
    "factor-graph": evaluate_graph,
}
