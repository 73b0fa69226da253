"""Readers of what training leaves on disk: runs, curves, snapshots, models of every family, checkpoints."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from mrfstudio.bench.fuzz import grammars
from mrfstudio.bench.fuzz.mutations import json_text_mutated, model_mutated, npz_mutated
from mrfstudio.bench.fuzz.reader import Reader


def run_readers(folder: Path) -> list[Reader]:
    from mrfstudio.engine.protocol.errors import StudioError
    from mrfstudio.engine.training.runs import snapshots
    from mrfstudio.engine.training.runs.store import RunError, RunStore

    def store(path: Path) -> RunStore:
        return RunStore(path.parent)

    def listed(path: Path) -> None:
        """Beside a whole run, which the damaged one must not hide."""
        notes = store(path.parent).all()
        if len(notes) != 1:
            raise AssertionError(f"{len(notes)} runs are listed")

    record = {"format_version": 1, "name": "a", "made": "2026-01-01", "plan": {"model": "rbm", "learner": "pcd",
              "data": "mnist", "options": {"hidden": 3}, "seed": 1, "minutes": 2.0, "start_from": ""}}  # fmt: skip
    state = {"format_version": 1, "state": "done", "step": 3, "total_steps": 9, "seconds": 1.5, "best_step": 2,
             "scores": {"iou": 0.5}, "options": {"a": 1}, "sentence": ""}  # fmt: skip
    curves = {"loss_unit": "bits", "columns": {"step": [1, 2, 3], "loss": [3.0, 2.5, None]}}

    whole_curves = json.dumps(curves).encode()

    def beside(path: Path) -> None:
        (path.parent / "run.json").write_text(json.dumps(record), encoding="utf-8")
        listed(path)

    def columns(path: Path) -> None:
        RunStore(path.parent.parent).columns(path.parent.name)

    def snapshot(path: Path) -> None:
        snapshots.read(path.parent.parent, "a", 1)

    def painted(path: Path) -> None:
        import torch

        from mrfstudio.engine.training import painting
        from mrfstudio.engine.training.learner import TensorSource, TrainingData

        painting.kept(path.with_name("a.safetensors"), TrainingData(TensorSource(x=torch.zeros(1, 2))))

    mutations, made = (json_text_mutated,), grammars.json_value
    return [
        Reader("run", "r/run.json", listed, (), lambda: [json.dumps(record).encode()], mutations, made),
        Reader("run state", "s/state.json", beside, (), lambda: [json.dumps(state).encode()], mutations, made),
        Reader("curves", "c/model.curves.json", columns, (RunError,), lambda: [whole_curves], mutations, made),
        Reader(
            "snapshot", "snapshots/00000001.npz", snapshot, (StudioError,), lambda: _snapshots(folder), (npz_mutated,)
        ),
        Reader("painted points", "p/a.points.npz", painted, (StudioError,), _painted_points, (npz_mutated,)),
    ]


def _snapshots(folder: Path) -> list[bytes]:
    from mrfstudio.engine.protocol.training import Panel
    from mrfstudio.engine.training.runs import snapshots
    from mrfstudio.engine.training.showing import ShownModel

    panel = Panel("given", "grey", np.zeros((3, 3), np.float32), "Given.", "")
    shown = ShownModel(((panel,),), (panel,), ("a", "b"), np.full((4, 2), 0.5), np.zeros(4, np.int64), "x")
    snapshots.write(folder, 1, 2.0, shown, "rbm", {}, {})
    return [(folder / "snapshots/00000001.npz").read_bytes()]


def _painted_points() -> list[bytes]:
    out = io.BytesIO()
    np.savez(out, x=np.zeros((9, 2), np.float32), held=np.zeros((1, 2), np.float32))
    return [out.getvalue()]


def model_readers(folder: Path) -> list[Reader]:
    from mrfstudio.engine.files.model_file import ModelFileError, read_card
    from mrfstudio.engine.files.open_model import open_model
    from mrfstudio.engine.training.checkpoint import load_state
    from mrfstudio.engine.training.progress import TrainingError

    def opened(path: Path) -> None:
        read_card(path)
        open_model(path)

    def resumed(path: Path) -> None:
        load_state(path, {})

    errors = (ModelFileError,)
    return [
        Reader("model", "a.safetensors", opened, errors, lambda: model_files(folder), (model_mutated,)),
        Reader(
            "checkpoint",
            "a.train.safetensors",
            resumed,
            (*errors, TrainingError),
            lambda: _checkpoints(folder),
            (model_mutated,),
        ),
    ]


def model_files(folder: Path) -> list[bytes]:
    """A small model of every family."""
    from mrfstudio.engine.files.model_file import save_model
    from mrfstudio.engine.registry import MODELS

    cards: dict[str, dict[str, Any]] = {
        "grid": {"clones": [2, 1, 1], "connectivity": 4, "tying": "free", "label_names": ["CONTOUR", "OUT", "IN"]},
        "rbm": {"visible": 4, "hidden": 3, "second": 0, "image_shape": [2, 2]},
        "dbm": {"visible": 4, "hidden": 3, "second": 2, "image_shape": None},
        "grbm": {"image_shape": [2, 3], "hidden": 4, "variance": "learned", "floor": 0.1},
        "crbm": {"visible": 4, "features": 4, "hidden": 2, "image_shape": [2, 2], "decoder": "mean-field"},
        "scored-grid": {"labels": 2, "channels": 3, "features": 2},
        "ising": {"edges": [[0, 1], [1, 2]], "nodes": 3, "sharing": "none", "shape": None},
        "factor-graph": {"cardinalities": [2, 3], "scopes": [[[0, 1]]], "positions": [[0]], "classes": None,
                         "unary": "free"},
        "patches": {"side": 2, "components": 2, "rank": 1},
        "patch-rbm": {"side": 2, "hidden": 3, "floor": 0.1},
        "photo-scores": {"labels": [[1, "a", "#102030"], [2, "b", "#405060"]], "hidden": 2},
        "chain": {"states": 2, "order": 1, "form": "directed", "shapes": {"transitions": [3, 2],
                  "words": [2, 3]}},
        "flow-mixture": {"components": 2, "shared": False, "shapes": {"shift": [2, 2], "log_scale": [2, 2],
                         "weights": [2]}},
        "transport": {"noise": 2, "shapes": {"in": [2, 3], "in_bias": [3], "mid": [3, 3], "mid_bias": [3],
                      "out": [3, 2], "out_bias": [2]}},
    }  # fmt: skip
    found = []
    for kind, hyperparameters in cards.items():
        model = MODELS[kind].restore(hyperparameters)
        path = folder / "seed.safetensors"
        save_model(path, kind, model.tensors(), {"hyperparameters": model.hyperparameters(), "seed": 1})
        found.append(path.read_bytes())
    return found


def _checkpoints(folder: Path) -> list[bytes]:
    import torch

    from mrfstudio.engine.training.checkpoint import TrainingState, save_state

    state = TrainingState(identity={"model": "rbm"}, step=2, parameters={"w": torch.zeros(3)})
    save_state(folder / "seed.train.safetensors", state)
    return [(folder / "seed.train.safetensors").read_bytes()]
