"""The curves of a run: one row a step, kept whole, written as CSV and JSON."""

from __future__ import annotations

import json
import math
import os
from array import array
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.files.atomic import write_text
from mrfstudio.engine.files.model_file import beside
from mrfstudio.engine.learning.progress import Progress

CHANCE = ("seconds", "images_per_second")
"""Columns that differ between two runs of the same numbers."""

COLUMNS = ("step", "epoch", "loss", "smoothed_loss", "gradient_norm", "learning_rate", *CHANCE)
VALIDATION = "validation/"


class Curves:
    """Columns of equal length. What was not measured in a step is NaN here, empty in CSV and null in JSON."""

    def __init__(self) -> None:
        self.columns: dict[str, array[float]] = {name: array("d") for name in COLUMNS}

    def __len__(self) -> int:
        return len(self.columns["step"])

    def append(self, record: Progress) -> None:
        """Add the record of a step."""
        for name in COLUMNS:
            self.columns[name].append(getattr(record, name))
        self._write_last(record)

    def annotate(self, record: Progress) -> None:
        """Add what was measured later to the last row."""
        self._write_last(record)

    def _write_last(self, record: Progress) -> None:
        named = dict(record.extras) | {VALIDATION + name: value for name, value in record.validation.items()}
        for name in named:
            if name not in self.columns:
                self.columns[name] = array("d")
        for name, column in self.columns.items():
            if name not in COLUMNS:
                column.extend([math.nan] * (len(self) - len(column)))
                if name in named:
                    column[-1] = named[name]

    def csv(self) -> str:
        """A header and one line a step; numbers in full, so that reading gives the same ones."""
        lines = [",".join(self.columns)]
        lines += [",".join(map(_cell, row)) for row in zip(*self.columns.values(), strict=True)]
        return "\n".join(lines) + "\n"

    def json(self, loss_unit: str) -> str:
        """One object: the unit of the loss and the columns by name."""
        columns = {name: [_number(value) for value in column] for name, column in self.columns.items()}
        return json.dumps({"loss_unit": loss_unit, "columns": columns}, allow_nan=False) + "\n"

    def write(self, model_path: str | os.PathLike[str], loss_unit: str) -> None:
        """Write `NAME.curves.csv` and `NAME.curves.json` beside a model file."""
        write_text(beside(model_path, ".curves.csv"), self.csv())
        write_text(beside(model_path, ".curves.json"), self.json(loss_unit))

    def tensor(self) -> Tensor:
        """All columns as (column, step) in float64, which keeps every bit."""
        return torch.from_numpy(np.stack([np.array(column) for column in self.columns.values()]))

    @classmethod
    def from_tensor(cls, names: Sequence[str], values: Tensor) -> Curves:
        """The inverse of `tensor`."""
        curves = cls()
        rows = values.double().numpy()
        curves.columns = {name: array("d", row.tobytes()) for name, row in zip(names, rows, strict=True)}
        return curves


def _number(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _cell(value: float) -> str:
    number = _number(value)
    return "" if number is None else repr(number)
