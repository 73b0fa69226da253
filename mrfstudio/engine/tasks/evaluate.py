"""How good is a model on data it has not seen? What `mrfstudio evaluate` prints."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from mrfstudio.engine.data.dataset import parse_data
from mrfstudio.engine.files.model_file import load_model
from mrfstudio.engine.files.open_model import build_model, usual_iterations
from mrfstudio.engine.protocol.catalogue import ending
from mrfstudio.engine.protocol.errors import StudioError
from mrfstudio.engine.training.evaluation import EVALUATORS, Evaluation

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
    are as many as it was trained with, 15 where its card does not say, or more where its kind takes longer to settle.
    `log_z` is a number of temperatures for annealed importance sampling, 0 for none.
    """
    file = load_model(model)
    if limit is not None and limit < 1:
        raise StudioError(f"--limit is {limit}: expected at least 1 image.")
    trained = build_model(file)
    evaluator = EVALUATORS.of(trained)
    if evaluator is None:
        kinds = " or ".join(EVALUATORS.kinds())
        raise StudioError(f"A {file.kind} model cannot be evaluated: expected {kinds}.")
    if log_z and not evaluator.log_z:
        raise StudioError(f"log Z of a {file.kind} model is not estimated by annealing: leave --log-z out.")
    splits = parse_data(data).open(**data_options)
    if split not in splits:
        raise StudioError(f"{data} has no {split} split{ending(split, splits)} It has {', '.join(splits)}.")
    if iterations is None:
        iterations = usual_iterations(file)
    started = time.perf_counter()
    with torch.inference_mode():
        found = evaluator.evaluate(trained, splits, Evaluation(split, queries, limit, seed, iterations, tick, log_z))
    return {
        "model": str(model),
        "data": data,
        "split": split,
        "seed": seed,
        **found,
        "seconds": time.perf_counter() - started,
    }
